"""Gates that do not depend on the input: windows, clocks and fading states; gates that never fade."""

from __future__ import annotations

from dataclasses import replace

from nerode.core import Reference
from nerode.languages.ngrams import NgramLanguage, NgramModel
from nerode.verdict.architectures import Architecture
from nerode.verdict.classes import (
    WayOfCounting,
    above_minus_half,
    averaging_heads,
    can_fade,
    can_hold,
    complex_gates,
    counts_by,
    dense,
    diagonal,
    householder,
    input_dependent,
    linear,
    mixed_diagonal,
    never_holds,
    nonnegative,
    plain_state,
    rotated_heads,
    sloped_heads,
    time_invariant,
    unit_gates,
)
from nerode.verdict.facts import (
    Facts,
    LanguageCondition,
    clocked_counts,
    group_language,
    in_class,
    length_only,
    letter_decides,
    named_bounded_dyck,
    offset_counting,
    one_letter_counter,
    overwrites,
    overwrites_beyond_windows,
    position_decides,
    quasi_aperiodic,
    r_trivial,
    regular,
    solvable,
    stable_pair,
    star_free,
    window_determined,
    windowed_counts,
    with_group,
)
from nerode.verdict.records import Bits, Provenance, Sense, Size, VerdictTask
from nerode.verdict.theorems.base import (
    ANYTHING,
    EXACT,
    FINITE,
    FIXED_WIDTH,
    FLOATS,
    IEEE,
    LINDEMANN,
    MARGIN,
    METRIC,
    NO_FLOAT,
    NO_ROTARY,
    NO_TALLY,
    NOT_WRITTEN,
    ON_PREFIXES,
    QUOTIENT,
    RATIONAL_ANGLES,
    TAME,
    NoNetwork,
    no,
    yes,
)
from nerode.verdict.theorems.counting import one_kind_bounded
from nerode.verdict.theorems.groups import series_size

sign_group = with_group(
    "a group language of signs",
    lambda group: all((factor.family, factor.number) == ("Z", 2) for factor in group.direct_factors),
)
"""Its cascade has signs side by side: no gate hangs on one of them."""

_FINITE_GROUP = "the steps generate a finite group of turns: angles are rational"

_once_and_yesterday = in_class("locally-testable") | in_class("r-trivial")

_counted_depth = one_kind_bounded & named_bounded_dyck

_FADING_REGISTERS = (
    NoNetwork(reason=NO_FLOAT, language=~(_once_and_yesterday | _counted_depth)),
    NoNetwork(reason=NO_FLOAT, language=_counted_depth, architecture=~counts_by(WayOfCounting.FREE)),
    NoNetwork(reason=NO_FLOAT, architecture=never_holds),
)
"""Windows, flags and a counted depth have networks with gates of 1."""


def _letter_reason(f: Facts) -> str:
    """The reason why no memory is needed; of prediction it speaks of valid prefixes only."""
    if f.task is VerdictTask.PREDICT:
        return "after a valid prefix the current letter decides what may follow: no memory is needed"
    return "the current letter decides, no memory is needed"


_on_prefixes_alone = LanguageCondition(
    "settled by a letter on valid prefixes alone",
    lambda f: f.task is VerdictTask.PREDICT and not replace(f, task=VerdictTask.RECOGNISE).letter_decides,
)

