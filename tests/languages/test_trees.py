from __future__ import annotations

from nerode.languages.regex import Complement, Concat, Expression, Letters, Repeat, Union, concat
from nerode.languages.trees import distinct_subtrees, flatten, fold, subtrees

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
