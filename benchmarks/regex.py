"""Regular expression to minimal automaton, against automata-lib in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from automata.fa.dfa import DFA
from automata.fa.nfa import NFA

from nerode.core import Budget, BudgetExceeded
from nerode.languages.regex import regex_to_dfa

V = TypeVar("V")

BUDGET = Budget(states=100_000, seconds=1e6)
REPEATS = 3

PATTERNS = {
    "nested stars, depth 12": "(a" * 12 + "b)*" * 12,
    "nested stars, depth 40": "(a" * 40 + "b)*" * 40,
    "contains a word of 22": "(a|b)*abaababaabaababaababaa(a|b)*",
    "a, then 8 letters": "(a|b)*a(a|b){8}",
    "a, then 12 letters": "(a|b)*a(a|b){12}",
    "a, then 14 letters": "(a|b)*a(a|b){14}",
    "bounded repeats": "((ab?){2,6}(ba){1,9}){1,8}",
    "300 binary words": "|".join(f"{7 * i:012b}" for i in range(300)),
    "all of 5 letters": "&".join(f"[a-h]*{c}[a-h]*" for c in "abcde"),
}


def best_of(work: Callable[[], V]) -> tuple[V, float]:
    """Returns the result and the least of a few times, in seconds."""
    seconds = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - started)
    return result, seconds


def main() -> None:
    print(f"{'pattern':<24} {'states':>7} {'nerode s':>9} {'automata-lib s':>15} {'ratio':>7}")
    for name, pattern in PATTERNS.items():
        dfa, ours = best_of(lambda pattern=pattern: regex_to_dfa(pattern, budget=BUDGET.start()))
        theirs_dfa, theirs = best_of(
            lambda pattern=pattern: DFA.from_nfa(NFA.from_regex(pattern), minify=True)
        )
        # automata-lib leaves out the dead state.
        missing = dfa.num_states - len(theirs_dfa.states)
        if missing not in (0, 1):
            raise AssertionError(f"{name}: {dfa.num_states} states here, {len(theirs_dfa.states)} there")
        print(f"{name:<24} {dfa.num_states:>7} {ours:>9.4f} {theirs:>15.4f} {theirs / ours:>6.1f}x")
    started = time.perf_counter()
    try:
        regex_to_dfa("(a|b)*a(a|b){24}")
    except BudgetExceeded as stop:
        print(f"a, then 24 letters: stopped after {time.perf_counter() - started:.2f} s; {stop}")


if __name__ == "__main__":
    main()
