"""Reading formulas; the notation is described in `nerode.languages.pastltl`."""

from __future__ import annotations

from collections.abc import Iterable

from nerode.core import InputError, PatternError
from nerode.languages.alphabet import Alphabet
from nerode.languages.notation import (
    OPERAND,
    FlatOperator,
    Grammar,
    InfixOperator,
    PrefixOperator,
    Token,
    check_symbol,
    parse_tokens,
    read_bracketed,
    read_escape,
)
from nerode.languages.pastltl.syntax import (
    RESERVED,
    And,
    Atom,
    Constant,
    Formula,
    Historically,
    Iff,
    Implies,
    Not,
    Once,
    Or,
    PastFormula,
    Since,
    WeakYesterday,
    Yesterday,
)

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
        known = alphabet if isinstance(alphabet, Alphabet) else Alphabet(tuple(alphabet))
        _check_atoms(atoms, known, text)
    formula = parse_tokens(tokens, _GRAMMAR, text)
    if not known.symbols:
        raise PatternError(
            "the alphabet is unknown, because the formula has no letters",
            text=text,
            column=1,
            hint="give the alphabet, e.g. --alphabet ab",
        )
    return PastFormula(formula=formula, alphabet=known)


def _check_atoms(atoms: list[tuple[str, int]], alphabet: Alphabet, text: str) -> None:
    if not alphabet.symbols:
        raise InputError("the alphabet is empty; give at least one symbol")
    known = set(alphabet)
    for symbol, column in atoms:
        if symbol not in known:
            raise PatternError(
                f"the letter {symbol!r} is outside the alphabet {{{alphabet.describe()}}}",
                text=text,
                column=column,
                hint="use letters of the alphabet, or add this one to it",
            )


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
