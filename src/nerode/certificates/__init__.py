"""Proofs about networks, and the program that checks them without knowing who wrote them."""
