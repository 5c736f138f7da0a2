"""Time, depth and bits of cascades: the named languages and a thousand random counter-free automata.

Run from the top of the repository: `python -m benchmarks.cascades`.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

from nerode.algebra.cascades import Cascade, decompose, decompose_general
from nerode.languages import Dfa
from nerode.languages.bestiary import find_language
from tests.algebra.cascades.automata import COUNTER_FREE

STAR_FREE = (
    "tomita-1 tomita-2 tomita-4 tomita-7 ab-star aab-star aabb-star aabbccddee 012-star-02-star "
    "d-2 d-3 d-4 d-12 flip-flop contains-abaab contains-fibonacci-22 subsequence-abcdefgh last-but-8 "
    "dyck-2-2 dyck-2-3 dyck-2-4 dyck-2-5 dyck-2-8 dyck-3-3 dyck-4-3 dyck-8-3"
).split()
WITH_GROUPS = (
    "parity tomita-3 tomita-5 tomita-6 abab-star s3 d4 q8 a4 s4 z60 a4xz5 a5 s5 modular-arithmetic".split()
)

NUM_RANDOM = 1_000
MOST_STATES = 8


def timed(build: Callable[[], Cascade]) -> tuple[Cascade, float]:
    start = time.perf_counter()
    cascade = build()
    return cascade, time.perf_counter() - start


def show_language(name: str, dfa: Dfa, decomposition: Callable[[Dfa], Cascade]) -> None:
    cascade, seconds = timed(lambda: decomposition(dfa))
    layers = " ".join("+".join(str(cascade.levels[i].num_labels) for i in layer) for layer in cascade.layers)
    print(
        f"{name:24}{dfa.num_states:5} states  {cascade.depth:3}/{cascade.bits:<4}{cascade.num_rows:6} rows "
        f"{seconds * 1e3:8.1f} ms  labels {layers[:60]}  {cascade.route}"
    )


def random_automata(seed: int = 0) -> dict[str, list[Dfa]]:
    """As many of each kind, each of two to eight states."""
    rng = random.Random(seed)
    found: dict[str, list[Dfa]] = {kind: [] for kind in COUNTER_FREE}
    for kind, automata in found.items():
        while len(automata) < NUM_RANDOM // len(found):
            dfa = COUNTER_FREE[kind](rng)
            if 2 <= dfa.num_states <= MOST_STATES:
                automata.append(dfa)
    return found


def show_random() -> None:
    total = 0.0
    for kind, automata in random_automata().items():
        results = [timed(lambda dfa=dfa: decompose(dfa)) for dfa in automata]
        depths = [cascade.depth for cascade, _ in results]
        bits = [cascade.bits for cascade, _ in results]
        seconds = sum(s for _, s in results)
        total += seconds
        print(
            f"{kind:24}{len(automata):5} automata  "
            f"depth median {statistics.median(depths)} max {max(depths)}  "
            f"bits median {statistics.median(bits)} max {max(bits)}  {seconds:.2f} s"
        )
    print(f"random automata, decomposed and checked: {total:.2f} s")


def main() -> None:
    for name in STAR_FREE:
        show_language(name, find_language(name).dfa(), decompose)
    for name in WITH_GROUPS:
        show_language(name, find_language(name).dfa(), decompose_general)
    show_random()


if __name__ == "__main__":
    main()
