"""Records of memory: horizons of written bits, fixed points, and distances under repeated words."""

from __future__ import annotations

from dataclasses import dataclass


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
