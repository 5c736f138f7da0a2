"""`nerode prove` searches for windows, noise and fragile words; `nerode verify` only replays."""

import json
import subprocess
import sys

import pytest

from tests.cli.runner import run


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("networks")
    for language, target in (("parity", "diagonal-signed"), ("last-but-3", "ssm")):
        assert run("compile", language, "--to", target, "-o", str(place / language)).code == 0
    return place


def test_a_window_is_printed_and_kept(folders):
    shown = run("prove", str(folders / "last-but-3"), "--window")
    assert shown.code == 0
    assert "✓ Of a prefix of at least 4 letters only the last 4 matter" in shown.out
    assert "only the last 4 matter" in run("verify", str(folders / "last-but-3")).out


def test_a_fragile_word_is_printed_with_the_time_that_noise_takes(folders):
    shown = run("prove", str(folders / "parity"), "--fragile", "--eps", "1/100")
    assert shown.code == 0
    assert "no noise above 0 is corrected  [identity-word]" in shown.out
    assert "after 10000 readings in expectation, eps = 0.01" in shown.out


def test_a_search_that_finds_nothing_is_a_negative_answer(folders):
    shown = run("prove", str(folders / "parity"), "--noise", "--window")
    assert shown.code == 1
    assert "✗ window: " in shown.err
    assert "✗ noise: " in shown.err
    assert "✓ all lengths in exact arithmetic" in shown.out
    item = json.loads(run("prove", str(folders / "parity"), "--window", "--json").out)
    assert item["ok"]
    assert item["searches"]["window"]["found"] is False
    assert item["searches"]["window"]["problem"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--eps", "1/10"), "--eps belongs to --window and --fragile"),
        (("--window", "--eps", "0"), "give a number above 0"),
        (("--fragile", "--eps", "x"), "give a number above 0"),
    ],
)
def test_wrong_use_is_said(folders, options, message):
    outcome = run("prove", str(folders / "parity"), *options)
    assert outcome.code == 2
    assert message in outcome.err


def test_the_old_options_of_verify_still_search(folders):
    shown = run("verify", str(folders / "last-but-3"), "--window")
    assert shown.code == 0
    assert "part of `nerode prove` now" in shown.err
    assert "only the last 4 matter" in shown.out
    assert "--window" not in run("verify", "--help").out
    assert "--window" in run("prove", "--help").out


def test_searches_are_for_one_compiled_network(folders):
    both = [str(folders / "parity"), str(folders / "last-but-3")]
    refused = run("prove", *both, "--window")
    assert refused.code == 2
    assert "one compiled network alone" in refused.err


FORBIDDEN = (
    "compiler",
    "algebra",
    "verdict",
    "analysis",
    "study",
    "proofs.floats",
    "proofs.find",
    "proofs.certification",
    "proofs.settle",
)


@pytest.mark.parametrize("target", ["diagonal-signed", "mamba"])
def test_verify_loads_no_search_and_no_theory(target, tmp_path):
    """The second folder has weights, whose certificate is replayed by torch."""
    assert (
        run("compile", "parity" if target != "mamba" else "(ab)*", "--to", target, "-o", str(tmp_path)).code
        == 0
    )
    program = (
        "import sys\n"
        "from nerode.cli.main import main\n"
        "try:\n"
        f"    main(['verify', {str(tmp_path)!r}])\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code, stop.code\n"
        "print('torch' in sys.modules, sorted(m for m in sys.modules if m.startswith('nerode.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    last = done.stdout.splitlines()[-1]
    assert last.startswith(str(target == "mamba"))
    loaded = [name for name in FORBIDDEN if f"'nerode.{name}" in last]
    assert not loaded
