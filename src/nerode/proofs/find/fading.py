"""A finder of proofs about memories that fade, whose states are too many to list.

A node is a configuration of the language with the bits of all that does not fade and, where that is not
enough, some more last letters. Boxes grow by the images of other boxes until little is still to come, and get
room for that.

Nothing here is a proof: `replay.fading` has the last word.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nerode.core import Budget, BudgetExceeded
from nerode.kernel import Certificate
from nerode.languages import Language, language_hash
from nerode.models import Model
from nerode.proofs.answers import letters_read
from nerode.proofs.find.schedule import Work
from nerode.proofs.proving import Unproved
from nerode.proofs.replay.fading import FADING, fading_claim, replay_fading, require_fading
from nerode.proofs.replay.listing import describe_arithmetic, fingerprint
from nerode.proofs.runner import State, layout_of, to_rows

Json = Any

_LETTERS = (0, 6)
"""Last letters that a node knows beyond the window of the layer; the first that works is taken."""

_MOST_EDGES = 1_500
_SWEEPS, _ROUNDS = 20, 400
"""Times that boxes grow by the images of others before coordinates are left out, and how often in all."""

_SLOWEST = 1 - 1e-6
"""The largest gate of a coordinate that fades."""

_PROBE = 64.0
"""A state from which gates are read: large beside what is written, so that little is rounded off."""

_ROUNDINGS = 4e-7
"""What one step in float32 is off by, as a share of the largest value; more than it takes."""

_ENOUGH, _PATIENCE = 0.01, 30
"""Room beyond what was reached that is little, as a share of the largest value; after so many rounds twice as
much is, again and again: a gate that is nearly 1 takes its time."""


def fading_search(
    model: Model, language: Language, task: str, budget: Budget
) -> Work[Certificate | Unproved]:
    """Looks for a certificate for all lengths in float32, as a strategy that can be paused.

    Args:
        model: one layer that tells how it reads its state (`Model.reading`).
        language: what it should do; a symbol may follow where its score is above 0.
        task: PREDICT or VALID_PREFIXES.
        budget: limits the time.

    Raises:
        InputError: if the model is another.
    """
    require_fading(model)
    reason = "there are too many nodes"
    for letters in _LETTERS:
        graph = _explore(model, language, task, letters)
        if graph is None:
            break
        try:
            found = yield from _close(model, graph, budget)
            if found is None:
                reason = "the boxes do not close"
                continue
            certificate = _certificate(model, language, task, graph, *found)
            failure = replay_fading(model, language, certificate, budget=budget)
        except BudgetExceeded as stop:
            return Unproved(reason=str(stop))
        if failure is None:
            return certificate
        reason = failure.what
    return Unproved(reason=f"no boxes of a fading memory: {reason}")


@dataclass(frozen=True, kw_only=True)
class _Graph:
    """Nodes and where letters lead.

    Attributes:
        fades: the name of the state that has boxes.
        rest: the other parts of the state at each node.
        start: the first state.
        moves: for each node the target of each letter, -1 for one that is not read.
        edges: all (node, letter, target).
    """

    fades: str
    rest: State
    start: State
    moves: list[list[int]]
    edges: list[tuple[int, int, int]]


@torch.no_grad()
def _explore(model: Model, language: Language, task: str, letters: int) -> _Graph | None:
    """The graph of configurations with what does not fade and some last letters; None if it is too large."""
    start = model.initial_state(1)
    fades = model.reading(torch.zeros(1, dtype=torch.int64), start).state
    first = {name: part for name, part in start.items() if name != fades}
    nodes: list[tuple[Hashable, State, tuple[int, ...]]] = [(language.initial(), first, ())]
    number: dict[tuple[Hashable, bytes, tuple[int, ...]], int] = {
        (language.initial(), to_rows(first, 1).tobytes(), ()): 0
    }
    moves: list[list[int]] = []
    edges: list[tuple[int, int, int]] = []
    for here, (configuration, rest, last) in enumerate(nodes):
        moves.append([-1] * len(language.alphabet))
        for letter in letters_read(language, configuration, task):
            _, after = model.step(torch.tensor([letter]), {**rest, fades: start[fades]})
            kept = {name: part for name, part in after.items() if name != fades}
            recent = (*last, letter)[-letters:] if letters else ()
            reached = language.advance(configuration, letter)
            key = (reached, to_rows(kept, 1).tobytes(), recent)
            if key not in number:
                number[key] = len(nodes)
                nodes.append((reached, kept, recent))
            moves[here][letter] = number[key]
            edges.append((here, letter, number[key]))
        if len(edges) > _MOST_EDGES:
            return None
    rest = {name: torch.cat([node[1][name] for node in nodes]) for name in first}
    return _Graph(fades=fades, rest=rest, start=start, moves=moves, edges=edges)


@torch.no_grad()
def _close(model: Model, graph: _Graph, budget: Budget) -> Work[tuple[Tensor, Tensor] | None]:
    """The ends of boxes that should be closed, node by node; None if a coordinate does not fade."""
    gate, write = _moves(model, graph)
    slowest = gate.abs().amax(0)
    if bool((slowest > _SLOWEST).any()):
        return None
    sources, _, targets = (torch.tensor(column) for column in zip(*graph.edges, strict=True))
    shape = (len(graph.moves), *graph.start[graph.fades].shape[1:])
    low = torch.full((len(graph.moves), len(slowest)), torch.inf, dtype=torch.float64)
    high = -low
    low[0] = high[0] = graph.start[graph.fades].flatten()
    # Coordinates do not see each other; those that have nearly all of their size are left out.
    active = torch.arange(len(slowest))
    for round_number in range(_ROUNDS):
        budget.check_time()
        yield _SWEEPS * len(graph.edges)
        ends, growth = (low[:, active], high[:, active]), torch.zeros(len(active))
        for _ in range(_SWEEPS):
            before = ends
            ends = _grown(sources, targets, gate[:, active], write[:, active], *ends)
            growth = torch.maximum(before[0] - ends[0], ends[1] - before[1]).amax(0)
        size = torch.maximum(ends[0].abs(), ends[1].abs()).amax(0)
        # What a coordinate grows by shrinks by its slowest gate at least; roundings are fed back alike.
        room = (1.01 * growth + _ROUNDINGS * size) / (1 - slowest[active])
        done = room <= _ENOUGH * 2 ** (round_number / _PATIENCE) * size
        low[:, active] = torch.where(done, ends[0] - room, ends[0])
        high[:, active] = torch.where(done, ends[1] + room, ends[1])
        active = active[~done]
        if not len(active):
            return low.float().reshape(shape), high.float().reshape(shape)
    return None


def _moves(model: Model, graph: _Graph) -> tuple[Tensor, Tensor]:
    """The gate and the write of each edge and coordinate, up to roundings."""
    sources, letters, _ = (torch.tensor(column) for column in zip(*graph.edges, strict=True))
    rest = {name: part[sources] for name, part in graph.rest.items()}
    start = graph.start[graph.fades].expand(len(sources), *graph.start[graph.fades].shape[1:])
    write, both = (
        model.step(letters, {**rest, graph.fades: torch.full_like(start, value)})[1][graph.fades]
        .double()
        .flatten(1)
        for value in (0.0, _PROBE)
    )
    return (both - write) / _PROBE, write


def _grown(
    sources: Tensor, targets: Tensor, gate: Tensor, write: Tensor, low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor]:
    """Boxes that also hold the images of all boxes; one that nothing has led to yet has none."""
    known = low[sources].isfinite()
    images = [torch.where(known, gate * end[sources] + write, torch.nan) for end in (low, high)]
    one = torch.minimum(*images).nan_to_num(torch.inf)
    other = torch.maximum(*images).nan_to_num(-torch.inf)
    index = targets[:, None].expand_as(one)
    return low.scatter_reduce(0, index, one, "amin"), high.scatter_reduce(0, index, other, "amax")


def _certificate(
    model: Model, language: Language, task: str, graph: _Graph, low: Tensor, high: Tensor
) -> Certificate:
    sha = fingerprint(model)
    layout: list[list[Any]] = [[p.name, list(p.shape), p.dtype] for p in layout_of(graph.start)]
    ends = [
        [row.tobytes().hex() for row in np.asarray(to_rows({**graph.rest, graph.fades: end}, len(end)))]
        for end in (low, high)
    ]
    evidence = {
        "task": task,
        "dtype": "float32",
        "module": sha,
        "arithmetic": describe_arithmetic(),
        "layout": layout,
        "low": ends[0],
        "high": ends[1],
        "moves": graph.moves,
    }
    return Certificate(
        network=sha,
        language=language_hash(language),
        claims=(fading_claim(task),),
        evidence={FADING: evidence},
    )
