"""Analyses of networks as records: what `nerode analyse` writes, and what pages draw.

Memory comes first: horizons of written bits, fixed points, and distances under repeated words. Numbers
that are infinite or not a number are None, as JSON has neither.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nerode.core import FormatError, InputError, from_mapping, to_mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamHorizon:
    """Survival of a bit in one kind of stream.

    Attributes:
        stream: "opposite", "same" or "random".
        bit: the written one.
        fails_at: the least number of ignored bits after which the bit is read incorrectly, in the worst
            stream of this kind; above 1,000, the first checkpoint at which it is. None if it was always read
            correctly.
        tested: the largest number of ignored bits.
        predicted: `fails_at` by the gates alone; None if nothing was predicted, or that it never fails.
        margins: numbers of ignored bits and the margin of the correct answer after them, the worst of its
            kind.
        expected: the same by the gates alone; empty if nothing was predicted.
    """

    stream: str
    bit: int
    fails_at: int | None
    tested: int
    predicted: int | None
    margins: tuple[tuple[int, float | None], ...]
    expected: tuple[tuple[int, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint:
    """The cycle that the state ends in when one ignored bit is repeated.

    Attributes:
        written: the bit that was written.
        ignored: the bit that is repeated.
        steps: repetitions until the states go around in a cycle, bit for bit; None if they were not seen to.
        period: of the cycle; 1 for a fixed point.
        right: whether the written bit is read correctly everywhere on the cycle; None if there is none.
        margin: the least margin of the correct answer on the cycle.
        always: whether it is read correctly after every number of repetitions, from none on; None if unknown.
    """

    written: int
    ignored: int
    steps: int | None
    period: int | None
    right: bool | None
    margin: float | None
    always: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BitFading:
    """The fading of a written bit under one ignored bit, by the gates alone.

    Attributes:
        written: the bit that was written.
        ignored: the bit that is repeated.
        gate: the largest product of gates of one repetition, among the coordinates in which the states of a
            written 0 and a written 1 differ: what is left of the difference after each.
        half_life: repetitions in which the slowest part of the difference is halved.
        fails_at: the least number of repetitions after which the bit should be read incorrectly; None for
            never.
        margins: numbers of repetitions and the margin that the correct answer should have after them.
    """

    written: int
    ignored: int
    gate: float
    half_life: float | None
    fails_at: int | None
    margins: tuple[tuple[int, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """Survival of a written bit.

    Attributes:
        streams: by kind of stream and bit.
        fixed_points: by written and ignored bit.
        latch: whether every constant stream is read correctly at every length, which the fixed points prove
            for the floats of this machine and the four streams read side by side (sums in other batches may
            be rounded otherwise); None if some state was not seen to come back to itself.
        prediction: how the gates let the state fade, by written and ignored bit; empty where no prediction
            is made.
        unpredicted: why there is no prediction; empty if there is one.
    """

    streams: tuple[StreamHorizon, ...]
    fixed_points: tuple[FixedPoint, ...]
    latch: bool | None
    prediction: tuple[BitFading, ...]
    unpredicted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopCollapse:
    """Two places that a word holds, and what its repetition does to the states that stand for them.

    Attributes:
        word: its letters.
        places: what the places are called.
        distance: of the two states at the beginning.
        rate: what is left of it after each repetition, measured early; None if nothing is left.
        merged_at: repetitions until the two states are equal, bit for bit; None if they were not.
        suffix: a shortest word that tells the two places apart.
        fails_at: repetitions after which the suffix is answered incorrectly in one of them; None if it is
            not.
    """

    word: tuple[str, ...]
    places: tuple[str, str]
    distance: float
    rate: float | None
    merged_at: int | None
    suffix: tuple[str, ...]
    fails_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterRates:
    """Factors by which a letter changes distances.

    Attributes:
        letter: its name.
        within: the largest factor between two states of one place; None if no place has two.
        within_median: the median of these.
        between: the smallest factor between two states of different places that it leaves different.
        between_median: the median of these.
    """

    letter: str
    within: float | None
    within_median: float | None
    between: float | None
    between_median: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BitCollapse:
    """The loss of a written bit in flip-flops, by the gates alone and by running it.

    Attributes:
        stream: "same" or "opposite" bits to ignore.
        bit: the written one.
        predicted: repetitions by the gates of a linear layer; None for no prediction, or never.
        measured: repetitions when it was run; None if it was always correct.
    """

    stream: str
    bit: int
    predicted: int | None
    measured: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAutomaton:
    """The layout of the states of a network around those of its automaton.

    Attributes:
        places: states of the automaton that were reached.
        states: states of the network that were looked at.
        diameter: largest distance of two of them.
        separation: smallest distance of two that stand for different places.
        components: how many there are.
        most_components: of one place.
        rates: of each letter.
        promised_radius: noise that the rates allow; 0 if some letter does not contract.
        noise_radius: largest noise on every state under which all answers were still correct; None if there
            were wrong ones without noise.
        loops: places that a repeated word leaves as they are.
        bits: for flip-flops, when a bit is lost.
        linear_bound: repetitions within which a linear recurrence that is robust to `noise_radius` would
            have merged two places that a letter holds; None if nothing follows.
    """

    places: int
    states: int
    diameter: float
    separation: float | None
    components: int
    most_components: int
    rates: tuple[LetterRates, ...]
    promised_radius: float
    noise_radius: float | None
    loops: tuple[LoopCollapse, ...]
    bits: tuple[BitCollapse, ...]
    linear_bound: int | None


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
    """The findings about one network.

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
