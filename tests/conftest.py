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
from xdist.scheduler import LoadScopeScheduling

# Two workers with two threads each would wait for each other; this counts before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Outputs are as wide as a pipe without a wish, in the workers of xdist, too.
os.environ.pop("COLUMNS", None)

# The machine is shared: how long one example takes says nothing about the code. Examples are the same in
# every run, so that a failure is never luck; `make test-fresh` draws fresh ones.
settings.register_profile("nerode", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("fresh", deadline=None, max_examples=200)
settings.load_profile(os.environ.get("NERODE_HYPOTHESIS", "nerode"))

SALT = os.environ.get("NERODE_SEEDS", "")
"""Another text gives every test other draws: a test that then fails passed by luck."""

ORDER = os.environ.get("NERODE_ORDER", "")
"""Another text gives another order of the tests: one that then fails leans on a neighbour."""

FIRST = """cli/badinput explorer docs integration verdict report sweeps/test_kills training
study reproduce models/lower/test_published proofs/test_corruption models/test_conformance""".split()
"""Files that take long come first, so that neither worker is left alone with one at the end."""

TOGETHER = ("verdict/", "explorer/")
"""Folders whose files share what one process has computed."""

APART = {"integration/test_bestiary_networks", "proofs/test_corruption", "models/test_conformance"}
"""Files that both workers share, by the first word of the parameters."""

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
    # Nothing that is imported or collected is garbage.
    gc.disable()


def pytest_collection_finish() -> None:
    """Leaves modules and collected tests out of every garbage collection, and collects more rarely."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts long files first, or shuffles the tests if an order is asked for: the same in all workers."""
    if ORDER:
        random.Random(ORDER).shuffle(items)
    else:
        items.sort(
            key=lambda item: next((i for i, n in enumerate(FIRST) if file_of(item.nodeid).startswith(n)), 99)
        )


class ByUnit(LoadScopeScheduling):
    """Gives each unit of tests to one worker, where its tests share fixtures and caches.

    The groups of xdist 3.8 do this no longer: it writes them into an attribute that pytest 9.2 does not read.
    """

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Returns what deals the tests out to the workers."""
    return ByUnit(config, log)


def unit_of(nodeid: str) -> str:
    """Returns the name that tests share which one worker runs: their file, as a rule."""
    file = file_of(nodeid)
    if file in APART:
        return f"{file}[{nodeid.partition('[')[2].partition('-')[0]}"
    return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def file_of(nodeid: str) -> str:
    """Returns the file of a test, without the folder of all tests and without its ending."""
    return nodeid.partition("::")[0].removeprefix("tests/").removesuffix(".py")


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
