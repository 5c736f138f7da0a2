"""Exact extraction: all states that a compiled network reaches, without clusters and without guesses."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nerode.analysis.extraction.moore import Moore
from nerode.analysis.extraction.oracle import Machine, States, joined
from nerode.analysis.extraction.question import NOTHING, legal_text
from nerode.core import Budget
from nerode.network import Interpreter, Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """The machine of all reachable states.

    Attributes:
        machine: the automaton, minimal.
        states: states of the network that words reach.
        steps: steps of the network that were made.
    """

    machine: Moore
    states: int
    steps: int


def close_network(network: Network, budget: Budget | None = None) -> Closure:
    """Returns the machine of all states that a network reaches in exact arithmetic.

    Args:
        network: a compiled network that the interpreter runs without rounding (`Interpreter.exact`).
        budget: limits the states and the time.

    Raises:
        BudgetExceeded: if more states are reached.
    """
    budget = budget or Budget()
    interpreter = Interpreter(network)
    alphabet = network.alphabet
    end = (None, NOTHING)
    seen: set[Hashable] = set()
    steps = 0

    def advance(state: Any, letter: int) -> Hashable:
        nonlocal steps
        configuration, output = state
        if configuration is None or alphabet.symbols[letter] not in output.split(" "):
            return end
        steps += 1
        after, answer = interpreter.step(configuration, letter)
        target = (after, legal_text(answer.legal, alphabet))
        if target[1] == NOTHING:
            return end
        seen.add(target)
        budget.check("states", len(seen), states_of_the_network=len(seen))
        return target

    start = (interpreter.start(), legal_text(interpreter.empty_answer().legal, alphabet))
    machine = Moore.explore(alphabet, start, advance, lambda state: state[1])
    return Closure(machine=machine.minimise(), states=machine.num_states, steps=steps)


def close_floats(machine: Machine, budget: Budget | None = None) -> Closure:
    """Returns the machine of all states that a compiled network reaches in floats, told apart by their bits.

    The bits of a compiled network do not depend on what is computed beside it, so the states are those of
    every run on this machine.

    Args:
        machine: a compiled network.
        budget: limits the states and the time.

    Raises:
        BudgetExceeded: if more states are reached.
    """
    budget = budget or Budget()
    level = machine.initial()
    number = {level.marks()[0]: 0}
    outputs = list(level.outputs)
    rows: list[list[int]] = []
    while len(level):
        after = machine.successors(level)
        new: list[States] = []
        columns = []
        for states in after:
            keys = states.marks()
            fresh = []
            for place, key in enumerate(keys):
                if key not in number:
                    number[key] = len(number)
                    outputs.append(states.outputs[place])
                    fresh.append(place)
            new.append(states.rows(fresh))
            columns.append([number[key] for key in keys])
        rows.extend(list(row) for row in zip(*columns, strict=True))
        budget.check("states", len(number), states_of_the_network=len(number))
        level = joined(new)
    table = np.array(rows, dtype=np.int32)
    found = Moore(alphabet=machine.alphabet, transitions=table, start=0, outputs=tuple(outputs))
    return Closure(machine=found.minimise(), states=len(number), steps=machine.queries.states)
