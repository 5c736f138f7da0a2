"""IDS4: an automaton in its matrices, its draws, and what it refuses."""

from __future__ import annotations

import pytest
import torch

from nerode.core import InputError
from nerode.models.architectures.ids4 import Ids4, Ids4Settings

# a and b generate the symmetric group on three points: a swaps the first two, b is a cycle.
MOVES = {0: [1, 0, 2], 1: [1, 2, 0]}


def layer(inputs: int = 2, **settings: object) -> Ids4:
    torch.manual_seed(0)
    return Ids4(inputs, Ids4Settings(**settings)).requires_grad_(False)  # type: ignore[arg-type]


def test_any_automaton_fits_into_one_layer() -> None:
    """The published construction: a matrix of zeros and ones for each letter."""
    ours = layer(states=3, write=False, learned_start=True)
    with torch.no_grad():
        ours.A.zero_()
        for letter, moves in MOVES.items():
            for state, target in enumerate(moves):
                ours.A[letter, target, state] = 1
        ours.C.weight.copy_(torch.eye(2, 3))
        ours.C.bias.zero_()
        ours.D.weight.zero_()
        letters = torch.randint(0, 2, (1, 3000), generator=torch.Generator().manual_seed(1))
        outputs, state = ours(torch.nn.functional.one_hot(letters, 2).float())
    place, visited = 0, []
    for letter in letters[0].tolist():
        place = MOVES[letter][place]
        visited.append([float(place == 0), float(place == 1)])
    assert outputs[0].tolist() == visited
    assert state["h"].flatten().tolist() == [float(place == s) for s in range(3)]


def test_the_recurrence_by_hand() -> None:
    ours = layer(3, states=4, activation="gelu").double()
    x = torch.randn(1, 2, 3, dtype=torch.float64)
    h = torch.zeros(4, dtype=torch.float64)
    for t in range(2):
        matrix = torch.nn.functional.gelu(sum(x[0, t, k] * ours.A[k] for k in range(3)))
        h = matrix @ h + ours.B.weight @ x[0, t]
        wanted = ours.C.weight @ h + ours.C.bias + ours.D.weight @ x[0, t]
    torch.testing.assert_close(ours(x)[0][0, 1], wanted, rtol=1e-12, atol=1e-12)


def test_the_published_draw_and_the_balanced_one() -> None:
    published, balanced = layer(64, states=32, draw="published"), layer(64, states=32)
    noise = published.A - torch.eye(32)
    assert abs(float(noise.mean())) < 0.01
    assert float(noise.std()) == pytest.approx(32**-0.5, rel=0.02)
    torch.testing.assert_close(balanced.A * 128**0.5, published.A)
    x = torch.randn(4, 64, 64)
    with torch.no_grad():
        assert float(balanced(x)[1]["h"].abs().max()) < 100
        assert not torch.isfinite(published(x)[1]["h"]).all()


def test_a_state_that_is_always_zero_is_refused() -> None:
    with pytest.raises(InputError, match="always zero"):
        Ids4Settings(write=False)
    with pytest.raises(InputError, match="states is 0"):
        Ids4Settings(states=0)
