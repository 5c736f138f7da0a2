"""`nerode verify DIR --dtype`, and what is imported when."""

import json
import subprocess
import sys

import pytest

from nerode.core import BudgetExceeded
from nerode.proofs import floats
from nerode.proofs.folder import float_path
from tests.cli.runner import run


@pytest.fixture(scope="module")
def parity(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parity")
    assert run("compile", "parity", "--to", "diagonal-signed", "-o", str(folder)).code == 0
    return folder


@pytest.fixture(scope="module")
def dyck(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dyck")
    assert run("compile", "dyck-1", "--to", "diagonal", "-o", str(folder)).code == 0
    return folder


def test_two_formats_in_json(parity):
    outcome = run("prove", str(parity), "--dtype", "float32,bfloat16", "--json")
    assert outcome.code == 0
    found = json.loads(outcome.out)
    assert found["ok"] is True
    assert found["failure"] is None
    closed = [c for c in found["claims"] if c["method"] == "bit-closure"]
    assert [(c["scope"], c["dtype"], c["length"]) for c in closed] == [
        ("all lengths bit-exact in a dtype, step by step", "float32", "all"),
        ("all lengths bit-exact in a dtype, step by step", "bfloat16", "all"),
    ]
    tested = [c for c in found["claims"] if c["scope"] == "tested only"]
    assert {c["method"] for c in tested} == {"forward-against-step"}
    assert set(found["floats"]) == {"float32", "bfloat16"}
    assert found["floats"]["float32"]["batches"] == [1, 64]


def test_text_says_what_is_proved_and_what_is_only_tested(parity):
    lines = run("verify", str(parity), "--dtype", "float16").out.splitlines()
    assert "✓ all lengths bit-exact in float16, step by step  [bit-closure]" in lines
    assert "· tested to length 65 in float16, no proof  [forward-against-step]" in lines


def test_a_counter_fails_in_a_narrow_format_and_says_when(dyck):
    outcome = run("verify", str(dyck), "--dtype", "bfloat16", "--max-seconds", "5", "--json")
    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert found["ok"] is False
    assert found["failure"]["expected"] == ["(", ")"]
    assert found["failure"]["at"] == 513
    horizon = found["floats"]["bfloat16"]["horizon"]
    assert (horizon["predicted"], horizon["measured"], horizon["at"]) == (257, 257, 513)
    reached = [c["length"] for c in found["claims"] if c["method"] == "bit-closure"]
    assert 0 < reached[0] <= 512


def test_a_budget_that_runs_out_hides_no_refutation(dyck, monkeypatch):
    """Formats are examined one after the other; of two, the second finds no time."""
    real = floats.examine

    def examine(network, language, *, dtype, **options):
        if dtype == "float32":
            raise BudgetExceeded("seconds", 3.0)
        return real(network, language, dtype=dtype, **options)

    monkeypatch.setattr(floats, "examine", examine)
    outcome = run("verify", str(dyck), "--dtype", "bfloat16,float32", "--max-seconds", "4", "--json")
    found = json.loads(outcome.out)
    assert (outcome.code, found["ok"], found["failure"]["at"]) == (1, False, 513)
    assert found["stopped"].startswith("not examined in float32: the budget of 3.0 seconds is used up")
    outcome = run("verify", str(dyck), "--dtype", "float32")
    assert (outcome.code, outcome.out) == (2, "")
    assert "the budget of 3.0 seconds is used up" in outcome.err


def test_a_format_that_has_no_module_is_not_proved(tmp_path):
    assert run("compile", "Z5", "--to", "diagonal-complex", "-o", str(tmp_path)).code == 0
    outcome = run("verify", str(tmp_path), "--dtype", "bfloat16")
    assert outcome.code == 1
    assert "nothing is proved in bfloat16" in outcome.err


def test_a_stored_proof_is_replayed_and_a_planted_one_refused(parity):
    assert run("prove", str(parity), "--dtype", "float64").code == 0
    path = float_path(parity, "float64")
    stored = json.loads(path.read_text())
    outcome = run("verify", str(parity), "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["floats"]["float64"]["replayed"] == str(path)

    stored["evidence"]["bit-closure"]["arithmetic"]["threads"] += 1
    path.write_text(json.dumps(stored))
    outcome = run("verify", str(parity), "--json")
    assert outcome.code == 0
    details = json.loads(outcome.out)["floats"]["float64"]
    assert details["made_on"]["threads"] == details["arithmetic"]["threads"] + 1

    moves = stored["evidence"]["bit-closure"]["moves"]
    moves[0], moves[1] = moves[1], moves[0]
    path.write_text(json.dumps(stored))
    outcome = run("verify", str(parity))
    assert outcome.code == 1
    assert "✗ float64" in outcome.err

    path.write_text("{")
    outcome = run("verify", str(parity))
    assert outcome.code == 2
    assert "is not JSON" in outcome.err
    path.unlink()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dtype", "float23"), "float32"),
        (("--dtype", ","), "no name"),
        (("--save",), "--dtype"),
    ],
)
def test_wrong_use(parity, arguments, message):
    outcome = run("verify", str(parity), *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def imports_torch(code):
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('torch' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1] == "True"


def command(*arguments):
    return (
        "from nerode.cli.main import main\n"
        f"try:\n    main({list(arguments)!r})\n"
        "except SystemExit as stop:\n    assert not stop.code, stop.code"
    )


def test_torch_is_loaded_for_floats_only(parity, tmp_path):
    exact = [
        ("check", "parity"),
        ("compile", "parity", "--to", "diagonal-signed", "-o", str(tmp_path)),
        ("verify", str(tmp_path)),
    ]
    assert not imports_torch("\n".join(command(*words) for words in exact))
    assert imports_torch(command("prove", str(parity), "--dtype", "float32"))
    assert imports_torch(command("verify", str(parity)))


def test_no_other_module_of_the_certificates_loads_torch():
    code = (
        "import importlib, pkgutil, nerode.proofs as c\n"
        "torch = {'find', 'floats', 'reading', 'replay', 'runner', 'settle'}\n"
        "names = [m.name for m in pkgutil.iter_modules(c.__path__) if m.name not in torch]\n"
        "assert len(names) >= 5\n"
        "for name in names: importlib.import_module(f'nerode.proofs.{name}')"
    )
    assert not imports_torch(code)
