"""Everything that the kernel reads is bounded, and refused in one sentence."""

from __future__ import annotations

import contextlib
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from nerode import kernel
from nerode.kernel import Unreadable
from nerode.kernel.languages import read_language
from nerode.kernel.network import read_network
from nerode.kernel.reader import check_values, quoted, read_json
from nerode.kernel.work import WorkCount
from tests.kernel.cases import LATCH_BOXES, LATCH_LANGUAGE, compiled, latch, sealed

PATHS = (
    ("format",),
    ("version",),
    ("alphabet",),
    ("embedding", "vectors", 0),
    ("embedding", "vectors", 0, 0),
    ("layers", 0, "reads"),
    ("layers", 0, "state"),
    ("layers", 0, "start"),
    ("layers", 0, "start", 0),
    ("layers", 0, "recurrence"),
    ("layers", 0, "recurrence", "kind"),
    ("layers", 0, "recurrence", "activation"),
    ("layers", 0, "recurrence", "update"),
    ("layers", 0, "recurrence", "update", "rows"),
    ("layers", 0, "recurrence", "update", "rows", 0, 0),
    ("layers", 0, "outputs"),
    ("layers", 0, "complex_state"),
    ("decoder",),
    ("decoder", "kind"),
    ("decoder", "empty"),
    ("decoder", "scores", "bias"),
)
WRONG = ("no such thing", None, -1, 10**1_200, [], {}, [[1]], {"a": 1}, True, 1.5)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: ".".join(map(str, path)))
def test_a_network_with_one_wrong_entry_is_refused_in_one_sentence(path: tuple[Any, ...]) -> None:
    for value in WRONG:
        data = latch()
        target = data
        for step in path[:-1]:
            target = target[step]
        if target[path[-1]] == value and type(target[path[-1]]) is type(value):
            continue
        target[path[-1]] = value
        if (path[-1], value) in ((0, -1), ("empty", [])):
            continue
        with pytest.raises(Unreadable) as refused:
            kernel.prove(data, LATCH_LANGUAGE, "boxes", LATCH_BOXES)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 500


@pytest.mark.parametrize("form", ["(aa)*", "dyck-1", "dyck-2-3", "ngram-seed"])
def test_a_language_with_one_wrong_entry_is_refused_in_one_sentence(form: str) -> None:
    network, language = compiled(form, "ssm" if form in ("dyck-1", "ngram-seed") else "dense")
    read_language(language, WorkCount())
    places = [p for p in _places(language["definition"]) if len(p) <= 2 and "vocabulary" not in p]
    for path in places:
        for value in ("no such thing", -7, 10**1_200, [None], {"a": 1}, 1.5):
            data = copy.deepcopy(language)
            target = data["definition"]
            for step in path[:-1]:
                target = target[step]
            target[path[-1]] = value
            if path[0] == "start" and value == -7 and language["definition"]["form"] == "counters":
                continue
            with pytest.raises(Unreadable):
                kernel.prove(network, data, "joint-closure", {"task": "predict"})


def _places(data: Any) -> list[tuple[Any, ...]]:
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else []
    found = [(key,) for key in keys]
    for key in keys:
        found += [(key, *rest) for rest in _places(data[key])]
    return found


def test_unknown_and_missing_keys_are_named() -> None:
    network, language = compiled("(aa)*", "diagonal-signed")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    certificate["evidence"]["joint-closure"]["extra"] = 1
    result = kernel.check(network, language, certificate)
    assert result.failure is not None
    assert re.fullmatch(
        r"evidence must have exactly the keys cells, digest, task; it has 'cells, digest, extra, task'",
        result.failure.what,
    )
    del certificate["claims"][0]["covers"]
    with pytest.raises(Unreadable, match="a claim must have exactly the keys"):
        kernel.check(network, language, certificate)


