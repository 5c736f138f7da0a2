"""Laws that verdicts obey whatever the theorems are, on random automata: networks stand side by side."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from nerode.languages import (
    Alphabet,
    Dfa,
    RegularLanguage,
    complement,
    difference,
    intersection,
    minimise,
    resolve_language,
    union,
)
from nerode.verdict import ARCHITECTURES, Sense, Status, VerdictTable, collect_facts, decide, verdict_for
from nerode.verdict.architectures import find_architecture
from tests.verdict.oracle import random_automaton

FEW = [*range(30), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(30, 300))]
CELLS = tuple(itertools.product(ARCHITECTURES, Sense))
EITHER_WAY = ("recognise", "predict")


@functools.lru_cache(maxsize=256)
def table(dfa: Dfa, task: str = "recognise") -> VerdictTable:
    language = RegularLanguage(name="random", automaton=minimise(dfa), convention="random")
    return decide(language, architectures=tuple(ARCHITECTURES), task=task)


def answers(dfa: Dfa, task: str = "recognise") -> Iterator[tuple[object, Status, bool]]:
    for verdict in table(dfa, task):
        yield (verdict.architecture, verdict.sense), verdict.status, bool(verdict.conditional_on)


def changed(dfa: Dfa, transitions: npt.NDArray[np.integer], start: int | None = None) -> Dfa:
    return Dfa(
        alphabet=Alphabet(tuple("abcd"[: transitions.shape[1]])),
        transitions=transitions,
        start=dfa.start if start is None else start,
        accepting=dfa.accepting,
    )


@pytest.mark.parametrize("seed", FEW)
def test_a_complement_is_as_hard(seed: int) -> None:
    dfa = random_automaton(seed, most_states=6)
    assert list(answers(dfa)) == list(answers(complement(dfa)))


@pytest.mark.parametrize("task", EITHER_WAY)
@pytest.mark.parametrize("seed", FEW)
def test_letters_have_no_names_and_no_number(seed: int, task: str) -> None:
    """Renamed letters, and a letter that does what another one does, change no answer."""
    dfa = random_automaton(seed, most_states=6)
    moves = dfa.transitions
    assert list(answers(changed(dfa, moves[:, ::-1]), task)) == list(answers(dfa, task))
    assert list(answers(changed(dfa, np.hstack([moves, moves[:, :1]])), task)) == list(answers(dfa, task))


@pytest.mark.parametrize("seed", FEW)
def test_a_network_that_begins_elsewhere_or_reads_fewer_letters(seed: int) -> None:
    """A left quotient begins in another state, a smaller alphabet leaves letters out."""
    dfa = random_automaton(seed, most_states=6)
    parts = [changed(dfa, dfa.transitions, int(q)) for q in dfa.transitions[dfa.start]]
    if dfa.num_letters > 1:
        parts.append(changed(dfa, dfa.transitions[:, :-1]))
    for part, cell in itertools.product(parts, CELLS):
        if table(dfa)[cell].status is Status.YES:
            assert table(part)[cell].status is not Status.NO, (cell, table(part)[cell].theorem)


def pair(seed: int) -> tuple[Dfa, Dfa]:
    """Two automata over one alphabet."""
    rng = np.random.default_rng(seed)
    letters = int(rng.integers(1, 4))
    drawn = (random_automaton(int(number), most_states=5) for number in rng.integers(10_000, 10**6, 60))
    first, second, *_ = [dfa for dfa in drawn if dfa.num_letters == letters]
    return first, second


@pytest.mark.parametrize("seed", FEW)
def test_what_does_two_languages_does_all_that_they_make(seed: int) -> None:
    first, second = pair(seed)
    apart = union(difference(first, second), difference(second, first))
    made = [intersection(first, second), union(first, second), difference(first, second), apart]
    for joined, cell in itertools.product(made, CELLS):
        if table(first)[cell].status is table(second)[cell].status is Status.YES:
            assert table(joined)[cell].status is not Status.NO, (cell, table(joined)[cell].theorem)


@pytest.mark.parametrize("seed", FEW)
def test_what_does_the_parts_of_a_language_does_the_language(seed: int) -> None:
    """A language is the union of what another one has of it and of what is left."""
    whole, other = pair(seed)
    inside, outside = intersection(whole, other), difference(whole, other)
    for cell in CELLS:
        if table(inside)[cell].status is table(outside)[cell].status is Status.YES:
            assert table(whole)[cell].status is not Status.NO, (cell, table(whole)[cell].theorem)


@pytest.mark.parametrize(
    "name",
    [
        "parity",
        "dyck-2",
        pytest.param("d-2", marks=pytest.mark.slow),
        pytest.param("s3", marks=pytest.mark.slow),
    ],
)
def test_a_stack_does_what_its_parts_do(name: str) -> None:
    """Layers of the other kind may be idle; robust systems have noise in all layers."""
    language = resolve_language(name)
    single = [row.name for row in ARCHITECTURES.values() if not row.properties.parts]
    for task in EITHER_WAY:
        facts = collect_facts(language, task=task)
        for sense in (Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE):
            alone = {part: verdict_for(facts, ARCHITECTURES[part], sense) for part in single}
            for parts in itertools.combinations(single, 2):
                found = verdict_for(facts, find_architecture("+".join(parts)), sense)
                able = [part for part in parts if alone[part].mark.startswith("✓")]
                if any(not alone[part].conditional_on for part in able):
                    assert found.status is Status.YES, (parts, sense)
                elif able:
                    assert found.status is Status.YES or found.conditional_on, (parts, sense)
