"""The models of the papers run and have the parameters that the papers count, or it is said why not."""

from __future__ import annotations

import pytest
import torch

from nerode.core import InputError, UnknownName
from nerode.models.base import Surroundings
from nerode.models.config import model_config
from nerode.models.model import Model, build_model
from nerode.models.published import all_configurations, configuration

DIFFERENT = {
    # As if the heads, 2 directions of 32 places and 2 strengths, had a second bias.
    "memory-counting-nru-8": (3139, 3205),
    "memory-counting-nru-64": (17027, 17093),
}
"""Our count and the paper's, where they are not the same."""


def build(name: str) -> Model:
    row = all_configurations()[name]
    sizes = {} if row.outputs else {"letters": 5, "outputs": 3}
    return build_model(configuration(name, **sizes), seed=0)


def in_blocks(name: str) -> int:
    """Parameters of all layers and what stands around them, without embedding and head."""
    return sum(p.numel() for p in build(name).blocks.parameters())


@pytest.mark.parametrize("name", all_configurations())
def test_every_configuration_runs(name: str) -> None:
    row = all_configurations()[name]
    assert row.name == name
    assert row.note
    model = build(name).eval()
    x = torch.randn(1, 2, 1) if row.features else torch.tensor([[1, 0]])
    with torch.no_grad():
        scores, _ = model(x)
    assert scores.shape == (1, 2, row.outputs or 3)
    assert torch.isfinite(scores).all()


def test_parameters_are_as_many_as_the_papers_count() -> None:
    counted = {name: row.parameters for name, row in all_configurations().items() if row.parameters}
    assert len(counted) >= 18
    ours = {name: build(name).num_parameters for name in counted}
    differences = {name: (ours[name], count) for name, count in counted.items() if ours[name] != count}
    assert differences == DIFFERENT


def test_which_models_of_table_6_have_three_million_parameters_a_layer() -> None:
    """The paper says "approximately 3 million" of all of them. Weights are counted by hand here."""
    by_hand = {
        "rnn": 768 * (256 + 768 + 2),
        "lstm": 4 * 768 * (256 + 768 + 2),
        "gru": 3 * 768 * (256 + 768 + 2),
        # Units, then the heads: directions to write and to erase, and two strengths.
        "nru": 1024 * (256 + 1024 + 256 + 1) + (2 * 256 + 2) * (1024 + 256 + 1),
        "transformer": 4 * 512 * (512 + 1) + 2048 * (512 + 1) + 512 * (2048 + 1) + 4 * 512,
        # A step, 64 numbers of C and 64 of the rates for each feature, D, the gated map, the norm.
        "s4d": 1174 * (1 + 64 + 64 + 1) + 2 * 1174 * (1174 + 1) + 2 * 1174,
        # in, convolution, x_proj, dt_proj, A, D, out, norm; 1024 channels, 16 states, rank 32.
        "mamba": 512 * 2048 + 1024 * 5 + 1024 * 64 + 33 * 1024 + 1024 * 17 + 1024 * 512 + 2 * 512,
        "ids4": 256 * 128**2 + 128 * 256 + 256 * (128 + 1) + 256**2 + 2 * 256,
    }
    assert {model: in_blocks(f"memory-tracking-{model}") for model in by_hand} == by_hand
    near = {model for model, count in by_hand.items() if abs(count - 3e6) < 0.06 * 3e6}
    assert near == {"lstm", "transformer", "s4d"}
    assert {model: round(count / 1e6, 1) for model, count in by_hand.items() if model not in near} == {
        "rnn": 0.8,
        "gru": 2.4,
        "nru": 2.2,
        "mamba": 1.7,
        "ids4": 4.3,
    }


@pytest.mark.parametrize(("depth", "low", "high"), [(1, 48_000, 57_000), (2, 101_000, 125_000)])
def test_the_models_of_table_7_are_comparable_but_for_mamba(depth: int, low: int, high: int) -> None:
    """As the paper says: of similar size, Mamba smaller."""
    for model in ("rnn", "lstm", "gru", "nru", "transformer", "s4d"):
        assert low < build(f"memory-copying-{model}-{depth}").num_parameters < high, model
    assert build(f"memory-copying-mamba-{depth}").num_parameters < low / 2


def test_sizes_can_be_changed() -> None:
    config = configuration("sarrof-mamba", letters=4, outputs=3, width=16, depth=3)
    assert (config.letters, config.outputs, config.width, len(config.layers)) == (4, 3, 16, 3)
    assert configuration("merrill-mamba").letters == 60
    counting = configuration("memory-counting-rnn-8", letters=4, outputs=2)
    assert (counting.letters, counting.features) == (4, None)


def test_unknown_names_and_missing_sizes_are_refused() -> None:
    with pytest.raises(UnknownName, match="merrill-mamba"):
        configuration("meril-mamba")
    with pytest.raises(InputError, match="give letters"):
        configuration("sarrof-mamba", letters=3)
    with pytest.raises(InputError, match="give letters"):
        configuration("sarrof-mamba", outputs=3)
    with pytest.raises(InputError, match="depth of 0"):
        configuration("merrill-mamba", depth=0)


def test_a_list_of_names_is_a_model() -> None:
    config = model_config("mamba, Mamba,attention", letters=3, outputs=2, width=8)
    assert [layer.name for layer in config.layers] == ["mamba", "mamba", "transformer-nope"]
    assert config.final_norm == "layer"
    model = build_model(config, seed=0)
    assert model.grows
    assert {name.split(".")[0] for name in model.initial_state(1)} == {"0", "1", "2"}
    letters = torch.randint(0, 3, (2, 7), generator=torch.Generator().manual_seed(0))
    whole, _ = model(letters)
    state = model.initial_state(2)
    for place, letter in enumerate(letters.unbind(1)):
        scores, state = model.step(letter, state)
        torch.testing.assert_close(scores, whole[:, place], rtol=1e-4, atol=1e-5)


def test_one_name_is_a_model_too() -> None:
    config = model_config("lstm", letters=3, outputs=2)
    assert len(config.layers) == 1
    assert config.final_norm == "none"
    around = Surroundings(norm="rms", residual=True)
    assert model_config("lstm", letters=3, outputs=2, surroundings=around).final_norm == "rms"


def test_sines_are_added_to_the_embedding() -> None:
    config = model_config("mamba,transformer-sine", features=3, outputs=2, width=8)
    assert config.positions == "sine"
    assert config.layers[1].resolve()[1].positions == "nope"
    assert "position" in build_model(config).initial_state(1)
    assert model_config("mamba,transformer", features=3, outputs=2).positions == "none"


def test_a_list_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UnknownName, match="mamba"):
        model_config("mamba,mmaba", letters=3, outputs=2)
    for names in ("", "mamba,,lstm", "mamba,"):
        with pytest.raises(InputError, match="empty name"):
            model_config(names, letters=3, outputs=2)
    with pytest.raises(InputError, match="either"):
        model_config("mamba", outputs=2)
