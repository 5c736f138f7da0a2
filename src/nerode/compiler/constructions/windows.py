"""Languages that a window of the last letters settles, as a whole or inside each part of the automaton.

A definite language is settled as a whole. Otherwise set-once flags say which part was reached. The parts are
the live and the dead states for strictly local languages, otherwise the strongly connected components, which
are single states for R-trivial languages. Every gate can be the same at all steps, so time-invariant
recurrences carry this, too; where gates depend on the input, cascades are usually no deeper, and this comes
after them. Gates of modulus 1 never forget, so that they have no window; their flags are tallies of events,
which do R-trivial languages. Where the current letter decides, nothing is remembered at all.

The window is one layer where the transition may move values between coordinates (a nilpotent shift). Where it
is diagonal there is one layer for each letter back, and each shows the next one its state before the letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from nerode.compiler.automaton_parts import Flags, Parts, old_name, one_part, partitions, suffix_table
from nerode.compiler.construction import Construction, Request
from nerode.compiler.forms import DirectionForm, direction, total
from nerode.compiler.network_builder import LayerStack, legal_sets
from nerode.compiler.tables import DecisionTable, decode_table, table_indicator
from nerode.core import Budget, BudgetExceeded, NotCompilable, Reference
from nerode.languages import Dfa, Legal
from nerode.network import ByChoice, Network, Recurrence, Row
from nerode.verdict import (
    Facts,
    LanguageCondition,
    Transition,
    can_fade,
    can_hold,
    in_class,
    linear,
    never_holds,
    r_trivial,
    star_free,
    time_invariant,
    unit_gates,
)

_MOST_STATES = 3_000
"""States up to which all pairs of states are followed back."""

Chains = Mapping[int, int]
"""For each letter that is looked for, how many positions back from the current one (0), that one included."""


def compile_window(request: Request) -> Network:
    """Returns a network that holds the last letters: definite languages.

    Implements: [PerlesRabinShamir1963]
    """
    parts = one_part(small_automaton(request))
    if parts.window() is None:
        raise NotCompilable(request.target.name, ["the language is not definite: no window decides"])
    return compile_parts(request, parts, Reference("PerlesRabinShamir1963"))


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


def compile_parts(request: Request, parts: Parts, reference: Reference) -> Network:
    """Returns a window and one set-once flag for each part that can be reached, over all words.

    Raises:
        BudgetExceeded: if the window has too many suffixes.
    """
    moves, answers = request.once(f"tables of {parts.kind}", lambda: _tables(parts, request.options.budget))
    literals = [literal for table in moves.values() for literal in table.literals]
    literals += [literal for table in answers.values() for literal in table.literals]
    stack = LayerStack(request)
    flags = Flags(parts)
    window = Window(stack, chains_of(literals), alone=not len(flags) and _can_forget(request))
    exposes = request.options.exclusive_scan
    for depth in range(1, flags.depth + 1):
        builder = stack.layer(f"flags {depth}", exposes_previous=exposes)
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
            stack.flag(builder, flag, event, old=old_name(flag) if flags.is_read(flag) else None)
        stack.append(builder.build(time_invariant=stack.tallies), builder.stream)
    decoder = stack.decoder()
    for part, answer in answers.items():
        decode_table(decoder, answer, window.literal, flags.is_there(part))
    return stack.network(
        decoder.build(stack.empty()),
        route=_route(parts, window, flags),
        reference=reference,
    )


def _can_forget(request: Request) -> bool:
    return bool(can_fade(request.target.properties))


def _tables(
    parts: Parts, budget: Budget
) -> tuple[dict[int, DecisionTable[int]], dict[int, DecisionTable[Legal]]]:
    """The moves and the legal letters of each part, as tables over the letters of the window."""
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


WINDOW = Construction(
    name="window",
    title="a window of the last letters",
    theorem="delay-line",
    language=in_class("definite"),
    architecture=linear & can_hold & can_fade,
    build=compile_window,
)


def chains_of(literals: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Returns what a window must hold for literals (position, letter)."""
    longest: dict[int, int] = {}
    for position, letter in literals:
        longest[letter] = max(longest.get(letter, 0), position + 1)
    return dict(sorted(longest.items()))


