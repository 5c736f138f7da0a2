"""Long words: a compiled network read as a stream, against a table walk of its automaton."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from nerode.compiler import compile_language
from nerode.languages.bestiary import find_language
from nerode.models.streaming import Stream, walk_table

TOKENS = 10_000_000
TARGETS = {1: 2.0}
"""Times of the walk that a network of so many layers may take; 10 for more."""

CASES = [
    ("parity", "diagonal-signed"),
    ("last-but-8", "dense"),
    ("flip-flop", "diagonal"),
    ("aab-star", "diagonal"),
    ("s3", "diagonal-complex"),
    ("s5-generators", "householder"),
]


def best(function: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        function()
        times.append(time.process_time() - begun)
    return statistics.median(times)


def main() -> None:
    print(
        f"{TOKENS:,} tokens, one thread, processor time, medians of 3; first visits are timed by themselves"
    )
    print(f"{'network':<34}{'layers':>7}{'states':>8}{'first, s':>10}{'stream':>13}{'walk':>13}{'ratio':>8}")
    for name, target in CASES:
        language = find_language(name)
        network = compile_language(language, target)
        word = np.random.default_rng(0).integers(0, len(network.alphabet), TOKENS).astype(np.uint8)
        dfa, stream = language.dfa(), Stream(network)
        table = np.ascontiguousarray((dfa.transitions * dfa.num_letters).astype(np.uint32))
        start = dfa.start * dfa.num_letters
        first = best(lambda s=stream, w=word: s.feed(w[:100_000]), repeats=1)
        ours, theirs = (
            best(lambda s=stream, w=word: s.feed(w)),
            best(lambda t=table, s=start, w=word: walk_table(t, s, w, None)),
        )
        ratio, most = ours / theirs, TARGETS.get(network.depth, 10.0)
        print(
            f"{name + ', ' + target:<34}{network.depth:>7}{network.state_size:>8}{first:>10.3f}"
            f"{TOKENS / ours:>13,.0f}{TOKENS / theirs:>13,.0f}{ratio:>8.2f}"
            f"  {'ok' if ratio <= most else 'MISSED'}"
        )
