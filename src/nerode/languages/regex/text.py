"""Writing regular expressions with as few parentheses as possible."""

from __future__ import annotations

from nerode.languages.alphabet import Alphabet
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
from nerode.languages.symbols import write_symbol

RESERVED = frozenset("|&~*+?{}()[]<>.\\^$ε∅")
"""Characters that mean something outside a class."""

RESERVED_IN_CLASS = RESERVED | {"-"}
"""Characters that mean something inside a class, and those that do outside."""

_BINDING: dict[type[Expression], int] = {Union: 1, Intersection: 2, Concat: 3, Complement: 4, Repeat: 5}
_ATOM = 6
_SEPARATOR: dict[type[Expression], str] = {Union: "|", Intersection: "&", Concat: ""}


def to_text(regex: Regex) -> str:
    """Returns a pattern that parses to this expression over this alphabet."""
    pieces: list[str] = []
    # What is still to be written, last first: text, or an expression and how tightly it must bind.
    todo: list[str | tuple[Expression, int]] = [(regex.expression, 0)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        node, needed = item
        binding = _BINDING.get(type(node), _ATOM)
        if binding < needed:
            todo += [")", (node, 0), "("]
        elif isinstance(node, Complement):
            todo += [(node.operand, binding), "~"]
        elif isinstance(node, Repeat):
            todo += [_limits_text(node), (node.operand, binding)]
        elif node.children:
            todo += _interleaved(node, binding)
        else:
            pieces.append(_atom_text(node, regex.alphabet))
    return "".join(pieces)


def _interleaved(node: Expression, binding: int) -> list[str | tuple[Expression, int]]:
    todo: list[str | tuple[Expression, int]] = []
    for part in reversed(node.children):
        todo += [(part, binding + 1), _SEPARATOR[type(node)]]
    return todo[:-1]


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
