"""Tests of nerode.languages.pastltl."""