ROWS = (
    yes(
        name="letter-decides",
        fades=False,
        statement="Where the current letter decides, no memory is needed: every architecture does it.",
        language=letter_decides,
        architecture=ANYTHING,
        senses=frozenset(Sense),
        model=TAME,
        reason=_letter_reason,
        no_network=(
            NoNetwork(reason=NO_ROTARY, architecture=rotated_heads),
            NoNetwork(
                reason=ON_PREFIXES, language=_on_prefixes_alone, architecture=averaging_heads & ~sloped_heads
            ),
        ),
    ),
    yes(
        name="exact-registers-fixed-gates",
        bits=Bits.LINEAR,
        statement="h = λ h ± 1 with a fixed λ below 1/2 has the sign of the last write for ever; with a "
        "turning state as clock, fixed gates do every regular language in AC0 over the reals.",
        language=quasi_aperiodic,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=EXACT,
        model=TAME,
        assumptions=("the readout looks at signs however small the state is",),
        reason=lambda f: (
            "star-free: the sign of a fading state is the last write"
            if f.profile.star_free
            else "regular in AC0: signs of fading states beside a clock"
        ),
        no_network=_FADING_REGISTERS,
    ),
    yes(
        name="exact-registers-fixed-decay",
        bits=Bits.LINEAR,
        statement="Without a gate below 1/2, two states that fade at different rates keep the last write in "
        "the sign of their quotient: every star-free language over the reals.",
        language=star_free,
        architecture=linear & time_invariant,
        senses=EXACT,
        model=TAME,
        assumptions=("the readout looks at signs however small the state is",),
        reason=lambda f: "star-free: of two states that fade, the quotient has the sign of the last write",
        no_network=_FADING_REGISTERS,
    ),
    yes(
        name="normalised-decay-registers",
        bits=Bits.LINEAR,
        statement="A weighted mean with a fixed decay keeps its value while new letters have the weight 0, "
        "so RWKV-4 does every star-free language.",
        language=star_free,
        architecture=linear & time_invariant & nonnegative & ~plain_state,
        senses=FINITE | IEEE,
        model=MARGIN,
        assumptions=(
            "the weight e^k of letters that hold is 0: in the limit, in floats by rounding in the form with "
            "a stabiliser",
        ),
        reason=lambda f: "star-free: a mean that gives new letters no weight is a register",
        no_network=(NoNetwork(reason=QUOTIENT),),
    ),
    yes(
        name="position-decides",
        statement="If each live state has at most one live successor, the position decides: a threshold, "
        "then a turning state modulo m.",
        language=position_decides,
        architecture=(linear & time_invariant & complex_gates & can_hold) | (linear & unit_gates),
        senses=EXACT | FINITE,
        model=MARGIN,
        reason=lambda f: f"only the position matters, from some point on modulo {f.position_period}",
        size=lambda f, a: Size(layers=1),
        no_network=(NoNetwork(reason=NOT_WRITTEN, architecture=input_dependent),),
    ),
    no(
        name="fixed-decay-is-a-window",
        statement="Where every gate has a modulus below some number below 1 by design, a state depends on a "
        "window up to the margin of the readout.",
        language=~window_determined,
        architecture=linear & never_holds,
        senses=FINITE,
        model=MARGIN,
        reason=lambda f: "every state fades at a fixed rate: only a window of the input is left",
    ),
    no(
        name="one-letter-counters-need-minus-one",
        statement="RWKV-7's transition has a real spectrum above -1/2, so that along the powers of one "
        "letter every state settles or grows without turning: no period.",
        language=one_letter_counter,
        architecture=linear & householder & above_minus_half,
        senses=FINITE,
        model=MARGIN,
        reason=lambda f: "a letter counts by itself, and no gate is below -1/2: its powers settle",
        witness=Facts.counter_witness,
    ),
    yes(
        name="unitary-solvable-groups",
        statement="Unitary diagonal layers do every solvable group: cascades of rotations need no overwrite.",
        language=group_language & solvable,
        architecture=linear & diagonal & input_dependent & unit_gates,
        senses=EXACT | FINITE,
        reference=Reference("Shakerinava2026"),
        provenance=Provenance.SECONDARY,
        model=MARGIN,
        reason=lambda f: "a solvable group: a cascade of rotations",
        size=series_size,
    ),
    yes(
        name="orthogonal-groups",
        statement="Every finite group is a group of rotations of some space, so one block of rotations that "
        "depend on the input does every group language; signed permutation matrices are exact in floats.",
        language=group_language,
        architecture=linear & dense & input_dependent & unit_gates,
        senses=EXACT | FINITE | IEEE,
        model=FLOATS,
        assumptions=("the matrices are given as they are, with entries 0, 1 and -1",),
        reason=lambda f: "every letter permutes the states: a signed permutation matrix of determinant 1",
        size=lambda f, a: Size(layers=1, width=(f.profile.num_states or 0) + 1),
    ),
    yes(
        name="isometries-count",
        bits=Bits.LOGARITHMIC,
        statement="Coordinates with gate 1 add, constant turns tell the position, and the state before the "
        "letter is the state less the write: layers of isometries do C-RASP with a clock.",
        language=clocked_counts,
        architecture=linear & unit_gates,
        senses=FINITE,
        model=MARGIN,
        reason=lambda f: "sums of gate 1 with a clock tell the states of each component apart",
        no_network=(NoNetwork(reason=NOT_WRITTEN),),
    ),
    no(
        name="isometries-do-not-overwrite",
        statement="If the steps generate a finite group up to translations, two states that a word merges "
        "inside their component look alike after a generic prefix; where words of every length lead from "
        "such a pair to another, no window in front tells them apart.",
        language=overwrites_beyond_windows,
        architecture=linear & unit_gates,
        senses=FINITE,
        model=MARGIN,
        conditional_on=_FINITE_GROUP,
        reason=lambda f: "an isometry merges nothing: two states that a word merges look alike before it",
    ),
    no(
        name="isometries-have-no-window",
        statement="If the steps generate a finite group up to translations and no convolution stands in "
        "front, states that a word merges inside their component are taken for one after a further letter.",
        language=overwrites,
        architecture=linear & unit_gates,
        senses=FINITE,
        model=MARGIN,
        conditional_on=f"{_FINITE_GROUP}; no convolution stands in front of the layers",
        reason=lambda f: "isometries overwrite nothing, and without a convolution there is no window",
    ),
    yes(
        name="isometries-tell-once",
        bits=Bits.LOGARITHMIC,
        statement="A coordinate with gate 1 tells whether something has ever happened, so layers without any "
        "fading still do the languages of partially ordered automata.",
        language=r_trivial,
        architecture=linear & unit_gates,
        senses=EXACT | FINITE | IEEE,
        model=FLOATS,
        assumptions=("in floats the sum of events stops at a power of two, which is not 0",),
        reason=lambda f: "R-trivial: counters of events, each asked whether it is above 0",
        no_network=(NoNetwork(reason=NO_TALLY, senses=IEEE),),
    ),
)


