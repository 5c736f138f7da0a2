"""The record itself, on the cascade of (ab)* that its description gives."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from nerode.algebra.cascades.decomposition import decompose_general
from nerode.algebra.cascades.lookups import LETTER, Lookup, LookupRow, Source, lookup, new, old
from nerode.algebra.cascades.records import HOLD, Add, Cascade, Level, Permute, Reset
from nerode.core import InputError
from nerode.languages.bestiary import find_language
from tests.algebra.cascades.naive import naive_trace


def ab_star() -> Cascade:
    """As in the description: the last letter, then whether it came twice in a row."""
    lookups = (
        Lookup(name="letter", num_values=2, reads=(LETTER,), otherwise=(0, 1)),
        Lookup(
            name="twice",
            num_values=2,
            reads=(LETTER, old(0)),
            otherwise=(0, 0),
            rows=(LookupRow(((0, 0), (1, 1)), 1), LookupRow(((0, 1), (1, 0)), 1)),
        ),
        Lookup(
            name="state",
            num_values=3,
            reads=(new(1), new(0)),
            otherwise=(0, 2),
            rows=(LookupRow(((0, 0), (1, 1)), 1),),
        ),
    )
    levels = (
        Level(name="last", num_labels=2, start=0, context=0, commands=(Reset(1), Reset(0))),
        Level(name="dead", num_labels=2, start=0, context=1, commands=(HOLD, Reset(1))),
    )
    return Cascade(num_letters=2, levels=levels, lookups=lookups, state=2, num_states=3, route="by hand")


def test_the_example_runs_the_automaton() -> None:
    cascade, dfa = ab_star(), find_language("ab-star").dfa()
    for word in itertools.chain.from_iterable(itertools.product(range(2), repeat=n) for n in range(8)):
        # The automaton numbers its states breadth first: start 0, then a → 1, b → dead 2.
        assert cascade.trace(word) == dfa.trace(word)
        assert naive_trace(cascade, word) == list(dfa.trace(word))
        assert cascade.run(word) == dfa.run(word)


def test_layers_and_sizes_follow_from_who_reads_whom() -> None:
    cascade = ab_star()
    assert (cascade.depth, cascade.bits, cascade.layers) == (2, 2, ((0,), (1,)))
    assert [cascade.parents(level) for level in range(2)] == [(), (0,)]
    assert cascade.num_rows == 3
    assert cascade.kinds == {"reset": 2}
    assert cascade.initial() == (0, 0)


def test_levels_that_read_letters_only_share_a_layer() -> None:
    cascade = ab_star()
    parallel = replace(cascade.levels[1], context=0)
    assert replace(cascade, levels=(cascade.levels[0], parallel)).layers == ((0, 1),)


@pytest.mark.parametrize(
    ("commands", "kind"),
    [((HOLD, Reset(1)), "reset"), ((Add(1), Reset(0)), "cyclic"), ((Permute((1, 0)), HOLD), "permutation")],
)
def test_the_kind_of_a_level_follows_from_its_commands(commands: Any, kind: str) -> None:
    assert Level(name="x", num_labels=2, start=0, context=0, commands=commands).kind == kind


@pytest.mark.parametrize(("num_labels", "bits"), [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)])
def test_the_bits_of_a_level_hold_its_labels(num_labels: int, bits: int) -> None:
    assert Level(name="x", num_labels=num_labels, start=0, context=0, commands=(HOLD,)).bits == bits


@pytest.mark.parametrize(
    "changes",
    [
        {"num_labels": 1},
        {"start": 2},
        {"start": -1},
        {"commands": (Reset(2),)},
        {"commands": (Add(1), Permute((1, 0)))},
    ],
)
def test_a_level_that_does_not_fit_its_labels_is_refused(changes: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"name": "x", "num_labels": 2, "start": 0, "context": 0, "commands": (HOLD,)}
    with pytest.raises(InputError):
        Level(**{**fields, **changes})


def broken_lookup(number: int, **changes: Any) -> dict[str, Any]:
    tables = list(ab_star().lookups)
    tables[number] = replace(tables[number], **changes)
    return {"lookups": tuple(tables)}


def broken_level(number: int, **changes: Any) -> dict[str, Any]:
    levels = list(ab_star().levels)
    levels[number] = replace(levels[number], **changes)
    return {"levels": tuple(levels)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": 3}, "does not exist"),
        ({"num_states": 4}, "4 values"),
        (broken_lookup(1, reads=(LETTER, old(2))), "not there yet"),
        (broken_lookup(1, reads=(Source("letter", 1), old(0))), "not there yet"),
        (broken_lookup(0, reads=(lookup(1),), otherwise=(0, 1)), "not there yet"),
        ({"state": -1}, "does not exist"),
        (broken_lookup(0, reads=(Source("colour", 0),), otherwise=(0,)), "colour"),
        (broken_lookup(0, otherwise=(0, 1, 0)), "3 defaults"),
        (broken_lookup(1, rows=(LookupRow(((0, 0), (1, 2)), 1),)), "does not occur"),
        (broken_lookup(2, reads=(new(1), old(0))), "reads old 0"),
        (broken_lookup(2, reads=(new(1), LETTER), rows=()), "reads letter 0"),
        (broken_lookup(1, reads=(LETTER, new(0))), "after the letter"),
        (broken_lookup(0, reads=(old(0),), otherwise=(0, 1)), "does not come before"),
        (broken_lookup(0, reads=(old(1),), otherwise=(0, 1)), "does not come before"),
        (broken_level(0, context=3), "does not exist"),
        (broken_level(0, commands=(HOLD,)), "one command for each value"),
    ],
)
def test_a_record_that_does_not_fit_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(ab_star(), **changes)


def test_a_lookup_that_reads_one_of_its_own_depth_is_refused() -> None:
    cascade = ab_star()
    copy = Lookup(name="copy", num_values=2, reads=(lookup(1),), otherwise=(0, 1))
    with pytest.raises(InputError, match="own depth"):
        replace(cascade, lookups=(*cascade.lookups, copy))


def test_the_lookup_of_the_state_may_read_one_of_its_own_depth() -> None:
    cascade = ab_star()
    state = Lookup(name="state again", num_values=3, reads=(lookup(2),), otherwise=(0, 1, 2))
    again = replace(cascade, lookups=(*cascade.lookups, state), state=3)
    assert again.trace((0, 1, 1)) == (0, 1, 0, 2)


@pytest.mark.parametrize("name", ["d-4", "flip-flop", "s4", "tomita-3", "modular-arithmetic"])
def test_levels_and_lookups_have_different_names(name: str) -> None:
    cascade = decompose_general(find_language(name).dfa())
    for names in ([level.name for level in cascade.levels], [table.name for table in cascade.lookups]):
        assert len(set(names)) == len(names)
