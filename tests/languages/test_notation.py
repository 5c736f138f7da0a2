"""The parser on ordinary arithmetic, where everybody knows the answers."""

from __future__ import annotations

import math

import pytest

from nerode.core import PatternError
from nerode.languages.notation import (
    OPERAND,
    FlatOperator,
    Grammar,
    InfixOperator,
    PostfixOperator,
    PrefixOperator,
    Token,
    distinct_subtrees,
    flatten,
    fold,
    parse_tokens,
    subtrees,
)
from nerode.languages.regex import Complement, Concat, Expression, Letters, Repeat, Union, concat

ARITHMETIC: Grammar[int] = Grammar(
    noun="sum",
    operators={
        "+": FlatOperator("+", 1, sum),
        "-": InfixOperator("-", 1, lambda left, right: left - right),
        "*": FlatOperator("*", 2, math.prod),
        "~": PrefixOperator("~", 3, lambda operand: -operand),
        "^": InfixOperator("^", 4, lambda left, right: left**right, right=True),
        "!": PostfixOperator("!", lambda operand, _: math.factorial(operand)),
    },
)


def evaluate(text: str, grammar: Grammar[int] = ARITHMETIC) -> int:
    tokens = [
        Token(OPERAND, i + 1, int(c)) if c.isdigit() else Token(c, i + 1)
        for i, c in enumerate(text)
        if c != " "
    ]
    return parse_tokens(tokens, grammar, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("9 - 3 - 2", 4),
        ("9 - (3 - 2)", 8),
        ("9 - 3 + 2", 8),
        ("9 + 3 - 2 - 1", 9),
        ("2 ^ 3 ^ 2", 512),
        ("(2 ^ 3) ^ 2", 64),
        ("~2 ^ 2", -4),
        ("~~5", 5),
        ("3!!", 720),
        ("~3!", -6),
        ("2 * 3! ^ 2", 72),
        ("((((8))))", 8),
    ],
)
def test_arithmetic(text: str, value: int) -> None:
    assert evaluate(text) == value


def test_a_chain_is_one_node() -> None:
    calls: list[int] = []

    def add(parts: tuple[int, ...]) -> int:
        calls.append(len(parts))
        return sum(parts)

    grammar: Grammar[int] = Grammar(noun="sum", operators={"+": FlatOperator("+", 1, add)})
    assert evaluate("1 + (2 + (3 + 4)) + (5 + 6)", grammar) == 21
    assert calls == [6]


def test_neighbours_need_an_operator_unless_there_is_one_for_them() -> None:
    with pytest.raises(PatternError, match="an operator is missing at column 2"):
        evaluate("23")
    product = FlatOperator("times", 2, math.prod)
    grammar: Grammar[int] = Grammar(
        noun="sum", operators={"+": FlatOperator("+", 1, sum)}, juxtaposition=product, empty_group=1
    )
    assert evaluate("2 3 + 4 5", grammar) == 26
    assert evaluate("2 (3 + 4) ()", grammar) == 14


A, B = Letters(("a",)), Letters(("b",))


def height(node: Expression, below: list[int]) -> int:
    return 1 + max(below, default=0)


def test_fold_sees_children_before_parents() -> None:
    tree = Concat((A, Union((B, A)), A))
    seen: list[Expression] = []

    def combine(node: Expression, below: list[int]) -> int:
        seen.append(node)
        return len(below)

    assert fold(tree, combine) == 3
    assert seen == [A, B, Union((B, A)), tree]


def test_walks_do_not_depend_on_pythons_stack() -> None:
    left: Expression = A
    right: Expression = A
    for _ in range(50_000):
        left = Complement(left)
        right = Complement(right)
    assert fold(left, height) == 50_001
    assert left == right
    assert left != Complement(right)
    assert hash(left) == hash(right)


def test_shared_subtrees_are_visited_once() -> None:
    # Spelled out, this tree has 2^200 leaves.
    node: Expression = A
    for _ in range(200):
        node = Complement(Concat((node, node)))
    assert fold(node, height) == 401
    assert sum(1 for _ in subtrees(node)) == 401
    assert len(distinct_subtrees(node)[0]) == 401


def test_distinct_subtrees_merge_equal_ones() -> None:
    tree = Concat((Repeat(Letters(("a",)), 0, None), Repeat(Letters(("a",)), 0, None), B))
    nodes, places = distinct_subtrees(tree)
    assert nodes == [A, Repeat(A, 0, None), B, tree]
    assert places == [(), (0,), (), (1, 1, 2)]


def test_flatten_opens_one_level() -> None:
    assert flatten(Concat, (A, concat(B, A), Union((A, B)))) == (A, B, A, Union((A, B)))
