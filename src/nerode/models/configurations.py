"""Whole models by name: those of the papers, and any list of layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from nerode.core import InputError, Reference, Registry
from nerode.models.model import ModelConfig
from nerode.models.surroundings import Norm, Surroundings
from nerode.models.zoo import LayerConfig, find_member

SINE = "transformer-sine"
"""Attention without positions of its own, in a model that adds sines and cosines to its embedding."""

ALIASES = {"attention": "transformer-nope", "elman": "elman-tanh", "rnn": "elman-tanh"}
"""Other names under which a list of layers may call a member of the zoo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A model of a paper: all of a ModelConfig but the sizes that belong to the task.

    Attributes:
        name: kebab-case.
        source: the paper.
        note: what it was used for, and what is not in the paper but inferred.
        layers: the layers in order.
        width: features after the embedding; None for one-hot letters.
        surroundings: of every layer; None for those of the architecture.
        positions: what is added to the embedding.
        final_norm: the norm before the head.
        scores: whether the last layer itself gives the scores, without a head.
        letters: size of the vocabulary in the paper, where it says one.
        features: number of features in the paper, for a model that reads features.
        outputs: number of scores in the paper.
        parameters: how many the paper counts with these sizes; None where it does not say.
    """

    name: str
    source: Reference
    note: str
    layers: tuple[LayerConfig, ...]
    width: int | None
    surroundings: Surroundings | None = None
    positions: Literal["none", "sine"] = "none"
    final_norm: Norm = "none"
    scores: bool = False
    letters: int | None = None
    features: int | None = None
    outputs: int | None = None
    parameters: int | None = None

    def of_depth(self, depth: int) -> Configuration:
        """Returns the same model with another number of layers, all alike; the count is then not known."""
        if depth < 1:
            raise InputError(f"a depth of {depth} was asked for; it has to be 1 or more")
        if depth == len(self.layers):
            return self
        return replace(self, layers=(self.layers[-1],) * depth, parameters=None)

    def model(self, *, letters: int | None, features: int | None, outputs: int | None) -> ModelConfig:
        """Returns the configuration for the sizes of a task; those not given are the paper's."""
        if letters is None and features is None:
            letters, features = self.letters, self.features
        outputs = self.outputs if outputs is None else outputs
        if outputs is None or (letters is None and features is None):
            raise InputError(
                f"the configuration {self.name!r} leaves the task open; give letters or features, and outputs"
            )
        layers = self.layers
        if self.scores:
            last = LayerConfig(name=layers[-1].name, settings={**layers[-1].settings, "outputs": outputs})
            layers = (*layers[:-1], last)
        return ModelConfig(
            layers=layers,
            outputs=outputs,
            letters=letters,
            features=features,
            width=self.width,
            surroundings=self.surroundings,
            positions=self.positions,
            final_norm=self.final_norm,
            head="none" if self.scores else "linear",
        )


CONFIGURATIONS: Registry[Configuration] = Registry(
    "configuration", hint="`nerode.models.configurations.all_configurations()` has them."
)


def all_configurations() -> Registry[Configuration]:
    """Returns the whole table."""
    import nerode.models.published  # noqa: F401  (fills the table)

    return CONFIGURATIONS


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
    row = all_configurations()[name.lower()]
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
