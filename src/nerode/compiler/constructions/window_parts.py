"""Languages that a window settles inside each part of the automaton, with set-once flags for the parts.

The parts are the live and the dead states for strictly local languages, otherwise the strongly connected
components, which are single states for R-trivial languages. If, inside each part, the last letters settle
where to go and what is legal, a window and set-once flags are enough. Every gate can be the same at all
steps, so time-invariant recurrences carry this, too; where gates depend on the input, cascades are usually
no deeper, and this comes after them.
"""

from __future__ import annotations

from functools import partial

from nerode.compiler.automaton_parts import partitions
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.constructions.windows import compile_parts, small_automaton
from nerode.core import BudgetExceeded, NotCompilable, Reference
from nerode.network import Network
from nerode.verdict import can_hold, diagonal, input_dependent, linear, star_free, time_invariant


def compile_window_parts(request: Request, name: str = "window-parts") -> Network:
    """Returns a network of a window and set-once flags: strictly local, R-trivial and more languages.

    Implements: [McNaughton1974], [BrzozowskiFich1980]
    """
    reasons = []
    for parts in partitions(small_automaton(request)):
        if parts.window() is None:
            continue
        try:
            return compile_parts(request, parts, name, Reference("NerodeTheory"))
        except BudgetExceeded as stop:
            reasons.append(f"{parts.kind}: {stop}")
    reasons.append("no window settles, inside each strongly connected component, where the automaton is")
    raise NotCompilable(request.target.name, reasons)


construction(
    Construction(
        name="window-parts-time-invariant",
        title="a window and set-once flags, all gates fixed",
        theorem="time-invariant-unary-logic",
        language=star_free,
        architecture=linear & can_hold & time_invariant,
        build=partial(compile_window_parts, name="window-parts-time-invariant"),
    )
)

construction(
    Construction(
        name="window-parts",
        title="a window and set-once flags",
        theorem="star-free-selective",
        language=star_free,
        architecture=linear & diagonal & input_dependent & can_hold,
        build=compile_window_parts,
    )
)
