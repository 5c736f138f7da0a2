"""Certificates in floats: what a module does in the format it runs in, roundings included; needs torch."""
