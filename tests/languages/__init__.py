"""Tests of the languages stage."""
