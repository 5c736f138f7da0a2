"""Tests of the models stage."""
