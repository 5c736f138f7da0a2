from __future__ import annotations

import pytest

from nerode.core import Budget, BudgetExceeded
from nerode.languages.ngrams import BOS, parse_rules, seed_ngram_model
from nerode.languages.ngrams.language import support_graph


def test_contexts_that_cannot_end_are_left_out() -> None:
    graph = support_graph(parse_rules("<s> -> a\na -> b : 1/2\na -> c : 1/2\nb -> $\nc -> c"))
    assert graph.contexts == ((BOS,), (0,), (1,))
    assert [dict(moves) for moves in graph.moves] == [{0: 1}, {1: 2}, {}]
    assert graph.ends == (False, False, True)


def test_seed() -> None:
    graph = support_graph(seed_ngram_model(pads=3))
    assert len(graph.contexts) == 170
    assert sum(graph.ends) == 8


def test_budget() -> None:
    with pytest.raises(BudgetExceeded, match="states"):
        support_graph(seed_ngram_model(pads=3), Budget(states=20))
    with pytest.raises(BudgetExceeded, match="elements"):
        support_graph(seed_ngram_model(pads=3), Budget(elements=20))
