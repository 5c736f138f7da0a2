"""Drawing words by length: accepted words, valid prefixes, near misses; each file states its distribution."""

from __future__ import annotations

from nerode.languages.sampling.counters import depth_automaton, even_half
from nerode.languages.sampling.shares import (
    NearMissScripts,
    letter_shares,
    sample_accepted,
    sample_accepted_batch,
    sample_near_miss,
    sample_prefix_batch,
)

__all__ = [
    "NearMissScripts",
    "depth_automaton",
    "even_half",
    "letter_shares",
    "sample_accepted",
    "sample_accepted_batch",
    "sample_near_miss",
    "sample_prefix_batch",
]