def test_evidence_with_half_a_character_is_refused() -> None:
    network, language = compiled("(aa)*", "diagonal-signed")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    certificate["evidence"]["joint-closure"]["task"] = "\ud800"
    with pytest.raises(Unreadable, match="surrogate"):
        kernel.check(network, language, certificate)
    certificate["evidence"]["joint-closure"]["task"] = "predict"
    certificate["evidence"]["joint-closure"]["\udfff"] = 1
    with pytest.raises(Unreadable, match="surrogate"):
        kernel.check(network, language, certificate)


def test_a_claim_with_thousands_of_digits_is_refused() -> None:
    network, language = compiled("(aa)*", "diagonal-signed")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    certificate["claims"][0]["eps"] = "1/" + "9" * 3_000
    with pytest.raises(Unreadable, match="eps"):
        kernel.check(network, language, certificate)


def test_nesting_is_bounded() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    with pytest.raises(Unreadable, match="nested"):
        check_values(deep, WorkCount())


def test_files_that_are_none(tmp_path: Path) -> None:
    cases = {
        "missing": None,
        "cut": b'{"a": 1',
        "deep": b"[" * 100_000,
        "twice": b'{"a": 1, "a": 2}',
        "constant": b'{"a": NaN}',
        "digits": b"[" + b"9" * 5_000 + b"]",
        "bytes": b"\xff\xfe",
        "large": b"[" + b" " * 2_000 + b"]",
    }
    for name, content in cases.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(Unreadable) as refused:
            read_json(path, 101_000 if name == "deep" else 6_000 if name == "digits" else 1_000)
        assert str(path) in str(refused.value)
    with pytest.raises(Unreadable, match="not a file"):
        read_json(tmp_path, 1_000)


def test_messages_print_everywhere() -> None:
    assert quoted("\ud800" * 100).isascii() or "…" in quoted("\ud800" * 100)
    quoted("\ud800").encode()
    assert len(quoted("x" * 10_000)) <= 40


def test_numbers_of_a_network_are_read_within_the_budget() -> None:
    """Finding 2, with the largest field there is: sixty directions, each a sum of 1,499 roots."""
    data = latch()
    names = [f"d{i}" for i in range(60)]
    number = "+".join(f"e({k}/4620)" for k in range(1, 1_500))
    data["embedding"] = {
        "directions": ["set", "reset", *names],
        "vectors": [[1, 0, *([number] * 60)], [0, 1, *([0] * 60)], [0, 0, *([0] * 60)]],
    }
    for i in range(60):
        data["embedding"]["vectors"][0][2 + i] = number.replace("e(1/", f"{i + 2}*e(1/")
    work = WorkCount(kernel.WorkBudget(seconds=1))
    with contextlib.suppress(kernel.OverBudget):
        read_network(data, work)
    assert work.elapsed() < 2
    data["embedding"]["vectors"][0][2] = "e(1/4999)"
    with pytest.raises(Unreadable, match="roots of unity"):
        read_network(data, WorkCount())


def test_the_json_of_a_certificate_reads_back() -> None:
    network, language = compiled("(aa)*", "diagonal-signed")
    certificate = sealed(network, language, "joint-closure", {"task": "predict"})
    read = kernel.certificate_from_json(certificate)
    assert json.loads(json.dumps(kernel.certificate_to_json(read))) == certificate


def test_a_network_with_a_part_missing_or_too_many_is_refused() -> None:
    places = [(), *(p for p in _places(latch()) if isinstance(_at(latch(), p), dict) and p != ("origin",))]
    assert len(places) > 5
    for place in places:
        for key in [*_at(latch(), place), None]:
            data = latch()
            if key is None:
                _at(data, place)["more"] = 1
            else:
                del _at(data, place)[key]
            with pytest.raises(Unreadable):
                read_network(data, WorkCount())
    for other in (None, [], "network", 3):
        with pytest.raises(Unreadable):
            read_network(other, WorkCount())


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data
