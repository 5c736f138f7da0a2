"""Spectra of layers: eigenvalues, norms of products of transitions, Lipschitz constants.

A linear layer multiplies its state by the same matrix at each position, by one for each letter, or by one
that depends on more than the letter; for another layer the derivative of a step takes the matrix's place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from nerode.analysis.probes import ProbeWords, plain
from nerode.core import InputError
from nerode.models import (
    MOST_STATES,
    DenseTransition,
    DiagonalTransition,
    HouseholderTransition,
    Layered,
    OwnLayer,
    SequenceLayer,
    step_derivative,
)
from nerode.records import AnalysisRow, LayerSpectrum, Spectrum

Source = Literal["one matrix", "one for each letter", "sample"]

ON_CIRCLE = 1e-4
"""An eigenvalue whose absolute value differs from 1 by at most this lies on the unit circle."""

_MOST_SHOWN = 400
"""Eigenvalues of one spectrum that are kept for pictures, spread evenly over those that there are."""

_MOST_LETTERS = 24
"""Letters that get a spectrum of their own; with more, all are taken together."""

_POWERS = 64


def layer_spectrum(model: Layered, number: int, probe: ProbeWords) -> LayerSpectrum | None:
    """Returns the spectrum of one layer of a model, None for a layer without a state of fixed size.

    Args:
        model: the model.
        number: of the layer, from 0.
        probe: the words.
    """
    maps = step_maps(model, number, probe.inputs)
    if maps is None:
        return None
    source = _source(maps, probe)
    one = maps.values[0, 0] if source == "one matrix" else None
    return LayerSpectrum(
        layer=number,
        linear=maps.linear,
        source=source,
        spectra=_spectra(maps, probe, source),
        products=_powers(maps) if one is not None else _products(maps),
        nilpotent=None if one is None else nilpotency(one),
        stretch=None if maps.linear else _stretch(model, number, probe, maps),
    )


def spectra(model: Layered, probe: ProbeWords) -> tuple[LayerSpectrum, ...]:
    """Returns the spectra of all layers that have a transition."""
    found = (layer_spectrum(model, number, probe) for number in range(len(model.layers)))
    return tuple(spectrum for spectrum in found if spectrum is not None)


def nilpotency(matrix: Tensor) -> int | None:
    """Returns the least power of a matrix (…, n, n), or of gates (n,), that is exactly zero, None for none.

    Only the places of nonzero entries are looked at, so that no rounding is mistaken for zero.
    """
    if matrix.ndim == 1:
        return None if bool((matrix != 0).any()) else 1
    pattern = (matrix != 0).double()
    power = pattern
    for n in range(1, matrix.shape[-1] + 1):
        if not power.any():
            return n
        power = ((power @ pattern) != 0).double()
    return None


def _source(maps: StepMaps, probe: ProbeWords) -> Source:
    if maps.linear and maps.is_fixed:
        return "one matrix"
    if maps.linear and probe.has_letters and maps.depends_on_letter_only(probe.inputs):
        return "one for each letter"
    return "sample"


def _spectra(maps: StepMaps, probe: ProbeWords, source: Source) -> tuple[Spectrum, ...]:
    if source == "one matrix":
        return (_spectrum("all", _take(maps, 1)),)
    if not probe.has_letters or len(probe.symbols) > _MOST_LETTERS:
        return (_spectrum("all", maps),)
    found = []
    for letter, values in maps.of_letters(probe.inputs).items():
        chosen = values[:1] if source == "one for each letter" else values[:64]
        own = StepMaps(form=maps.form, values=chosen[:, None], linear=maps.linear)
        found.append(_spectrum(probe.symbols[letter], own))
    return tuple(found)


def _take(maps: StepMaps, count: int) -> StepMaps:
    return StepMaps(form=maps.form, values=maps.values[:1, :count], linear=maps.linear)


def _spectrum(label: str, maps: StepMaps) -> Spectrum:
    values = maps.eigenvalues().flatten()
    sizes = values.abs()
    order = sizes.argsort(descending=True)
    step = max(1, -(-len(order) // _MOST_SHOWN))
    shown = values[order][::step]
    return Spectrum(
        label=label,
        eigenvalues=tuple((z.real, z.imag) for z in shown.tolist()),
        counted=len(values),
        outside=int((sizes > 1 + ON_CIRCLE).sum()),
        on=int(((sizes - 1).abs() <= ON_CIRCLE).sum()),
        radius=float(sizes.max()),
        norm=float(maps.norms().max()),
    )


def _products(maps: StepMaps) -> tuple[AnalysisRow, ...]:
    norms = maps.product_norms()
    return tuple(
        AnalysisRow(n=n, median=plain(float(column.median())), largest=plain(float(column.max())))
        for n, column in enumerate(norms.unbind(1), start=1)
    )


def _powers(maps: StepMaps) -> tuple[AnalysisRow, ...]:
    one = maps.values[:1, :1]
    repeated = one.expand(1, _POWERS, *one.shape[2:])
    return _products(StepMaps(form=maps.form, values=repeated, linear=maps.linear))


def _stretch(model: Layered, number: int, probe: ProbeWords, maps: StepMaps) -> AnalysisRow:
    layer = model.layers[number]
    squashed = layer.squashed_recurrence()
    if squashed is None:
        return AnalysisRow(sampled=float(maps.norms().max()), bound=None, weights=None, free=())
    recurrent, activation = squashed
    weight = recurrent.detach().double()
    with torch.no_grad():
        states = layer.trace(model.inputs_of(number, probe.inputs)).states["h"].double().flatten(0, 1)
    apply = torch.tanh if activation == "tanh" else torch.relu
    before = states.norm(dim=-1)
    states, before = states[before > 0], before[before > 0]
    free = []
    for _ in range(_POWERS):
        states = apply(states @ weight.T)
        free.append(float((states.norm(dim=-1) / before).mean()) if len(before) else 0.0)
    # Both activations have slopes between 0 and 1.
    bound = float(torch.linalg.matrix_norm(weight, 2))
    own = StepMaps(form="matrices", values=weight[None, None, None], linear=False)
    return AnalysisRow(
        sampled=float(maps.norms().max()), bound=bound, weights=_spectrum("U", own), free=tuple(free)
    )


_SAME = 1e-6
"""Maps of two positions that differ by less, relative to their size, count as the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMaps:
    """The maps by which positions change the state before them.

    Attributes:
        form: "gates" (batch, time, n) multiply coordinates; "matrices" (batch, time, blocks, n, n) act on
            blocks of coordinates, each by itself.
        values: the gates or the matrices, in double precision.
        linear: whether the layer does just this to its state; otherwise it is the derivative there.
    """

    form: Literal["gates", "matrices"]
    values: Tensor
    linear: bool

    def eigenvalues(self) -> Tensor:
        """Returns all eigenvalues (batch, time, n), complex."""
        if self.form == "gates":
            return self.values.to(torch.complex128)
        if _constant(self.values):
            first: Tensor = torch.linalg.eigvals(self.values[:1, :1])
            return first.flatten(2).expand(*self.values.shape[:2], -1)
        found: Tensor = torch.linalg.eigvals(self.values)
        return found.flatten(2)

    def norms(self) -> Tensor:
        """Returns the operator norm of each position (batch, time)."""
        if self.form == "gates":
            return self.values.abs().amax(-1)
        return _norm(self.values).amax(-1)

    def product_norms(self) -> Tensor:
        """Returns (batch, time): the norms of the products of the maps of the first 1, 2, … positions."""
        if self.form == "gates":
            return self.values.cumprod(dim=1).abs().amax(-1)
        product = self.values[:, 0]
        found = [_norm(product).amax(-1)]
        for t in range(1, self.values.shape[1]):
            product = self.values[:, t] @ product
            found.append(_norm(product).amax(-1))
        return torch.stack(found, dim=1)

    @property
    def is_fixed(self) -> bool:
        """Whether all positions of all words do the same."""
        return _constant(self.values)

    def of_letters(self, letters: Tensor) -> dict[int, Tensor]:
        """Returns the maps of each letter that occurs: (occurrences, …)."""
        return {a: self.values[letters == a] for a in sorted(set(letters.flatten().tolist()))}

    def depends_on_letter_only(self, letters: Tensor) -> bool:
        """Whether every occurrence of a letter does the same."""
        return all(_alike(found) for found in self.of_letters(letters).values())


