"""The tables of papers: what was published, what a run here finds, and what theory says."""
