"""Formulas of past temporal logic: trees, their text with few parentheses, and the reader of such texts.

Implements: [Kamp1968], the past operators.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from nerode.core import InputError, PatternError
from nerode.languages.alphabet import Alphabet
from nerode.languages.notation import (
    OPERAND,
    FlatOperator,
    Grammar,
    InfixOperator,
    Piece,
    PrefixOperator,
    Token,
    Tree,
    check_symbol,
    distinct_subtrees,
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


class Formula(Tree):
    """A node of a formula; every node is one of the classes below."""

    __slots__ = ()
    noun = "formula"

    @property
    def children(self) -> tuple[Formula, ...]:
        """The operands, left to right."""
        return ()


class Temporal(Formula):
    """A formula that speaks of earlier positions; each one needs one bit of memory."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(Formula):
    """True or false."""

    value: bool

    @property
    def label(self) -> Hashable:
        """The truth value."""
        return self.value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Atom(Formula):
    """The letter at this position is `symbol`."""

    symbol: str

    @property
    def label(self) -> Hashable:
        """The letter."""
        return self.symbol


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Unary(Formula):
    operand: Formula

    @property
    def children(self) -> tuple[Formula, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Binary(Formula):
    left: Formula
    right: Formula

    @property
    def children(self) -> tuple[Formula, ...]:
        """The two operands."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Flat(Formula):
    parts: tuple[Formula, ...]

    def __post_init__(self) -> None:
        kind = type(self)
        if len(self.parts) < 2 or any(isinstance(part, kind) for part in self.parts):
            raise InputError(
                f"an {kind.__name__} needs at least two parts, none of them an {kind.__name__}; "
                "conjunction() and disjunction() make one from any parts"
            )

    @property
    def children(self) -> tuple[Formula, ...]:
        """The parts."""
        return self.parts


class Not(_Unary):
    """The operand does not hold."""

    __slots__ = ()


class And(_Flat):
    """All parts hold."""

    __slots__ = ()


class Or(_Flat):
    """At least one part holds."""

    __slots__ = ()


class Implies(_Binary):
    """The right operand holds or the left one does not."""

    __slots__ = ()


class Iff(_Binary):
    """Both operands hold or neither does."""

    __slots__ = ()


class Yesterday(_Unary, Temporal):
    """There is a position before, and the operand held there."""

    __slots__ = ()


class WeakYesterday(_Unary, Temporal):
    """There is no position before, or the operand held there."""

    __slots__ = ()


class Once(_Unary, Temporal):
    """The operand held here or at some position before."""

    __slots__ = ()


class Historically(_Unary, Temporal):
    """The operand held here and at all positions before."""

    __slots__ = ()


class Since(_Binary, Temporal):
    """The right operand held here or before, and the left one at every position after that."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PastFormula:
    """A formula and the alphabet of the words that it speaks of."""

    formula: Formula
    alphabet: Alphabet

    def __post_init__(self) -> None:
        if not self.alphabet.symbols:
            raise InputError("a formula needs an alphabet with at least one symbol")
        known = set(self.alphabet)
        for node in subtrees(self.formula):
            if isinstance(node, Atom) and node.symbol not in known:
                raise InputError(
                    f"the letter {node.symbol!r} of the formula is not in the alphabet "
                    f"{{{self.alphabet.describe()}}}"
                )


def conjunction(*parts: Formula) -> Formula:
    """Returns the conjunction of the parts; true if there are none."""
    flat = flatten(And, parts)
    return And(flat) if len(flat) > 1 else flat[0] if flat else Constant(True)


def disjunction(*parts: Formula) -> Formula:
    """Returns the disjunction of the parts; false if there are none."""
    flat = flatten(Or, parts)
    return Or(flat) if len(flat) > 1 else flat[0] if flat else Constant(False)


def subformulas(formula: Formula) -> tuple[Formula, ...]:
    """Returns the different subformulas, operands before what they are operands of, the whole last."""
    return tuple(distinct_subtrees(formula)[0])


RESERVED = frozenset("!&|()<>-\\$YZOPHS")
"""Characters that mean something."""

_PREFIX: dict[type[Formula], str] = {
    Not: "!",
    Yesterday: "Y ",
    WeakYesterday: "Z ",
    Once: "O ",
    Historically: "H ",
}
_INFIX: dict[type[Formula], tuple[str, int]] = {
    Iff: (" <-> ", 1),
    Implies: (" -> ", 2),
    Or: (" | ", 3),
    And: (" & ", 4),
    Since: (" S ", 5),
}
_UNARY = 6
_ATOM = 7


def to_text(formula: PastFormula | Formula) -> str:
    """Returns text that parses to this formula."""
    return write_tree(formula.formula if isinstance(formula, PastFormula) else formula, _binding, _spell)


def _binding(node: Formula) -> int:
    if type(node) in _INFIX:
        return _INFIX[type(node)][1]
    return _UNARY if node.children else _ATOM


def _spell(node: Formula) -> list[Piece[Formula]]:
    if type(node) in _PREFIX:
        return [_PREFIX[type(node)], (node.children[0], _UNARY)]
    if not node.children:
        return [_atom_text(node)]
    operator, binding = _INFIX[type(node)]
    needed = [binding + 1] * len(node.children)
    if isinstance(node, Implies):
        needed[1] = binding
    elif isinstance(node, Iff | Since):
        needed[0] = binding
    return interleave(operator, zip(node.children, needed, strict=True))


def _atom_text(node: Formula) -> str:
    if isinstance(node, Constant):
        return "true" if node.value else "false"
    assert isinstance(node, Atom)
    return write_symbol(node.symbol, RESERVED)


_GRAMMAR: Grammar[Formula] = Grammar(
    noun="formula",
    operators={
        "!": PrefixOperator("!", 6, Not),
        "Y": PrefixOperator("Y", 6, Yesterday),
        "Z": PrefixOperator("Z", 6, WeakYesterday),
        "O": PrefixOperator("O", 6, Once),
        "P": PrefixOperator("P", 6, Once),
        "H": PrefixOperator("H", 6, Historically),
        "S": InfixOperator("S", 5, Since),
        "&": FlatOperator("&", 4, And),
        "|": FlatOperator("|", 3, Or),
        "->": InfixOperator("->", 2, Implies, right=True),
        "<->": InfixOperator("<->", 1, Iff),
    },
    advice="operators are ! Y Z O H, and S & | -> <-> between two formulas; a letter whose name has several "
    "characters or is an operator is written <name>; true and false are formulas",
)
_SIGNS = frozenset("!&|()YZOPHS")
_CONSTANTS = {"true": Constant(True), "false": Constant(False)}


def parse(text: str, alphabet: Alphabet | Iterable[str] | None = None) -> PastFormula:
    """Returns the formula that a text stands for, with its alphabet.

    Args:
        text: the formula.
        alphabet: the letters of the words; those of the formula if it is None.

    Raises:
        PatternError: if the text does not parse, has letters outside the alphabet, or has no letters and
            no alphabet is given.
    """
    tokens = _tokenise(text)
    atoms = [(token.value.symbol, token.column) for token in tokens if isinstance(token.value, Atom)]
    if alphabet is None:
        known = Alphabet.of(symbol for symbol, _ in atoms)
    else:
        known = given_alphabet(alphabet)
        letters = set(known)
        for symbol, column in atoms:
            if symbol not in letters:
                raise outside(f"the letter {symbol!r}", known, text, column)
    formula = parse_tokens(tokens, _GRAMMAR, text)
    if not known.symbols:
        raise without_letters("formula", text, 1)
    return PastFormula(formula=formula, alphabet=known)


def _tokenise(text: str) -> list[Token]:
    tokens: list[Token] = []
    atoms: dict[str, Atom] = {}
    i = 0
    while i < len(text):
        if text[i].isspace():
            i += 1
            continue
        column = i + 1
        kind, symbol, i = _read_token(text, i)
        if symbol in _CONSTANTS and kind == "constant":
            tokens.append(Token(OPERAND, column, _CONSTANTS[symbol]))
        elif kind == OPERAND:
            tokens.append(Token(OPERAND, column, atoms.setdefault(symbol, Atom(symbol))))
        else:
            tokens.append(Token(kind, column))
    return tokens


def _read_token(text: str, i: int) -> tuple[str, str, int]:
    """The kind of the token at i, its symbol (for operands) and where the text goes on."""
    c = text[i]
    if c in _SIGNS:
        return c, "", i + 1
    for sign in ("<->", "->"):
        if text.startswith(sign, i):
            return sign, "", i + len(sign)
    for constant in _CONSTANTS:
        if text.startswith(constant, i):
            return "constant", constant, i + len(constant)
    if c == "\\":
        symbol, end = read_escape(text, i)
        return OPERAND, symbol, end
    if c == "<":
        symbol, end = read_bracketed(text, i)
        return OPERAND, symbol, end
    check_symbol(c, text, i + 1)
    if c in RESERVED:
        raise PatternError(
            f"{c} has no meaning here",
            text=text,
            column=i + 1,
            hint=f"write -> or <->, or \\{c} for the letter",
        )
    return OPERAND, c, i + 1
