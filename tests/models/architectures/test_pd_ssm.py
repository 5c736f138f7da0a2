"""PD-SSM: one entry in each column, the published embedding of automata, and its gradient."""

from __future__ import annotations

import math

import pytest
import torch

from nerode.core import InputError
from nerode.models.architectures.pd_ssm import PdSsm, PdSsmSettings

# Three letters on three states: a cycle, a reset to the last state, and nothing.
MOVES = ([1, 2, 0], [2, 2, 2], [0, 1, 2])


def layer(inputs: int = 3, **settings: object) -> PdSsm:
    torch.manual_seed(0)
    return PdSsm(inputs, PdSsmSettings(**settings)).double().requires_grad_(False)  # type: ignore[arg-type]


def test_every_column_has_one_entry_inside_the_unit_disk() -> None:
    ours = layer(states=6)
    matrices = ours.matrices(torch.randn(40, 3, dtype=torch.float64))[:, 0]
    assert matrices.shape == (40, 6, 6)
    assert (matrices.abs() > 0).sum(-2).eq(1).all()
    assert float(matrices.abs().max()) < 1
    moves = ours.moves(torch.randn(40, 3, dtype=torch.float64))
    assert set(moves.detach().unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_an_automaton_runs_exactly(dtype: torch.dtype) -> None:
    """With the sizes saturated at 1 and phases at 0 (σ = 1 is a whole turn, up to rounding)."""
    ours = layer(states=3, dictionary=3, write=False)
    with torch.no_grad():
        ours.S.weight.copy_(1000 * torch.eye(3))
        ours.dictionary.zero_()
        for letter, moves in enumerate(MOVES):
            for state, target in enumerate(moves):
                ours.dictionary[letter, target, state] = 1
        for mlp, bias in ((ours.size, 100.0), (ours.phase, -1000.0)):
            last = mlp[2]
            assert isinstance(last, torch.nn.Linear)
            last.weight.zero_()
            last.bias.fill_(bias)
        ours.C.weight.copy_(torch.eye(3, 6))
        ours.C.bias.zero_()
        ours.d.zero_()
        letters = torch.randint(0, 3, (1, 2000), generator=torch.Generator().manual_seed(1))
        outputs, _ = ours.to(dtype)(torch.nn.functional.one_hot(letters, 3).to(dtype))
    state, visited = 0, []
    for letter in letters[0].tolist():
        state = MOVES[letter][state]
        visited.append(state)
    assert outputs[0].argmax(-1).tolist() == visited
    assert set(outputs.unique().tolist()) == {0.0, 1.0}


def test_the_recurrence_by_hand() -> None:
    ours = layer(3, states=4)
    x = torch.randn(1, 2, 3, dtype=torch.float64)
    h = torch.tensor([1, 0, 0, 0], dtype=torch.complex128)
    for u in x[0]:
        mixed = sum(w * m for w, m in zip(ours.S(u).softmax(0), ours.dictionary, strict=True))
        d = ours.size(u).sigmoid() * torch.exp(2j * math.pi * ours.phase(u).sigmoid())
        moved = torch.zeros(4, dtype=torch.complex128)
        for column in range(4):
            row = int(mixed[:, column].argmax())
            moved[row] += d[column].detach() * h[column]
        h = moved + torch.view_as_complex(ours.B.detach()) @ u.to(torch.complex128)
    wanted = ours.C(torch.cat([h.real, h.imag])) + ours.d * x[0, 1]
    outputs, state = ours(x)
    torch.testing.assert_close(outputs[0, 1], wanted, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(state["h"].flatten(), h, rtol=1e-12, atol=1e-12)


def test_gradients_go_through_the_softmax_of_each_column() -> None:
    """The gradient of the dictionary is that of the softmax, in a model that chooses hard."""
    ours = layer(states=4).requires_grad_()
    u = torch.randn(3, dtype=torch.float64)
    weight = torch.randn(4, 4, dtype=torch.float64)
    (found,) = torch.autograd.grad((ours.moves(u) * weight).sum(), ours.dictionary)
    mixed = torch.einsum("k,kij->ij", ours.S(u).softmax(0), ours.dictionary)
    (wanted,) = torch.autograd.grad((mixed.softmax(dim=0) * weight).sum(), ours.dictionary)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    hard = layer(states=4, straight_through=False).requires_grad_()
    assert not hard.moves(u).requires_grad


def test_weights_are_drawn_as_published() -> None:
    ours = layer(64, states=32, dictionary=16)
    assert float(ours.dictionary.std()) == pytest.approx(32**-0.5, rel=0.05)
    assert ours.B is not None
    assert float(ours.B.std()) == pytest.approx(64**-0.5, rel=0.05)
    assert float(ours.d.std()) == pytest.approx(64**-0.5, rel=0.3)
    assert ours.S.bias is None
    assert PdSsmSettings().dictionary == 8


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="dictionary is 0"):
        PdSsmSettings(dictionary=0)
