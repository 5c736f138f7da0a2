"""Even pairs by counting pairs, cycles by walking, expressions by Python's own arithmetic."""

from __future__ import annotations

import ast
import operator

import numpy as np
import pytest

from nerode.core import InputError
from nerode.records import TaskConfig
from nerode.tasks import build_task, resolve_task
from nerode.tasks.synthetic.modular_arithmetic import symbols
from nerode.tasks.task import SPLITS


def task(name, **settings):
    return build_task(TaskConfig(name=name, settings=settings))


def rows(batch):
    return zip(batch.inputs.tolist(), batch.targets.tolist(), batch.mask.tolist(), strict=True)


@pytest.mark.parametrize("labels", ["all", "last"])
def test_even_pairs_by_counting_them(labels):
    for word, targets, mask in rows(
        task("even-pairs", labels=labels).sample(19, 60, np.random.default_rng(0))
    ):
        for i in range(19):
            text = "".join("ab"[letter] for letter in word[: i + 1])
            pairs = sum(text[j : j + 2] in ("ab", "ba") for j in range(i))
            assert targets[i] == (pairs % 2 == 0)
            assert mask[i] == (labels == "all" or i == 18)


@pytest.mark.parametrize("places", [2, 5, 7])
@pytest.mark.parametrize("labels", ["all", "last"])
def test_cycles_by_walking(places, labels):
    built = task("cycle-navigation", places=places, labels=labels)
    assert built.outputs == places
    for word, targets, mask in rows(built.sample(30, 40, np.random.default_rng(1))):
        place = 0
        for i, move in enumerate(word):
            place = {0: place, 1: (place + 1) % places, 2: (place or places) - 1}[move]
            assert targets[i] == place
            assert mask[i] == (labels == "all" or i == 29)


_OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def value(text):
    """The value of an expression, parsed by Python."""

    def of(node):
        match node:
            case ast.Constant(value=number):
                return number
            case ast.UnaryOp(op=ast.USub(), operand=part):
                return -of(part)
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATIONS[type(op)](of(left), of(right))
        raise AssertionError(ast.dump(node))

    return of(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("modulus", [2, 5, 7])
@pytest.mark.parametrize("labels", ["all", "last"])
def test_expressions_without_brackets(modulus, labels):
    built = task("modular-arithmetic", modulus=modulus, labels=labels)
    letters = symbols(modulus)
    assert built.letters == len(letters) == modulus + 4
    seen = set()
    for word, targets, mask in rows(built.sample(18, 60, np.random.default_rng(2))):
        text = "".join(letters[letter] for letter in word)
        assert text.endswith("=")
        seen |= set(text)
        for i in range(18):
            assert mask[i] == (i == 17 or (labels == "all" and i % 2 == 0))
            if mask[i]:
                assert targets[i] == value(text[: i + 1].rstrip("=")) % modulus
    assert seen == set(letters)


@pytest.mark.parametrize("length", [*range(2, 14), 25, 40, 61])
@pytest.mark.parametrize("products", [True, False])
def test_expressions_with_brackets(length, products):
    built = task("modular-arithmetic-brackets", products=products)
    letters = symbols(5, brackets=True)
    assert built.letters == len(letters) == 11
    seen = set()
    for word, targets, mask in rows(built.sample(length, 40, np.random.default_rng(length))):
        text = "".join(letters[letter] for letter in word)
        assert len(text) == length
        assert text.endswith("=")
        seen.add(text)
        assert mask == [False] * (length - 1) + [True]
        assert targets[-1] == value(text[:-1]) % 5
        assert products or "*" not in text
    assert len(seen) > min(3, 2 * length)


def test_brackets_differ_from_row_to_row():
    batch = task("modular-arithmetic-brackets").sample(40, 200, np.random.default_rng(3))
    assert len({tuple(row) for row in (batch.inputs >= 9).tolist()}) > 190
    share = [(batch.targets[:, -1] == v).double().mean().item() for v in range(5)]
    assert min(share) > 0.1


@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("even-pairs", (3, 40)),
        ("cycle-navigation", (3, 40)),
        ("modular-arithmetic", (4, 40)),
        ("modular-arithmetic-brackets", (3, 40)),
    ],
)
def test_lengths_and_splits(name, lengths):
    built = task(name)
    assert built.training_lengths == lengths
    rng = np.random.default_rng(4)
    kind, _ = resolve_task(TaskConfig(name=name))
    for length in kind.test_lengths:
        assert built.sample(length, 2, rng).inputs.shape == (2, length)
    drawn = [{tuple(w) for w in built.draw(s, 8, 100, rng).inputs.tolist()} for s in SPLITS]
    assert len(set.union(*drawn)) == sum(map(len, drawn))


def test_expressions_have_even_lengths():
    built = task("modular-arithmetic")
    assert [n for n in range(9) if built.trains_on(n)] == [4, 6, 8]
    with pytest.raises(InputError, match="even lengths"):
        built.sample(7, 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="trains on some lengths from 4 to 40; length 7"):
        built.draw("train", 7, 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="the only length is 5"):
        task("modular-arithmetic", shortest=5, longest=5)


def test_settings_that_make_no_task():
    for name in ("modular-arithmetic", "modular-arithmetic-brackets"):
        with pytest.raises(InputError, match="modulus is 1"):
            task(name, modulus=1)
        with pytest.raises(InputError, match="not a range from 2 on"):
            task(name, shortest=1)
        with pytest.raises(InputError, match="no expression of length 1"):
            task(name).sample(1, 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="places is 1"):
        task("cycle-navigation", places=1)
    with pytest.raises(InputError, match="not a range"):
        task("even-pairs", shortest=0)
