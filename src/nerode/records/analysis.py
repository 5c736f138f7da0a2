"""Analyses of networks as records: what `nerode analyse` writes, and what pages draw.

Numbers that are infinite or not a number are None, as JSON has neither.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nerode.core import FormatError, InputError, from_mapping, to_mapping
from nerode.records.memory import Forgetting, MetricAutomaton

ANALYSIS_FORMAT = "nerode-analysis-1"

Source = Literal["one matrix", "one for each letter", "sample"]


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
    """Lipschitz constants of a layer that is not linear.

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
    """The transition of one layer: spectra, norms of products, stretch.

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
        return {**to_mapping(self), "rate": self.rate if math.isfinite(self.rate) else None}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWindow:
    """The memory of one layer, in positions.

    Attributes:
        layer: its number, from 0.
        rate: the factor of each further position in the long run.
        by_spectrum: after how many positions rate**n is below eps; None if it never is.
        by_norm: after how many positions the product of transitions has norm below eps; None if it has not
            among the products that were computed.
        by_nilpotency: after how many positions nothing at all is left; None if something always is.
        computed: the longest product.
    """

    layer: int
    rate: float | None
    by_spectrum: int | None
    by_norm: int | None
    by_nilpotency: int | None
    computed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChange:
    """The change of answers when an earlier letter is changed.

    Attributes:
        back: how far back the letter is; 0 for the one just read.
        mean: mean change of the answer: half the sum of the changes of all probabilities, the largest change
            of one where outputs are bits.
        largest: the largest change that was seen.
        flips: share of the answers that become others.
        answers: how many answers were compared.
    """

    back: int
    mean: float
    largest: float
    flips: float
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAnalysis:
    """The windows side by side.

    Attributes:
        eps: what counts as forgotten.
        layers: by spectrum, by norm and by nilpotency.
        changes: for each distance, what changing a letter there does.
        by_intervention: how many of the last letters matter: one more than the largest distance at which the
            mean change is eps or more; 0 if there is none.
        by_largest: likewise for the largest change.
        flips: likewise for a change of the answer itself.
        longest: the largest window that these words can show; one of this size may be larger.
    """

    eps: float
    layers: tuple[LayerWindow, ...]
    changes: tuple[AnswerChange, ...]
    by_intervention: int
    by_largest: int
    flips: int
    longest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLayout:
    """The layout of the states of one network.

    Attributes:
        silhouette: mean silhouette of the labels, in the whole space, from -1 to 1.
        silhouette_plane: the same in the plane of the two principal components.
        purity: share of the states that have the commonest label of their cluster, for as many clusters of
            k-means as there are labels.
        neighbours: share of the states whose nearest other state has the same label.
        explained: share of the variance that each of the two components has.
        points: the states in that plane, in the order of `StateClusters.shown`.
    """

    silhouette: float
    silhouette_plane: float
    purity: float
    neighbours: float
    explained: tuple[float, float]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateClusters:
    """The states of a network by label, next to those of the untrained one.

    Attributes:
        labelled_by: what the labels are.
        layer: the layer whose states they are.
        labels: how many labels there are.
        states: how many states.
        shown: the labels of the points.
        trained: how the states lie.
        untrained: how they lay before training; None if the network was not trained here.
    """

    labelled_by: str
    layer: int
    labels: int
    states: int
    shown: tuple[str, ...]
    trained: StateLayout
    untrained: StateLayout | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStrip:
    """One quantity along a word.

    Attributes:
        name: what it is.
        layer: the layer that it belongs to.
        kind: "state" or "gate".
        coordinates: the number of each row.
        rows: values at each letter; complex ones as absolute values.
        size: how many coordinates there are in all.
    """

    name: str
    layer: int
    kind: str
    coordinates: tuple[int, ...]
    rows: tuple[tuple[float | None, ...], ...]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTrace:
    """States and gates along one word.

    Attributes:
        word: its letters.
        strips: states and gates.
    """

    word: tuple[str, ...]
    strips: tuple[TraceStrip, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionMap:
    """The weights of one head.

    Attributes:
        layer: its layer.
        head: its number.
        weights: along one word: a row for each position that looks, a column for each that is looked at.
        distance: how far back it looks on average, over all words.
        entropy: of its weights in bits, on average: 0 for one place, more for many.
        previous: the share of its weight on the position before, on average over positions that have one.
        first: the share on the first position, on average over all other positions.
    """

    layer: int
    head: int
    weights: tuple[tuple[float, ...], ...]
    distance: float
    entropy: float
    previous: float
    first: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionMaps:
    """The weights of all heads along one word.

    Attributes:
        word: its letters, after "⊢" if the model has a beginning mark.
        heads: all heads of all layers.
    """

    word: tuple[str, ...]
    heads: tuple[AttentionMap, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthMargin:
    """The margin of the correct answer at one length.

    Attributes:
        length: of the words.
        least: over all positions that count, of all words.
        low: the margin that one position in a hundred falls below.
        median: of all positions that count.
        wrong: share of the positions that are answered wrongly.
    """

    length: int
    least: float | None
    low: float | None
    median: float | None
    wrong: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """The margin as a function of the length.

    Attributes:
        trained: the longest length of training.
        lengths: what was found at each.
    """

    trained: int
    lengths: tuple[LengthMargin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """All that was found about one network.

    Attributes:
        name: of the network.
        about: what it is and how it was trained, as far as is known.
        spectra: of its layers.
        context: how far back it looks.
        clusters: its hidden states, by one kind of label or more.
        trace: states and gates along a word.
        attention: where it looks along the same word.
        margins: how sure it is, by length.
        forgetting: how long it remembers a bit, for flip-flops.
        metric: how its states lie around those of its automaton; None if it was not asked.
        left_out: what does not apply, and why.
    """

    name: str
    about: dict[str, Any]
    spectra: tuple[LayerSpectrum, ...] = ()
    context: ContextAnalysis | None = None
    clusters: tuple[StateClusters, ...] = ()
    trace: WordTrace | None = None
    attention: AttentionMaps | None = None
    margins: Margins | None = None
    forgetting: Forgetting | None = None
    metric: MetricAutomaton | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Returns the record as plain values."""
        plain = to_mapping(self)
        if self.metric is None:
            del plain["metric"]
        return {
            "format": ANALYSIS_FORMAT,
            **plain,
            "spectra": [spectrum.to_json() for spectrum in self.spectra],
        }

    @classmethod
    def from_json(cls, data: Any, *, path: Path | str) -> Analysis:
        """Returns the record of plain values; `path` is where they were read.

        Raises:
            FormatError: if they are no analysis.
        """
        if not isinstance(data, dict) or data.get("format") != ANALYSIS_FORMAT:
            found = data.get("format") if isinstance(data, dict) else data
            raise FormatError(f"has the format {found!r}; an analysis has {ANALYSIS_FORMAT!r}", path=path)
        try:
            spectra = [
                {name: value for name, value in spectrum.items() if name != "rate"}
                for spectrum in data["spectra"]
            ]
            plain = {name: value for name, value in data.items() if name != "format"}
            return from_mapping(cls, {**plain, "spectra": spectra})
        except (InputError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"is damaged: {type(error).__name__} {error}", path=path) from None
