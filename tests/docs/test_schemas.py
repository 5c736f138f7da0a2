"""The published JSON Schemas describe the files that nerode writes, and no others."""

from __future__ import annotations

import copy
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import nerode as nr
from nerode.kernel.claims import DTYPES, SCOPES, TASKS
from nerode.proofs import write_folder
from nerode.records import Settlement
from nerode.verdict import Sense, Status
from tests.cli.runner import run

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[2]


def schema(name: str) -> Any:
    found = json.loads((ROOT / "docs" / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


SETTLEMENTS = sorted((ROOT / "experiments" / "parity-lstm").glob("*/settled/settlement.json"))


@pytest.mark.parametrize("target", [("(aa)*", "mamba-signed"), ("flip-flop", "diagonal"), ("dyck-1", "gla")])
def test_certificates(target: tuple[str, str], tmp_path: Path) -> None:
    language = nr.language(target[0])
    network = nr.compile_language(language, to=target[1])
    write_folder(tmp_path, network, language, nr.certify(network, language))
    written = json.loads((tmp_path / "certificate.json").read_text())
    validator = schema("certificate")
    validator.validate(written)
    assert written["claims"]
    for change in (
        lambda d: d["claims"][0].update(scope="always"),
        lambda d: d["claims"][0].update(length=-1),
        lambda d: d.update(network="0"),
        lambda d: d.pop("evidence"),
    ):
        wrong = copy.deepcopy(written)
        change(wrong)
        assert not validator.is_valid(wrong)


def test_settlements() -> None:
    validator = schema("settlement")
    assert len(SETTLEMENTS) == 5
    for path in SETTLEMENTS:
        written = json.loads(path.read_text())
        validator.validate(written)
        assert not validator.is_valid({**written, "status": "proved"})
        assert not validator.is_valid({**written, "more": 1})
    proved = Settlement(
        status="proved", about="x", words="w", dtype="float32", method="m", length="all", states=3
    )
    validator.validate(json.loads(json.dumps(proved.to_json())))
    named = {field.name for field in fields(Settlement)} | {"format", "version"}
    assert set(validator.schema["properties"]) == named


def test_verdicts() -> None:
    validator = schema("verdict")
    for language in ("parity", "dyck-1", "tomita-3", "A5"):
        written = json.loads(run("check", language, "--json").out)
        validator.validate(written)
        written["verdicts"][0]["status"] = "maybe"
        assert not validator.is_valid(written)


def test_the_values_are_those_of_the_program() -> None:
    claim = schema("certificate").schema["$defs"]["claim"]["properties"]
    assert claim["scope"]["enum"] == list(SCOPES)
    assert claim["task"]["enum"] == list(TASKS)
    assert claim["dtype"]["enum"] == [*DTYPES, None]
    verdict = schema("verdict").schema["$defs"]["verdict"]["properties"]
    assert verdict["sense"]["enum"] == [sense.value for sense in Sense]
    assert verdict["status"]["enum"] == [status.value for status in Status]
