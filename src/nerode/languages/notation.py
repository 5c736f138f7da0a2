r"""Notation of patterns and formulas: letters, one parser for operators, syntax trees safe at any depth.

A letter of one character is written as itself, or after a backslash when the character has a meaning of
its own (`\*`); a letter of several characters is written in angle brackets (`<close>`), where a backslash
keeps `\`, `<` and `>` (`<-\>>` is the letter `->`).

The parser is operator precedence with explicit stacks: the depth of nesting is bounded by memory, not by
Python's stack. Associative operators (`FlatOperator`) collect all their operands in one node, and a chain of
them costs n log n however it is bracketed. Regular expressions and past-LTL formulas are two grammars of it.

Patterns and formulas come from users, who may nest them ten thousand deep. Every walk here keeps its own
stack, so that no walk can run out of Python's, and visits a shared subtree once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, NoReturn, TypeVar, cast

from nerode.core import InputError, PatternError
from nerode.languages.alphabet import END, Alphabet

T = TypeVar("T")

OPERAND, OPEN, CLOSE = "operand", "(", ")"


class Token(NamedTuple):
    """A piece of the text: an operand, a parenthesis or the name of an operator."""

    kind: str
    column: int
    value: Any = None


@dataclass(frozen=True, slots=True)
class PrefixOperator(Generic[T]):
    """`~x`."""

    name: str
    precedence: int
    build: Callable[[T], T]


@dataclass(frozen=True, slots=True)
class PostfixOperator(Generic[T]):
    """`x*`; binds tighter than everything else; `build` also gets the value of the token."""

    name: str
    build: Callable[[T, Any], T]


@dataclass(frozen=True, slots=True)
class InfixOperator(Generic[T]):
    """`x S y`, left-associative unless `right` is set."""

    name: str
    precedence: int
    build: Callable[[T, T], T]
    right: bool = False


@dataclass(frozen=True, slots=True)
class FlatOperator(Generic[T]):
    """`x | y | z`, associative: one node for the whole chain."""

    name: str
    precedence: int
    build: Callable[[tuple[T, ...]], T]


BinaryOperator = InfixOperator[T] | FlatOperator[T]
Operator = PrefixOperator[T] | PostfixOperator[T] | BinaryOperator[T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar(Generic[T]):
    """The operators of a notation and the words of its messages.

    Attributes:
        noun: what an expression is called ("pattern").
        operators: by token kind.
        juxtaposition: the operator that two neighbouring operands stand for; None if there must be one.
        empty_group: what `()` means; None if it means nothing.
        advice: what to write where an operand or an operator is missing.
    """

    noun: str
    operators: Mapping[str, Operator[T]]
    juxtaposition: FlatOperator[T] | None = None
    empty_group: T | None = None
    advice: str = ""


@dataclass(slots=True)
class _Run(Generic[T]):
    """The operands of an associative operator before they become a node."""

    operator: FlatOperator[T]
    parts: deque[T]


@dataclass(slots=True)
class _Parser(Generic[T]):
    text: str
    grammar: Grammar[T]
    operands: list[T | _Run[T]] = field(default_factory=list)
    # An open parenthesis is on this stack as None; the second entry is the column.
    waiting: list[tuple[PrefixOperator[T] | BinaryOperator[T] | None, int]] = field(default_factory=list)
    needs_operand: bool = True

    def fail(self, what: str, column: int, hint: str = "") -> NoReturn:
        raise PatternError(what, text=self.text, column=column, hint=hint)

    def begin_operand(self, column: int) -> None:
        if self.needs_operand:
            return
        if self.grammar.juxtaposition is None:
            self.fail("an operator is missing", column, self.grammar.advice)
        self.push_binary(self.grammar.juxtaposition, column)

    def push_binary(self, operator: BinaryOperator[T], column: int) -> None:
        right = isinstance(operator, InfixOperator) and operator.right
        while self.waiting:
            before = self.waiting[-1][0]
            if before is None or before.precedence < operator.precedence:
                break
            # A chain of one associative operator is reduced at its end, all at once.
            chain = before is operator and isinstance(operator, FlatOperator)
            if chain or (right and before.precedence == operator.precedence):
                break
            self.reduce()
        self.waiting.append((operator, column))
        self.needs_operand = True

    def reduce(self) -> None:
        """Applies the operator on top of the stack."""
        operator = self.waiting.pop()[0]
        if isinstance(operator, PrefixOperator):
            self.operands.append(operator.build(self.pop_node()))
        elif isinstance(operator, InfixOperator):
            right = self.pop_node()
            self.operands.append(operator.build(self.pop_node(), right))
        elif isinstance(operator, FlatOperator):
            first = len(self.operands) - 2
            while self.waiting and self.waiting[-1][0] is operator:
                self.waiting.pop()
                first -= 1
            self.operands[first:] = [self.merge(operator, self.operands[first:])]

    def merge(self, operator: FlatOperator[T], items: list[T | _Run[T]]) -> _Run[T]:
        parts: deque[T] = deque()
        for item in items:
            if not isinstance(item, _Run):
                parts.append(item)
            elif item.operator is not operator:
                parts.append(item.operator.build(tuple(item.parts)))
            elif len(item.parts) > len(parts):
                # The longer side keeps its place: a deep chain of brackets would cost n² otherwise.
                item.parts.extendleft(reversed(parts))
                parts = item.parts
            else:
                parts.extend(item.parts)
        return _Run(operator, parts)

    def pop_node(self) -> T:
        item = self.operands.pop()
        return item.operator.build(tuple(item.parts)) if isinstance(item, _Run) else item

    def close(self, column: int) -> None:
        if self.needs_operand:
            if not self.waiting:
                self.fail("unmatched )", column, "remove it, or open it with (")
            self.require_right_operand()
            if self.grammar.empty_group is None:
                self.fail("nothing between the parentheses", column, self.grammar.advice)
            self.operands.append(self.grammar.empty_group)
        self.reduce_group()
        if not self.waiting:
            self.fail("unmatched )", column, "remove it, or open it with (")
        self.waiting.pop()
        self.needs_operand = False

    def reduce_group(self) -> None:
        while self.waiting and self.waiting[-1][0] is not None:
            self.reduce()

    def require_right_operand(self) -> None:
        """Raises PatternError if an operator still waits for its right operand."""
        operator, column = self.waiting[-1]
        if operator is not None:
            self.fail(f"nothing to the right of {operator.name}", column, self.grammar.advice)

    def finish(self) -> T:
        if self.needs_operand and not self.waiting:
            self.fail(f"the {self.grammar.noun} is empty", 1, self.grammar.advice)
        if self.needs_operand:
            self.require_right_operand()
        else:
            self.reduce_group()
        if self.waiting:
            self.fail("unclosed (", self.waiting[-1][1], "close it with )")
        return self.pop_node()


def parse_tokens(tokens: Iterable[tuple[str, int, Any]], grammar: Grammar[T], text: str) -> T:
    """Returns the expression that the tokens (kind, column, value) of `text` stand for.

    Raises:
        PatternError: with the column of the operator or parenthesis that is in the wrong place.
    """
    parser = _Parser(text, grammar)
    operators = grammar.operators
    for kind, column, value in tokens:
        if kind == OPERAND:
            parser.begin_operand(column)
            parser.operands.append(value)
            parser.needs_operand = False
        elif kind == OPEN:
            parser.begin_operand(column)
            parser.waiting.append((None, column))
            parser.needs_operand = True
        elif kind == CLOSE:
            parser.close(column)
        else:
            _apply(parser, operators[kind], column, value)
    return parser.finish()


def _apply(parser: _Parser[T], operator: Operator[T], column: int, value: Any) -> None:
    if isinstance(operator, PrefixOperator):
        parser.begin_operand(column)
        parser.waiting.append((operator, column))
        parser.needs_operand = True
    elif parser.needs_operand:
        parser.fail(f"nothing to the left of {operator.name}", column, parser.grammar.advice)
    elif isinstance(operator, PostfixOperator):
        parser.operands.append(operator.build(parser.pop_node(), value))
    else:
        parser.push_binary(operator, column)


def read_escape(text: str, start: int) -> tuple[str, int]:
    """Returns the symbol that the backslash at `start` introduces and where the text goes on."""
    if start + 1 == len(text):
        raise PatternError(
            "nothing after the backslash", text=text, column=start + 1, hint="write \\\\ for one"
        )
    symbol = text[start + 1]
    if symbol.isalnum() and symbol not in "ε∅":
        raise PatternError(
            f"unknown escape \\{symbol}",
            text=text,
            column=start + 1,
            hint=f"a backslash goes before a punctuation mark; the letter is written {symbol} or <{symbol}>",
        )
    check_symbol(symbol, text, start + 1)
    return symbol, start + 2


def read_bracketed(text: str, start: int) -> tuple[str, int]:
    """Returns the symbol inside the angle brackets that open at `start` and where the text goes on."""
    characters: list[str] = []
    i = start + 1
    while i < len(text) and text[i] != ">":
        if text[i] == "\\":
            i += 1
            if text[i : i + 1] not in ("\\", "<", ">"):
                raise PatternError(
                    "unknown escape inside < >",
                    text=text,
                    column=i,
                    hint="inside < > a backslash goes before \\, < or >",
                )
        characters.append(text[i])
        i += 1
    if i >= len(text):
        raise PatternError("unclosed <", text=text, column=start + 1, hint="close it with >, or write \\<")
    symbol = "".join(characters)
    if not symbol:
        raise PatternError("a symbol without a name", text=text, column=start + 1, hint="write <name>")
    check_symbol(symbol, text, start + 1)
    return symbol, i + 1


def check_symbol(symbol: str, text: str, column: int) -> None:
    """Raises PatternError if no alphabet can have this symbol."""
    if any(map(str.isspace, symbol)):
        raise PatternError("white space in a symbol", text=text, column=column, hint="rename the symbol")
    if symbol == END:
        raise PatternError(
            f"the symbol {END}",
            text=text,
            column=column,
            hint=f"{END} stands for the end of a word and patterns always match whole words; leave it out",
        )


def write_symbol(symbol: str, reserved: Container[str]) -> str:
    """Returns the symbol as text; `reserved` characters are protected."""
    if len(symbol) > 1:
        escaped = symbol.replace("\\", "\\\\").replace("<", "\\<").replace(">", "\\>")
        return f"<{escaped}>"
    if symbol not in reserved:
        return symbol
    return f"<{symbol}>" if symbol.isalnum() and symbol not in "ε∅" else f"\\{symbol}"


def given_alphabet(alphabet: Alphabet | Iterable[str]) -> Alphabet:
    """Returns the alphabet that a user gave for a text, or raises InputError if it has no symbol."""
    known = alphabet if isinstance(alphabet, Alphabet) else Alphabet(tuple(alphabet))
    if not known.symbols:
        raise InputError("the alphabet is empty; give at least one symbol")
    return known


def outside(what: str, alphabet: Alphabet, text: str, column: int) -> PatternError:
    """Returns the error for letters of a text that its alphabet does not have."""
    hint = "use letters of the alphabet, or add this one to it"
    if long := next((symbol for symbol in alphabet.symbols if len(symbol) > 1), ""):
        hint = f"a letter of several characters is written in angle brackets: {write_symbol(long, ())}"
    fault = f"{what} is outside the alphabet {{{alphabet.describe()}}}"
    return PatternError(fault, text=text, column=column, hint=hint)


def without_letters(noun: str, text: str, column: int) -> PatternError:
    """Returns the error for a text that neither has letters nor is given an alphabet."""
    return PatternError(
        f"the alphabet is unknown, because the {noun} has no letters",
        text=text,
        column=column,
        hint="give the alphabet, e.g. --alphabet ab",
    )


TreeType = TypeVar("TreeType", bound="Tree")
V = TypeVar("V")


class Tree:
    """A node of a syntax tree; subclasses are frozen dataclasses made with `eq=False`.

    Two trees are equal when they have the same shape, node types and labels. `noun` is what one is called.
    """

    __slots__ = ()
    noun: ClassVar[str]

    @property
    def children(self) -> tuple[Tree, ...]:
        """The operands, left to right."""
        return ()

    @property
    def label(self) -> Hashable:
        """The content of the node besides its children."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sum(1 for _ in subtrees(self))} sub{self.noun}s)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        if self is other or type(self) is not type(other):
            return self is other
        numbers: dict[Hashable, int] = {}
        return fold(self, _numbering(numbers)) == fold(other, _numbering(numbers))

    def __hash__(self) -> int:
        return fold(self, lambda node, below: hash((type(node).__name__, node.label, tuple(below))))


