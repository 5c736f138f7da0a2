"""The NRU layer beside its formulas, computed one number at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.models.architectures.nru import Nru, NruSettings
from tests.models.architectures.peers import features

FORMS = list(itertools.product([True, False], [True, False], [1, 4]))


def by_formula(layer: Nru, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """h and m after a sequence of features."""
    s = layer.settings
    k, places = s.heads, s.memory
    w, b, u, g, c = (
        p.detach().numpy()
        for p in (layer.read.weight, layer.read.bias, layer.recurrent, layer.head_weight, layer.head_bias)
    )
    bend = (lambda v: np.maximum(v, 0)) if s.rectified else (lambda v: v)
    h, m = np.zeros(layer.outputs), np.zeros(places)
    for given in x:
        h = np.maximum(w @ given + b + u @ np.concatenate([h, m]), 0)
        heads = g @ np.concatenate([h, m]) + c
        alpha, beta, rest = bend(heads[:k]), bend(heads[k : 2 * k]), heads[2 * k :]
        change = np.zeros(places)
        for strengths, sign, numbers in (
            (alpha, 1, rest[: len(rest) // 2]),
            (beta, -1, rest[len(rest) // 2 :]),
        ):
            if s.factored:
                left, right = np.split(numbers, 2)
                numbers = np.array([p * q for p in left for q in right])
            for i in range(k):
                v = bend(numbers[i * places : (i + 1) * places])
                size = sum(abs(e) ** 5 for e in v) ** 0.2
                change += sign * strengths[i] * (v / size if size else v) / k
        m = m + change
    return h, m


@pytest.mark.parametrize(("factored", "rectified", "heads"), FORMS)
def test_the_layer_is_its_formula(factored: bool, rectified: bool, heads: int) -> None:
    torch.manual_seed(0)
    settings = NruSettings(hidden=5, memory=16, heads=heads, factored=factored, rectified=rectified)
    layer = Nru(3, settings).double()
    with torch.no_grad():
        layer.head_bias[: 2 * heads] += 0.5
    x = features(1, 9, 3)
    h, m = by_formula(layer, x[0].numpy())
    assert np.abs(m).max() > 0.01
    state = layer(x)[1]
    np.testing.assert_allclose(state["h"][0].detach().numpy(), h, atol=1e-12)
    np.testing.assert_allclose(state["memory"][0].detach().numpy(), m, atol=1e-12)


def test_one_head_writes_at_most_its_strength_and_a_silent_one_nothing() -> None:
    layer = Nru(2, NruSettings(memory=9, heads=1, rectified=True)).double()
    with torch.no_grad():
        layer.head_weight.zero_()
        layer.head_bias.zero_()
        layer.head_bias[0] = 3.0
        layer.head_bias[2:8] = 1.0
    memory = layer(features(1, 1, 2))[1]["memory"]
    assert memory.detach().abs().pow(5).sum().pow(0.2).item() == pytest.approx(3)
    with torch.no_grad():
        layer.head_bias[0] = -3.0
    assert (layer(features(1, 1, 2))[1]["memory"] == 0).all()


def test_maps_are_drawn_by_the_number_of_their_inputs() -> None:
    layer = Nru(10, NruSettings(hidden=40, memory=50, heads=2))
    assert 0.099 < layer.recurrent.abs().max() <= 0.1
    assert layer.read.weight.abs().max() <= 0.1
    assert 0.1 < layer.head_weight.abs().max() <= 90**-0.5


def test_the_number_of_parameters_is_that_of_the_authors_code() -> None:
    # Their maps: [h, m, x] to h, [h, m] to strengths and to two pairs of factors, each with a bias.
    layer = Nru(10, NruSettings(hidden=128, memory=64, heads=4))
    wanted = (64 + 128 + 10 + 1) * 128 + 2 * (64 + 128 + 1) * 4 + 2 * (64 + 128 + 1) * 2 * 16
    assert sum(p.numel() for p in layer.parameters()) == wanted


def test_a_learned_start_covers_the_memory() -> None:
    layer = Nru(2, NruSettings(memory=4, heads=1, learned_start=True))
    assert layer.start is not None
    with torch.no_grad():
        layer.start.copy_(torch.arange(6.0))
    state = layer.initial_state(1)
    assert state["h"].tolist() == [[0, 1]]
    assert state["memory"].tolist() == [[2, 3, 4, 5]]


@pytest.mark.parametrize("wrong", [{"memory": 0}, {"heads": 0}, {"hidden": 0}, {"memory": 8, "heads": 3}])
def test_sizes_that_do_not_fit_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"needs 1 or more|not a square"):
        NruSettings(**wrong)  # type: ignore[arg-type]


def test_any_memory_will_do_without_outer_products() -> None:
    layer = Nru(2, NruSettings(memory=8, heads=3, factored=False))
    assert layer(features(1, 2, 2, dtype=torch.float32))[1]["memory"].shape == (1, 8)
