"""Verdicts on random automata, against an oracle that lists the whole monoid."""

from __future__ import annotations

import pytest

from nerode.languages import Dfa, RegularLanguage, resolve_language
from nerode.verdict.architectures import ARCHITECTURES
from nerode.verdict.decision import decide
from nerode.verdict.records import VerdictTable
from tests.verdict.oracle import Oracle, random_automaton

# Random automata seldom have a dead state, which prediction does not ask about.
NAMED = ("(ab)*", "a*b*", "(aa)*b", "(ab|c)*", "b(ab*ab*)*", "(a|b)*", "(abab)*", "a(a|b)*", "(a|b)*a")
AUTOMATA = [*map(random_automaton, range(18)), *(resolve_language(text).dfa() for text in NAMED)]
SENSES = ("exact", "finite-precision", "ieee")


def verdicts(dfa: Dfa, task: str) -> VerdictTable:
    language = RegularLanguage(name="random", automaton=dfa, convention="random")
    return decide(language, architectures=tuple(ARCHITECTURES), task=task)


def expect(table: VerdictTable, names: str, senses: tuple[str, ...], answer: bool) -> None:
    for name in names.split():
        for sense in senses:
            assert table[name, sense].status == ("yes" if answer else "no"), (name, sense)


def check(dfa: Dfa, task: str) -> None:
    """The statements of the table, applied to what the oracle says."""
    oracle, table = Oracle(dfa, task), verdicts(dfa, task)
    expect(table, "mamba mamba-2 gla hgrn2 griffin mingru rwkv-6 mlstm rwkv-4", SENSES, oracle.star_free)
    expect(table, "mamba-signed diagonal-signed", SENSES, oracle.two_groups)
    expect(table, "complex-diagonal mamba-3", ("finite-precision",), oracle.solvable)
    expect(table, "s4d s4 lru ssm s4d-mamba", ("exact",), oracle.in_ac0)
    expect(table, "s4d-mamba", ("finite-precision",), oracle.in_ac0)
    expect(table, "transformer-hard", SENSES[:2], oracle.star_free)
    expect(table, "transformer-hard-periodic", SENSES[:2], oracle.in_ac0)
    expect(table, "deltanet gated-deltanet deltaproduct", ("finite-precision",), oracle.star_free)
    expect(table, "retnet", ("finite-precision",), oracle.window)
    regular = """ids4 slice pd-ssm deltaproduct-signed deltanet-signed complex-kda rwkv-7-signed lstm gru
    elman-tanh elman-relu nru slstm"""
    expect(table, regular, SENSES, True)
    expect(table, "rwkv-7 deltaproduct ttt-linear", ("exact",), True)
    linear = "mamba s4d deltanet-signed ids4 retnet rwkv-4 pd-ssm"
    expect(table, linear, ("robust",), oracle.window)
    expect(table, "elman-tanh lstm gru slstm nru", ("robust",), True)
    if oracle.one_letter_counts:
        expect(table, "rwkv-7", ("finite-precision",), False)
    if oracle.star_free:
        expect(table, "rwkv-7 deltanet", SENSES, True)
        expect(table, "s4d lru ssm", ("ieee",), True)
        expect(table, "retnet", ("exact",), True)
    if oracle.group_language:
        expect(table, "orthogonal", SENSES, True)
        if oracle.solvable:
            expect(table, "aussm", SENSES[:2], True)
    if oracle.r_trivial:
        expect(table, "transformer transformer-nope orthogonal aussm s4d", SENSES[:2], True)
    if not oracle.in_ac0:
        expect(table, "s4d lru", ("finite-precision",), False)


@pytest.mark.parametrize("task", ["predict", "recognise"])
@pytest.mark.parametrize("number", range(len(AUTOMATA)))
def test_verdicts_follow_the_algebra(number: int, task: str) -> None:
    check(AUTOMATA[number], task)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 2000, 100))
def test_verdicts_follow_the_algebra_on_many(start: int) -> None:
    for seed in range(start, start + 100):
        for task in ("predict", "recognise"):
            check(random_automaton(seed, most_states=8), task)


def test_the_automata_are_of_all_sorts() -> None:
    oracles = [Oracle(dfa, "recognise") for dfa in AUTOMATA]
    for fact in ("star_free", "two_groups", "in_ac0", "group_language", "r_trivial", "window"):
        assert {getattr(oracle, fact) for oracle in oracles} == {False, True}, fact
    assert any(oracle.in_ac0 and not oracle.star_free for oracle in oracles)
    assert any(Oracle(d, "predict").window and not Oracle(d, "recognise").window for d in AUTOMATA)


def test_the_oracle_knows_the_groups() -> None:
    for name, solvable, two in (("s3", True, False), ("d4", True, True), ("a5-generators", False, False)):
        oracle = Oracle(resolve_language(name).dfa(), "recognise")
        assert (oracle.solvable, oracle.two_groups) == (solvable, two)
