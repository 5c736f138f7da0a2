"""Rows and numbers that pages, files and terminals show."""
