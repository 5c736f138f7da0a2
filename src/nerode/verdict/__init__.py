"""Verdicts: whether an architecture can express a language, by which theorem, in which arithmetic.

Open `decision` first: it joins the facts of a language (`facts`), the properties of an architecture
(`architectures`, `classes`) and the theorems (`theorems/`, one row per result).
"""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.verdict.architectures import ALIASES, ARCHITECTURES, Architecture, find_architecture
    from nerode.verdict.classes import (
        ClassCondition,
        Gates,
        MemoryKind,
        Positions,
        State,
        Transition,
        WayOfCounting,
        above_minus_half,
        averaging_heads,
        can_fade,
        can_hold,
        complex_gates,
        counts_by,
        dense,
        diagonal,
        exact_gates,
        free_write,
        has_minus_one,
        has_negative,
        householder,
        input_dependent,
        linear,
        many_factors,
        mixed_diagonal,
        nearest_heads,
        never_holds,
        nonlinear,
        nonnegative,
        one_factor,
        periodic_vectors,
        permutation_diagonal,
        plain_state,
        relu_state,
        sloped_heads,
        softmax,
        squashed,
        time_invariant,
        unit_gates,
    )
    from nerode.verdict.decision import collect_facts, decide, select_architectures, verdict_for
    from nerode.verdict.declaration import contradiction, declaration_trouble, describe
    from nerode.verdict.facts import (
        Facts,
        LanguageCondition,
        bracket_stack,
        clocked_local,
        counter_machine,
        group_language,
        in_class,
        length_only,
        of_family,
        position_decides,
        quasi_aperiodic,
        r_trivial,
        regular,
        solvable,
        star_free,
        two_groups,
        with_group,
    )
    from nerode.verdict.records import (
        Bits,
        Provenance,
        Sense,
        Size,
        Status,
        Verdict,
        VerdictTable,
        VerdictTask,
    )

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.verdict.architectures": "ALIASES ARCHITECTURES Architecture find_architecture",
        "nerode.verdict.classes": (
            "ClassCondition Gates MemoryKind Positions State Transition WayOfCounting above_minus_half "
            "averaging_heads can_fade can_hold complex_gates counts_by dense diagonal exact_gates free_write "
            "has_minus_one has_negative householder input_dependent linear many_factors mixed_diagonal "
            "nearest_heads never_holds nonlinear nonnegative one_factor periodic_vectors "
            "permutation_diagonal plain_state relu_state sloped_heads softmax squashed time_invariant "
            "unit_gates"
        ),
        "nerode.verdict.decision": "collect_facts decide select_architectures verdict_for",
        "nerode.verdict.declaration": "contradiction declaration_trouble describe",
        "nerode.verdict.facts": (
            "Facts LanguageCondition bracket_stack clocked_local counter_machine group_language in_class "
            "length_only of_family position_decides quasi_aperiodic r_trivial regular solvable star_free "
            "two_groups with_group"
        ),
        "nerode.verdict.records": "Bits Provenance Sense Size Status Verdict VerdictTable VerdictTask",
    },
)
