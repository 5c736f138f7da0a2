"""Searches for failing words: networks that random words do not catch."""

import torch
from torch import nn

from nerode.analysis.extraction.oracle import Machine
from nerode.analysis.extraction.question import NetworkQuestion
from nerode.analysis.settle.failing_words import failing_searched_word, first_failure
from nerode.core import Budget
from nerode.languages import Alphabet, Moore, MooreQuestion
from nerode.records import Reading

ALPHABET = Alphabet(("a", "b"))


class Alternating(nn.Module):
    """Should always name class 0; names class 1 where letters have alternated for long."""

    def __init__(self, limit):
        super().__init__()
        self.limit = nn.Parameter(torch.tensor(limit))

    def initial_state(self, batch):
        return {"alternating": torch.zeros(batch, 1), "last": torch.zeros(batch, 1)}

    def step(self, x, state):
        changed = (x[:, None] != state["last"]).float()
        share = 0.9 * state["alternating"] + 0.1 * changed
        return torch.cat([self.limit - share, torch.zeros_like(share)], dim=1), {
            "alternating": share,
            "last": x[:, None].float(),
        }

    def forward(self, x, state=None):
        state = self.initial_state(len(x)) if state is None else state
        scores = []
        for letters in x.T:
            score, state = self.step(letters, state)
            scores.append(score)
        return torch.stack(scores, dim=1), state


def asked(limit):
    machine = Moore.explore(ALPHABET, 0, lambda state, letter: 0, lambda state: "0")
    question = NetworkQuestion(
        target=MooreQuestion("nothing", machine, ("0", "1")), reading=Reading.by_name(2)
    )
    return Machine(Alternating(limit), question), question


def test_a_search_follows_the_margin_to_a_word_that_is_seldom_drawn():
    machine, question = asked(limit=0.95)
    found = failing_searched_word(machine, question, letters=100, budget=Budget(seconds=60).start())
    assert found is not None
    assert (found.expected, found.got) == (("0",), ("1",))
    assert len(found.word) >= 28
    assert first_failure(machine, question, ALPHABET.encode(found.word)) == found
    # The last letters alternate: that is what the network gets wrong.
    assert all(a != b for a, b in zip(found.word[-20:], found.word[-19:], strict=False))


def test_a_search_finds_nothing_where_there_is_nothing_to_find():
    machine, question = asked(limit=1.5)
    assert failing_searched_word(machine, question, letters=100, budget=Budget(seconds=60).start()) is None


def test_a_search_ends_with_its_budget():
    machine, question = asked(limit=0.95)
    budget = Budget(seconds=1e-9).start()
    assert failing_searched_word(machine, question, letters=100, budget=budget) is None
