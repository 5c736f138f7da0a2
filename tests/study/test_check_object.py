"""The JSON object of `nerode check`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from nerode.algebra import Profile, profile
from nerode.languages.bestiary import find_language
from nerode.study.check import algebra_object, check_object, language_object
from nerode.verdict import Sense, VerdictTable, VerdictTask, decide
from tests.report.cases import PARITY, PARITY_PROFILE, parity_verdicts

TABLE = VerdictTable(
    language="parity", task=VerdictTask.PREDICT, dtype="float16", verdicts=tuple(parity_verdicts())
)


def found_for(name: str) -> dict[str, Any]:
    language = find_language(name)
    known = profile(language)
    return check_object(language, known, decide(language, profile=known, architectures=["mamba", "lstm"]))


def test_a_language_in_json() -> None:
    assert language_object(PARITY, PARITY_PROFILE) == {
        "name": "parity",
        "kind": "regular",
        "regular": True,
        "alphabet": ["0", "1"],
        "states": 2,
        "convention": PARITY.convention,
        "family": "regular",
        "parameters": {},
    }


def test_an_algebra_in_json() -> None:
    found = algebra_object(PARITY, PARITY_PROFILE)
    assert (found["star_free"], found["monoid_size"], found["d_classes"]) == (False, 2, 1)
    assert found["groups"] == [
        {
            "name": "Z2",
            "order": 2,
            "solvable": True,
            "abelian": True,
            "derived_length": 1,
            "factors": ["Z2"],
            "scope": "monoid",
            "states": [0, 1],
            "generators": ["1"],
        }
    ]
    assert found["classes"] == {"star-free": False, "commutative": True, "locally-testable": None}
    assert found["class_details"]["star-free"]["witness"] == {"v": "1"}
    assert found["class_details"]["commutative"]["reference"] == "Pin 1986"
    assert found["witness"] == {"u": "ε", "v": "1", "x": "ε", "period": 2}
    assert found["source"] == "computed"


def test_verdicts_task_and_format() -> None:
    found = check_object(PARITY, PARITY_PROFILE, TABLE)
    assert (found["task"], found["dtype"]) == ("predict", "float16")
    assert len(found["verdicts"]) == len(TABLE)
    first = found["verdicts"][0]
    assert (first["architecture"], first["sense"], first["status"]) == ("mamba", "finite-precision", "no")
    assert first["reference"] == "Sarrof et al. 2024"
    assert first["reference_key"] == "Sarrof2024"
    assert first["witness"] == {"v": "1", "period": 2}
    assert first["size"] is None


def test_the_witness_can_be_pasted() -> None:
    found = found_for("S3")
    witness = found["algebra"]["witness"]
    language = find_language("S3")
    u, v, x = (language.alphabet.encode(witness[role]) for role in "uvx")
    answers = [language.accepts(u + v * n + x) for n in range(4 * witness["period"])]
    period = witness["period"]
    assert answers[:-period] == answers[period:]
    assert len(set(answers[:period])) == 2


def test_groups_of_words_permute_the_states_that_are_named() -> None:
    found = found_for("tomita-3")
    dfa = find_language("tomita-3").dfa()
    for group in found["algebra"]["groups"]:
        for word in group["generators"]:
            image = [replace(dfa, start=q).run(word) for q in group["states"]]
            assert sorted(image) == sorted(group["states"])


@pytest.mark.parametrize("name", ["parity", "anbn", "dyck-8-10", "ngram-seed", "A5", "dyck-2"])
def test_everything_is_json(name: str) -> None:
    found = found_for(name)
    assert json.loads(json.dumps(found)) == found
    assert {v["sense"] for v in found["verdicts"]} == set(Sense)


def test_null_because_of_the_budget_is_named_under_its_key() -> None:
    found = found_for("dyck-8-10")
    assert found["algebra"]["monoid_size"] is None
    assert {"monoid_size", "d_classes"} <= found["incomplete"].keys()
    assert "monoid" not in found["incomplete"]
    unknown = [name for name, holds in found["algebra"]["classes"].items() if holds is None]
    assert set(unknown) <= found["incomplete"].keys()


def test_a_reason_without_a_null_is_not_a_missing_monoid() -> None:
    known = Profile(regular=True, num_states=2, star_free=True, monoid_size=3, incomplete={"groups": "time"})
    assert check_object(PARITY, known, TABLE)["incomplete"] == {"groups": "time"}


def test_a_language_that_is_not_regular_has_nulls_and_no_excuses() -> None:
    found = found_for("anbn")
    assert found["language"]["states"] is None
    assert found["algebra"]["star_free"] is None
    assert found["algebra"]["groups"] == []
    assert found["incomplete"] == {}
