"""Merging states of the first layers that no later layer can tell apart.

The first layers of a network run by themselves. Two of their states are merged if under every word they
hand the same numbers to the layers above and to the decoder; what the network says then depends on the
merged state only. A depth kept in many registers, most of which hold leftovers, becomes one state a depth.
"""

from __future__ import annotations

from nerode.core import Budget, InputError
from nerode.proofs.checker_columns import State
from nerode.proofs.checker_evaluation import Evaluator, States
from nerode.proofs.checker_forms import Undecided, Value

_MAX_STATES = 50_000


def merge_layers(evaluator: Evaluator, count: int, budget: Budget) -> dict[States, States]:
    """Returns for every reachable state of the first layers the first one that does the same.

    Raises:
        InputError: if there are no such layers.
        Undecided: if they have too many states.
    """
    network = evaluator.network
    if not 1 <= count < len(network.layers):
        raise InputError(f"the first {count} layers of {len(network.layers)} cannot be merged")
    seen_above = {name for layer in network.layers[count:] for name in layer.reads} | set(
        evaluator.decoder_reads
    )
    shown = [name for layer in network.layers[:count] for name, _ in layer.outputs if name in seen_above]
    start = evaluator.start()[:count]
    number = {start: 0}
    order = [start]
    successors: list[list[int]] = []
    outputs: list[tuple[State, ...]] = []
    for states in order:
        row: list[int] = []
        said: list[tuple[Value, ...]] = []
        for letter in range(len(network.alphabet)):
            new, stream = evaluator.run_layers(states, letter)
            if new not in number:
                number[new] = len(order)
                order.append(new)
            row.append(number[new])
            said.append(tuple([stream.get(name, 0) for name in shown]))
        successors.append(row)
        outputs.append(tuple(said))
        if len(order) > _MAX_STATES:
            raise Undecided(f"the first {count} layers have more than {_MAX_STATES} states")
        budget.check_time(states_of_the_first_layers=len(order))
    block = _refine(outputs, successors)
    first: dict[int, States] = {}
    for states, b in zip(order, block, strict=True):
        first.setdefault(b, states)
    return {states: first[b] for states, b in zip(order, block, strict=True)}


def _refine(outputs: list[tuple[State, ...]], successors: list[list[int]]) -> list[int]:
    """Blocks of states that no word tells apart, by splitting until nothing splits."""
    block = _numbered(outputs)
    while True:
        finer = _numbered([(b, *[block[t] for t in row]) for b, row in zip(block, successors, strict=True)])
        if max(finer) == max(block):
            return finer
        block = finer


def _numbered(keys: list[tuple[State, ...]] | list[tuple[int, ...]]) -> list[int]:
    numbers: dict[tuple[State, ...] | tuple[int, ...], int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
