"""Tests of whole published models."""
