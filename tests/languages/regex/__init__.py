"""Tests of nerode.languages.regex."""
