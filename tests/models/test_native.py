"""Which build of the kernels is loaded, and what happens without one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from nerode.models.native import library as native

TESTS = Path(__file__).parent / "kernels"
# Small enough to run again in another process.
SAMPLE = [
    "test_scan.py::test_a_scan_in_parts_is_the_whole_scan",
    "test_scan.py::test_what_does_not_fit_is_refused",
    "test_selective_scan.py::test_no_step_keeps_the_state_and_a_huge_one_forgets_it",
    "test_matrix_scan.py::test_a_decay_of_zero_forgets_and_is_no_trouble_to_gradients",
    "test_delta_scan.py::test_a_reflection_swaps_two_states_exactly",
    "test_cells.py::test_torch_layers_give_the_same",
    "test_cells.py::test_saturated_gates_are_exact_and_nan_stays_nan",
    "test_nru.py::test_float32_is_the_loop_too",
    "test_slstm.py::test_nan_stays_nan",
]


def python(*arguments: str, choice: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "NERODE_NATIVE": choice},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(shutil.which("c++") is None, reason="no compiler: the kernels cannot have been built")
def test_where_there_is_a_compiler_the_kernels_are_built() -> None:
    if os.environ.get("NERODE_NATIVE") != "0":
        assert native.library() is not None


@pytest.mark.parametrize("choice", ["0", pytest.param("baseline", marks=pytest.mark.slow)])
def test_the_same_tests_pass_on_the_plain_path_and_on_the_plainest_build(choice: str) -> None:
    run = python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"{TESTS}/{t}" for t in SAMPLE), choice=choice
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_zero_switches_the_kernels_off_silently() -> None:
    run = python(
        "-W", "error", "-c", "from nerode.models.native.library import library; print(library())", choice="0"
    )
    assert (run.stdout.strip(), run.stderr) == ("None", "")


def test_an_unknown_choice_is_refused() -> None:
    run = python("-c", "from nerode.models.native.library import library; library()", choice="avx3")
    assert "unknown value of NERODE_NATIVE 'avx3'" in run.stderr


def test_a_missing_library_is_said_once(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(native, "_FOLDER", tmp_path)
    monkeypatch.delenv("NERODE_NATIVE", raising=False)
    native._load.cache_clear()
    native.library.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="native kernels are not built"):
            assert native.library() is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert native.library() is None
    finally:
        native._load.cache_clear()
        native.library.cache_clear()


def test_a_library_from_other_sources_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_source_hash", lambda: "something else")
    native._load.cache_clear()
    try:
        assert native._load("baseline") is None
    finally:
        native._load.cache_clear()


def test_the_loader_needs_no_torch() -> None:
    program = "import sys; from nerode.models.native.library import library; print('torch' in sys.modules)"
    assert python("-c", program, choice="").stdout.strip() == "False"


FORKED = """
import os, torch
from nerode.models.kernels.scan import diagonal_scan
torch.set_num_threads(2)
x = torch.full((64, 64, 64), 0.5)
wanted = diagonal_scan(x, x)[0]
child = os.fork()
if child == 0:
    os._exit(0 if diagonal_scan(x, x)[0].numpy().tobytes() == wanted.numpy().tobytes() else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_copy_does_not_wait_for_threads_that_it_does_not_have() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
