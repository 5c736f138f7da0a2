"""Star-freeness and groups inside without the monoid, against enumerating the monoid in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from libsemigroups_pybind11 import FroidurePin, ReportGuard, Transf

from benchmarks._rows import record
from benchmarks.subregular import automata
from nerode.algebra import find_counter, green, transition_monoid
from nerode.algebra.groups_inside import groups_inside
from nerode.algebra.profiles import profile_automaton
from nerode.core import Budget, BudgetExceeded
from nerode.languages import Alphabet, Dfa

T = TypeVar("T")

NUMBER = 1500
MOST_SECONDS = 15.0
PROFILE_SECONDS = 20.0
MOST_SECONDS_T10 = 2.0
FEASIBLE = Budget(elements=20_000, seconds=1e6)
COMPARED = 120


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Returns a result and the processor time it took: the machine may be shared."""
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def full_transformations(n: int) -> Dfa:
    rows = [[(q + 1) % n, {0: 1, 1: 0}.get(q, q), 1 if q == 0 else q] for q in range(n)]
    return Dfa(alphabet=Alphabet(("a", "b", "c")), transitions=rows, start=0, accepting=np.arange(n) == 0)


def by_our_monoid(dfa: Dfa) -> bool:
    return green(transition_monoid(dfa, FEASIBLE)).is_aperiodic


def by_libsemigroups(dfa: Dfa) -> int:
    """Enumerates only: what follows would come on top."""
    return int(FroidurePin([Transf(column) for column in dfa.transitions.T.tolist()]).size())


def report_suite(suite: list[tuple[str, Dfa]]) -> None:
    seconds: dict[str, list[tuple[float, bool]]] = {}
    for kind, dfa in suite:
        witness, spent = timed(lambda dfa=dfa: find_counter(dfa))
        seconds.setdefault(kind, []).append((spent, witness is None))
    print(f"{'kind':<22} {'number':>6} {'star-free':>9} {'states':>9} {'total s':>8} {'worst s':>8}")
    for kind, found in seconds.items():
        states = [dfa.num_states for k, dfa in suite if k == kind]
        times = [t for t, _ in found]
        print(
            f"{kind:<22} {len(found):>6} {sum(star_free for _, star_free in found):>9} "
            f"{int(np.median(states)):>4}/{max(states):<4} {sum(times):>8.2f} {max(times):>8.3f}"
        )
    total = sum(t for found in seconds.values() for t, _ in found)
    print(f"{len(suite)} automata: {total:.2f} s of at most {MOST_SECONDS:.0f} s")


def report_profiles(suite: list[tuple[str, Dfa]]) -> None:
    """Groups inside, all class tests and Green's relations, on every automaton."""
    spent = sum(timed(lambda dfa=dfa: profile_automaton(dfa))[1] for _, dfa in suite)
    row = record("groups and classes of 1,500 automata", "20 s", [spent], [PROFILE_SECONDS])
    print(f"groups, classes and Green's relations: {row.seconds:.1f} s of at most {PROFILE_SECONDS:.0f} s")


def report_full_transformations() -> None:
    for n in (8, 10, 12):
        found, spent = timed(lambda n=n: groups_inside(full_transformations(n)))
        names = ", ".join(g.structure.name for g in found)
        target = f" of at most {MOST_SECONDS_T10:.0f} s" if n == 10 else ""
        print(f"all {n**n:.1e} maps of {n} points: {names} in {spent:.2f} s{target}")


def report_ratios(suite: list[tuple[str, Dfa]]) -> None:
    """Compares on the automata of the suite whose monoid can be enumerated."""
    ours = monoid = theirs = 0.0
    compared = 0
    for _, dfa in suite:
        try:
            aperiodic, spent_monoid = timed(lambda dfa=dfa: by_our_monoid(dfa))
        except BudgetExceeded:
            continue
        witness, spent = timed(lambda dfa=dfa: find_counter(dfa))
        _, spent_theirs = timed(lambda dfa=dfa: by_libsemigroups(dfa))
        if aperiodic != (witness is None):
            raise AssertionError(f"the monoid of {dfa!r} disagrees with its images")
        ours, monoid, theirs = ours + spent, monoid + spent_monoid, theirs + spent_theirs
        compared += 1
    print(f"{compared} of {len(suite)} automata have a monoid of at most {FEASIBLE.elements:,} elements:")
    print(f"  images and pairs {ours:8.3f} s")
    print(f"  own monoid and Green's relations {monoid:8.3f} s   {monoid / ours:6.1f}x")
    print(f"  libsemigroups, enumeration only  {theirs:8.3f} s   {theirs / ours:6.1f}x")


def main() -> None:
    ReportGuard(False)
    suite = list(automata(NUMBER))
    report_suite(suite)
    report_profiles(suite)
    report_full_transformations()
    report_ratios(suite[:: len(suite) // COMPARED])


if __name__ == "__main__":
    main()
