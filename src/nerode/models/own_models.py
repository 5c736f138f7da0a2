"""Own models: modules of users beside those of the zoo, by what they offer and not by their class.

A module that maps (x, state) to scores and state can be trained and asked word by word. With `step` and
`initial_state` its states can be observed, extracted, repaired and listed in proofs. With `trace` it shows
them at its own speed, and with `transition` it reports the linear map of each position. `as_layered` gives
analyses one view of all of these: a list of layers, each with its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.base import (
    DenseTransition,
    DiagonalTransition,
    HouseholderTransition,
    State,
    Trace,
    Transition,
    trace_steps,
)
from nerode.models.model import Model

MOST_STATES = 512
"""A derivative of a step has as many rows as the state has numbers; more than this is not computed."""


@runtime_checkable
class StatefulModule(Protocol):
    """A module whose states can be observed: `forward`, `step` and `initial_state` share them by name."""

    def initial_state(self, batch: int) -> State:
        """Returns the state before the first position."""
        ...

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the scores of one position and the state after it."""
        ...


def is_stateful(model: nn.Module) -> bool:
    """Returns whether the states of a module can be observed and have a fixed size."""
    return isinstance(model, StatefulModule) and not getattr(model, "grows", False)


class OwnLayer:
    """An own model as the one layer of itself, which reads letters or features."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grows = bool(getattr(module, "grows", False))

    def initial_state(self, batch: int) -> State:
        """Returns the state before the first position."""
        state: State = self.module.initial_state(batch)
        return state

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the scores of one position and the state after it."""
        found: tuple[Tensor, State] = self.module.step(x, state)
        return found

    def transition(self, x: Tensor, state: State | None = None) -> Transition | None:
        """Returns the linear map of each position; None if the module does not report it."""
        give = getattr(self.module, "transition", None)
        found = give(x, state) if callable(give) else None
        if found is not None and not isinstance(
            found, DiagonalTransition | HouseholderTransition | DenseTransition
        ):
            raise InputError(
                f"transition() of {type(self.module).__name__} gave {type(found).__name__}; it has to give a "
                "DiagonalTransition, a HouseholderTransition or a DenseTransition of nerode.models, or None"
            )
        return found

    def trace(self, x: Tensor, state: State | None = None) -> Trace:
        """Returns the scores and all states in between, by the module's own trace or step by step."""
        give = getattr(self.module, "trace", None)
        if callable(give):
            own = give(x, state)
            return Trace(outputs=own.outputs, states=dict(own.states))
        return trace_steps(self, x, state)

    def squashed_recurrence(self) -> None:
        """Returns None: the weights of an own cell are not known by name."""
        return


class OwnModel:
    """An own model as analyses see a model of the zoo: one layer, whose inputs are those of the model."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.layers = [OwnLayer(module)]
        self.grows = self.layers[0].grows

    def inputs_of(self, number: int, x: Tensor, state: State | None = None) -> Tensor:
        """Returns what layer `number` reads."""
        return x

    def trace(self, x: Tensor, state: State | None = None) -> Trace:
        """Returns the scores and, under `0.name`, the states after each position."""
        found = self.layers[0].trace(x, state)
        states = {f"0.{name}": value for name, value in found.states.items()}
        return Trace(outputs=found.outputs, states=states)


Layered = Model | OwnModel


def as_layered(model: nn.Module) -> Layered:
    """Returns the view of a model that analyses need: the model itself if it is of the zoo.

    Raises:
        InputError: if the module has no `step` and `initial_state`.
    """
    if isinstance(model, Model):
        return model
    if not isinstance(model, StatefulModule):
        raise InputError(
            f"this needs `step(x, state)` and `initial_state(batch)`, which {type(model).__name__} lacks "
            "(docs/tutorials/own-architecture.md)"
        )
    return OwnModel(model)


def measure_transitions(model: nn.Module, x: Tensor) -> dict[str, float | bool | str]:
    """Returns what a declaration can be held against, measured along words; empty if nothing is.

    The map of a position is the module's own `transition`, or the derivative of a step with respect to the
    state before it.

    Returns:
        "form" (the kind of the transition, or "derivative"), "least" and "largest" real part of an
        eigenvalue, the largest "imaginary" part and "modulus", and whether the map "varies".
    """
    try:
        layered = as_layered(model)
    except InputError:
        return {}
    found: list[tuple[str, Tensor]] = []
    layers: Sequence[Any] = layered.layers
    for number, layer in enumerate(layers):
        with torch.no_grad():
            reads = layered.inputs_of(number, x)
            moved = layer.transition(reads)
        if moved is not None:
            found.append((_FORMS[type(moved)], moved.eigenvalues().detach().flatten(2)))
        elif (values := _derivatives(layer, reads)) is not None:
            found.append(("derivative", values))
    if not found:
        return {}
    values = torch.cat([v.to(torch.complex128) for _, v in found], dim=-1)
    spread = (values - values[:1, :1]).abs().amax()
    return {
        "form": found[0][0] if len({form for form, _ in found}) == 1 else "several",
        "least": _plain(values.real.min()),
        "largest": _plain(values.real.max()),
        "imaginary": _plain(values.imag.abs().max()),
        "modulus": _plain(values.abs().max()),
        "varies": bool(spread > 1e-6),
    }


_FORMS = {DiagonalTransition: "diagonal", HouseholderTransition: "householder", DenseTransition: "dense"}


def _plain(value: Tensor) -> float:
    number = float(value)
    return round(number, 9) if math.isfinite(number) else (-1e300 if number < 0 else 1e300)


def _derivatives(layer: Any, x: Tensor) -> Tensor | None:
    """The eigenvalues of the derivatives of the steps (batch, time, n); None if the state is too large."""
    if layer.grows:
        return None
    state = layer.initial_state(len(x))
    names = [name for name, value in state.items() if value.is_floating_point()]
    if not names or sum(state[name][0].numel() for name in names) > MOST_STATES // 4:
        return None
    found = []
    for position in x.detach().unbind(1):
        matrix, state = step_derivative(layer, position, state, names)
        found.append(torch.linalg.eigvals(matrix.double().nan_to_num()))
    return torch.stack(found, dim=1)


def step_derivative(layer: Any, x: Tensor, state: State, names: Sequence[str]) -> tuple[Tensor, State]:
    """Returns the derivative of one step with respect to the state before it, and the state after it.

    Args:
        layer: a layer or an own model.
        x: the position.
        state: the state before it.
        names: the parts of the state that are real numbers; the derivative is (batch, after, before).
    """
    before = {name: value.detach().clone() for name, value in state.items()}
    for name in names:
        before[name].requires_grad_(True)
    with torch.enable_grad():
        _, after = layer.step(x, before)
    flat = torch.cat([after[name].reshape(len(after[name]), -1) for name in names], dim=1)
    rows = []
    for i in range(flat.shape[1]):
        parts: Sequence[Tensor | None] = (None,) * len(names)
        if flat.requires_grad:
            parts = torch.autograd.grad(
                flat[:, i].sum(), [before[name] for name in names], retain_graph=True, allow_unused=True
            )
        rows.append(
            torch.cat(
                [
                    (torch.zeros_like(before[name]) if part is None else part).reshape(len(flat), -1)
                    for name, part in zip(names, parts, strict=True)
                ],
                dim=1,
            )
        )
    return torch.stack(rows, dim=1), {name: value.detach() for name, value in after.items()}
