"""An ensemble is its members one by one: outputs, states, gradients and training."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from nerode.core import InputError
from nerode.models import ensembles
from nerode.models.base import Surroundings
from nerode.models.ensembles import Ensemble, build_ensemble
from nerode.models.model import ModelConfig, build_model
from nerode.models.zoo import LayerConfig

CELLS: dict[str, dict[str, Any]] = {
    "elman-tanh": {},
    "elman-relu": {"learned_start": True},
    "gru": {},
    "gru-reset-first": {},
    "lstm": {"learned_start": True},
    "nru": {"memory": 9, "heads": 1},
    "slstm": {"heads": 2},
    "slstm-block": {"heads": 2},
}
OTHERS = {"mamba": {}}
AROUND = Surroundings(norm="layer", residual=True, feed_forward="gelu", expansion=2.0)
SEEDS = (3, 1, 4)


def config(name: str, *, features: int | None = None, width: int | None = 4) -> ModelConfig:
    settings = {**CELLS, **OTHERS}[name]
    layer = LayerConfig(name=name, settings=settings)
    return ModelConfig(
        layers=(layer, layer),
        outputs=3,
        letters=5 if features is None else None,
        features=features,
        width=width,
        surroundings=AROUND,
        positions="sine",
        final_norm="layer",
    )


def letters(*shape: int) -> Tensor:
    return torch.randint(0, 5, shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", [*CELLS, *OTHERS])
@pytest.mark.parametrize("shared", [False, True])
def test_members_give_what_they_give_alone(name: str, shared: bool) -> None:
    ensemble = build_ensemble(config(name), seeds=SEEDS).double()
    assert ensemble.together == (name in CELLS)
    x = letters(2, 7) if shared else letters(3, 2, 7)
    scores, after = ensemble(x)
    scores.square().sum().backward()
    for number, seed in enumerate(SEEDS):
        alone = build_model(config(name), seed=seed).double()
        own, state = alone(x if shared else x[number])
        own.square().sum().backward()
        torch.testing.assert_close(scores[number], own, rtol=1e-10, atol=1e-12)
        assert set(state) == set(after)
        for part, value in state.items():
            torch.testing.assert_close(after[part][number], value, rtol=1e-10, atol=1e-12)
        gradients = [p.grad for p in alone.parameters()]
        for stacked, gradient in zip(ensemble.parameters(), gradients, strict=True):
            assert (stacked.grad is None) == (gradient is None)
            if stacked.grad is not None:
                torch.testing.assert_close(stacked.grad[number], gradient, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", [*CELLS, *OTHERS])
def test_steps_and_cuts_give_the_same(name: str) -> None:
    ensemble = build_ensemble(config(name), seeds=SEEDS).double()
    x = letters(3, 2, 6)
    with torch.no_grad():
        whole, _ = ensemble(x)
        first, state = ensemble(x[:, :, :2])
        rest, _ = ensemble(x[:, :, 2:], state)
        torch.testing.assert_close(torch.cat([first, rest], dim=2), whole, rtol=1e-10, atol=1e-12)
        state = ensemble.initial_state(2)
        for place in range(6):
            scores, state = ensemble.step(x[:, :, place], state)
            torch.testing.assert_close(scores, whole[:, :, place], rtol=1e-10, atol=1e-12)
        shared, _ = ensemble.step(x[0, :, 0], ensemble.initial_state(2))
        torch.testing.assert_close(shared[0], whole[0, :, 0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("width", [None, 4])
def test_features_and_one_hot_letters(width: int | None) -> None:
    features = config("gru", features=4, width=width)
    ensemble = build_ensemble(features, seeds=SEEDS).double()
    x = torch.randn(3, 2, 5, 4, dtype=torch.float64)
    scores, _ = ensemble(x)
    torch.testing.assert_close(scores[1], ensemble.member(1)(x[1])[0])
    plain = ModelConfig(layers=(LayerConfig(name="lstm", settings={"hidden": 4}),), outputs=3, letters=5)
    ensemble = build_ensemble(plain, seeds=SEEDS).double()
    torch.testing.assert_close(ensemble(letters(3, 2, 5))[0][2], ensemble.member(2)(letters(3, 2, 5)[2])[0])


@pytest.mark.parametrize("name", ["gru", "mamba"])
def test_training_together_is_training_alone(name: str) -> None:
    x, wanted = letters(3, 4, 8), torch.randn(3, 4, 8, 3)
    ensemble = build_ensemble(config(name), seeds=SEEDS).double()
    alone = [build_model(config(name), seed=seed).double() for seed in SEEDS]
    for models, runs in (
        ([ensemble], [(ensemble, x, wanted)]),
        (alone, [*zip(alone, x, wanted, strict=True)]),
    ):
        optimisers = [torch.optim.Adam(model.parameters(), lr=1e-2) for model in models]
        for _ in range(5):
            for optimiser, (model, given, target) in zip(optimisers, runs, strict=True):
                optimiser.zero_grad()
                (model(given)[0] - target).square().sum().backward()
                if isinstance(model, Ensemble):
                    model.clip_gradients(10.0)
                else:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
                optimiser.step()
    for member, model in zip(ensemble.members(), alone, strict=True):
        for (name, mine), other in zip(member.named_parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-8, msg=name)


def test_clipping_looks_at_each_member_by_itself() -> None:
    ensemble = build_ensemble(config("elman-tanh"), seeds=(0, 1))
    with pytest.raises(InputError, match="no gradients"):
        ensemble.clip_gradients(1.0)
    factors = torch.tensor([1e-6, 1e6])
    (ensemble(letters(2, 3, 4))[0].sum(dim=(1, 2, 3)) * factors).sum().backward()
    before = ensemble.clip_gradients(1.0)
    after = ensemble.clip_gradients(1.0)
    assert before[1] > 1
    torch.testing.assert_close(after[0], before[0])
    assert after[1].item() == pytest.approx(1)


def test_dropout_differs_from_member_to_member() -> None:
    plain = config("lstm")
    dropping = ModelConfig(
        layers=plain.layers, outputs=3, letters=5, width=4, surroundings=Surroundings(dropout=0.5)
    )
    same = [build_model(dropping, seed=0) for _ in range(2)]
    ensemble = Ensemble(same)
    scores, _ = ensemble(letters(2, 9))
    assert not torch.equal(scores[0], scores[1])
    scores, _ = ensemble.eval()(letters(2, 9))
    assert torch.equal(scores[0], scores[1])


@pytest.mark.parametrize("shared", [False, True])
def test_large_inputs_are_read_in_several_passes(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble = build_ensemble(config("gru"), seeds=range(5)).double()
    x = letters(2, 7) if shared else letters(5, 2, 7)
    state = ensemble.initial_state(2)
    once, after = ensemble(x, state)
    # Two members at a time: 2 * 7 positions, 4 units, 4 gates at most.
    monkeypatch.setattr(ensembles, "LARGEST", 2 * 7 * 16 * 2)
    assert ensemble._members_at_once(14) == 2
    scores, last = ensemble(x, state)
    torch.testing.assert_close(scores, once, rtol=1e-12, atol=1e-12)
    for name, value in after.items():
        torch.testing.assert_close(last[name], value, rtol=1e-12, atol=1e-12)


def test_a_member_is_a_copy() -> None:
    ensemble = build_ensemble(config("gru"), seeds=SEEDS)
    with torch.no_grad():
        next(ensemble.member(0).parameters()).fill_(7.0)
    assert not (next(ensemble.parameters()) == 7).any()
    with pytest.raises(InputError, match="no member 3"):
        ensemble.member(3)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="one model or more"):
        Ensemble([])
    with pytest.raises(InputError, match="same configuration"):
        Ensemble([build_model(config("gru")), build_model(config("lstm"))])
    ensemble = build_ensemble(config("gru"), seeds=SEEDS)
    with pytest.raises(InputError, match="3 members"):
        ensemble(letters(2, 3, 4))
    with pytest.raises(InputError, match="letter 9 is out of range"):
        ensemble(torch.full((3, 2, 2), 9))
    with pytest.raises(InputError, match="not empty"):
        ensemble(torch.zeros(2, 0, dtype=torch.int64))


@pytest.mark.parametrize("name", ["lstm", "mamba"])
def test_one_letter_that_does_not_fit_is_refused(name: str) -> None:
    ensemble = build_ensemble(config(name), seeds=SEEDS)
    state = ensemble.initial_state(2)
    with pytest.raises(InputError, match="letter 9 is out of range"):
        ensemble.step(torch.tensor([0, 9]), state)
    with pytest.raises(InputError, match="letter -1 is out of range"):
        ensemble.step(torch.tensor([[0, 1], [0, -1], [0, 1]]), state)
    with pytest.raises(InputError, match="3 members"):
        ensemble.step(torch.zeros(2, 2, dtype=torch.int64), state)
