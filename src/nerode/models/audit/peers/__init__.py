"""Layers of other libraries, one file per library; each has the rows `PEERS`."""
