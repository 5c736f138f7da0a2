"""Languages that a finite window of the input settles, and time-invariant recurrences."""

from __future__ import annotations

from nerode.core import Reference
from nerode.verdict.architectures import Architecture
from nerode.verdict.classes import (
    can_fade,
    can_hold,
    complex_gates,
    dense,
    linear,
    mixed_diagonal,
    never_holds,
    plain_state,
    time_invariant,
)
from nerode.verdict.facts import (
    Facts,
    group_language,
    in_class,
    length_only,
    of_family,
    quasi_aperiodic,
    regular,
    star_free,
    window_determined,
    with_neutral_letter,
)
from nerode.verdict.records import Provenance, Sense, Size, Status, VerdictTask
from nerode.verdict.theorems.base import (
    FIXED_WIDTH,
    FLOATS,
    LINDEMANN,
    METRIC,
    RATIONAL_ANGLES,
    SARROF,
    TAME,
    NoNetwork,
    Theorem,
    theorem,
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
    contexts = facts.language.parameters.get("contexts")
    return Size(layers=1, width=contexts) if contexts else Size(layers=1)


theorem(
    Theorem(
        name="n-gram-one-layer",
        statement="A one-layer SSM h = A h + B x, y = C relu(h + b) with one neuron for each context and a "
        "nilpotent A models every n-gram language up to any eps.",
        language=window_determined,
        architecture=linear & dense & time_invariant,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE}),
        conclusion=Status.YES,
        reference=Reference("Nandakumar2024", "Theorem 4.1"),
        provenance=Provenance.READ,
        model=TAME,
        assumptions=(
            "prediction at prefixes of at least n-1 words",
            "the well-conditioned construction, not the generic one of the paper",
        ),
        reason=_window_text,
        size=_ngram_size,
    )
)

theorem(
    Theorem(
        name="delay-line",
        statement="A constant gate of 1/4 keeps the last letters as base-4 digits with a margin, so every "
        "linear recurrence with such a gate does what a finite window settles, under noise too.",
        language=window_determined,
        architecture=linear & can_fade,
        senses=frozenset(Sense),
        conclusion=Status.YES,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=METRIC,
        assumptions=(
            "one delay layer for each letter of the window, with a piecewise-linear decoder",
            "RetNet: fixed gates of many angles make a filter that is a delay up to any error",
        ),
        reason=_window_text,
        no_network=(NoNetwork(reason=LINDEMANN, architecture=never_holds),),
    )
)

theorem(
    Theorem(
        name="time-invariant-not-parity",
        statement="No time-invariant SSM whose gate angles are rational recognises PARITY.",
        language=regular & ~star_free & ~quasi_aperiodic & with_neutral_letter,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.NO,
        reference=Reference("Sarrof2024"),
        provenance=Provenance.READ,
        model=SARROF,
        conditional_on=RATIONAL_ANGLES,
        reason=lambda f: "fixed gates cannot skip neutral letters while counting",
        witness=Facts.counter_witness,
    )
)

theorem(
    Theorem(
        name="time-invariant-quasi-aperiodic",
        statement="A time-invariant recurrence with rational angles recognises only regular languages "
        "in AC0: "
        "a group in the stable semigroup has loops of every length divisible by the common period.",
        language=regular & ~quasi_aperiodic,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=TAME,
        conditional_on=RATIONAL_ANGLES,
        reason=lambda f: "fixed gates need a quasi-aperiodic language (regular in AC0)",
        witness=Facts.counter_witness,
    )
)

theorem(
    Theorem(
        name="time-invariant-clock",
        statement="A root of unity as a constant gate counts positions modulo m.",
        language=length_only & group_language,
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Alsmann2026"),
        provenance=Provenance.SECONDARY,
        model=FIXED_WIDTH,
        assumptions=(
            "where |λ| = 1 is only a limit, in exact arithmetic the angle of a shrinking state is read",
        ),
        reason=lambda f: "only the length matters: one rotating state",
        size=lambda f, a: Size(layers=1, width=1, note="complex"),
    )
)

theorem(
    Theorem(
        name="time-invariant-clock-floats",
        statement="A constant cyclic permutation matrix counts positions modulo m exactly in floats.",
        language=length_only & group_language,
        architecture=linear & time_invariant & dense,
        senses=frozenset({Sense.IEEE}),
        conclusion=Status.YES,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=FLOATS,
        reason=lambda f: "only the length matters: a cyclic shift of 0s and 1s",
        size=lambda f, a: Size(layers=1, width=f.profile.num_states),
    )
)

theorem(
    Theorem(
        name="time-invariant-unary-logic",
        statement="Time-invariant diagonal layers express unary past temporal logic with counting of "
        "positions, which contains the locally testable and the R-trivial languages.",
        language=in_class("locally-testable") | in_class("r-trivial"),
        architecture=linear & time_invariant & can_hold & plain_state,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Alsmann2026"),
        provenance=Provenance.SECONDARY,
        model=FIXED_WIDTH,
        assumptions=("arithmetic of fixed width that saturates",),
        reason=lambda f: "definable with 'yesterday' and 'once' alone",
    )
)

theorem(
    Theorem(
        name="offset-counting-one-scalar",
        statement="One complex scalar with gate e^{2πi/n} predicts the end of bursts of fixed length n.",
        language=of_family({"offset-counting"}, "offset counting"),
        architecture=linear & time_invariant & complex_gates & can_hold,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        tasks=frozenset({VerdictTask.PREDICT}),
        conclusion=Status.YES,
        reference=Reference("MemoryGeneralization", "Appendix I"),
        provenance=Provenance.READ,
        model=TAME,
        assumptions=("every burst is complete: an interrupted one leaves a phase error for ever",),
        reason=lambda f: "one rotation a burst",
        size=lambda f, a: Size(layers=1, width=1, note="complex"),
    )
)

theorem(
    Theorem(
        name="mixed-layers-ac0",
        statement="Time-invariant and selective diagonal layers together express the regular languages in "
        "AC0.",
        language=quasi_aperiodic,
        architecture=mixed_diagonal,
        senses=frozenset({Sense.FINITE_PRECISION}),
        conclusion=Status.YES,
        reference=Reference("Alsmann2026"),
        provenance=Provenance.SECONDARY,
        model=FIXED_WIDTH,
        assumptions=("arithmetic of fixed width",),
        reason=lambda f: "regular in AC0: star-free with a clock",
    )
)

theorem(
    Theorem(
        name="mixed-layers-only-ac0",
        statement="Time-invariant and selective layers with gates in [0,1] together express nothing regular "
        "beyond AC0; in particular not PARITY.",
        language=regular & ~quasi_aperiodic,
        architecture=mixed_diagonal,
        senses=frozenset({Sense.EXACT, Sense.FINITE_PRECISION}),
        conclusion=Status.NO,
        reference=Reference("NerodeTheory"),
        provenance=Provenance.DERIVED,
        model=TAME,
        conditional_on=RATIONAL_ANGLES,
        reason=lambda f: "a clock and nonnegative gates need a regular language in AC0",
        witness=Facts.counter_witness,
    )
)
