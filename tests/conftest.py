"""Settings that all tests share."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# Two workers with two threads each would wait for each other; this counts before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Outputs are as wide as a pipe without a wish, in the workers of xdist, too.
os.environ.pop("COLUMNS", None)

# The machine is shared: how long one example takes says nothing about the code. Examples are the same in
# every run, so that a failure is never luck; `make test-fresh` draws fresh ones.
settings.register_profile("nerode", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("fresh", deadline=None, max_examples=200)
settings.load_profile(os.environ.get("NERODE_HYPOTHESIS", "nerode"))

SALT = os.environ.get("NERODE_SEEDS", "")
"""Another text gives every test other draws: a test that then fails passed by luck."""

ORDER = os.environ.get("NERODE_ORDER", "")
"""Another text gives another order of the tests: one that then fails leans on a neighbour."""

FIRST = """cli/badinput docs sweeps/test_kills verdict training explorer study reproduce sweeps models/whole
integration proofs/test_corruption models/test_conformance""".split()
"""Files that take long come first, so that neither worker is left alone with one at the end."""

APART = {"proofs/test_corruption", "models/test_conformance"}
"""Files whose tests share nothing; those of any other file share fixtures and caches, in one worker."""

pytest_plugins = ["tests.browser"]


def pytest_configure(config: pytest.Config) -> None:
    """Lets signals reach the tests, and keeps the order of the work between the workers.

    A shell that starts the tests in the background has them ignore signals, and all that they start.
    """
    if threading.current_thread() is threading.main_thread():
        for number, handler in (
            (signal.SIGINT, signal.default_int_handler),
            (signal.SIGQUIT, signal.SIG_DFL),
            (signal.SIGHUP, signal.SIG_DFL),
        ):
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, handler)
    # The default gives out the files with most tests first, so that long ones with few tests are last.
    config.option.loadscopereorder = False


def pytest_collection_finish() -> None:
    """Leaves modules and collected tests out of every later garbage collection: they stay to the end."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives each file to one worker, long files first, or shuffles the tests if an order is asked for.

    All workers get the same order.
    """
    for item in items:
        if group_of(item) is None and file_of(item) not in APART:
            item.add_marker(pytest.mark.xdist_group(file_of(item)))
    if ORDER:
        random.Random(ORDER).shuffle(items)
    else:
        items.sort(key=lambda item: next((i for i, n in enumerate(FIRST) if file_of(item).startswith(n)), 99))


def file_of(item: pytest.Item) -> str:
    """Returns the file of a test, without the folder of all tests and without its ending."""
    return item.nodeid.partition("::")[0].removeprefix("tests/").removesuffix(".py")


def group_of(item: pytest.Item) -> str | None:
    """Returns the name that tests share which have to run in one worker."""
    mark = item.get_closest_marker("xdist_group")
    return None if mark is None else str(mark.args[0])


def name_of(item: pytest.Item) -> str:
    """Returns the name of a test, to which workers add that of its group."""
    return item.nodeid.removesuffix(f"@{group_of(item)}")


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
    seed_everything(name_of(item))
    return (yield)