class Window:
    """The last letters of the word, on the stream.

    The letter with the number `len(alphabet)` stands for "the word begins later". A window of the current
    letter alone takes no layer, unless nothing else does (`alone`): the letter is on the stream already.

    Attributes:
        num_layers: how many layers hold it.
    """

    def __init__(self, stack: LayerStack, chains: Chains, *, alone: bool) -> None:
        self._assembly = stack
        self._nothing = len(stack.alphabet)
        self._current_on_stream = False
        before = len(stack.layers)
        transition = stack.request.target.properties.transition
        longest = max(chains.values(), default=1)
        if longest == 1 and not alone:
            pass
        elif transition in (Transition.DENSE, Transition.PERMUTATION_DIAGONAL):
            self._add_shift(chains, permutation=transition is Transition.PERMUTATION_DIAGONAL)
        else:
            self._add_delays(chains)
        self.num_layers = len(stack.layers) - before

    def literal(self, position: int, letter: int) -> tuple[DirectionForm, ...]:
        """Returns 1 where the letter so many positions back is this one."""
        if position == 0 and not self._current_on_stream:
            return (self._assembly.letter(letter),)
        return (direction(self._name(position, letter)),)

    def _name(self, position: int, letter: int) -> str:
        symbols = self._assembly.alphabet.symbols
        return f"x-{position}={symbols[letter]}" if letter < self._nothing else f"begins after x-{position}"

    def _add_shift(self, chains: Chains, *, permutation: bool) -> None:
        """One layer in which each letter's coordinates pass their values on; h has A^k = 0."""
        chains = chains or {0: 1}
        builder = self._assembly.layer("window")
        matrix: list[Row] = []
        images: list[int] = []
        for letter, length in chains.items():
            first = len(matrix)
            for position in range(length):
                name = self._name(position, letter)
                enters = position == 0 and letter < self._nothing
                write: DirectionForm | int = self._assembly.letter(letter) if enters else 0
                state = builder.coordinate(name, gate=0, write=write, start=int(letter == self._nothing))
                builder.output(name, state)
                matrix.append(((len(matrix) - 1, 1),) if position else ())
                images.append(first + (position + 1) % length)
        self._current_on_stream = True
        if permutation:
            layer = builder.build(recurrence=self._permutation(chains, images))
        else:
            layer = builder.build(matrix=matrix)
        self._assembly.append(layer, builder.stream)

    def _permutation(self, chains: Chains, images: list[int]) -> Recurrence:
        """The shift as a cyclic permutation of each chain that drops what would come round."""
        diagonal = tuple(int(i == image - 1) for i, image in enumerate(images))
        places = [(letter, position) for letter, length in chains.items() for position in range(length)]
        num_letters = len(self._assembly.alphabet)
        return ByChoice.from_images(
            images=(tuple(images),) * num_letters,
            diagonals=(diagonal,) * num_letters,
            writes=tuple(tuple(int(place == (a, 0)) for place in places) for a in range(num_letters)),
        )

    def _add_delays(self, chains: Chains) -> None:
        """One layer for each position from 1 on, or one for the current letter if nothing older is needed."""
        longest = max(chains.values(), default=1)
        if longest == 1:
            self._add_current(chains or {0: 1})
        for position in range(1, longest):
            self._add_delay(position, [letter for letter, length in chains.items() if length > position])

    def _add_current(self, chains: Chains) -> None:
        builder = self._assembly.layer("current letter")
        for letter in chains:
            name = self._name(0, letter)
            builder.output(name, builder.coordinate(name, gate=0, write=self._assembly.letter(letter)))
        self._current_on_stream = True
        self._assembly.add(builder)

    def _add_delay(self, position: int, letters: list[int]) -> None:
        """A layer that holds position - 1 and shows what it held before, which is `position`."""
        exclusive = self._assembly.request.options.exclusive_scan
        retain = self._assembly.request.options.retention
        builder = self._assembly.layer(f"letter {position} back", exposes_previous=exclusive)
        for letter in letters:
            held, shown = self._name(position - 1, letter), self._name(position, letter)
            absent = letter == self._nothing
            write: DirectionForm | int = (
                0 if absent and position == 1 else self.literal(position - 1, letter)[0]
            )
            builder.output(shown, builder.delayed(held, write, retain, start=int(absent))[1])
        self._assembly.add(builder)


def compile_window_parts(request: Request) -> Network:
    """Returns a network of a window and set-once flags: strictly local, R-trivial and more languages.

    Implements: [McNaughton1974], [BrzozowskiFich1980]
    """
    reasons = []
    for parts in partitions(small_automaton(request)):
        length = parts.window()
        if length is None or (length > 1 and not _can_forget(request)):
            continue
        try:
            return compile_parts(request, parts, Reference("NerodeTheory"))
        except BudgetExceeded as stop:
            reasons.append(f"{parts.kind}: {stop}")
    reasons.append("no window decides, inside each strongly connected component, where the automaton is")
    raise NotCompilable(request.target.name, reasons)


WINDOW_PARTS_TIME_INVARIANT = Construction(
    name="window-parts-time-invariant",
    title="a window and set-once flags, all gates fixed",
    theorem="time-invariant-unary-logic",
    language=star_free,
    architecture=linear & can_hold & time_invariant,
    build=compile_window_parts,
)

ONCE_FLAGS = Construction(
    name="once-flags",
    title="tallies of events, with gates of 1",
    theorem="isometries-tell-once",
    language=r_trivial,
    architecture=linear & can_hold & unit_gates,
    build=compile_window_parts,
)


def _letters_settle(facts: Facts) -> bool | None:
    """Whether each letter leads to one state at most from which a word can go on."""
    dfa = facts.automaton
    if dfa is None:
        return None if facts.regular else False
    live = dfa.transitions[dfa.live]
    return all(np.unique(column[dfa.live[column]]).size <= 1 for column in live.T)


def compile_letter(request: Request) -> Network:
    """Returns a network without any layer, for prefixes of valid words: the current letter decides.

    Implements: [NerodeTheory]
    """
    dfa = request.automaton
    legal = legal_sets(dfa)
    stack = LayerStack(request)
    decoder = stack.decoder()
    for letter, column in enumerate(dfa.transitions[dfa.live].T):
        for q in np.unique(column[dfa.live[column]]).tolist():
            decoder.add_legal(legal[q], stack.letter(letter))
    return stack.network(
        decoder.build(stack.empty()),
        route="the current letter decides on prefixes of valid words: no layer",
        reference=Reference("NerodeTheory"),
    )


LETTER = Construction(
    name="letter",
    title="the current letter alone, on valid prefixes",
    theorem="letter-decides",
    language=LanguageCondition("settled by the current letter on valid prefixes", _letters_settle),
    architecture=linear & (never_holds | unit_gates),
    build=compile_letter,
    predicts_only=True,
)