def fold(root: TreeType, combine: Callable[[TreeType, list[V]], V]) -> V:
    """Returns the value of `root`, where `combine` makes a node's value from those of its children.

    A node object that occurs several times is combined once.
    """
    values: dict[int, V] = {}
    stack: list[Tree] = [root]
    while stack:
        node = stack[-1]
        if id(node) in values:
            stack.pop()
            continue
        below = node.children
        pending = [child for child in below if id(child) not in values]
        if pending:
            stack.extend(reversed(pending))
        else:
            stack.pop()
            values[id(node)] = combine(cast(TreeType, node), [values[id(child)] for child in below])
    return values[id(root)]


def subtrees(root: TreeType) -> Iterator[TreeType]:
    """Yields every node object of the tree once, in no particular order."""
    seen = {id(root)}
    stack: list[Tree] = [root]
    while stack:
        node = stack.pop()
        yield cast(TreeType, node)
        for child in node.children:
            if id(child) not in seen:
                seen.add(id(child))
                stack.append(child)


def distinct_subtrees(root: TreeType) -> tuple[list[TreeType], list[tuple[int, ...]]]:
    """Returns the structurally different subtrees, children before parents, the root last.

    The second list has the places of each one's children in the first.
    """
    numbers: dict[Hashable, int] = {}
    nodes: list[TreeType] = []
    places: list[tuple[int, ...]] = []

    def combine(node: TreeType, below: list[int]) -> int:
        number = numbers.setdefault((type(node), node.label, tuple(below)), len(nodes))
        if number == len(nodes):
            nodes.append(node)
            places.append(tuple(below))
        return number

    fold(root, combine)
    return nodes, places