def _window_text(facts: Facts) -> str:
    name = "strictly-local" if facts.task is VerdictTask.PREDICT else "definite"
    membership = facts.profile.classes.get(name)
    k = membership.parameter if membership is not None else None
    if k is not None and facts.task is VerdictTask.PREDICT:
        # Strictly k-local: factors of k letters decide, so what may follow depends on the last k-1.
        k -= 1
    if k is None:
        return "a finite window decides"
    return {0: "no letter read matters", 1: "the last letter decides"}.get(k, f"the last {k} letters decide")


def _ngram_size(facts: Facts, architecture: Architecture) -> Size | None:
    language = facts.language
    if isinstance(language, NgramLanguage) and isinstance(language.model, NgramModel):
        # Windows without a rule, which a sentence may pass through, have a neuron as well.
        return Size(layers=1, width=len(language.windows))
    contexts = language.parameters.get("contexts")
    return Size(layers=1, width=contexts) if contexts else Size(layers=1)


WINDOW_ROWS = (
    yes(
        name="n-gram-one-layer",
        fades=False,
        statement="A one-layer SSM h = A h + B x, y = C relu(h + b) with one neuron for each context and a "
        "nilpotent A models every n-gram language up to any eps.",
        language=window_determined,
        architecture=linear & dense & time_invariant,
        senses=EXACT | FINITE | IEEE,
        reference=Reference("Nandakumar2024", "Theorem 4.1"),
        provenance=Provenance.READ,
        model=TAME,
        assumptions=(
            "prediction at prefixes of at least n-1 words",
            "the well-conditioned construction, not the generic one of the paper",
        ),
        reason=_window_text,
        size=_ngram_size,
    ),
    yes(
        name="delay-line",
        fades=False,
        statement="A constant gate of 1/4 keeps the last letters as base-4 digits with a margin, so every "
        "linear recurrence with such a gate does what a finite window settles, under noise too.",
        language=window_determined,
        architecture=linear & can_fade,
        senses=frozenset(Sense),
        model=METRIC,
        assumptions=(
            "one delay layer for each letter of the window, with a piecewise-linear decoder",
            "RetNet: fixed gates of many angles make a filter that is a delay up to any error",
        ),
        reason=_window_text,
        no_network=(NoNetwork(reason=LINDEMANN, architecture=never_holds),),
    ),
    yes(
        name="time-invariant-counts",
        bits=Bits.LOGARITHMIC,
        statement="Fixed gates show the last letters, the position modulo m and sums: they do C-RASP with a "
        "window and a clock.",
        language=windowed_counts,
        architecture=linear & time_invariant & can_hold & plain_state,
        senses=FINITE,
        model=MARGIN,
        assumptions=("unbounded integer bits", "gates of exactly 1 and roots of unity, in the limit"),
        reason=lambda f: "sums of gate 1, over marked letters, tell the states of each component apart",
        no_network=(NoNetwork(reason=NOT_WRITTEN, language=~_counted_depth),),
    ),
    no(
        name="time-invariant-only-counts",
        statement="With rational angles, two states p = p·e and q = p·exe of one component, e and x of the "
        "stable semigroup, are not told apart by fixed gates at finite precision.",
        language=stable_pair,
        architecture=linear & time_invariant & can_hold & plain_state,
        senses=FINITE,
        model=MARGIN,
        conditional_on=RATIONAL_ANGLES,
        reason=lambda f: "fixed gates can only count, and two states of the language have the same counts",
        witness=Facts.stable_witness,
    ),
    no(
        name="fixed-turns-quasi-aperiodic",
        statement="At finite precision diagonal layers with constant gates, and selective ones with gates in "
        "[0,1] among them, do only regular languages in AC0; PARITY by SSMs with rational angles is "
        "[Sarrof2024].",
        language=regular & ~quasi_aperiodic,
        architecture=(linear & time_invariant & diagonal & complex_gates & can_hold) | mixed_diagonal,
        senses=FINITE,
        model=MARGIN,
        reason=lambda f: "turned states fill a connected set, on which readings with a margin are constant",
        witness=Facts.counter_witness,
    ),
    no(
        name="time-invariant-quasi-aperiodic",
        statement="A time-invariant recurrence with rational angles recognises only regular languages "
        "in AC0: "
        "a group in the stable semigroup has loops of every length divisible by the common period.",
        language=regular & ~quasi_aperiodic,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=EXACT | FINITE,
        model=TAME,
        conditional_on=RATIONAL_ANGLES,
        reason=lambda f: "fixed gates need a quasi-aperiodic language (regular in AC0)",
        witness=Facts.counter_witness,
    ),
    yes(
        name="time-invariant-clock",
        statement="A root of unity as a constant gate counts positions modulo m.",
        language=length_only & group_language,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=EXACT | FINITE,
        reference=Reference("Alsmann2026"),
        provenance=Provenance.SECONDARY,
        model=FIXED_WIDTH,
        assumptions=(
            "where |λ| = 1 is only a limit, in exact arithmetic the angle of a shrinking state is read",
        ),
        reason=lambda f: "only the length matters: one rotating state",
        size=lambda f, a: Size(layers=1, width=1, note="complex"),
    ),
    yes(
        name="time-invariant-clock-floats",
        statement="A constant cyclic permutation matrix counts positions modulo m exactly in floats.",
        language=length_only & group_language,
        architecture=linear & time_invariant & dense,
        senses=IEEE,
        model=FLOATS,
        reason=lambda f: "only the length matters: a cyclic shift of 0s and 1s",
        size=lambda f, a: Size(layers=1, width=f.profile.num_states),
    ),
    yes(
        name="time-invariant-unary-logic",
        bits=Bits.LOGARITHMIC,
        statement="Time-invariant diagonal layers express unary past temporal logic with counting of "
        "positions, which contains the locally testable and the R-trivial languages.",
        language=_once_and_yesterday,
        architecture=linear & time_invariant & can_hold & plain_state,
        senses=FINITE,
        reference=Reference("Alsmann2026"),
        provenance=Provenance.SECONDARY,
        model=FIXED_WIDTH,
        assumptions=("arithmetic of fixed width that saturates",),
        reason=lambda f: "definable with 'yesterday' and 'once' alone",
    ),
    yes(
        name="offset-counting-one-scalar",
        statement="One complex scalar with gate e^{2πi/n} predicts the end of bursts of fixed length n.",
        language=offset_counting,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=EXACT | FINITE,
        tasks=frozenset({VerdictTask.PREDICT}),
        reference=Reference("MemoryGeneralization", "Appendix I"),
        provenance=Provenance.READ,
        model=TAME,
        assumptions=("every burst is complete: an interrupted one leaves a phase error for ever",),
        reason=lambda f: "one rotation per burst",
        size=lambda f, a: Size(layers=1, width=1, note="complex"),
    ),
    yes(
        name="mixed-layers-ac0",
        statement="Time-invariant and selective diagonal layers together express the regular languages in "
        "AC0.",
        language=quasi_aperiodic,
        architecture=mixed_diagonal,
        senses=FINITE,
        reference=Reference("Alsmann2026"),
        provenance=Provenance.SECONDARY,
        model=FIXED_WIDTH,
        assumptions=("arithmetic of fixed width",),
        reason=lambda f: "regular in AC0: star-free with a clock",
    ),
    no(
        name="mixed-layers-only-ac0",
        statement="Time-invariant and selective layers with gates in [0,1] together express nothing regular "
        "beyond AC0; in particular not PARITY.",
        language=regular & ~quasi_aperiodic,
        architecture=mixed_diagonal,
        senses=EXACT,
        model=TAME,
        conditional_on=RATIONAL_ANGLES,
        reason=lambda f: "nonnegative gates, with a clock or not, need a regular language in AC0",
        witness=Facts.counter_witness,
    ),
)
