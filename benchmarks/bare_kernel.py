"""The certificates of every named language and class, checked by `python -m nerode.kernel` on a bare Python.

The folders are written once; then the interpreter of a new virtual environment without any package checks
them. For every language that is an automaton a wrong folder is planted: its accepting states are exchanged
and the hash is bound again, so that only a check of the answers can refuse it.

    python -m benchmarks bare_kernel
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from nerode.core import Budget
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.description import definition_hash
from nerode.network import network_hash
from nerode.proofs import Certificate, write_folder
from nerode.study import TARGETS, study_networks

SECONDS = 20.0
SOURCE = Path(__file__).parent.parent / "src"


def write_language(name: str, place: Path) -> tuple[list[str], list[str], Counter[str]]:
    """Writes the proved networks of a language; returns their folders, planted ones, and methods."""
    language = find_language(name)
    right, wrong, methods = [], [], Counter[str]()
    found = study_networks(language, targets=dict.fromkeys(TARGETS, ()), budget=Budget(seconds=SECONDS))
    for study in found:
        network, result = study.network, study.result
        if network is None or not isinstance(result, Certificate) or result.network != network_hash(network):
            continue
        folder = place / name / study.target
        write_folder(folder, network, language, result)
        right.append(str(folder))
        methods.update({claim.method for claim in result.claims})
        planted = place / f"{name}-planted" / study.target
        if plant(folder, planted):
            wrong.append(str(planted))
    return right, wrong, methods


def plant(folder: Path, planted: Path) -> bool:
    """Writes a copy whose language accepts just the other words; False without an automaton."""
    language = json.loads((folder / "language.json").read_text())
    definition = language["definition"]
    if definition["form"] != "dfa":
        return False
    states = range(len(definition["transitions"]))
    definition["accepting"] = sorted(set(states) - set(definition["accepting"]))
    planted.mkdir(parents=True)
    certificate = json.loads((folder / "certificate.json").read_text())
    certificate["language"] = definition_hash(definition)
    (planted / "language.json").write_text(json.dumps(language))
    (planted / "certificate.json").write_text(json.dumps(certificate))
    (planted / "config.json").write_bytes((folder / "config.json").read_bytes())
    return True


def check_bare(python: Path, folders: list[str]) -> tuple[int, float]:
    """Returns how many folders a bare interpreter accepts, and the seconds that it took."""
    begun = time.perf_counter()
    accepted = 0
    for folder in folders:
        done = subprocess.run(
            [str(python), "-m", "nerode.kernel", folder],
            env={"PYTHONPATH": str(SOURCE), "PATH": os.defpath},
            capture_output=True,
            text=True,
            check=False,
        )
        accepted += done.returncode == 0
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            print(f"  {folder}: exit {done.returncode}: {done.stderr[-300:]}")
    return accepted, time.perf_counter() - begun


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "bare")], check=True)
        with ProcessPoolExecutor(max_workers=2) as pool:
            found = list(pool.map(functools.partial(write_language, place=place / "folders"), BESTIARY))
        right = [folder for folders, _, _ in found for folder in folders]
        wrong = [folder for _, folders, _ in found for folder in folders]
        methods = sum((count for _, _, count in found), Counter[str]())
        print(f"{len(BESTIARY)} languages x {len(TARGETS)} classes: {len(right)} folders with certificates")
        print("  folders by method: " + ", ".join(f"{m} {n}" for m, n in methods.most_common()))
        python = place / "bare" / "bin" / "python"
        for title, folders in (("certificates", right), ("planted wrong ones", wrong)):
            accepted, seconds = check_bare(python, folders)
            print(f"  {title}: {accepted} of {len(folders)} accepted by a bare Python in {seconds:.0f} s")
