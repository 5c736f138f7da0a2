"""Languages that a finite window settles, alone or with a partial order of the automaton's parts.

One part is enough for definite languages; the live and the dead states for strictly local ones; otherwise
the parts are the strongly connected components, which are single states for R-trivial languages. If, inside
each part, the last letters settle where to go and what is legal, a window and set-once flags are enough.
Every gate can be the same at all steps, so time-invariant recurrences carry this, too.
"""

from __future__ import annotations

from functools import partial

from nerode.compiler.assembly import Assembly, decode_table, table_indicator
from nerode.compiler.automaton_parts import Flags, Parts, old_name, one_part, partitions
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.forms import total
from nerode.compiler.network import Network
from nerode.compiler.suffixes import suffix_table
from nerode.compiler.tables import DecisionTable
from nerode.compiler.window_layers import Window, chains_of
from nerode.core.errors import BudgetExceeded, NotCompilable
from nerode.core.refs import Reference
from nerode.languages.dfa import Dfa
from nerode.languages.language import Legal
from nerode.verdict.classes import can_hold, linear, time_invariant
from nerode.verdict.facts import in_class, star_free

_MOST_STATES = 3_000
"""States up to which all pairs of states are followed back."""


def compile_window(request: Request) -> Network:
    """Returns a network that holds the last letters: definite languages.

    Implements: [PerlesRabinShamir1963]
    """
    parts = one_part(_automaton(request))
    if parts.window() is None:
        raise NotCompilable(request.target.name, ["the language is not definite: no window settles it"])
    return _compile(request, parts, "window", Reference("PerlesRabinShamir1963"))


def compile_window_parts(request: Request, name: str = "window-parts") -> Network:
    """Returns a network of a window and set-once flags: strictly local, R-trivial and more languages.

    Implements: [McNaughton1974], [BrzozowskiFich1980]
    """
    reasons = []
    for parts in partitions(_automaton(request)):
        if parts.window() is None:
            continue
        try:
            return _compile(request, parts, name, Reference("NerodeTheory"))
        except BudgetExceeded as stop:
            reasons.append(f"{parts.kind}: {stop}")
    reasons.append("no window settles, inside each strongly connected component, where the automaton is")
    raise NotCompilable(request.target.name, reasons)


def _automaton(request: Request) -> Dfa:
    dfa = request.facts.automaton
    if dfa is None or dfa.num_states > _MOST_STATES:
        raise NotCompilable(
            request.target.name,
            [f"the minimal automaton has more than {_MOST_STATES:,} states or is not there"],
        )
    return dfa


def _compile(request: Request, parts: Parts, name: str, reference: Reference) -> Network:
    budget = request.options.budget
    moves: dict[int, DecisionTable[int]] = {}
    answers: dict[int, DecisionTable[Legal]] = {}
    for part in range(len(parts.names)):
        if (move := suffix_table(parts.dfa, parts.moves(part), budget)) is not None:
            moves[part] = move
        if (answer := suffix_table(parts.dfa, parts.answers(part), budget)) is not None:
            answers[part] = answer
    literals = [literal for table in moves.values() for literal in table.literals]
    literals += [literal for table in answers.values() for literal in table.literals]
    assembly = Assembly(request)
    flags = Flags(parts)
    window = Window(assembly, chains_of(literals), alone=not len(flags))
    exposes = request.options.exclusive_scan
    for depth in range(1, flags.depth + 1):
        builder = assembly.layer(f"flags {depth}", exposes_previous=exposes)
        for flag in flags.at(depth):
            event = total(
                table_indicator(
                    moves[source],
                    flags.targets(flag, source).__contains__,
                    window.literal,
                    builder.relu,
                    flags.was_there(flag, source),
                )
                for source in flags.sources(flag)
            )
            assembly.flag(builder, flag, event, old=old_name(flag) if flags.is_read(flag) else None)
        assembly.add(builder)
    decoder = assembly.decoder()
    for part, answer in answers.items():
        decode_table(decoder, answer, window.literal, flags.is_there(part))
    return assembly.network(
        decoder.build(assembly.empty()),
        construction=name,
        route=_route(parts, window, flags),
        reference=reference,
    )


def _route(parts: Parts, window: Window, flags: Flags) -> str:
    length = parts.window() or 0
    layers = "one layer" if window.num_layers == 1 else f"{window.num_layers} layers"
    letters = f"the last {length} letters in {layers}" if length > 1 else "the current letter"
    if not len(flags):
        return f"{parts.kind}: {letters} settle{'' if length > 1 else 's'} what is legal"
    flag = "one set-once flag" if len(flags) == 1 else f"{len(flags)} set-once flags in {flags.depth} layers"
    return f"{parts.kind}: {letters}, and {flag} for what was reached for good"


construction(
    Construction(
        name="window",
        title="a window of the last letters",
        theorem="delay-line",
        language=in_class("definite"),
        architecture=linear & can_hold,
        build=compile_window,
    )
)

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
