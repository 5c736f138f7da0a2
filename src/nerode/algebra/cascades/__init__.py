"""Decompositions of automata into cascades of set-reset automata, counters and permutation groups."""
