"""Reading regular expressions; the notation is described in `nerode.languages.regex`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from nerode.core import InputError, PatternError
from nerode.languages.alphabet import Alphabet
from nerode.languages.operator_parser import (
    OPERAND,
    FlatOperator,
    Grammar,
    PostfixOperator,
    PrefixOperator,
    Token,
    parse_tokens,
)
from nerode.languages.regex.syntax import (
    Complement,
    Concat,
    EmptySet,
    Epsilon,
    Expression,
    Intersection,
    Letters,
    Regex,
    Repeat,
    Union,
)
from nerode.languages.regex.tokens import Letter, LetterClass, Range, tokenise
from nerode.languages.symbols import check_symbol

_CONCATENATION: FlatOperator[Expression] = FlatOperator("concatenation", 3, Concat)

_GRAMMAR: Grammar[Expression] = Grammar(
    noun="pattern",
    operators={
        "repeat": PostfixOperator("the repeat", lambda operand, limits: Repeat(operand, *limits)),
        "~": PrefixOperator("~", 4, Complement),
        "&": FlatOperator("&", 2, Intersection),
        "|": FlatOperator("|", 1, Union),
    },
    juxtaposition=_CONCATENATION,
    empty_group=Epsilon(),
    advice="write ε for the empty word, ∅ for the empty set",
)


def parse(text: str, alphabet: Alphabet | Iterable[str] | None = None) -> Regex:
    """Returns the expression that a pattern stands for, with its alphabet.

    Args:
        text: the pattern.
        alphabet: the letters that `.`, `[^…]` and `~` range over; those of the pattern if it is None.

    Raises:
        PatternError: if the pattern does not parse, has letters outside the alphabet, or has no letters
            and no alphabet is given.
    """
    tokens = tokenise(text)
    if alphabet is None:
        known = Alphabet.of(_letters_of(tokens, text))
    else:
        known = alphabet if isinstance(alphabet, Alphabet) else Alphabet(tuple(alphabet))
        if not known.symbols:
            raise InputError("the alphabet is empty; give at least one symbol")
        _check_letters(tokens, known, text)
    operands = _Operands(known)
    resolved = ((kind, column, operands.of(value)) for kind, column, value in tokens)
    expression = parse_tokens(resolved, _GRAMMAR, text)
    if not known.symbols:
        column = next((t.column for t in tokens if t.kind == OPERAND), 1)
        raise PatternError(
            "the alphabet is unknown, because the pattern has no letters",
            text=text,
            column=column,
            hint="give the alphabet, e.g. --alphabet ab",
        )
    return Regex(expression=expression, alphabet=known)


def _letters_of(tokens: list[Token], text: str) -> set[str]:
    """The letters that the pattern writes, ranges included."""
    found: set[str] = set()
    for token in tokens:
        if isinstance(token.value, Letter):
            found.add(token.value.symbol)
        elif isinstance(token.value, LetterClass):
            for item, column in token.value.items:
                if isinstance(item, Letter):
                    found.add(item.symbol)
                else:
                    for symbol in item:
                        check_symbol(symbol, text, column)
                    found.update(item)
    return found


def _check_letters(tokens: list[Token], alphabet: Alphabet, text: str) -> None:
    known = set(alphabet)
    for token in tokens:
        if isinstance(token.value, Letter):
            items: Iterable[tuple[Letter | Range, int]] = [(token.value, token.column)]
        elif isinstance(token.value, LetterClass):
            items = token.value.items
        else:
            continue
        for item, column in items:
            if isinstance(item, Letter):
                missing = item.symbol not in known
                what = f"the letter {item.symbol!r}"
            else:
                missing = not any(symbol in item for symbol in alphabet)
                what = f"every letter of the range {item.first}-{item.last}"
            if missing:
                raise PatternError(
                    f"{what} is outside the alphabet {{{alphabet.describe()}}}",
                    text=text,
                    column=column,
                    hint="use letters of the alphabet, or add this one to it",
                )


class _Operands:
    """Turns the values of operand tokens into expressions; equal letters share one node."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.nodes: dict[tuple[str, ...], Expression] = {(): EmptySet()}
        self.classes: dict[Hashable, Expression] = {}

    def of(self, value: Any) -> Any:
        """The expression for a letter or a class; other values stay as they are."""
        if isinstance(value, Letter):
            return self.letters((value.symbol,))
        if isinstance(value, LetterClass):
            key = value.negated, tuple(item for item, _ in value.items)
            if key not in self.classes:
                self.classes[key] = self.letters(self.members(value))
            return self.classes[key]
        return value

    def letters(self, symbols: tuple[str, ...]) -> Expression:
        if symbols not in self.nodes:
            self.nodes[symbols] = Letters(symbols)
        return self.nodes[symbols]

    def members(self, letter_class: LetterClass) -> tuple[str, ...]:
        chosen: set[str] = set()
        for item, _ in letter_class.items:
            if isinstance(item, Letter):
                chosen.add(item.symbol)
            else:
                chosen.update(symbol for symbol in self.alphabet if symbol in item)
        if letter_class.negated:
            chosen = set(self.alphabet) - chosen
        return tuple(sorted(chosen))
