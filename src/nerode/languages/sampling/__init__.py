"""Drawing words by length: accepted words, valid prefixes, near misses; each file states its distribution."""

from __future__ import annotations

from nerode.languages.sampling.uniform import (
    LONGEST,
    sample_accepted,
    sample_accepted_batch,
    sample_prefix,
    sample_prefix_batch,
)

__all__ = ["LONGEST", "sample_accepted", "sample_accepted_batch", "sample_prefix", "sample_prefix_batch"]
