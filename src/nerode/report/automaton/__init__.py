"""Drawings of automata: layout in layers or on a ring, routes, labels, SVG."""
