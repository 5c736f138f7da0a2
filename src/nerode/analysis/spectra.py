"""Where the eigenvalues of each layer lie, how fast products of its transitions shrink, how far they stretch.

A linear layer multiplies its state by the same matrix at each position, by one for each letter, or by one
that depends on more than the letter; for another layer the derivative of a step takes the matrix's place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from nerode.analysis.probes import Probe, plain
from nerode.analysis.transition_maps import StepMaps, step_maps
from nerode.core import to_mapping
from nerode.models import Model
from nerode.models.architectures import Elman

Source = Literal["one matrix", "one for each letter", "sample"]

ON_CIRCLE = 1e-4
"""An eigenvalue whose absolute value differs from 1 by at most this lies on the unit circle."""

_MOST_SHOWN = 400
"""Eigenvalues of one spectrum that are kept for pictures, spread evenly over those that there are."""

_MOST_LETTERS = 24
"""Letters that get a spectrum of their own; with more, all are taken together."""

_POWERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum:
    """Eigenvalues.

    Attributes:
        label: the letter, or "all".
        eigenvalues: real and imaginary parts; at most 400, those of largest absolute value first in a sample.
        counted: how many there are in all; the next three are about all of them.
        outside: how many lie outside the unit circle.
        on: how many lie on it, up to 1e-4.
        radius: the largest absolute value.
        norm: the largest norm of a transition.
    """

    label: str
    eigenvalues: tuple[tuple[float, float], ...]
    counted: int
    outside: int
    on: int
    radius: float
    norm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductNorm:
    """The norm of the product of n transitions in a row, over words.

    Attributes:
        n: how many.
        median: over the words.
        largest: over the words.
    """

    n: int
    median: float | None
    largest: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """How much a layer that is not linear stretches distances.

    Attributes:
        sampled: the largest norm of a derivative that was seen: the Lipschitz constant is no smaller.
        bound: a number that it does not exceed; None where none is known.
        weights: the eigenvalues of U, for an Elman layer f(U h + …); None for others.
        free: for an Elman layer without inputs, h ↦ f(U h): the norm of its n-th iterate on states of real
            words over the norm of the state, n = 1, 2, …, the mean over the states; empty for other layers.
    """

    sampled: float
    bound: float | None
    weights: Spectrum | None
    free: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSpectrum:
    """What is known about the transition of one layer.

    Attributes:
        layer: its number, from 0.
        linear: whether the state moves linearly; otherwise the matrices are derivatives.
        source: whether there is one matrix, one for each letter, or one for each position of a sample.
        spectra: of the one matrix, or of each letter.
        products: norms of products along words; powers of the one matrix.
        nilpotent: the least power of the one matrix that is exactly zero; None if there is none.
        stretch: for a layer that is not linear.
    """

    layer: int
    linear: bool
    source: Source
    spectra: tuple[Spectrum, ...]
    products: tuple[ProductNorm, ...]
    nilpotent: int | None
    stretch: Stretch | None

    @property
    def rate(self) -> float:
        """The factor by which a product shrinks with each further transition, in the long run.

        The spectral radius of the one matrix; otherwise the root of the median norm of the longest product.
        """
        if self.source == "one matrix":
            return max(s.radius for s in self.spectra)
        last = self.products[-1]
        return float("inf") if last.median is None else last.median ** (1 / last.n)

    def to_json(self) -> dict[str, Any]:
        """Returns the record as plain values."""
        return {**to_mapping(self), "rate": plain(self.rate)}


def layer_spectrum(model: Model, number: int, probe: Probe) -> LayerSpectrum | None:
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


def spectra(model: Model, probe: Probe) -> tuple[LayerSpectrum, ...]:
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


def _source(maps: StepMaps, probe: Probe) -> Source:
    if maps.linear and maps.is_fixed:
        return "one matrix"
    if maps.linear and probe.has_letters and maps.depends_on_letter_only(probe.inputs):
        return "one for each letter"
    return "sample"


def _spectra(maps: StepMaps, probe: Probe, source: Source) -> tuple[Spectrum, ...]:
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


def _products(maps: StepMaps) -> tuple[ProductNorm, ...]:
    norms = maps.product_norms()
    return tuple(
        ProductNorm(n=n, median=plain(float(column.median())), largest=plain(float(column.max())))
        for n, column in enumerate(norms.unbind(1), start=1)
    )


def _powers(maps: StepMaps) -> tuple[ProductNorm, ...]:
    one = maps.values[:1, :1]
    repeated = one.expand(1, _POWERS, *one.shape[2:])
    return _products(StepMaps(form=maps.form, values=repeated, linear=maps.linear))


def _stretch(model: Model, number: int, probe: Probe, maps: StepMaps) -> Stretch:
    layer = model.layers[number]
    if not isinstance(layer, Elman):
        return Stretch(sampled=float(maps.norms().max()), bound=None, weights=None, free=())
    weight = layer.recurrent.detach().double()
    with torch.no_grad():
        states = layer.trace(model.inputs_of(number, probe.inputs)).states["h"].double().flatten(0, 1)
    apply = torch.tanh if layer.settings.activation == "tanh" else torch.relu
    before = states.norm(dim=-1)
    states, before = states[before > 0], before[before > 0]
    free = []
    for _ in range(_POWERS):
        states = apply(states @ weight.T)
        free.append(float((states.norm(dim=-1) / before).mean()) if len(before) else 0.0)
    # Both activations have slopes between 0 and 1.
    bound = float(torch.linalg.matrix_norm(weight, 2))
    own = StepMaps(form="matrices", values=weight[None, None, None], linear=False)
    return Stretch(
        sampled=float(maps.norms().max()), bound=bound, weights=_spectrum("U", own), free=tuple(free)
    )
