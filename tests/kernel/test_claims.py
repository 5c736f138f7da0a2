"""Claims and certificates as records: what makes no sense is refused, what makes sense survives JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from nerode.kernel import (
    ANY_ORDER,
    DTYPES,
    EXACT,
    PREDICT,
    RECOGNISE,
    SCOPES,
    STEP_BY_STEP,
    TASKS,
    TESTED,
    UNDER_NOISE,
    UP_TO_LENGTH,
    VALID_PREFIXES,
    Certificate,
    Claim,
    Unreadable,
    certificate_from_json,
    certificate_to_json,
    language_claim,
)
from nerode.kernel.domains.windows import expected_readings, fragile_claim, window_claim

HASH = "0123456789abcdef" * 4


def claim(**changes: Any) -> Claim:
    fields: dict[str, Any] = {"scope": EXACT, "method": "m", "task": PREDICT, "covers": "this"}
    return Claim(**{**fields, **changes})


def certificate(*claims: Claim) -> Certificate:
    return Certificate(
        network=HASH, language=HASH[::-1], claims=claims or (claim(),), evidence={"m": {"n": 1}}
    )


def test_scopes_are_ordered_from_strong_to_weak() -> None:
    assert SCOPES == (EXACT, ANY_ORDER, STEP_BY_STEP, UNDER_NOISE, UP_TO_LENGTH, TESTED)
    assert TASKS[:3] == ("predict", "predict on valid prefixes", "recognise")


def test_formats_are_the_ieee_ones() -> None:
    numpy = pytest.importorskip("numpy")
    for name in ("float64", "float32", "float16"):
        info = numpy.finfo(name)
        assert DTYPES[name].bits == info.nmant + 1
        assert DTYPES[name].smallest == info.minexp
        assert DTYPES[name].largest == info.maxexp - 1
    single = DTYPES["float32"]
    assert DTYPES["bfloat16"] == replace(single, bits=8)


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": "for ever"},
        {"task": "please"},
        {"dtype": "float32"},
        {"scope": ANY_ORDER},
        {"scope": ANY_ORDER, "dtype": "float8"},
        {"length": 5},
        {"length": "some"},
        {"scope": UP_TO_LENGTH, "dtype": "float32"},
        {"scope": UP_TO_LENGTH, "dtype": "float32", "length": -1},
        {"scope": UP_TO_LENGTH, "dtype": "float32", "length": True},
        {"scope": UNDER_NOISE},
        {"eps": Fraction(0)},
        {"scope": UNDER_NOISE, "eps": Fraction(-1, 2)},
        {"method": ""},
        {"covers": ""},
    ],
)
def test_claims_that_make_no_sense_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        claim(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scope": STEP_BY_STEP, "dtype": "bfloat16"},
        {"scope": UP_TO_LENGTH, "dtype": "float16", "length": 2048},
        {"scope": UNDER_NOISE, "eps": Fraction(1, 10)},
        {"scope": TESTED, "dtype": "float32", "length": 100},
        {"eps": Fraction(1, 10**8)},
        {"task": VALID_PREFIXES},
    ],
)
def test_certificates_survive_json(changes: dict[str, Any]) -> None:
    made = certificate(claim(**changes))
    text = json.dumps(certificate_to_json(made))
    assert certificate_from_json(json.loads(text)) == made


def test_claims_of_every_kind_survive_json() -> None:
    claims = [language_claim(task=task, method="m") for task in (PREDICT, VALID_PREFIXES, RECOGNISE)]
    claims += [
        language_claim(task=PREDICT, method="m", dtype="float32", order=order, length=length)
        for order in ("any", "step")
        for length in ("all", 7)
    ]
    claims += [window_claim(letters=3), window_claim(letters=9, eps=Fraction(1, 3))]
    claims += [fragile_claim(), fragile_claim(eps=Fraction(1, 10), readings=25)]
    made = certificate(*claims)
    assert certificate_from_json(json.loads(json.dumps(certificate_to_json(made)))) == made
    assert len({c.covers for c in claims}) == len(claims) - 2  # a length does not change the sentence


@pytest.mark.parametrize(
    "change",
    [
        {"network": "123"},
        {"network": HASH.upper()},
        {"language": None},
        {"claims": []},
        {"claims": {}},
        {"claims": [None]},
        {"evidence": []},
        {"evidence": {"m": 3}},
        {"version": True},
        {"version": 99},
        {"format": "nerode-network"},
        {"more": 1},
    ],
)
def test_reading_a_certificate_is_strict(change: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        certificate_from_json({**certificate_to_json(certificate()), **change})


def test_a_certificate_with_a_key_missing_is_refused() -> None:
    data = certificate_to_json(certificate())
    for key in data:
        with pytest.raises(Unreadable):
            certificate_from_json({k: v for k, v in data.items() if k != key})
    for other in (None, [], "certificate", 3):
        with pytest.raises(Unreadable):
            certificate_from_json(other)


def test_reading_claims_is_strict() -> None:
    data = certificate_to_json(certificate())
    good = data["claims"][0]
    changes: list[dict[str, Any]] = [
        {"scope": 1},
        {"scope": "for ever"},
        {"dtype": 32},
        {"length": "7"},
        {"eps": "x"},
        {"eps": "e(1/3)"},
        {"eps": 0.5},
        {"method": None},
        {"covers": ""},
        {"more": 1},
    ]
    for change in changes:
        with pytest.raises(Unreadable):
            certificate_from_json({**data, "claims": [{**good, **change}]})
    for key in good:
        with pytest.raises(Unreadable):
            certificate_from_json({**data, "claims": [{k: v for k, v in good.items() if k != key}]})


def test_a_claim_implies_the_same_for_shorter_words_only() -> None:
    long = claim(scope=UP_TO_LENGTH, dtype="float32", length=100)
    assert long.implies(replace(long, length=100))
    assert long.implies(replace(long, length=7))
    assert not long.implies(replace(long, length=101))
    changes: list[dict[str, Any]] = [
        {"dtype": "float64"},
        {"task": RECOGNISE},
        {"covers": "that"},
        {"method": "n"},
        {"scope": TESTED},
    ]
    for change in changes:
        assert not long.implies(replace(long, **change))
    assert not claim().implies(claim(eps=Fraction(1)))


def test_expected_readings_are_the_exit_time_of_a_walk() -> None:
    # E(τ) for ±1 steps from 0 until ±a, by solving u(k) = 1 + (u(k-1) + u(k+1))/2: a² - k².
    assert expected_readings(Fraction(1), Fraction(1, 10)) == 25
    assert expected_readings(Fraction(1), Fraction(3, 10)) == 4
    assert expected_readings(Fraction(1, 100), Fraction(1)) == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"network": "123"},
        {"network": HASH.upper()},
        {"language": HASH[:-1] + "g"},
        {"claims": ()},
        {"claims": (claim(),) * 1001},
    ],
)
def test_certificates_that_make_no_sense_are_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        replace(certificate(), **broken)
