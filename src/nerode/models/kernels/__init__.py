"""Scans and step loops, fast on the CPU, with plain references beside them."""
