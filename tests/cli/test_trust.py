"""Data never runs code: a run or a sweep that names a module is refused without `--trust-code`."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pytest

import nerode as nr
from nerode.core import InputError
from nerode.records import ModelSpec, TrainSpec
from nerode.training.model_building import builder_file, import_builder

from .runner import run

SOURCE = """
from pathlib import Path

Path("ran").touch()

from torch import nn


class Table(nn.Module):
    def __init__(self, letters, outputs):
        super().__init__()
        self.table = nn.Embedding(letters, outputs)

    def forward(self, x, state=None):
        return self.table(x), state


def make(task):
    return Table(task.letters, task.outputs)
"""

TINY = ["--steps", "2", "--lengths", "4,8", "--set", "run.validation=8", "--set", "run.test_sequences=8"]

SWEEP = (
    '[base]\ntask.name = "parity"\nmodel.module = "{module}:make"\nrun.steps = 2\nrun.test_lengths = [4]\n'
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module, and a run that was trained with it because the user said so."""
    place = tmp_path_factory.mktemp("own")
    (place / "evil.py").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr(sys, "path", [*sys.path])
        made = run("train", "parity", "--model", "evil:make", "--jobs", "1", *TINY)
        sys.modules.pop("evil")
    assert made.code == 0, made.err
    assert (place / "ran").exists()
    return place


