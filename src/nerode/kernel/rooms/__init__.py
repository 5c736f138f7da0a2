"""Rooms."""
