"""The contexts of a model as a graph: which words can follow, and what can still end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nerode.core import Budget
from nerode.languages.ngrams.next_word import Context, NextWordModel


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportGraph:
    """The contexts that a sentence can pass through, and the words between them.

    Only contexts from which the end can be reached are kept. The graph is empty if the model has no
    sentence; otherwise state 0 is the start.

    Attributes:
        contexts: the context of each state.
        moves: for each state the words of positive probability and the states they lead to.
        ends: whether the sentence may end there.
    """

    contexts: tuple[Context, ...]
    moves: tuple[Mapping[int, int], ...] = field(hash=False)
    ends: tuple[bool, ...]

    @property
    def num_moves(self) -> int:
        """Number of edges."""
        return sum(len(moves) for moves in self.moves)


def support_graph(model: NextWordModel, budget: Budget | None = None) -> SupportGraph:
    """Returns the graph of the contexts of a model, from its start.

    Args:
        model: a model that predicts sentences from their first word.
        budget: bounds the contexts (`states`) and the edges (`elements`).
    """
    budget = budget or Budget()
    number: dict[Context, int] = {model.initial(): 0}
    order = [model.initial()]
    moves: list[dict[int, int]] = []
    ends: list[bool] = []
    num_moves = 0
    for context in order:
        following = model.distribution(context)
        row = {}
        for word in following:
            if word != model.end:
                target = model.follow(context, word)
                if target not in number:
                    number[target] = len(order)
                    order.append(target)
                row[word] = number[target]
        moves.append(row)
        ends.append(model.end in following)
        num_moves += len(row)
        budget.check("states", len(order), contexts=len(order))
        budget.check("elements", num_moves, contexts=len(order), moves=num_moves)
    return _live_part(order, moves, ends)


def _live_part(order: list[Context], moves: list[dict[int, int]], ends: list[bool]) -> SupportGraph:
    """Keeps what can reach an end; a start that cannot leaves nothing."""
    sources: list[list[int]] = [[] for _ in order]
    for state, row in enumerate(moves):
        for target in row.values():
            sources[target].append(state)
    live = list(ends)
    work = [state for state, end in enumerate(ends) if end]
    while work:
        for source in sources[work.pop()]:
            if not live[source]:
                live[source] = True
                work.append(source)
    if not live[0]:
        return SupportGraph(contexts=(), moves=(), ends=())
    kept = [state for state in range(len(order)) if live[state]]
    number = {state: i for i, state in enumerate(kept)}
    return SupportGraph(
        contexts=tuple(order[state] for state in kept),
        moves=tuple(
            {word: number[target] for word, target in moves[state].items() if live[target]} for state in kept
        ),
        ends=tuple(ends[state] for state in kept),
    )
