"""Which model a run trains: layers of the zoo, a configuration of a paper, or a module of the user."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from torch import nn

from nerode.core import InputError, stream, to_mapping
from nerode.models import (
    LayerConfig,
    ModelConfig,
    Norm,
    Surroundings,
    build_model,
    configuration,
    model_config,
)
from nerode.tasks import Task
from nerode.training.own_models import build_seeded, builder_file, import_builder

Build = Callable[[Task], nn.Module]
"""What makes a model for a task: `forward(x, state) -> (scores, state)`, with None for the first state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model, but for the sizes that belong to the task.

    Attributes:
        layers: names of the zoo separated by commas, in order.
        depth: how often the list of layers is repeated.
        width: features after the embedding; 0 reads letters as one-hot vectors.
        settings: of every layer.
        layer_settings: of each layer, on top of `settings`; empty, or one table for each layer.
        surroundings: norm, residual and feed-forward part of every layer; None for the published ones.
        positions: what is added to the embedding; None for what the names say.
        final_norm: the norm before the head; None for what goes with the last layer.
        head: "linear", "relu" (one hidden layer) or "none".
        head_width: hidden units of a "relu" head.
        head_bias: whether the head adds a bias.
        configuration: name of a model of a paper, instead of all of the above but width (0 for the paper's)
            and depth (0 for the paper's).
        module: "module:function" that builds the user's own model; importing it runs its code.
    """

    layers: str = "mamba"
    depth: int = 1
    width: int = 16
    settings: dict[str, Any] = field(default_factory=dict)
    layer_settings: tuple[dict[str, Any], ...] = ()
    surroundings: Surroundings | None = None
    positions: Literal["none", "sine"] | None = None
    final_norm: Norm | None = None
    head: Literal["linear", "relu", "none"] = "linear"
    head_width: int = 0
    head_bias: bool = True
    configuration: str = ""
    module: str = ""

    def __post_init__(self) -> None:
        if self.width < 0:
            raise InputError(f"model.width is {self.width}; it has to be 0 (one-hot letters) or more")
        if self.depth < (0 if self.configuration else 1):
            raise InputError(f"model.depth is {self.depth}; it has to be 1 or more")
        if self.module and self.configuration:
            raise InputError("model.module and model.configuration exclude each other; give one of them")

    @property
    def title(self) -> str:
        """The name of the model in tables."""
        if self.module or self.configuration:
            return self.module or self.configuration
        name = self.layers.replace(" ", "").replace(",", "+")
        return name if self.depth == 1 else f"{name} ×{self.depth}"

    def config(self, task: Task) -> ModelConfig:
        """Returns the configuration for the sizes of a task, every setting written out."""
        sizes = {"letters": task.letters, "features": task.features}
        if self.configuration:
            return configuration(
                self.configuration,
                outputs=task.outputs,
                width=self.width or None,
                depth=self.depth or None,
                **sizes,
            ).complete()
        config = model_config(
            ",".join([self.layers] * self.depth),
            outputs=task.outputs,
            width=self.width or None,
            surroundings=self.surroundings,
            **sizes,
        )
        return replace(
            config,
            layers=self._layers(config.layers),
            positions=config.positions if self.positions is None else self.positions,
            final_norm=config.final_norm if self.final_norm is None else self.final_norm,
            head=self.head,
            head_width=self.head_width,
            head_bias=self.head_bias,
        ).complete()

    def _layers(self, named: tuple[LayerConfig, ...]) -> tuple[LayerConfig, ...]:
        own = self.layer_settings or ({},) * len(named)
        if len(own) != len(named):
            raise InputError(
                f"model.layer_settings has {len(own)} tables; the model has {len(named)} layers, "
                "each needs its table"
            )
        return tuple(
            replace(layer, settings={**layer.settings, **self.settings, **extra})
            for layer, extra in zip(named, own, strict=True)
        )

    def complete(self, task: Task) -> dict[str, Any]:
        """Returns all that the model is made from, as plain values."""
        return {"module": self.module} if self.module else to_mapping(self.config(task))

    def file_hashes(self) -> dict[str, str]:
        """Returns the SHA-256 of the file of the user's own module, by its name; empty without one.

        What that module imports is not looked at.
        """
        path = builder_file(self.module) if self.module else None
        if path is None or not path.is_file():
            return {}
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}

    def build(self, task: Task, *, seed: int, build: Build | None = None) -> nn.Module:
        """Returns the model with weights drawn by the seed.

        Args:
            task: what it is for.
            seed: of the run.
            build: makes the model instead of what the spec says.
        """
        draw = int(stream(seed, "init").integers(2**63))
        if build is None and self.module:
            build = import_builder(self.module)
        if build is not None:
            return build_seeded(build, task, draw)
        return build_model(self.config(task), seed=draw)
