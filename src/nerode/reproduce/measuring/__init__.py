"""Measurements for the tables of papers: runs at CPU scale, compiled networks, polished networks."""

from nerode.reproduce.measuring.run import run_table

__all__ = ["run_table"]
