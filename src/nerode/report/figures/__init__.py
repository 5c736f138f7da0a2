"""Figures from plain records: each file has the record of what is shown, and makes the figure from it."""
