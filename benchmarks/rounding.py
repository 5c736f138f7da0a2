"""A standing adversary for float cells: rounded steps that count modulo m, shown by closed sets of states.

    python -m benchmarks rounding [--seconds S] [--moduli 2 3] [--seed N]

For each kind of step parameters are drawn in float16. From the start the letters "hold" and "count" are read
until no new state turns up. A set of states that is closed, and in which each state has one count modulo m,
is a register that every map between layers can read: it refutes a "no" and settles an open cell. The delta
rule is the control: its staircase is found. What is found is printed with its parameters.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np

F = np.float16
State = tuple[float, ...]
Step = Callable[[State, int], State]

_MOST = 400
"""States of a closed set."""


def _rounded(*values: np.float16) -> State:
    return tuple(float(value) for value in values)


def real_gate(random: np.random.Generator) -> tuple[Step, State, str]:
    """Returns h ← g h + w with a fixed real gate."""
    gate, hold, count, start = (F(value) for value in random.normal(size=4))

    def step(state: State, letter: int) -> State:
        return _rounded(gate * F(state[0]) + (count if letter else hold))

    return step, _rounded(start), f"gate {gate}, writes {hold} and {count}"


def complex_gate(random: np.random.Generator) -> tuple[Step, State, str]:
    """Returns z ← λ z + w with a fixed complex gate in the unit disk, real and imaginary parts rounded."""
    angle, size = random.uniform(0, 2 * np.pi), random.choice([1.0, random.uniform(0.5, 1)])
    c, s = F(size * np.cos(angle)), F(size * np.sin(angle))
    scale = 2.0 ** random.integers(-10, 8)
    start = [F(value * scale) for value in random.normal(size=2)]
    writes = [[F(value) for value in random.normal(size=2)] for _ in range(2)]

    def step(state: State, letter: int) -> State:
        re, im = F(state[0]), F(state[1])
        return _rounded((c * re - s * im) + writes[letter][0], (s * re + c * im) + writes[letter][1])

    return step, _rounded(*start), f"gate {c} + {s} i, writes {writes}, start {start}"


def delta_rule(random: np.random.Generator) -> tuple[Step, State, str]:
    """Returns the delta rule with one key of four halves beside a large entry, β in (0,1)."""
    beta, write, start = F(random.uniform(0.05, 1)), F(random.uniform(0, 2)), F(random.uniform(0, 2))
    half, large = F(0.5), F(2.0**11)

    def step(state: State, letter: int) -> State:
        if not letter:
            return state
        read = F(0)
        for value in state:
            read = read + F(value) * half
        change = beta * (write - read)
        return _rounded(*(F(value) + change * half for value in state))

    return step, _rounded(large, start, start, -large), f"β {beta}, v {write}, h {start}"


KINDS = {"real fixed gate": real_gate, "complex fixed gate": complex_gate, "delta rule, β < 1": delta_rule}


def closed_counter(step: Step, start: State, modulus: int) -> int:
    """Returns the number of states of a closed set that counts, 0 if there is none."""
    count = {start: 0}
    waiting = [start]
    for state in waiting:
        for letter in (0, 1):
            after = step(state, letter)
            wanted = (count[state] + letter) % modulus
            if not all(np.isfinite(after)) or count.setdefault(after, wanted) != wanted:
                return 0
            if len(count) > _MOST:
                return 0
            if len(count) > len(waiting):
                waiting.append(after)
    return len(count)


def main(arguments: Sequence[str] = ()) -> None:
    """Prints what the search finds for each kind of step and modulus."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks rounding")
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU seconds per kind and modulus")
    parser.add_argument("--moduli", type=int, nargs="*", default=[2, 3])
    parser.add_argument("--seed", type=int, default=20261119)
    chosen = parser.parse_args(arguments)
    with np.errstate(all="ignore"):
        for kind, draw in KINDS.items():
            for modulus in chosen.moduli:
                random, begun, draws = np.random.default_rng(chosen.seed), time.process_time(), 0
                found = ""
                while not found and time.process_time() - begun < chosen.seconds:
                    step, start, about = draw(random)
                    states, draws = closed_counter(step, start, modulus), draws + 1
                    found = f"{states} states: {about}" if states else ""
                print(f"{kind:20} modulo {modulus}: {found or 'nothing found'} ({draws:,} draws)", flush=True)