Piece = str | tuple[TreeType, int]
"""Text, or an operand and how tightly it must bind not to need parentheses."""


def write_tree(
    root: TreeType, binding: Callable[[TreeType], int], spell: Callable[[TreeType], list[Piece[TreeType]]]
) -> str:
    """Returns the text of a tree with as few parentheses as possible; `spell` gives the pieces of a node."""
    written: list[str] = []
    # What is still to be written, last first.
    todo: list[Piece[TreeType]] = [(root, 0)]
    while todo:
        piece = todo.pop()
        if isinstance(piece, str):
            written.append(piece)
        elif binding(piece[0]) < piece[1]:
            todo += [")", (piece[0], 0), "("]
        else:
            todo += reversed(spell(piece[0]))
    return "".join(written)


def interleave(operator: str, operands: Iterable[tuple[TreeType, int]]) -> list[Piece[TreeType]]:
    """Returns operands with an operator between each two."""
    pieces: list[Piece[TreeType]] = []
    for operand in operands:
        pieces += [operator, operand]
    return pieces[1:]


def flatten(kind: type[TreeType], parts: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the parts with every part of type `kind` replaced by its own children."""
    if not any(isinstance(part, kind) for part in parts):
        return tuple(parts)
    return tuple(inner for part in parts for inner in (part.children if isinstance(part, kind) else (part,)))


def _numbering(numbers: dict[Hashable, int]) -> Callable[[Tree, list[int]], int]:
    def combine(node: Tree, below: list[int]) -> int:
        return numbers.setdefault((type(node), node.label, tuple(below)), len(numbers))

    return combine
