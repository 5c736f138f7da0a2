"""The exact check accepts what is right and refuses what is wrong; so does the proof by levels."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nerode.algebra.cascades.decomposition import decompose_general
from nerode.algebra.cascades.holonomy import holonomy_cascade
from nerode.algebra.cascades.records import HOLD, Cascade, Reset
from nerode.core import Budget, BudgetExceeded, NerodeError
from nerode.languages import Dfa
from nerode.languages.bestiary import find_language
from tests.algebra.cascades import verification
from tests.algebra.cascades.automata import COUNTER_FREE
from tests.algebra.cascades.naive import naive_trace
from tests.algebra.cascades.verification import CascadeMismatch, LevelSweep, verify_cascade


def damaged(cascade: Cascade, rng: random.Random) -> Iterator[Cascade]:
    """Copies of a cascade with one command, one start, one default or one row changed."""
    for number, level in enumerate(cascade.levels):
        commands = list(level.commands)
        changed = rng.randrange(len(commands))
        options = [HOLD, *map(Reset, range(level.num_labels))]
        commands[changed] = rng.choice([option for option in options if option != commands[changed]])
        other = replace(level, commands=tuple(commands))
        yield replace(cascade, levels=(*cascade.levels[:number], other, *cascade.levels[number + 1 :]))
        other = replace(level, start=(level.start + 1) % level.num_labels)
        yield replace(cascade, levels=(*cascade.levels[:number], other, *cascade.levels[number + 1 :]))
    for number, table in enumerate(cascade.lookups):
        if table.num_values < 2:
            continue
        otherwise = list(table.otherwise)
        i = rng.randrange(len(otherwise))
        otherwise[i] = (otherwise[i] + 1) % table.num_values
        rows = list(table.rows)
        if rows:
            j = rng.randrange(len(rows))
            rows[j] = rows[j]._replace(value=(rows[j].value + 1) % table.num_values)
        for other_table in (replace(table, otherwise=tuple(otherwise)), replace(table, rows=tuple(rows))):
            lookups = (*cascade.lookups[:number], other_table, *cascade.lookups[number + 1 :])
            yield replace(cascade, lookups=lookups)


def test_a_word_on_which_a_damaged_cascade_fails_is_given() -> None:
    refused = 0
    for name in ("tomita-4", "tomita-7", "flip-flop", "d-3"):
        dfa = find_language(name).dfa()
        for wrong in damaged(holonomy_cascade(dfa), random.Random(name)):
            mismatch = mismatch_of(wrong, dfa)
            if mismatch is not None:
                refused += 1
                states = naive_trace(wrong, mismatch.word)
                assert states[-1] != dfa.run(mismatch.word)
                assert (states[-1], dfa.run(mismatch.word)) == (mismatch.got, mismatch.expected)
    assert refused > 20


def mismatch_of(cascade: Cascade, dfa: Dfa) -> CascadeMismatch | None:
    try:
        verify_cascade(cascade, dfa)
    except CascadeMismatch as mismatch:
        return mismatch
    return None


@pytest.mark.parametrize("kind", COUNTER_FREE)
def test_the_proof_by_levels_never_believes_a_damaged_cascade(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(kind)
    proved = refused = 0
    for _ in range(6):
        dfa = COUNTER_FREE[kind](rng)
        right = holonomy_cascade(dfa)
        assert LevelSweep(right, dfa, Budget()).prove()
        for wrong in damaged(right, rng):
            if LevelSweep(wrong, dfa, Budget()).prove():
                proved += 1
                assert verify_cascade(wrong, dfa).startswith("all")
            else:
                refused += 1
    assert refused > proved


@pytest.mark.parametrize("name", ["d-12", "dyck-2-3", "s4", "tomita-3"])
def test_many_configurations_are_proved_level_by_level(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "FEW_CONFIGURATIONS", 5)
    dfa = find_language(name).dfa()
    cascade = decompose_general(dfa)
    assert verify_cascade(cascade, dfa) == "closed under every letter, level by level"


def test_few_configurations_are_all_looked_at() -> None:
    dfa = find_language("tomita-4").dfa()
    assert verify_cascade(holonomy_cascade(dfa), dfa) == "all 6 configurations that words reach"


def test_a_wrong_cascade_with_many_configurations_is_refused_with_a_word() -> None:
    dfa = find_language("d-12").dfa()
    cascade = holonomy_cascade(dfa)
    last = cascade.levels[-1]
    wrong = replace(last, commands=tuple(Reset(0) for _ in last.commands))
    with pytest.raises(CascadeMismatch) as refused:
        verify_cascade(replace(cascade, levels=(*cascade.levels[:-1], wrong)), dfa)
    assert len(refused.value.word) > 0


def test_the_check_stops_at_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "FEW_CONFIGURATIONS", 5)
    monkeypatch.setattr(LevelSweep, "prove", lambda self: False)
    dfa = find_language("d-12").dfa()
    with pytest.raises(BudgetExceeded, match="elements"):
        verify_cascade(holonomy_cascade(dfa), dfa, Budget(elements=100))
    with pytest.raises(BudgetExceeded, match="seconds"):
        verify_cascade(holonomy_cascade(dfa), dfa, Budget(seconds=1e-9))


def test_a_mismatch_is_an_error_of_ours() -> None:
    assert isinstance(CascadeMismatch((0,) * 50, 1, 2), NerodeError)
    assert "…" in str(CascadeMismatch((0,) * 50, 1, 2))
