"""Transition monoids and Green's relations, against libsemigroups in the same run."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import libsemigroups_pybind11 as ls

from benchmarks._rows import record
from nerode.algebra import green, transition_monoid
from nerode.algebra.monoid import TransitionMonoid
from nerode.core import Budget

V = TypeVar("V")
Letters = list[list[int]]

BUDGET = Budget(elements=2_000_000, bytes=4 << 30, seconds=1e6)
REPEATS = 3


def full(n: int) -> Letters:
    """All maps of n points."""
    return [[1, 0, *range(2, n)], [*range(1, n), 0], [0, 0, *range(2, n)]]


def order_preserving(n: int) -> Letters:
    """All order-preserving maps of n points."""
    found = []
    for i in range(n - 1):
        found += [[i + 1 if x == i else x for x in range(n)], [i if x == i + 1 else x for x in range(n)]]
    return found


def counter(n: int) -> Letters:
    """The automaton of bounded depth n: up, down, and a dead state."""
    return [[*range(1, n + 1), n + 1, n + 1], [n + 1, *range(n), n + 1]]


CASES = {"T6": full(6), "T7": full(7), "O10": order_preserving(10), "D100": counter(100)}


def best_of(work: Callable[[], V]) -> tuple[V, float]:
    """Returns the result and the least of a few times, in processor seconds: both work with one thread."""
    seconds = float("inf")
    for _ in range(REPEATS):
        started = time.process_time()
        result = work()
        seconds = min(seconds, time.process_time() - started)
    return result, seconds


def ours(letters: Letters) -> TransitionMonoid:
    """Elements and both Cayley graphs, which is what libsemigroups computes too."""
    monoid = transition_monoid(letters, BUDGET)
    _ = monoid.distinct_left
    return monoid


def theirs(letters: Letters) -> ls.FroidurePin:
    semigroup = ls.FroidurePin(*[ls.Transf(images) for images in letters])
    semigroup.run()
    return semigroup


def peak_memory_of(name: str) -> float:
    """Peak memory, in MiB, of a process that enumerates one case and computes its Green's relations."""
    program = f"from benchmarks.monoid import report_peak; report_peak({name!r})"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(run.stdout)


def report_peak(name: str) -> None:
    green(ours(CASES[name]), BUDGET)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    quiet = ls.ReportGuard(False)
    print(
        f"{'monoid':<7} {'elements':>9} {'nerode s':>9} {'libsemigroups s':>16} {'ratio':>7} {'Green s':>9}"
    )
    for name, letters in CASES.items():
        monoid, own = best_of(lambda letters=letters: ours(letters))
        semigroup, other = best_of(lambda letters=letters: theirs(letters))
        if int(monoid.in_semigroup.sum()) != semigroup.size():
            raise AssertionError(f"{name}: {len(monoid)} elements here, {semigroup.size()} there")
        record(f"monoid {name}", "libsemigroups", [own], [other])
        _, relations = best_of(lambda monoid=monoid: green(monoid, BUDGET))
        print(
            f"{name:<7} {len(monoid):>9,} {own:>9.3f} {other:>16.3f} {other / own:>6.1f}x {relations:>9.3f}"
        )
    print(f"T7 with Green's relations: peak memory {peak_memory_of('T7'):.0f} MiB (own process)")
    del quiet
