"""Recipes: settings for an architecture and a language, refused where there is none."""

import pytest

from nerode.analysis.recipes import RECIPES, recipe
from nerode.core import InputError
from nerode.languages.bestiary import find_language
from nerode.models import find_kind
from nerode.records import merge_tables
from nerode.tasks import build_task
from nerode.training import make_spec, spec_model_config


def spec_of(task, architecture):
    return make_spec(merge_tables(recipe({"name": task}, architecture), {"task": {"name": task}}))


def test_every_row_names_an_architecture_with_such_gates_and_a_language():
    for row in RECIPES:
        find_language(row.language)
        kind = find_kind(row.architecture)
        assert row.exact.get("gates", "two") in kind.gates
        spec = spec_of(f"predict-{row.language}", row.architecture)
        config = spec_model_config(spec.model, build_task(spec.task))
        assert len(config.layers) == len(row.layers)
        for layer, own in zip(config.layers, row.layers, strict=True):
            assert own.items() <= layer.settings.items()
        assert row.exact.items() <= {name: getattr(spec.run.exact, name) for name in row.exact}.items()
        for name, value in row.run.items():
            assert getattr(spec.run, name) == value


def test_depth_is_that_of_the_row_unless_the_user_names_another():
    assert spec_of("predict-d-3", "mamba").model.depth == 3
    two = spec_of("predict-d-3", "mamba+mamba")
    assert (two.model.depth, two.model.layer_settings) == (2, ())
    assert two.model.settings["convolution"] == 3
    assert "convolution" not in spec_of("predict-tomita-4", "mamba").model.settings


def test_the_schedule_is_held_for_two_fifths_of_the_updates():
    for task, steps in (("predict-dyck-2-3", 4_000), ("predict-d-3", 400)):
        spec = spec_of(task, "mamba")
        assert (spec.run.steps, spec.optimiser.hold) == (steps, 2 * steps // 5)


def test_layers_that_read_letters_as_they_are_have_no_embedding():
    assert spec_of("predict-set-reset", "gla").model.width == 0
    bare = spec_of("predict-set-reset", "lstm").model
    assert (bare.width, bare.final_norm, bare.surroundings.residual) == (16, "none", False)
    with pytest.raises(InputError, match="give one layer"):
        recipe({"name": "predict-set-reset"}, "gla+gla")


def test_a_tanh_cell_has_noise_boxes_and_more_units_for_more_states():
    small, large = (spec_of(task, "elman") for task in ("parity", "predict-s3"))
    assert (small.model.settings["hidden"], large.model.settings["hidden"]) == (32, 48)
    for spec in (small, large):
        assert spec.run.exact.judge == "boxes"
        assert min(spec.run.exact.noise, spec.run.exact.boxes) > 0
    # Boxes would not tell the elements apart.
    assert spec_of("s3", "elman").run.exact.judge == "closure"


@pytest.mark.parametrize(
    ("task", "layers"),
    [("parity", "lru"), ("parity", "mamba+lru"), ("parity", "elman+lru"), ("copying", "elman")],
)
def test_what_cannot_be_certified_is_refused_before_training(task, layers):
    with pytest.raises(InputError):
        recipe({"name": task}, layers)
