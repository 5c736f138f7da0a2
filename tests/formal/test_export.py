"""`nerode export --to coq`: what is printed, what is refused, and that coqc accepts and refuses it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from nerode.compiler import compile_language
from nerode.core import InputError
from nerode.kernel import CERTIFICATE_FILE, Certificate
from nerode.languages import resolve_language
from nerode.proofs import NotPrintable, certify, folder_to_coq, write_folder
from tests.cli.runner import run
from tests.formal.built import require_built

DTYPES = ("float64", "float32", "bfloat16", "float16")
SCANS = tuple(f"{what}_in_{dtype}" for dtype in DTYPES for what in ("exact", "scans"))
FLOATS = tuple(f"exact_in_{dtype}" for dtype in DTYPES)
BYTES = ("the_files_say_so", "the_files_are_correct")


def write(folder: Path, name: str, to: str) -> Path:
    """A compiled folder with its certificate."""
    language = resolve_language(name)
    network = compile_language(language, to)
    certificate = certify(network, language)
    assert isinstance(certificate, Certificate)
    write_folder(folder, network, language, certificate)
    return folder


@pytest.mark.parametrize(
    ("name", "to", "theorems"),
    [
        ("(ab)*", "diagonal", ("correct_at_every_length", *SCANS, *BYTES)),
        ("s3", "householder", ("correct_at_every_length", *FLOATS, *BYTES)),
        ("anbn", "diagonal", ("correct_at_every_length", *BYTES)),
        ("tomita-2", "ssm", ("correct_at_every_length", *BYTES)),
        ("dyck-2-10", "diagonal", ("correct_at_every_length", *BYTES)),
        ("tomita-7", "transformer-hard", ("correct_at_every_length", *BYTES)),
        ("a5", "permutation-diagonal", ("correct_at_every_length", *FLOATS)),
    ],
)
def test_theorems(tmp_path: Path, name: str, to: str, theorems: tuple[str, ...]) -> None:
    found = folder_to_coq(write(tmp_path / "f", name, to))
    assert found.theorems == theorems
    assert [line for line in found.text.splitlines() if line.startswith("Print Assumptions")] == [
        f"Print Assumptions {name}." for name in theorems
    ]
    assert all(f"\nTheorem {name} :" in found.text for name in theorems)


@pytest.mark.parametrize(
    ("name", "to", "why"),
    [
        ("tomita-4", "elman-tanh", "boxes"),
        ("z3", "diagonal-complex", "complex states"),
        ("d5", "householder", "roots of unity; compile with --exact-floats"),
        ("ngram-seed", "diagonal", "n-gram"),
    ],
)
def test_refusals_name_the_reason_and_a_remedy(tmp_path: Path, name: str, to: str, why: str) -> None:
    with pytest.raises(NotPrintable, match=why):
        folder_to_coq(write(tmp_path / "f", name, to))


def test_a_certificate_that_does_not_hold_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "f", "(ab)*", "diagonal")
    other = write(tmp_path / "g", "parity", "diagonal-signed")
    shutil.copy(other / CERTIFICATE_FILE, folder / CERTIFICATE_FILE)
    with pytest.raises(InputError, match="does not hold"):
        folder_to_coq(folder)


def test_the_file_has_a_name_that_coqc_takes(tmp_path: Path) -> None:
    folder = write(tmp_path / "f", "(ab)*", "diagonal")
    outcome = run("export", str(folder), "--to", "coq", "-o", str(tmp_path / "ab-star.v"))
    assert outcome.code == 2
    assert "such as ab_star.v" in outcome.err


def coqc(path: Path) -> subprocess.CompletedProcess[str]:
    library = require_built()
    command = ["coqc", "-q", "-Q", str(library), "Nerode", path.name]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)


def test_coqc_accepts_a_stack_in_slots(tmp_path: Path) -> None:
    require_built()
    path = tmp_path / "stack.v"
    exported = folder_to_coq(write(tmp_path / "f", "dyck-2-10", "diagonal"))
    path.write_text(exported.text.partition("Definition network_file")[0])
    accepted = coqc(path)
    assert accepted.returncode == 0, accepted.stderr


def test_coqc_accepts_an_exported_network_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    require_built()
    folder, path = write(tmp_path / "f", "(ab)*", "diagonal"), tmp_path / "good.v"
    assert "correct_at_every_length" in run("export", str(folder), "--to", "coq", "-o", str(path)).out
    # The other formats take as long each, and `make formal` has them.
    before, _, rest = path.read_text().partition("Theorem exact_in_float32")
    rest = rest[rest.index("Definition network_file") :]
    kept = [line for line in rest.splitlines() if not line.endswith(("float32.", "float16."))]
    path.write_text(before + "\n".join(kept) + "\n")
    accepted = coqc(path)
    assert accepted.returncode == 0, accepted.stderr
    assert accepted.stdout.split("\n")[:-1] == ["Closed under the global context"] * 5
    # The wrong network never leaves its start: the one gate of the second layer is closed by no letter.
    text = path.read_text().partition("Theorem exact_in")[0]
    wrong = tmp_path / "wrong.v"
    wrong.write_text(text.replace("Row 1 [x 3 (-1); x 4 (-1)]", "Row 1 []"))
    assert wrong.read_text() != text
    refused = coqc(wrong)
    assert refused.returncode == 1
    assert "check_tries Exactly Predict net" in refused.stderr
