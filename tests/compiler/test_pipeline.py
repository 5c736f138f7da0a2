"""The way from a language to a network: what its refusals say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nerode.algebra import profile
from nerode.algebra.profiles import ClassesOnDemand
from nerode.compiler.construction import Options
from nerode.compiler.pipeline import compile_language
from nerode.core import Budget, BudgetExceeded, NotCompilable
from nerode.languages import resolve_language
from nerode.verdict import VerdictTask, collect_facts


def test_a_theorem_that_refuses_makes_it_impossible():
    with pytest.raises(NotCompilable, match="star-free") as refusal:
        compile_language(resolve_language("parity"), "mamba")
    assert refusal.value.impossible


def test_what_was_not_decided_is_not_called_false():
    language = resolve_language("tomita-7")
    facts = collect_facts(language, task=VerdictTask.RECOGNISE)
    classes = {name: m for name, m in facts.profile.classes.items() if name != "star-free"}
    undecided = replace(facts, profile=replace(facts.profile, star_free=None, classes=classes))
    with pytest.raises(NotCompilable) as refusal:
        compile_language(language, "mamba", facts=undecided)
    assert not refusal.value.impossible
    reasons = " | ".join(refusal.value.reasons)
    assert "the language is not star-free" not in reasons
    assert "the language was not decided within the budget to be star-free" in reasons


def test_a_budget_that_ends_a_construction_is_no_refusal():
    with pytest.raises(BudgetExceeded, match="seconds is used up"):
        compile_language(resolve_language("A5"), "householder", Options(budget=Budget(seconds=0.01)))


@pytest.mark.parametrize("target", ["mamba", "deltanet", "elman-tanh", "ssm", "pd-ssm"])
def test_compiling_runs_only_the_class_tests_that_are_asked_for(target):
    language = resolve_language("tomita-4")
    found = profile(language, on_demand=True)
    assert isinstance(found.classes, ClassesOnDemand)
    compile_language(
        language, target, facts=collect_facts(language, task=VerdictTask.RECOGNISE, profile=found)
    )
    assert found.classes.decided <= {
        "star-free",
        "definite",
        "locally-testable",
        "r-trivial",
        "quasi-aperiodic",
        # Fixed gates do at finite precision what counting does.
        *(["c-rasp"] if target == "ssm" else []),
    }
