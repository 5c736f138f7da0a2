"""Whole models by name: those of the papers, and any list of layers."""

from __future__ import annotations

from dataclasses import replace

from nerode.core import InputError, Registry
from nerode.models.base import Surroundings
from nerode.models.model import ModelConfig, PublishedModel
from nerode.models.published import formal_languages, memory
from nerode.models.zoo import LayerConfig, find_member

SINE = "transformer-sine"
"""Attention without positions of its own, in a model that adds sines and cosines to its embedding."""

ALIASES = {"attention": "transformer-nope", "elman": "elman-tanh", "rnn": "elman-tanh"}
"""Other names under which a list of layers may call a member of the zoo."""


def _collect() -> Registry[PublishedModel]:
    table: Registry[PublishedModel] = Registry(
        "configuration", hint="`nerode.models.configurations.all_configurations()` has them."
    )
    for row in (*formal_languages.MODELS, *memory.MODELS):
        table.add(row.name, row)
    return table


_CONFIGURATIONS = _collect()


def all_configurations() -> Registry[PublishedModel]:
    """Returns the models of the papers, by name."""
    return _CONFIGURATIONS


def configuration(
    name: str,
    *,
    letters: int | None = None,
    features: int | None = None,
    outputs: int | None = None,
    width: int | None = None,
    depth: int | None = None,
) -> ModelConfig:
    """Returns the model of a paper, or raises UnknownName with the nearest.

    Args:
        name: of the configuration.
        letters: size of the vocabulary; the paper's when not given.
        features: number of features at each position, instead of letters.
        outputs: number of scores; the paper's when not given.
        width: another width than the paper's.
        depth: another number of layers than the paper's.
    """
    row = _CONFIGURATIONS[name.lower()]
    row = row if depth is None else row.of_depth(depth)
    row = row if width is None else replace(row, width=width, parameters=None)
    return row.model(letters=letters, features=features, outputs=outputs)


def model_config(
    names: str,
    *,
    outputs: int,
    letters: int | None = None,
    features: int | None = None,
    width: int | None = 64,
    surroundings: Surroundings | None = None,
) -> ModelConfig:
    """Returns a model of the named layers, one after the other.

    What stands around each layer is what its architecture was published with. If the last one has its norm
    before it and a residual path, the same norm stands before the head.

    Args:
        names: names of the zoo, separated by commas ("mamba,mamba,transformer-nope"), or one.
        outputs: number of scores at each position.
        letters: size of the vocabulary.
        features: number of features at each position, instead of letters.
        width: features after the embedding; None for one-hot letters.
        surroundings: of every layer, instead of the published ones.

    Raises:
        UnknownName: for a name that the zoo does not have.
        InputError: for an empty name, or sizes that do not fit.
    """
    parts = [part.strip().lower() for part in names.split(",")]
    if not all(parts):
        raise InputError(
            f"the list of layers {names!r} has an empty name; write it like mamba,mamba,attention"
        )
    layers = tuple(_layer(part) for part in parts)
    last = surroundings or find_member(layers[-1].name).kind.surroundings
    return ModelConfig(
        layers=layers,
        outputs=outputs,
        letters=letters,
        features=features,
        width=width,
        surroundings=surroundings,
        positions="sine" if SINE in parts else "none",
        final_norm=last.norm if last.residual and last.position == "pre" else "none",
    )


def _layer(name: str) -> LayerConfig:
    name = "transformer-nope" if name == SINE else ALIASES.get(name, name)
    return LayerConfig(name=find_member(name).name)
