"""Searches for failing words: networks that random words do not catch."""

import torch
from torch import nn

from nerode.core import Budget
from nerode.languages import Alphabet, Moore, MooreQuestion
from nerode.proofs.find.schedule import finished
from nerode.proofs.find.words import WordReader, shrinking_margins
from nerode.proofs.replay.subject import make_subject
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
    question = MooreQuestion("nothing", machine, ("0", "1"))
    module = Alternating(limit)
    return WordReader(
        make_subject("x", about="x", module=module, question=question, reading=Reading.by_name(2))
    )


def searched(reader, seconds=60.0):
    budget = Budget(seconds=seconds).start()
    return finished(shrinking_margins(reader, letters=100, budget=budget))


def test_a_search_follows_the_margin_to_a_word_that_is_seldom_drawn():
    reader = asked(limit=0.95)
    found = searched(reader)
    assert found is not None
    assert (found.expected, found.got) == (("0",), ("1",))
    assert len(found.word) >= 28
    assert reader.first_failure(ALPHABET.encode(found.word)) == found
    # The last letters alternate: that is what the network gets wrong.
    assert all(a != b for a, b in zip(found.word[-20:], found.word[-19:], strict=False))


def test_a_search_finds_nothing_where_there_is_nothing_to_find():
    assert searched(asked(limit=1.5)) is None


def test_a_search_ends_with_its_budget():
    assert searched(asked(limit=0.95), seconds=1e-9) is None
