"""Tests of exports to other libraries."""
