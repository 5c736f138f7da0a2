"""The settings that a model is made from: those of a spec, for the sizes of a task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from nerode.core import InputError
from nerode.models.base import Norm, Surroundings, require_sizes
from nerode.models.kernels.norms import NORM_EPSILON
from nerode.models.zoo import LayerConfig, find_kind
from nerode.records import ModelSpec

SINE = "transformer-sine"
"""Attention without positions of its own, in a model that adds sines and cosines to its embedding."""

ALIASES = {"attention": "transformer-nope", "elman": "elman-tanh", "rnn": "elman-tanh"}
"""Other names under which a list of layers may call a member of the zoo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """The settings that a model is made from.

    Attributes:
        layers: the layers in order.
        outputs: number of scores at each position.
        letters: size of the vocabulary; None if the model reads features.
        features: number of features at each position; None if the model reads letters.
        width: features after the embedding; None reads letters as one-hot vectors, and features as given.
        surroundings: norm, residual and feed-forward part of each layer; None takes those that the
            architecture was published with.
        positions: what is added to the embedding to tell positions apart: "sine", learned vectors that
            repeat ("periodic"), or "learned" vectors, beyond whose number nothing is read.
        period: number of the vectors of "periodic" or "learned" positions.
        beginning: whether a mark of its own stands before every sequence, at position 0.
        final_norm: the norm before the head.
        embedding_norm: the norm after the embedding, which RWKV has.
        norm_epsilon: what all norms outside the layers add to a variance.
        head: "linear", "none" (the scores are the outputs of the last layer), or "relu" for one hidden layer.
        head_width: hidden units of a "relu" head.
        head_bias: whether the head adds a bias.
    """

    layers: tuple[LayerConfig, ...]
    outputs: int
    letters: int | None = None
    features: int | None = None
    width: int | None = None
    surroundings: tuple[Surroundings | None, ...] | Surroundings | None = None
    positions: Literal["none", "sine", "periodic", "learned"] = "none"
    period: int = 2
    beginning: bool = False
    final_norm: Norm = "none"
    embedding_norm: Norm = "none"
    norm_epsilon: float = NORM_EPSILON
    head: Literal["linear", "relu", "none"] = "linear"
    head_width: int = 0
    head_bias: bool = True

    def __post_init__(self) -> None:
        if not self.layers:
            raise InputError("the model has no layers; name one or more")
        if (self.letters is None) == (self.features is None):
            raise InputError(
                "give either the number of letters or the number of features that the model reads"
            )
        if self.beginning and (self.letters is None or self.width is None):
            raise InputError("a beginning mark needs letters with an embedding; give letters and width")
        require_sizes(self, "outputs", "letters", "features", "width", "period")
        if not 0 < self.norm_epsilon < 1:
            raise InputError(f"norm_epsilon is {self.norm_epsilon}; it lies between 0 and 1")
        if self.head == "relu" and self.head_width < 1:
            raise InputError("a relu head needs head_width, the number of its hidden units")
        if isinstance(self.surroundings, tuple) and len(self.surroundings) != len(self.layers):
            raise InputError(f"{len(self.surroundings)} surroundings are given for {len(self.layers)} layers")

    def around(self, number: int) -> Surroundings:
        """Returns what stands around a layer."""
        given = self.surroundings
        chosen = given[number] if isinstance(given, tuple) else given
        return self.layers[number].resolve()[0].surroundings if chosen is None else chosen

    def complete(self) -> ModelConfig:
        """Returns the same model with every setting written out, so that later defaults do not change it."""
        return replace(
            self,
            layers=tuple(layer.complete() for layer in self.layers),
            surroundings=tuple(self.around(number) for number in range(len(self.layers))),
        )


def spec_config(
    spec: ModelSpec, *, outputs: int, letters: int | None = None, features: int | None = None
) -> ModelConfig:
    """Returns the settings of a model of the zoo for the sizes of a task.

    What stands around each layer is what its architecture was published with, unless the spec says otherwise.
    If the last one has its norm before it and a residual path, the same norm stands before the head.

    Raises:
        UnknownName: for a name that the zoo does not have.
        InputError: for an empty name, or sizes that do not fit.
    """
    names = [part.strip().lower() for part in ",".join([spec.layers] * spec.depth).split(",")]
    if not all(names):
        raise InputError(
            f"the list of layers {spec.layers!r} has an empty name; write it like mamba,mamba,attention"
        )
    own = spec.layer_settings or ({},) * len(names)
    if len(own) != len(names):
        raise InputError(
            f"model.layer_settings has {len(own)} tables; the model has {len(names)} layers, "
            "each needs its table"
        )
    known = ["transformer-nope" if name == SINE else ALIASES.get(name, name) for name in names]
    last = spec.surroundings or [find_kind(name) for name in known][-1].surroundings
    norm = last.norm if last.residual and last.position == "pre" else "none"
    return ModelConfig(
        layers=tuple(
            LayerConfig(name=name, settings={**spec.settings, **extra})
            for name, extra in zip(known, own, strict=True)
        ),
        outputs=outputs,
        letters=letters,
        features=features,
        width=spec.width or None,
        surroundings=spec.surroundings,
        positions=spec.positions or ("sine" if SINE in names else "none"),
        final_norm=spec.final_norm or norm,
        head=spec.head,
        head_width=spec.head_width,
        head_bias=spec.head_bias,
        beginning=spec.beginning,
        embedding_norm=spec.embedding_norm,
        norm_epsilon=spec.norm_epsilon,
    )


def model_config(
    names: str,
    *,
    outputs: int,
    letters: int | None = None,
    features: int | None = None,
    width: int | None = 64,
    surroundings: Surroundings | None = None,
) -> ModelConfig:
    """Returns a model of the named layers, one after the other, as `spec_config` makes it.

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
    spec = ModelSpec(layers=names, width=width or 0, surroundings=surroundings)
    return spec_config(spec, outputs=outputs, letters=letters, features=features)
