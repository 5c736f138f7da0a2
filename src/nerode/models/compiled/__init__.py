"""Compiled networks as torch modules; only `nerode.models.load` and this folder know the compiler."""
