"""The analysis of a network as a record: what `nerode analyse` writes, and what pages draw.

Memory comes first: horizons of written bits, fixed points, and distances under repeated words. Numbers
that are infinite or not a number are None, as JSON has neither. The parts of an analysis are records; the
rows inside them are `AnalysisRow`s, whose values the records list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from types import SimpleNamespace
from typing import Any, Literal

from nerode.core import Shown

ANALYSIS_FORMAT = "nerode-analysis-1"

Source = Literal["one matrix", "one for each letter", "sample"]


class AnalysisRow(SimpleNamespace):
    """A row of a part of an analysis: values by name."""


def analysis_json(value: Any) -> Any:
    """Returns a part of an analysis as plain values."""
    if isinstance(value, AnalysisRow):
        return {name: analysis_json(inner) for name, inner in vars(value).items()}
    if is_dataclass(value):
        plain = {one.name: analysis_json(getattr(value, one.name)) for one in fields(value)}
        return {**plain, **value.derived} if isinstance(value, LayerSpectrum) else plain
    if isinstance(value, Mapping):
        return {name: analysis_json(inner) for name, inner in value.items()}
    return [analysis_json(inner) for inner in value] if isinstance(value, tuple | list) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """Survival of a written bit in flip-flops.

    Attributes:
        streams: by kind of stream (`stream`: opposite, same or random) and written `bit`: `fails_at`, the
            least number of ignored bits after which the bit is read incorrectly in the worst stream of the
            kind (above 1,000, the first checkpoint at which it is; None if it was always read correctly);
            `tested`, the largest number of ignored bits; `predicted`, `fails_at` by the first repetitions
            alone (None where it should never be, or nothing can be said);
            `margins`, numbers of ignored bits with the margin of the correct answer after them.
        fixed_points: by `written` and `ignored` bit the cycle that the state enters when the ignored bit is
            repeated: `steps` until the states go around bit for bit; the `period`, 1 for a fixed point;
            `right`, whether the bit is read correctly on the whole cycle; the least `margin` there; `always`,
            whether it is read correctly after every number of repetitions. None for what is unknown.
        latch: whether every constant stream is read correctly at every length, which the fixed points prove
            for the floats of this machine and the four streams read side by side (sums in other batches may
            be rounded otherwise); None if some state was not seen to come back to itself.
    """

    streams: tuple[AnalysisRow, ...]
    fixed_points: tuple[AnalysisRow, ...]
    latch: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAutomaton:
    """The layout of the states of a network around those of its automaton.

    Attributes:
        places: states of the automaton that were reached.
        states: states of the network that were sampled.
        diameter: largest distance of two of them.
        separation: smallest distance of two that stand for different places.
        components: how many there are.
        most_components: of one place.
        rates: for each `letter` the factors by which it changes distances: the largest between two states of
            one place (`within`), the smallest between states of different places that it leaves different
            (`between`), and the medians of both (`within_median`, `between_median`); None where there are
            none.
        promised_radius: noise that the rates allow; 0 if some letter does not contract.
        noise_radius: largest noise on every state under which all answers were still correct; None if there
            were wrong ones without noise.
        loops: for each `word` and two `places` that it holds: their `distance`, the `rate` that is left of it
            after each repetition (None if nothing is), the repetitions until both states are equal bit for
            bit (`merged_at`), a shortest `suffix` that tells the places apart, and the repetitions after
            which it is answered incorrectly (`fails_at`).
        bits: for flip-flops by `stream` and `bit` the repetitions after which the bit is lost, `predicted`
            and `measured`.
        linear_bound: repetitions within which a linear recurrence that is robust to `noise_radius` would
            have merged two places that a letter holds; None if nothing follows.
    """

    places: int
    states: int
    diameter: float
    separation: float | None
    components: int
    most_components: int
    rates: tuple[AnalysisRow, ...]
    promised_radius: float
    noise_radius: float | None
    loops: tuple[AnalysisRow, ...]
    bits: tuple[AnalysisRow, ...]
    linear_bound: int | None


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
class LayerSpectrum:
    """The transition of one layer: spectra, norms of products, stretch.

    Attributes:
        layer: its number, from 0.
        linear: whether the state moves linearly; otherwise the matrices are derivatives.
        source: whether there is one matrix, one for each letter, or one for each position of a sample.
        spectra: of the one matrix, or of each letter.
        products: the `median` and the `largest` norm, over words, of the product of `n` transitions in a row;
            for one matrix, of its powers.
        nilpotent: the least power of the one matrix that is exactly zero; None if there is none.
        stretch: for a layer that is not linear, its Lipschitz constant: at least the largest norm of a
            derivative that was seen (`sampled`), at most `bound` (None where none is known). For an Elman
            layer f(U h + …) the spectrum of U (`weights`) and, for n = 1, 2, …, the norm of the n-th iterate
            of h ↦ f(U h) over that of the state, averaged over states of real words (`free`).
    """

    layer: int
    linear: bool
    source: Source
    spectra: tuple[Spectrum, ...]
    products: tuple[AnalysisRow, ...]
    nilpotent: int | None
    stretch: AnalysisRow | None

    @property
    def rate(self) -> float:
        """The factor by which a product shrinks with each further transition, in the long run.

        The spectral radius of the one matrix; otherwise the root of the median norm of the longest product.
        """
        if self.source == "one matrix":
            return max(s.radius for s in self.spectra)
        last = self.products[-1]
        return float("inf") if last.median is None else float(last.median ** (1 / last.n))

    @property
    def derived(self) -> dict[str, float | None]:
        """Values that the JSON has besides the fields."""
        return {"rate": self.rate if math.isfinite(self.rate) else None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAnalysis:
    """The windows side by side.

    Attributes:
        eps: what counts as forgotten.
        layers: for each `layer` its `rate` in the long run and the positions after which less than eps is
            left, by rate**n (`by_spectrum`) and among the products that were computed (`by_norm`, up to
            `computed` positions), or nothing at all (`by_nilpotency`); None if that does not happen.
        changes: for each distance (`back`, 0 for the letter just read) what changing a letter there does to
            the `answers` that were compared: the `mean` and the `largest` change (half the sum of the changes
            of all probabilities; where outputs are bits, the largest change of one), and the share that
            become others (`flips`).
        by_intervention: how many of the last letters matter: one more than the largest distance at which the
            mean change is eps or more; 0 if there is none.
        by_largest: likewise for the largest change.
        flips: likewise for a change of the answer itself.
        longest: the largest window that these words can show; one of this size may be larger.
    """

    eps: float
    layers: tuple[AnalysisRow, ...]
    changes: tuple[AnalysisRow, ...]
    by_intervention: int
    by_largest: int
    flips: int
    longest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateClusters:
    """The states of a network by label, next to those of the untrained one.

    A layout has the mean `silhouette` of the labels in the whole space, from -1 to 1, and in the plane of the
    two principal components (`silhouette_plane`); the share of states with the commonest label of their
    cluster, for as many clusters of k-means as labels (`purity`), and of those whose nearest other state has
    the same label (`neighbours`); the share of the variance that each component explains (`explained`); and
    the `points` in that plane, in the order of `shown`.

    Attributes:
        labelled_by: what the labels are.
        layer: the layer whose states they are.
        labels: how many labels there are.
        states: how many states.
        shown: the labels of the points.
        trained: the layout of the states.
        untrained: that before training; None if the network was not trained here.
    """

    labelled_by: str
    layer: int
    labels: int
    states: int
    shown: tuple[str, ...]
    trained: AnalysisRow
    untrained: AnalysisRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis(Shown):
    """The findings about one network.

    Attributes:
        name: of the network.
        about: what it is and how it was trained, as far as is known.
        spectra: of its layers.
        context: how far back it looks.
        clusters: its hidden states, by one kind of label or more.
        trace: states and gates along a `word`, as `strips` with `name`, `layer`, `kind` ("state" or "gate"),
            the `coordinates` that are shown of all (`size`), and `rows` of values at each letter, complex
            ones as absolute values.
        attention: where it looks along the same `word`, with "⊢" for a beginning mark: `heads` with `layer`,
            `head`, `weights` (a row for each position that looks), and averages over all words: `distance`,
            `entropy` in bits, the share on the position before (`previous`) and on the `first` one.
        margins: how sure it is: the longest length of training (`trained`) and, by length (`lengths`), the
            margin of the correct answer: the `least`, the one that one position in a hundred falls below
            (`low`), the `median`, and the share of `wrong` answers.
        forgetting: how long it remembers a bit, for flip-flops.
        metric: how its states lie around those of its automaton; None if it was not asked.
        left_out: what does not apply, and why.
    """

    name: str
    about: dict[str, Any]
    spectra: tuple[LayerSpectrum, ...] = ()
    context: ContextAnalysis | None = None
    clusters: tuple[StateClusters, ...] = ()
    trace: AnalysisRow | None = None
    attention: AnalysisRow | None = None
    margins: AnalysisRow | None = None
    forgetting: Forgetting | None = None
    metric: MetricAutomaton | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    def shown(self) -> tuple[Sequence[str] | Mapping[str, Any], Shown | None]:
        """Returns what was looked at, and what does not apply; its pages have the pictures."""
        found = [one.name for one in fields(self) if one.name not in ("name", "about", "left_out")]
        found = [name for name in found if getattr(self, name)]
        missing = [f"no {part}: {why}" for part, why in self.left_out.items()]
        return [f"{self.name}: {', '.join(found)}", *missing], None

    def to_json(self) -> dict[str, Any]:
        """Returns the record as plain values."""
        plain = analysis_json(self)
        if self.metric is None:
            del plain["metric"]
        return {"format": ANALYSIS_FORMAT, **plain}
