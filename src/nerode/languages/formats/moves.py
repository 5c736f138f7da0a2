"""The moves that a file lists, and the complete deterministic automaton made of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nerode.core import Budget, FormatError, InputError, excerpt, started
from nerode.languages.alphabet import END, Alphabet
from nerode.languages.determinise import Nfa, determinise
from nerode.languages.dfa import Dfa, IntArray

MAX_SYMBOL = 200
"""Longest symbol in a file, in characters; what is longer is a damaged file, not a letter."""


class Move(NamedTuple):
    """One transition of a file; the symbol None is the empty word, `line` is where it stands."""

    source: int
    symbol: str | None
    target: int
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The automaton of a file as it stands there; states are 0 … num_states-1 in the order of the file.

    Attributes:
        path: the file, for messages.
        num_states: number of states that the file names.
        moves: its transitions, possibly partial or nondeterministic.
        starts: its start states.
        accepting: its accepting states.
        symbols: its alphabet in order, None where the file has only the labels of its transitions; the
            alphabet is then these labels, sorted.
        state_names: names of the states; none where the format has none, or where the automaton has choices,
            as its states are then not those of the automaton that is made of it.
        outputs: whether the file is a machine with outputs; the last letters, which begin with a slash, are
            then outputs.
    """

    path: Path
    num_states: int
    moves: Sequence[Move]
    starts: Sequence[int]
    accepting: Iterable[int]
    symbols: Sequence[str] | None = None
    state_names: tuple[str, ...] = ()
    outputs: bool = False


OUTPUT = "/"
"""Begins the letter that stands for an output of a machine, so that outputs and letters differ."""

MAX_OUTPUT_STATES = 100_000
"""Most states of a machine with an output in each state that is made of one with outputs in its moves."""


def moore_outline(outline: Outline, outputs: Sequence[str]) -> Outline:
    """Returns the outline of a Moore machine: words, each followed by the output that answers it.

    After a word of the machine's letters exactly one letter that is an output may follow, so a network that
    predicts the next letters names it. After an output the word ends.

    Args:
        outline: the machine without accepting states.
        outputs: of each state.
    """
    seen: dict[tuple[int, str | None], int] = {}
    for source, symbol, target, line in outline.moves:
        if symbol is None or seen.setdefault((source, symbol), target) != target or len(outline.starts) != 1:
            raise FormatError(
                "a machine with outputs has one start, and one move for each state and letter",
                path=outline.path,
                line=line,
            )
    end = outline.num_states
    given = sorted({move.symbol for move in outline.moves if move.symbol is not None})
    symbols = [
        *(given if outline.symbols is None else outline.symbols),
        *sorted({OUTPUT + o for o in outputs}),
    ]
    return Outline(
        path=outline.path,
        num_states=end + 1,
        moves=[*outline.moves, *(Move(q, OUTPUT + text, end) for q, text in enumerate(outputs))],
        starts=outline.starts,
        accepting=[end],
        symbols=symbols,
        outputs=True,
    )


def mealy_outline(outline: Outline, outputs: Sequence[str]) -> Outline:
    """Returns the outline of a Mealy machine, as that of a Moore machine whose empty word has no output.

    Args:
        outline: the machine without accepting states; each move has a letter.
        outputs: of each move.
    """
    numbers: dict[tuple[int, str], int] = {(q, ""): i for i, q in enumerate(outline.starts)}
    leaving: dict[int, list[tuple[Move, str]]] = {}
    for move, text in zip(outline.moves, outputs, strict=True):
        leaving.setdefault(move.source, []).append((move, text))
    moves: list[Move] = []
    order = list(numbers)
    for state in order:
        for move, text in leaving.get(state[0], []):
            after = move.target, text
            if after not in numbers:
                numbers[after] = len(order)
                order.append(after)
            moves.append(Move(numbers[state], move.symbol, numbers[after], move.line))
        if len(moves) > MAX_OUTPUT_STATES:
            raise FormatError(
                f"the Mealy machine has more than {MAX_OUTPUT_STATES:,} moves", path=outline.path
            )
    machine = Outline(
        path=outline.path,
        num_states=len(order),
        moves=moves,
        starts=list(range(len(outline.starts))),
        accepting=(),
        symbols=outline.symbols,
    )
    made = moore_outline(machine, [text for _, text in order])
    silent = OUTPUT
    return replace(
        made,
        moves=[move for move in made.moves if move.symbol != silent],
        symbols=[symbol for symbol in made.symbols or () if symbol != silent],
    )