@torch.no_grad()
def linear_maps(layer: SequenceLayer | OwnLayer, x: Tensor) -> StepMaps | None:
    """Returns what positions do to the state of a linear layer, None for another.

    Args:
        layer: the layer.
        x: what it reads (batch, time, inputs).
    """
    transition = layer.transition(x)
    if transition is None:
        return None
    match transition:
        case DiagonalTransition(gate=gate):
            return StepMaps(form="gates", values=_wide(gate.flatten(2)), linear=True)
        case HouseholderTransition():
            return StepMaps(form="matrices", values=_wide(transition.matrices()), linear=True)
        case DenseTransition(matrix=matrix):
            blocks = matrix.flatten(2, -3) if matrix.ndim > 4 else matrix[:, :, None]
            return StepMaps(form="matrices", values=_wide(blocks), linear=True)


def derivative_maps(layer: SequenceLayer | OwnLayer, x: Tensor) -> StepMaps | None:
    """Returns the derivative of each step of a layer with respect to the state before it.

    None if the state grows, has no floating numbers, or more than 512 of them.

    Raises:
        InputError: if the state is complex.
    """
    if layer.grows:
        return None
    if any(value.is_complex() for value in layer.initial_state(1).values()):
        raise InputError("the state is complex, and derivatives of a step are of real states")
    names = [name for name, value in layer.initial_state(1).items() if value.is_floating_point()]
    state = layer.initial_state(len(x))
    size = sum(state[name][0].numel() for name in names)
    if not names or size > MOST_STATES:
        return None
    found = []
    for position in x.detach().unbind(1):
        matrix, state = step_derivative(layer, position, state, names)
        found.append(matrix)
    return StepMaps(form="matrices", values=_wide(torch.stack(found, dim=1))[:, :, None], linear=False)


def step_maps(model: Layered, number: int, inputs: Tensor) -> StepMaps | None:
    """Returns what positions of words do to the state of one layer of a model; None where there is no such.

    Args:
        model: the model.
        number: of the layer, from 0.
        inputs: what the model reads.
    """
    with torch.no_grad():
        x = model.inputs_of(number, inputs)
    layer = model.layers[number]
    maps = linear_maps(layer, x)
    return derivative_maps(layer, x) if maps is None else maps


def _wide(values: Tensor) -> Tensor:
    return values.to(torch.complex128 if values.is_complex() else torch.float64)


def _norm(matrices: Tensor) -> Tensor:
    """Operator norms; those of matrices that are no numbers are infinite."""
    bad = ~matrices.isfinite().all(-1).all(-1)
    norms: Tensor = torch.linalg.matrix_norm(torch.nan_to_num(matrices, 0.0, 0.0, 0.0), 2)
    return norms.masked_fill(bad, torch.inf)


def _constant(values: Tensor) -> bool:
    return _alike(values.flatten(0, 1))


def _alike(values: Tensor) -> bool:
    spread = (values - values[:1]).abs().amax()
    return bool(spread <= _SAME * values[:1].abs().amax())
