"""Families of hand-made false certificates: none is accepted. `benchmarks forgeries` has more of each."""

from __future__ import annotations

import random

import pytest

from benchmarks._forged_modules import MODULES, exchanged_columns
from benchmarks.corruption import KernelCase, cases
from benchmarks.forgeries import FAMILIES, attempts

CASES = cases()


def test_there_are_many_families() -> None:
    assert len(FAMILIES) + len(MODULES) >= 12
    assert {case.method for case in CASES} >= {"bit-closure", "representation", "attention-rounding"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_no_forgery_of_a_family_is_accepted(family: object) -> None:
    chosen = random.Random(str(family)).sample(CASES, len(CASES))
    kernel = [case for case in chosen if isinstance(case, KernelCase)]
    others = [case for case in chosen if not isinstance(case, KernelCase)]
    found = [outcome for case in kernel for outcome in attempts(case, family, 2, 1)]
    found += [outcome for case in others for outcome in attempts(case, family, 1, 1)]
    assert found
    assert set(found) <= {"refused", "true"}


QUICK = [f for name in ("readings", "numbers that are not held") for f in MODULES[name]]


@pytest.mark.parametrize("forgery", QUICK, ids=lambda forgery: forgery.name)
def test_no_module_that_is_read_otherwise_is_accepted(forgery: object) -> None:
    assert not forgery.is_accepted()  # type: ignore[attr-defined]


def test_classes_in_order_are_the_network_that_the_cell_means() -> None:
    for columns in ((), (0, 1), (0, 1, -1)):
        assert exchanged_columns(columns=columns) == ""
    assert "another way" in exchanged_columns(columns=(1, 0))
