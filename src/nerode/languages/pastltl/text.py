"""Writing formulas with as few parentheses as possible."""

from __future__ import annotations

from nerode.languages.pastltl.syntax import (
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
from nerode.languages.symbols import write_symbol

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
    pieces: list[str] = []
    root = formula.formula if isinstance(formula, PastFormula) else formula
    # What is still to be written, last first: text, or a formula and how tightly it must bind.
    todo: list[str | tuple[Formula, int]] = [(root, 0)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        node, needed = item
        if _binding(node) < needed:
            todo += [")", (node, 0), "("]
        elif type(node) in _PREFIX:
            todo += [(node.children[0], _UNARY), _PREFIX[type(node)]]
        elif node.children:
            todo += _interleaved(node)
        else:
            pieces.append(_atom_text(node))
    return "".join(pieces)


def _binding(node: Formula) -> int:
    if type(node) in _INFIX:
        return _INFIX[type(node)][1]
    return _UNARY if node.children else _ATOM


def _interleaved(node: Formula) -> list[str | tuple[Formula, int]]:
    """The operands and the operator between them, last first."""
    operator, binding = _INFIX[type(node)]
    needed = [binding + 1] * len(node.children)
    if isinstance(node, Implies):
        needed[1] = binding
    elif isinstance(node, Iff | Since):
        needed[0] = binding
    todo: list[str | tuple[Formula, int]] = []
    for child, least in zip(reversed(node.children), reversed(needed), strict=True):
        todo += [(child, least), operator]
    return todo[:-1]


def _atom_text(node: Formula) -> str:
    if isinstance(node, Constant):
        return "true" if node.value else "false"
    assert isinstance(node, Atom)
    return write_symbol(node.symbol, RESERVED)
