"""Regular expressions: trees, their text, the reader of such texts, and membership by definition.

The notation is described in `nerode.languages.regex`. `to_text` writes with as few parentheses as possible;
`matches` is slow, short and independent of the automata: the oracle for everything compiled.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nerode.core import InputError, PatternError
from nerode.languages.alphabet import Alphabet
from nerode.languages.notation import (
    OPERAND,
    FlatOperator,
    Grammar,
    Piece,
    PostfixOperator,
    PrefixOperator,
    Token,
    Tree,
    check_symbol,
    flatten,
    given_alphabet,
    interleave,
    outside,
    parse_tokens,
    read_bracketed,
    read_escape,
    subtrees,
    without_letters,
    write_symbol,
    write_tree,
)

MAX_REPEAT = 10_000
"""The largest number inside the braces of a repeat."""


class Expression(Tree):
    """A node of a regular expression; every node is one of the classes below."""

    __slots__ = ()
    noun = "expression"

    @property
    def children(self) -> tuple[Expression, ...]:
        """The operands, left to right."""
        return ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmptySet(Expression):
    """No word."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Epsilon(Expression):
    """The empty word."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Letters(Expression):
    """One letter out of a non-empty set, given as a sorted tuple."""

    symbols: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.symbols or list(self.symbols) != sorted(set(self.symbols)):
            raise InputError(
                f"the letters {self.symbols} are not a non-empty sorted tuple without repetitions"
            )

    @property
    def label(self) -> Hashable:
        """The letters."""
        return self.symbols


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Combination(Expression):
    """Two parts or more, none of which is a combination of the same kind."""

    parts: tuple[Expression, ...]

    def __post_init__(self) -> None:
        kind = type(self)
        if len(self.parts) < 2 or any(isinstance(part, kind) for part in self.parts):
            raise InputError(
                f"a {kind.__name__} needs at least two parts, none of them a {kind.__name__}; "
                f"{kind.__name__.lower()}() makes one from any parts"
            )

    @property
    def children(self) -> tuple[Expression, ...]:
        """The parts."""
        return self.parts


class Concat(Combination):
    """One part after the other."""

    __slots__ = ()


class Union(Combination):
    """Words of at least one part."""

    __slots__ = ()


class Intersection(Combination):
    """Words of all parts."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Complement(Expression):
    """Words over the alphabet that the operand does not have."""

    operand: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Repeat(Expression):
    """At least `low` and at most `high` times the operand; None is no limit."""

    operand: Expression
    low: int
    high: int | None

    def __post_init__(self) -> None:
        top = self.low if self.high is None else self.high
        if not 0 <= self.low <= top <= MAX_REPEAT:
            raise InputError(
                f"a repeat from {self.low} to {self.high} is not possible; "
                f"give 0 ≤ low ≤ high ≤ {MAX_REPEAT:,}, or None for no upper limit"
            )

    @property
    def children(self) -> tuple[Expression, ...]:
        """The operand."""
        return (self.operand,)

    @property
    def label(self) -> Hashable:
        """The limits."""
        return self.low, self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex:
    """An expression and the alphabet that its complements are relative to."""

    expression: Expression
    alphabet: Alphabet

    def __post_init__(self) -> None:
        if not self.alphabet.symbols:
            raise InputError("a regular expression needs an alphabet with at least one symbol")
        known = set(self.alphabet)
        for node in subtrees(self.expression):
            if isinstance(node, Letters) and not known.issuperset(node.symbols):
                unknown = next(symbol for symbol in node.symbols if symbol not in known)
                raise InputError(
                    f"the letter {unknown!r} of the expression is not in the alphabet "
                    f"{{{self.alphabet.describe()}}}"
                )


def concat(*parts: Expression) -> Expression:
    """Returns the parts one after the other; ε if there are none."""
    flat = flatten(Concat, parts)
    return Concat(flat) if len(flat) > 1 else flat[0] if flat else Epsilon()


def union(*parts: Expression) -> Expression:
    """Returns the union of the parts; ∅ if there are none."""
    flat = flatten(Union, parts)
    return Union(flat) if len(flat) > 1 else flat[0] if flat else EmptySet()


def intersection(*parts: Expression) -> Expression:
    """Returns the intersection of one or more parts."""
    flat = flatten(Intersection, parts)
    if not flat:
        raise InputError("an intersection needs at least one part")
    return Intersection(flat) if len(flat) > 1 else flat[0]


RESERVED = frozenset("|&~*+?{}()[]<>.\\^$ε∅")
"""Characters that mean something outside a class."""

