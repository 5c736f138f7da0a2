"""Definite languages: the last letters settle everything.

Also the layers for languages that a window settles inside each part of the automaton (`window_parts`).
"""

from __future__ import annotations

from nerode.compiler.assembly import Assembly, decode_table, table_indicator
from nerode.compiler.automaton_parts import Flags, Parts, old_name, one_part
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.forms import total
from nerode.compiler.suffixes import suffix_table
from nerode.compiler.tables import DecisionTable
from nerode.compiler.window_layers import Window, chains_of
from nerode.core import Budget, NotCompilable, Reference
from nerode.languages import Dfa, Legal
from nerode.network import Network
from nerode.verdict import can_hold, in_class, linear

_MOST_STATES = 3_000
"""States up to which all pairs of states are followed back."""


def compile_window(request: Request) -> Network:
    """Returns a network that holds the last letters: definite languages.

    Implements: [PerlesRabinShamir1963]
    """
    parts = one_part(small_automaton(request))
    if parts.window() is None:
        raise NotCompilable(request.target.name, ["the language is not definite: no window settles it"])
    return compile_parts(request, parts, "window", Reference("PerlesRabinShamir1963"))


def small_automaton(request: Request) -> Dfa:
    """Returns the minimal automaton if all pairs of its states can be followed.

    Raises:
        NotCompilable: if it is too large.
    """
    dfa = request.facts.automaton
    if dfa is None or dfa.num_states > _MOST_STATES:
        raise NotCompilable(
            request.target.name,
            [f"the minimal automaton has more than {_MOST_STATES:,} states or is not there"],
        )
    return dfa


def compile_parts(request: Request, parts: Parts, name: str, reference: Reference) -> Network:
    """Returns a window and one set-once flag for each part that can be reached, over all words.

    Raises:
        BudgetExceeded: if the window has too many suffixes.
    """
    moves, answers = request.once(f"tables of {parts.kind}", lambda: _tables(parts, request.options.budget))
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


def _tables(
    parts: Parts, budget: Budget
) -> tuple[dict[int, DecisionTable[int]], dict[int, DecisionTable[Legal]]]:
    """Where each part leads by the letters of the window, and what is legal in it."""
    moves: dict[int, DecisionTable[int]] = {}
    answers: dict[int, DecisionTable[Legal]] = {}
    for part in range(len(parts.names)):
        if (move := suffix_table(parts.dfa, parts.moves(part), budget)) is not None:
            moves[part] = move
        if (answer := suffix_table(parts.dfa, parts.answers(part), budget)) is not None:
            answers[part] = answer
    return moves, answers


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
