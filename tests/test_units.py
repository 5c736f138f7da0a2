"""A file is a unit of work: one worker runs it, so that what its tests share is made once."""

from __future__ import annotations

import os

import pytest

from tests.conftest import unit_of


@pytest.mark.parametrize("number", range(8))
def test_one_worker_runs_this_file(number: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Fails where a version of xdist deals the tests out one by one."""
    worker, base = os.environ.get("PYTEST_XDIST_WORKER"), tmp_path_factory.getbasetemp()
    seen = (base if worker is None else base.parent) / "workers-of-a-unit"
    with seen.open("a") as file:
        file.write(f"{worker}\n")
    assert set(seen.read_text().splitlines()) == {str(worker)}


def test_units() -> None:
    assert unit_of("tests/core/test_exact.py::test_sums[a-b]") == "core/test_exact"
    assert unit_of("tests/verdict/test_decision.py::test_counters[anbn]") == unit_of(
        "tests/verdict/test_referee.py::test_x"
    )
    family = {
        unit_of(f"tests/integration/test_bestiary_networks.py::test_network[{n}]")
        for n in ("d-3-ssm", "d-4-ssm")
    }
    assert len(family) == 1
    assert unit_of("tests/models/test_conformance.py::test_conformance[gla-dtypes]") != unit_of(
        "tests/models/test_conformance.py::test_conformance[lru-dtypes]"
    )
