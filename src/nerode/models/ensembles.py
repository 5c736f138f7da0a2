"""Many models of one shape at once, each with its own weights: all the seeds of an experiment in one call.

The weights of the members are stacked in front, and every operation runs once for all of them. What comes out
for a member is what the member alone would give (up to rounding, and to which units dropout drops).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from nerode.core import InputError
from nerode.models.architectures.elman import Elman
from nerode.models.architectures.gru import Gru
from nerode.models.architectures.lstm import Lstm
from nerode.models.architectures.nru import Nru
from nerode.models.architectures.slstm import Slstm
from nerode.models.base import State
from nerode.models.model import Model, ModelConfig, build_model

TOGETHER = (Elman, Gru, Lstm, Nru, Slstm)
"""The layers whose kernels take all members at once; models with other layers run member by member."""

LARGEST = 1 << 22
"""About how many numbers a tensor has at most in one pass on a CPU. The memory of larger ones goes back to
the system after every use, and getting it again costs more than a second pass."""


class _Member(nn.Module):
    """A model whose weights can be replaced for the time of one call."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, work: Callable[[Model], Any]) -> Any:
        return work(self.model)


class Ensemble(nn.Module):
    """Models with the same configuration; a tensor of weights or states has the axis of members first.

    `parameters()` are the stacked weights, so that an optimiser that treats every number by itself (SGD,
    Adam) trains each member as if it were alone, if the losses of the members are added.

    Args:
        models: the members; they are copied.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        super().__init__()
        if not models:
            raise InputError("an ensemble needs one model or more; none was given")
        self.config = models[0].config
        for model in models:
            if model.config != self.config:
                raise InputError("the models of an ensemble must all have the same configuration")
        self.size = len(models)
        self.together = all(isinstance(layer, TOGETHER) for layer in models[0].layers)
        self._member = _Member(copy.deepcopy(models[0]))
        self._stack(models)

    @torch.no_grad()
    def _stack(self, models: Sequence[Model]) -> None:
        """Puts the weights of all models where those of the first one are."""
        shape = self._member.model
        for name, first in [*shape.named_parameters()]:
            stacked = torch.stack([model.get_parameter(name) for model in models])
            _put(shape, name, nn.Parameter(stacked, requires_grad=first.requires_grad))
        for name, _ in [*shape.named_buffers()]:
            _put(shape, name, torch.stack([model.get_buffer(name) for model in models]))

    def member(self, number: int) -> Model:
        """Returns one of the models by itself, with a copy of its weights."""
        if not -self.size <= number < self.size:
            raise InputError(f"there is no member {number}; the ensemble has {self.size}, numbered from 0")
        model = Model(self.config)
        anchor = next(self.parameters())
        model.to(device=anchor.device, dtype=anchor.dtype)
        model.load_state_dict(
            {name: value[number] for name, value in self._member.model.state_dict().items()}
        )
        return model.train(self.training)

    def initial_state(self, batch: int) -> State:
        """Returns the states before the first position, (members, batch, …)."""
        states: State = self._each(lambda model: model.initial_state(batch))
        return states

    def forward(
        self, x: Tensor, state: State | None = None
    ) -> tuple[Float[Tensor, "members batch time outputs"], State]:
        """Returns the scores of every member at each position of its sequences, and the states after them.

        Args:
            x: letters (members, batch, time) or features (members, batch, time, features); without the axis
                of members, all members read the same.
            state: the states to go on from; the initial states when not given.
        """
        shared = self._check(x, time=True)
        places = x.shape[-2:] if self.config.features is None else x.shape[-3:-1]
        scores, after = self._each(Model.run, x, state, dim=None if shared else 0, positions=places.numel())
        return scores, after

    def step(self, x: Tensor, state: State) -> tuple[Float[Tensor, "members batch outputs"], State]:
        """Returns the scores of every member at one position, and the states after it.

        Args:
            x: letters (members, batch) or features (members, batch, features); or without the members.
            state: the states before it; they are not changed.
        """
        shared = self._check(x, time=False)
        scores, after = self._each(Model.advance, x, state, dim=None if shared else 0)
        return scores, after

    def _check(self, x: Tensor, *, time: bool) -> bool:
        """Whether all members read the same; raises InputError unless they can read x."""
        shared = x.ndim == 1 + int(time) + int(self.config.features is not None)
        if not shared and (x.ndim < 2 or len(x) != self.size):
            raise InputError(
                f"the ensemble was given a tensor of shape {tuple(x.shape)}; the first of its axes has to "
                f"have one entry for each of {self.size} members, or to be the batch that all of them read"
            )
        self._member.model.check(x if shared else x.flatten(0, 1), time=time)
        return shared

    def clip_gradients(self, largest: float) -> Float[Tensor, " members"]:
        """Returns the norm of each member's gradients, after scaling those down that are above `largest`.

        The norms are those before the scaling.
        """
        gradients = [p.grad for p in self.parameters() if p.grad is not None]
        if not gradients:
            raise InputError("there are no gradients to clip; call backward first")
        squares = torch.stack([g.flatten(1).square().sum(1) for g in gradients])
        norms = squares.sum(0).sqrt()
        factors = (largest / (norms + 1e-6)).clamp(max=1)
        for gradient in gradients:
            gradient.mul_(factors.view(-1, *(1 for _ in gradient.shape[1:])))
        return norms

    def _each(self, work: Callable[..., Any], *given: Any, dim: int | None = None, positions: int = 1) -> Any:
        """The stacked results of `work(model, x, state)` for all members; x has the members on axis `dim`."""
        weights = dict(self._member.named_parameters()) | dict(self._member.named_buffers())
        dims = [dim, *(None if part is None else 0 for part in given[1:])][: len(given)]

        def run(own: dict[str, Tensor], *parts: Any) -> Any:
            return torch.func.functional_call(self._member, own, (lambda model: work(model, *parts),))

        if self.together:
            chunk = self._members_at_once(positions)
            mapped = torch.vmap(run, in_dims=(0, *dims), randomness="different", chunk_size=chunk)
            return mapped(weights, *given)
        results = [
            run(*(_part(value, d, number) for value, d in zip((weights, *given), (0, *dims), strict=True)))
            for number in range(self.size)
        ]
        return tree_map(lambda *values: torch.stack(values), *results)

    def _members_at_once(self, positions: int) -> int | None:
        """The number of members to run in one pass over so many positions; None for all."""
        if next(self.parameters()).device.type != "cpu":
            return None
        # The gates of a cell are its widest tensor.
        widest = 4 * max(layer.outputs for layer in self._member.model.layers)
        count = max(1, LARGEST // (positions * widest))
        return None if count >= self.size else count

    def members(self) -> Iterator[Model]:
        """Gives all models by themselves, with copies of their weights."""
        return (self.member(number) for number in range(self.size))


def build_ensemble(config: ModelConfig, *, seeds: Sequence[int]) -> Ensemble:
    """Returns models of one configuration, each with weights drawn by its own seed."""
    return Ensemble([build_model(config, seed=seed) for seed in seeds])


def _put(model: nn.Module, name: str, value: Tensor) -> None:
    place, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(place), leaf, value)


def _part(given: Any, dim: int | None, number: int) -> Any:
    """The part of the inputs that one member reads."""
    return given if dim is None else tree_map(lambda value: value[number], given)