@pytest.fixture
def here(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which nothing has run, as the current folder; the run is `run`."""
    (found,) = (p for p in (trained / "runs").iterdir() if len(p.name) == 16)
    shutil.copytree(found, tmp_path / "runs" / found.name)
    (tmp_path / "run").symlink_to(tmp_path / "runs" / found.name)
    shutil.copy(trained / "evil.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "evil", raising=False)
    yield tmp_path
    sys.modules.pop("evil", None)


LOADERS = {
    "analyse": ["analyse", "run", "-o", "out"],
    "draw": ["draw", "run", "--what", "spectra", "-o", "spectra.svg"],
    "extract": ["analyse", "--automaton", "run", "--longest", "4"],
    "repair": ["repair", "run", "--max-seconds", "2"],
    "polish": ["polish", "run", "-o", "polished"],
    "prove": ["prove", "run", "--again", "--max-seconds", "3"],
}
"""Commands that load the model of a run."""

RUN = "…"
"""Stands for the name of the run."""

READERS = {
    "report": ["report", "runs", "-o", "page.html"],
    "report --language": ["report", "runs", "--language", "parity"],
    "runs ls": ["runs", "ls", "runs"],
    "runs show": ["runs", "show", "runs", RUN],
    "runs export": ["runs", "export", "runs", "--to", "csv", "-o", "runs.csv"],
    "verify": ["verify", "run"],
    "atlas": [
        "atlas",
        "-o",
        "atlas.html",
        "--runs",
        "runs",
        "--only",
        "parity",
        "--no-networks",
        "--jobs",
        "1",
    ],
}
"""Commands that read its record only."""


@pytest.mark.parametrize("name", LOADERS)
def test_a_run_that_names_a_module_is_loaded_only_with_trust(here: Path, name: str) -> None:
    refused = run(*LOADERS[name])
    assert refused.code == 2
    assert "--trust-code" in refused.err
    assert "'evil:make'" in refused.err
    assert "Traceback" not in refused.err
    assert not (here / "ran").exists()
    run(*LOADERS[name], "--trust-code")
    assert (here / "ran").exists()


@pytest.mark.parametrize("name", READERS)
def test_commands_that_read_records_never_run_the_module(here: Path, name: str) -> None:
    (whole,) = (p.name for p in (here / "runs").iterdir())
    found = run(*(whole if part == RUN else part for part in READERS[name]))
    # A model that is code has no proof that could be replayed without it.
    assert found.code == (2 if name == "verify" else 0), found.err
    assert "Usage" not in found.err
    assert not (here / "ran").exists()
    assert "evil" not in sys.modules


def test_a_changed_module_is_refused_even_with_trust(here: Path) -> None:
    with (here / "evil.py").open("a") as file:
        file.write("\nprint('changed')\n")
    refused = run("analyse", "--automaton", "run", "--trust-code")
    assert refused.code == 2
    assert "is not the module that the run was trained with" in refused.err
    assert not (here / "ran").exists()


def test_a_record_without_a_hash_is_refused_even_with_trust(here: Path) -> None:
    path = here / "run" / "result.json"
    record = json.loads(path.read_text())
    assert list(record["complete"]["files"]) == ["evil.py"]
    del record["complete"]["files"]
    path.write_text(json.dumps(record))
    refused = run("analyse", "--automaton", "run", "--trust-code")
    assert refused.code == 2
    assert "has no hash of evil.py" in refused.err
    assert not (here / "ran").exists()


def test_a_run_of_the_zoo_whose_record_was_forged_runs_nothing(here: Path) -> None:
    """The model has its config beside it; only the comparison with an untrained one needs the module."""
    spec = TrainSpec.from_mapping({"task": {"name": "parity"}, "run": {"steps": 2, "test_lengths": [4]}})
    record, model = nr.train(spec)
    from nerode.models import save_model

    save_model(here / "run", model)
    data = record.to_json()
    data["spec"]["model"]["module"] = "evil:make"
    (here / "run" / "result.json").write_text(json.dumps(data))
    assert run("analyse", "run", "-o", "out").code == 2
    assert not (here / "ran").exists()


@pytest.mark.parametrize("dry", [["--dry-run"], []], ids=["dry", "run"])
@pytest.mark.parametrize("module", ["evil", "bag.evil"])
def test_a_sweep_file_that_names_a_module_needs_trust(here: Path, module: str, dry: list[str]) -> None:
    (here / "bag").mkdir()
    (here / "bag" / "__init__.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    shutil.copy(here / "evil.py", here / "bag")
    (here / "s.toml").write_text(SWEEP.format(module=module))
    refused = run("train", "s.toml", "--jobs", "1", *dry)
    assert refused.code == 2
    assert "--trust-code" in refused.err
    assert not (here / "ran").exists()
    assert run("train", "s.toml", "--jobs", "1", "--dry-run", "--trust-code").code == 0
    # The hash of the module needs its file, and not even its package is run for that.
    assert not (here / "ran").exists()


def test_a_grid_may_not_smuggle_a_module_in(here: Path) -> None:
    (here / "s.toml").write_text(
        '[base]\ntask.name = "parity"\n[grid]\nmodel.module = ["", "evil:make"]\n[[list]]\n"run.seed" = 1\n'
    )
    assert run("train", "s.toml", "--dry-run").code == 2
    assert not (here / "ran").exists()


def test_a_spec_file_that_names_a_module_needs_trust_and_the_users_own_word_does_not(here: Path) -> None:
    (here / "own.toml").write_text('task.name = "parity"\nmodel.module = "evil:make"\n')
    refused = run("train", "--spec", "own.toml", "--jobs", "1", "--out", "new", *TINY)
    assert refused.code == 2
    assert "own.toml names the module 'evil:make'" in refused.err
    assert not (here / "ran").exists()
    own = run("train", "parity", "--set", "model.module=evil:make", "--jobs", "1", "--out", "new", *TINY)
    assert own.code == 0, own.err
    (here / "ran").unlink()
    sys.modules.pop("evil")
    trusted = run("train", "--spec", "own.toml", "--trust-code", "--jobs", "1", "--out", "newer", *TINY)
    assert trusted.code == 0, trusted.err
    assert (here / "ran").exists()


def test_the_door_refuses_by_itself(here: Path) -> None:
    with pytest.raises(InputError, match="trust_code=True"):
        nr.load_subject(here / "run")
    subject = nr.load_subject(here / "run", trust_code=True)
    assert type(subject.model).__name__ == type(subject.untrained()).__name__ == "Table"


def test_a_compiled_file_beside_the_source_is_never_run(here: Path) -> None:
    """What was hashed is what runs: a forged .pyc with the source's time and size is not looked at."""
    import py_compile

    (here / "evil.py").rename(here / "kept")
    (here / "evil.py").write_text("raise RuntimeError('the compiled file')" + "#" * 600)
    target = Path(
        py_compile.compile(
            str(here / "evil.py"), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
    )
    assert target.exists()
    (here / "evil.py").write_text((here / "kept").read_text())
    assert nr.load_subject(here / "run", trust_code=True).model is not None


def test_a_module_is_found_without_an_import(here: Path) -> None:
    (here / "bag").mkdir()
    (here / "bag" / "__init__.py").write_text("raise RuntimeError")
    (here / "bag" / "inner.py").write_text("")
    assert builder_file("bag.inner:make") == here / "bag" / "inner.py"
    assert builder_file("bag.absent:make") is None
    assert builder_file("bag.inner.deeper:make") is None
    assert builder_file("sys:exit") is None
    assert "bag" not in sys.modules
    with pytest.raises(InputError, match="no function 'exit_'"):
        import_builder("sys:exit_")
    assert ModelSpec(module="bag.inner:make").title == "bag.inner:make"


def test_a_forged_record_in_the_store_does_not_smuggle_a_module_in(here: Path) -> None:
    """A run of the zoo that is in the store already; its record has been made to name a module."""
    made = run("train", "parity", "--arch", "gru", "--jobs", "1", "--out", "zoo", "--settle", "0", *TINY)
    assert made.code == 0, made.err
    (folder,) = (path.parent for path in (here / "zoo").glob("*/result.json"))
    record = json.loads((folder / "result.json").read_text())
    record["spec"]["model"] = {"module": "evil:make"}
    record["complete"]["files"] = {"evil.py": hashlib.sha256((here / "evil.py").read_bytes()).hexdigest()}
    (folder / "result.json").write_text(json.dumps(record))
    again = run("train", "parity", "--arch", "gru", "--jobs", "1", "--out", "zoo", "--settle", "1", *TINY)
    assert not (here / "ran").exists()
    assert again.code == 2
    assert "--trust-code" in again.err
