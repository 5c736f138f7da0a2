"""Verdicts against each other, against inclusions between architectures, and against the constructions."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from benchmarks.open_cells import reopened
from nerode.compiler.table import CONSTRUCTIONS
from nerode.core import NotCompilable
from nerode.languages import Language, RegularLanguage, resolve_language
from nerode.languages.bestiary import BESTIARY
from nerode.verdict.architectures import ARCHITECTURES, Architecture
from nerode.verdict.classes import Gates, MemoryKind, State, Transition, UnitGate
from nerode.verdict.decision import collect_facts, decide, verdict_for
from nerode.verdict.facts import Facts
from nerode.verdict.records import Sense, Status, VerdictTable, VerdictTask
from nerode.verdict.theorems import THEOREMS
from tests.verdict import tables
from tests.verdict.oracle import random_automaton

CHAINS = """mamba mamba-signed complex-diagonal pd-ssm ids4
mamba mamba-signed mamba-3 pd-ssm ids4
mamba-2 mamba
hgrn2 gla diagonal diagonal-signed diagonal-complex permutation-diagonal dense
griffin gla
mingru gla
rwkv-6 gla
deltanet deltanet-signed gated-deltanet-signed complex-kda
deltanet gated-deltanet gated-deltanet-signed
deltanet deltaproduct deltaproduct-signed householder dense
deltanet-signed deltaproduct-signed
deltanet-signed ttt-linear
rwkv-7 rwkv-7-signed
retnet s4d s4 lssl ids4
lru s4d complex-diagonal
ssm ids4 slice
aussm complex-diagonal
aussm orthogonal ids4
s4d s4d-mamba
mamba s4d-mamba
mamba mamba-attention
transformer-nope mamba-attention
transformer-nope transformer
transformer-nope transformer-alibi transformer-periodic
transformer-hard transformer-hard-periodic"""
"""In each line what an architecture can do, the next one can do, too."""

PAIRS = [
    (line.split()[i], line.split()[j])
    for line in CHAINS.splitlines()
    for i in range(len(line.split()))
    for j in range(i + 1, len(line.split()))
]
EXAMPLES = ["(aa)*", "(ab)*", "(abab)*", "a*b*", "(a|b)*", "(a|b)*a", "(ab|c)*"]


def random_language(seed: int) -> Language:
    return RegularLanguage(name="random", automaton=random_automaton(seed), convention="random")


def table(name: str | int, task: str) -> VerdictTable:
    return random_table(name, task) if isinstance(name, int) else tables.table(name, task)


@functools.cache
def random_table(seed: int, task: str) -> VerdictTable:
    return decide(random_language(seed), architectures=tuple(ARCHITECTURES), task=task)


def check_inclusions(verdicts: VerdictTable) -> None:
    for smaller, larger in PAIRS:
        for sense in Sense:
            if verdicts[smaller, sense].status is Status.YES:
                found = verdicts[larger, sense]
                assert found.status is not Status.NO, (smaller, larger, sense, found.theorem)


SMALL = """tomita-3 tomita-5 tomita-6 tomita-7 parity abab-star flip-flop even-pairs set-reset d-3 dyck-1
shuffle-2 boolean-3 anbn dyck-2 majority dyck-2-3 z3 z2xz2 s3 q8 a5-generators t3 u2""".split()
LARGE = [name for name in BESTIARY if name not in SMALL]
NAMES: list[object] = [*SMALL, *EXAMPLES, *range(12)]
NAMES += [pytest.param(name, marks=pytest.mark.slow) for name in (*LARGE, *range(100, 130))]


@pytest.mark.parametrize("task", ["predict", "recognise"])
@pytest.mark.parametrize("name", NAMES)
def test_a_larger_class_does_not_lose_a_language(name: str | int, task: str) -> None:
    check_inclusions(table(name, task))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_a_larger_class_does_not_lose_a_random_language(seed: int) -> None:
    for task in ("predict", "recognise"):
        language = random_language(seed)
        check_inclusions(decide(language, architectures=tuple(ARCHITECTURES), task=task))


@pytest.mark.parametrize("name", NAMES)
def test_to_recognise_is_to_predict_and_robust_is_strong(name: str | int) -> None:
    for row in ARCHITECTURES.values():
        for sense in Sense:
            recognised, predicted = (table(name, task)[row.name, sense] for task in ("recognise", "predict"))
            if recognised.status is Status.YES:
                assert predicted.status is not Status.NO, (row.name, sense)
        if table(name, "predict")[row.name, "robust"].status is Status.YES:
            for sense in Sense:
                assert table(name, "predict")[row.name, sense].status is Status.YES, (row.name, sense)


@pytest.mark.parametrize("name", NAMES)
def test_every_open_cell_names_its_question(name: str | int) -> None:
    for verdict in table(name, "predict").open_cells():
        assert verdict.question.endswith("?") or "budget" in verdict.question, verdict


@pytest.mark.parametrize("text", ["(a|b)*", "a*", "(a|b)*a"])
def test_what_the_letter_decides_is_decided_everywhere(text: str) -> None:
    for task in ("predict", "recognise"):
        assert all(v.status is Status.YES or v.undefined for v in table(text, task))


@pytest.mark.parametrize("text", ["a", "aab|ba", "aaa(a*)", "(aaa)*", "a(aa)*", "(aaaa)*a"])
def test_finite_and_one_letter_languages_are_decided_at_finite_precision(text: str) -> None:
    for verdict in table(text, "predict"):
        properties = ARCHITECTURES[verdict.architecture].properties
        if verdict.sense is Sense.FINITE_PRECISION and properties.state is not State.CACHE:
            assert verdict.status is not Status.OPEN, verdict.architecture


def test_the_page_counts_the_open_cells_of_today() -> None:
    """What `python -m benchmarks open_cells` prints, with those that corrections have opened."""
    rows = {row.name for row in ARCHITECTURES.values() if not row.is_class}
    cells = {
        (name, task): [
            v for row in rows for sense in Sense if not (v := table(name, task)[row, sense]).undefined
        ]
        for name in BESTIARY
        for task in VerdictTask
    }
    left = {key: [v for v in found if v.status is Status.OPEN] for key, found in cells.items()}
    again = sum(bool(reopened(v, name)) for (name, _), found in left.items() for v in found)
    by_task = {task: sum(len(left[name, task]) for name in BESTIARY) for task in VerdictTask}
    page = " ".join((Path(__file__).parents[2] / "docs/theory/derived.md").read_text().split())
    total = f"{sum(by_task.values())} of {sum(map(len, cells.values())):,} cells are open, {again} of them"
    assert total in page
    assert f"({by_task['predict']} to predict, {by_task['recognise']} to recognise;" in page


def test_open_cells_outside_attention_are_few() -> None:
    recurrent = {
        row.name
        for row in ARCHITECTURES.values()
        if row.properties.state is not State.CACHE and not row.is_class
    }
    left = [
        verdict
        for name in BESTIARY
        for verdict in table(name, "predict").open_cells()
        if verdict.architecture in recurrent
    ]
    assert len(left) <= 384


@pytest.mark.parametrize("task", ["predict", "recognise"])
def test_open_cells_of_attention_are_few(task: str) -> None:
    columns = {row.name for row in ARCHITECTURES.values() if row.properties.state is State.CACHE}
    left = [v for name in BESTIARY for v in table(name, task).open_cells() if v.architecture in columns]
    assert len(columns) == 10
    # In floats: latest writes without slopes, where sums are taken in order; a "no" stood here by an
    # assumption on sums that this order contradicts.
    assert sum(v.sense is Sense.IEEE for v in left) <= 18
    assert len(left) <= 56
    assert {v.sense for v in left} == {Sense.FINITE_PRECISION, Sense.IEEE}


def applying(facts: Facts, row: Architecture) -> list[str]:
    """The theorems whose networks the construction table has for a language, a task and an architecture."""
    return [
        c.theorem
        for c in CONSTRUCTIONS.values()
        if c.architecture(row.properties) and c.language(facts) and c.theorem in THEOREMS
        if facts.task is VerdictTask.PREDICT or not c.predicts_only
        # These try any star-free language, and refuse those that are not made of windows.
        if not c.name.startswith("window-parts")
    ]


@pytest.mark.parametrize("task", list(VerdictTask))
@pytest.mark.parametrize("name", NAMES)
def test_no_cell_is_open_where_the_construction_table_has_a_network(
    name: str | int, task: VerdictTask
) -> None:
    language = random_language(name) if isinstance(name, int) else resolve_language(name)
    facts = collect_facts(language, task=task)
    for row in ARCHITECTURES.values():
        for theorem in applying(facts, row):
            found = THEOREMS[theorem]
            if facts.task not in found.tasks or not found.architecture(row.properties):
                continue
            for sense in found.senses:
                if found.comes_only_close(row.properties, sense):
                    continue
                verdict = verdict_for(facts, row, sense)
                assert verdict.status is Status.YES, (row.name, sense, theorem, verdict.theorem)


NETWORKS = (Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE)
"""The senses in which a "yes" should have a network."""

SOME = [
    "(aa)*",
    "(ab)*",
    "a*b*",
    "flip-flop",
    "tomita-3",
    "parity",
    "z3",
    "s3",
    "dyck-1",
    "majority",
    "dyck-2-3",
]


def targets() -> list[Architecture]:
    """One architecture per class."""
    found: dict[object, Architecture] = {}
    for row in ARCHITECTURES.values():
        if row.properties.state is not State.CACHE:
            found.setdefault(row.properties, row)
    return list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BESTIARY, *EXAMPLES])
def test_what_compiles_is_not_open(name: str) -> None:
    compare_with_compiler(name)


@pytest.mark.parametrize("name", SOME)
def test_what_compiles_is_not_open_on_some(name: str) -> None:
    compare_with_compiler(name)


def compare_with_compiler(name: str) -> None:
    """No network where the verdict is "no" or "open" in every sense that a network can prove."""
    from nerode.compiler import compile_language

    language = resolve_language(name)
    facts = collect_facts(language, task="recognise")
    for row in targets():
        answers = [verdict_for(facts, row, sense).status for sense in (Sense.EXACT, Sense.FINITE_PRECISION)]
        if Status.YES in answers or (facts.profile.num_states or 0) > 70:
            continue
        try:
            network = compile_language(language, row.name, facts=facts)
        except NotCompilable:
            continue
        assert "predict" in network.origin.construction or "prefixes" in network.origin.route, row.name


WITHOUT = ["tomita-3", "flip-flop", "parity", "dyck-1", "dyck-2", "a5-generators"]


@pytest.mark.parametrize("name", WITHOUT)
def test_a_yes_has_a_network_or_says_why_not(name: str) -> None:
    from nerode.compiler import compile_language

    language = resolve_language(name)
    facts = {task: collect_facts(language, task=task) for task in VerdictTask}
    for row in targets():
        if row.properties.recurrence not in (MemoryKind.LINEAR, MemoryKind.NONLINEAR):
            continue
        verdicts = [verdict_for(facts[task], row, sense) for task in VerdictTask for sense in NETWORKS]
        owed = [v for v in verdicts if v.status is Status.YES and not v.no_network]
        assert all(("†" in v.mark) == bool(v.no_network) for v in verdicts)
        try:
            compile_language(language, row.name, facts=facts[VerdictTask.RECOGNISE])
        except NotCompilable:
            assert not owed, (row.name, [(v.sense, v.theorem) for v in owed])


def test_the_classes_that_chains_compare_exist() -> None:
    kinds = {ARCHITECTURES[name].properties.recurrence for pair in PAIRS for name in pair}
    assert kinds >= {MemoryKind.LINEAR, MemoryKind.ATTENTION, MemoryKind.HYBRID}
    assert len(PAIRS) >= 49
    assert {Gates.UNIT, Gates.ABOVE_MINUS_HALF} <= {
        ARCHITECTURES[n].properties.gates for p in PAIRS for n in p
    }
    assert Transition.HOUSEHOLDER in {ARCHITECTURES[n].properties.transition for p in PAIRS for n in p}
    assert UnitGate.NEVER in {ARCHITECTURES[n].properties.unit_gate for p in PAIRS for n in p}