def outline_to_dfa(
    outline: Outline, *, alphabet: Iterable[str] | None = None, budget: Budget | None = None
) -> Dfa:
    """Returns the complete deterministic automaton of an outline.

    A deterministic outline keeps its states and their order; if a transition is missing, one rejecting
    sink comes last. A nondeterministic one goes through the subset construction.

    Args:
        outline: what the file says.
        alphabet: the symbols in order, instead of those of the file; it may have letters that the file
            does not use.
        budget: limits on the states and on the table.

    Raises:
        FormatError: if a symbol cannot be one, a letter is outside the alphabet or a transition is
            there twice.
        BudgetExceeded: if the automaton is too large.
    """
    budget = started(budget)
    budget.check("states", outline.num_states, file=outline.path)
    letters = _alphabet_of(outline, alphabet)
    _refuse_repetition(outline)
    number = {symbol: i for i, symbol in enumerate(letters)}
    budget.check("bytes", 4 * (outline.num_states + 1) * len(letters), file=outline.path)
    table = _deterministic_table(outline, number)
    if table is None:
        return _determinised(outline, letters, number, budget)
    accepting = np.zeros(outline.num_states, dtype=np.bool_)
    accepting[list(outline.accepting)] = True
    if (table < 0).any():
        table = np.vstack([table, np.full((1, len(letters)), -1, dtype=np.int32)])
        table[table < 0] = outline.num_states
        accepting = np.append(accepting, False)
    return Dfa(alphabet=letters, transitions=table, start=outline.starts[0], accepting=accepting)


def outline_of_dfa(dfa: Dfa, path: Path) -> Outline:
    """Returns the outline of an automaton that a file describes in another way."""
    return Outline(
        path=path,
        num_states=dfa.num_states,
        moves=[
            Move(q, dfa.alphabet.symbols[a], target)
            for q, row in enumerate(dfa.transitions.tolist())
            for a, target in enumerate(row)
        ],
        starts=[dfa.start],
        accepting=np.flatnonzero(dfa.accepting).tolist(),
        symbols=dfa.alphabet.symbols,
    )


def symbol_fault(symbol: str) -> str:
    """Returns why a string cannot be a symbol of an automaton file, "" if it can.

    The alphabets of nerode exclude white space and "$"; files exclude control characters too, because
    neither XML nor a line of text carries them safely, and symbols longer than MAX_SYMBOL.
    """
    if not symbol:
        return "it is empty"
    if len(symbol) > MAX_SYMBOL:
        return f"it is longer than {MAX_SYMBOL} characters"
    if symbol == END:
        return "it stands for the end of a word"
    if any(c.isspace() for c in symbol):
        return "it has white space in it"
    if any(unicodedata.category(c) in ("Cc", "Cs") or c in "\ufffe\uffff" for c in symbol):
        return "it has a character in it that text files cannot carry"
    return ""


def writable_symbols(dfa: Dfa, *, reserved: Iterable[str] = ()) -> tuple[str, ...]:
    """Returns the symbols of an automaton if a file can carry them all.

    Raises:
        InputError: naming the first symbol that would not read back as itself.
    """
    taken = frozenset(reserved)
    for symbol in dfa.alphabet:
        fault = symbol_fault(symbol)
        if not fault and symbol.lower() in taken:
            fault = "it stands for the empty word there"
        if fault:
            raise InputError(
                f"the symbol {excerpt(symbol)} cannot be written to this file: {fault}; rename it"
            )
    return dfa.alphabet.symbols


def _alphabet_of(outline: Outline, alphabet: Iterable[str] | None) -> Alphabet:
    where: dict[str, int | None] = {}
    for move in outline.moves:
        if move.symbol is not None:
            where.setdefault(move.symbol, move.line)
    if alphabet is not None:
        letters = Alphabet(tuple(alphabet))
    else:
        symbols = sorted(where) if outline.symbols is None else outline.symbols
        for symbol in symbols:
            fault = symbol_fault(symbol)
            if fault:
                raise FormatError(
                    f"{excerpt(symbol)} cannot be a symbol: {fault}",
                    path=outline.path,
                    line=where.get(symbol),
                    hint="Rename it",
                )
        letters = Alphabet(tuple(symbols))
    known = frozenset(letters)
    for symbol, line in where.items():
        if symbol not in known:
            raise FormatError(
                f"the letter {excerpt(symbol)} is not in the alphabet {{{letters.describe()}}}",
                path=outline.path,
                line=line,
                hint="Give the alphabet with all letters of the file",
            )
    return letters


def _refuse_repetition(outline: Outline) -> None:
    first: dict[tuple[int, str | None, int], int | None] = {}
    for move in outline.moves:
        key = move[:3]
        if key in first:
            before = "" if first[key] is None else f" of line {first[key]}"
            raise FormatError(
                f"this transition repeats that{before}",
                path=outline.path,
                line=move.line,
                hint="Remove one of the two",
            )
        first[key] = move.line


def _deterministic_table(outline: Outline, number: dict[str, int]) -> IntArray | None:
    """The transitions, -1 where there is none; None if there is a choice or an empty move."""
    if len(outline.starts) != 1:
        return None
    table = np.full((outline.num_states, len(number)), -1, dtype=np.int32)
    for source, symbol, target, _ in outline.moves:
        if symbol is None or table[source, number[symbol]] >= 0:
            return None
        table[source, number[symbol]] = target
    return table


def _determinised(outline: Outline, letters: Alphabet, number: dict[str, int], budget: Budget) -> Dfa:
    moves = tuple((s, None if symbol is None else number[symbol], t) for s, symbol, t, _ in outline.moves)
    nfa = Nfa(
        alphabet=letters,
        transitions=moves,
        starts=frozenset(outline.starts),
        accepting=frozenset(outline.accepting),
    )
    return determinise(nfa, budget)
