"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import settings

# The machine is shared: how long one example takes says nothing about the code.
settings.register_profile("nerode", deadline=None)
settings.load_profile("nerode")
