"""Tests, one folder for each stage."""
