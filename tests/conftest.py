"""Settings that all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# Two workers with two threads each would wait for each other; this counts before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The machine is shared: how long one example takes says nothing about the code.
settings.register_profile("nerode", deadline=None)
settings.load_profile("nerode")

pytest_plugins = ["tests.browser"]