RESERVED_IN_CLASS = RESERVED | {"-"}
"""Characters that mean something inside a class, and those that do outside."""

_BINDING: dict[type[Expression], int] = {Union: 1, Intersection: 2, Concat: 3, Complement: 4, Repeat: 5}
_ATOM = 6
_SEPARATOR: dict[type[Expression], str] = {Union: "|", Intersection: "&", Concat: ""}


def to_text(regex: Regex) -> str:
    """Returns a pattern that parses to this expression over this alphabet."""
    return write_tree(regex.expression, _binding, lambda node: _spell(node, regex.alphabet))


def _binding(node: Expression) -> int:
    return _BINDING.get(type(node), _ATOM)


def _spell(node: Expression, alphabet: Alphabet) -> list[Piece[Expression]]:
    binding = _binding(node)
    if isinstance(node, Complement):
        return ["~", (node.operand, binding)]
    if isinstance(node, Repeat):
        return [(node.operand, binding), _limits_text(node)]
    if node.children:
        return interleave(_SEPARATOR[type(node)], [(part, binding + 1) for part in node.children])
    return [_atom_text(node, alphabet)]


def _limits_text(node: Repeat) -> str:
    match node.low, node.high:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case low, None:
            return f"{{{low},}}"
        case low, high:
            return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def _atom_text(node: Expression, alphabet: Alphabet) -> str:
    if isinstance(node, Epsilon):
        return "ε"
    if isinstance(node, EmptySet):
        return "∅"
    assert isinstance(node, Letters)
    if len(node.symbols) == 1:
        return write_symbol(node.symbols[0], RESERVED)
    if len(node.symbols) == len(alphabet):
        return "."
    chosen = set(node.symbols)
    rest = [symbol for symbol in alphabet if symbol not in chosen]
    sign, symbols = ("^", rest) if 2 * len(rest) < len(chosen) else ("", list(node.symbols))
    return f"[{sign}{''.join(write_symbol(symbol, RESERVED_IN_CLASS) for symbol in symbols)}]"


MAX_RANGE = 10_000
"""The largest number of letters of one range in a class."""

