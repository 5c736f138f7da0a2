"""Settings that all tests share."""

from __future__ import annotations

import gc
import os
import random
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# Two workers with two threads each would wait for each other; this counts before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The machine is shared: how long one example takes says nothing about the code. Examples are the same in
# every run, so that a failure is never luck; `make test-fresh` draws fresh ones.
settings.register_profile("nerode", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("fresh", deadline=None, max_examples=200)
settings.load_profile(os.environ.get("NERODE_HYPOTHESIS", "nerode"))

SALT = os.environ.get("NERODE_SEEDS", "")
"""Another text gives every test other draws: a test that then fails passed by luck."""

ORDER = os.environ.get("NERODE_ORDER", "")
"""Another text gives another order of the tests: one that then fails leans on a neighbour."""

pytest_plugins = ["tests.browser"]


def pytest_collection_finish() -> None:
    """Leaves modules and collected tests out of every later garbage collection: they stay to the end."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffles the tests if an order is asked for; all workers get the same one."""
    if ORDER:
        random.Random(ORDER).shuffle(items)


def seed_everything(name: str) -> None:
    """Seeds every global generator from a name, so that draws depend neither on time nor on the order."""
    seed = zlib.crc32(f"{name}{SALT}".encode(errors="surrogatepass"))
    random.seed(seed)
    np.random.seed(seed)
    torch = sys.modules.get("torch")
    if torch is not None:
        # `torch.manual_seed` also keeps the stack for devices that are not there, 0.6 ms each time.
        torch.default_generator.manual_seed(seed)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> None:
    """Seeds by the fixture's name: one that several tests share is the same whichever runs first."""
    seed_everything(f"{fixturedef.baseid}::{fixturedef.argname}::{getattr(request, 'param', '')}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Seeds by the test's name, after its fixtures."""
    seed_everything(item.nodeid)
    return (yield)
