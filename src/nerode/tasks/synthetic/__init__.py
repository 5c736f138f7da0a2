"""Tasks made of patterns, groups and arithmetic, without a language; each file has the rows of its tasks."""