_OPERATORS = frozenset("()|&~")
_SHORT_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONSTANTS: dict[str, Expression] = {"ε": Epsilon(), "∅": EmptySet()}
_ADVICE = {
    "^": "patterns match whole words, so no anchor is needed; write \\^ for the letter",
    "]": "open it with [, or write \\] for the letter",
    "}": "open it with {, or write \\} for the letter",
    ">": "open it with <, or write \\> for the letter",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A letter as it was written."""

    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """All letters from one character to another."""

    first: str
    last: str

    def __contains__(self, symbol: object) -> bool:
        return isinstance(symbol, str) and len(symbol) == 1 and self.first <= symbol <= self.last

    def __iter__(self) -> Iterator[str]:
        return map(chr, range(ord(self.first), ord(self.last) + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterClass:
    """`[…]` or `.`, with the column of every item."""

    negated: bool
    items: tuple[tuple[Letter | Range, int], ...] = ()


ANY_LETTER = LetterClass(negated=True)


def tokenise(text: str) -> list[Token]:
    """Returns the tokens; the value of an operand is a Letter, a LetterClass or an Expression."""
    tokens: list[Token] = []
    letters: dict[str, Letter] = {}
    i = 0
    while i < len(text):
        c = text[i]
        column = i + 1
        if c not in RESERVED:
            if not c.isspace():
                if c not in letters:
                    letters[c] = Letter(symbol=c)
                tokens.append(Token(OPERAND, column, letters[c]))
            i += 1
        elif c in _OPERATORS:
            if text[i : i + 2] == "(?":
                hint = "brackets only group, as in (ab)*: leave out the ? and what belongs to it"
                raise PatternError("(? has no meaning here", text=text, column=column, hint=hint)
            tokens.append(Token(c, column))
            i += 1
        elif c in _SHORT_REPEATS:
            tokens.append(Token("repeat", column, _SHORT_REPEATS[c]))
            i += 1
        else:
            token, i = _long_token(text, i)
            tokens.append(token)
    return tokens


def _long_token(text: str, i: int) -> tuple[Token, int]:
    c = text[i]
    if c == ".":
        return Token(OPERAND, i + 1, ANY_LETTER), i + 1
    if c in _CONSTANTS:
        return Token(OPERAND, i + 1, _CONSTANTS[c]), i + 1
    if c == "[":
        return _read_class(text, i)
    if c == "{":
        return _read_limits(text, i)
    if c in "\\<":
        symbol, end = read_escape(text, i) if c == "\\" else read_bracketed(text, i)
        return Token(OPERAND, i + 1, Letter(symbol=symbol)), end
    check_symbol(c, text, i + 1)
    raise PatternError(f"{c} has no meaning here", text=text, column=i + 1, hint=_ADVICE[c])


def _read_limits(text: str, start: int) -> tuple[Token, int]:
    end = text.find("}", start)
    if end < 0:
        raise PatternError("unclosed {", text=text, column=start + 1, hint="close it with }, or write \\{")

    def fail(what: str, hint: str) -> PatternError:
        return PatternError(what, text=text, column=start + 1, hint=hint)

    numbers = ["".join(part.split()) for part in text[start + 1 : end].split(",")]
    if (
        len(numbers) > 2
        or not any(numbers)
        or not all(n == "" or (n.isascii() and n.isdigit()) for n in numbers)
    ):
        raise fail("a repeat that cannot be read", "write {3}, {3,}, {3,5} or {,5}")
    if any(len(n) > 9 or int(n or "0") > MAX_REPEAT for n in numbers):
        raise fail(f"a repeat of more than {MAX_REPEAT:,}", "nest two repeats: x{100}{100}")
    low = int(numbers[0] or "0")
    high = None if numbers[-1] == "" else int(numbers[-1])
    if high is not None and high < low:
        raise fail(f"a repeat from {low} to {high}", "the first number must not be larger than the second")
    return Token("repeat", start + 1, (low, high)), end + 1


def _read_class(text: str, start: int) -> tuple[Token, int]:
    items: list[tuple[Letter | Range, int]] = []
    i = _skip_space(text, start + 1)
    negated = text[i : i + 1] == "^"
    i = _skip_space(text, i + negated)
    while text[i : i + 1] not in ("", "]"):
        column = i + 1
        symbol, i = _read_class_symbol(text, i)
        i = _skip_space(text, i)
        if text[i : i + 1] == "-":
            last, i = _read_range_end(text, i)
            items.append((_range(symbol, last, text, column), column))
            i = _skip_space(text, i)
        else:
            items.append((Letter(symbol=symbol), column))
    if i >= len(text):
        raise PatternError("unclosed [", text=text, column=start + 1, hint="close it with ], or write \\[")
    if not items and not negated:
        return Token(OPERAND, start + 1, EmptySet()), i + 1
    return Token(OPERAND, start + 1, LetterClass(negated=negated, items=tuple(items))), i + 1


def _skip_space(text: str, i: int) -> int:
    while i < len(text) and text[i].isspace():
        i += 1
    return i


def _read_class_symbol(text: str, i: int) -> tuple[str, int]:
    c = text[i]
    if c == "\\":
        return read_escape(text, i)
    if c == "<":
        return read_bracketed(text, i)
    if c in "[>-^ε∅":
        raise PatternError(
            f"{c} inside a class",
            text=text,
            column=i + 1,
            hint=f"write \\{c} for the letter" + ("; a range is written a-z" if c == "-" else ""),
        )
    check_symbol(c, text, i + 1)
    return c, i + 1


def _read_range_end(text: str, dash: int) -> tuple[str, int]:
    i = _skip_space(text, dash + 1)
    if text[i : i + 1] in ("", "]"):
        raise PatternError(
            "a range without an end", text=text, column=dash + 1, hint="write \\- for the letter"
        )
    return _read_class_symbol(text, i)


def _range(first: str, last: str, text: str, column: int) -> Range:
    def fail(what: str, hint: str) -> PatternError:
        return PatternError(what, text=text, column=column, hint=hint)

    if len(first) > 1 or len(last) > 1:
        raise fail("a range between symbols of several characters", "list the symbols one by one")
    if first > last:
        raise fail(f"the range {first}-{last} is reversed", f"write {last}-{first}")
    if ord(last) - ord(first) >= MAX_RANGE:
        raise fail(f"the range {first}-{last} has more than {MAX_RANGE:,} letters", "use a smaller range")
    return Range(first=first, last=last)


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
        known = given_alphabet(alphabet)
        _check_letters(tokens, known, text)
    operands = _Operands(known)
    resolved = ((kind, column, operands.of(value)) for kind, column, value in tokens)
    expression = parse_tokens(resolved, _GRAMMAR, text)
    if not known.symbols:
        column = next((t.column for t in tokens if t.kind == OPERAND), 1)
        raise without_letters("pattern", text, column)
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
                raise outside(what, alphabet, text, column)


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
