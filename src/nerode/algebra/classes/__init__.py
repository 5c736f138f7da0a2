"""Classes of regular languages: one test each, with words that show a "no"."""
