"""Compiled networks as ordinary models of the zoo: one file for each family of architectures."""
