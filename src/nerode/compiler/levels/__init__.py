"""Cascades with counters and permutations as layers: levels as tables, their codings, and the layers."""
