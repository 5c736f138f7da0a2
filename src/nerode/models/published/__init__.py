"""Models of the papers, one file per family of experiments; each has the rows `MODELS`."""
