"""The certificates of every named language and class, checked by `python -m nerode.kernel` on a bare Python.

The classes are those of recurrences and those of attention. The folders are written once; then the
interpreter of a new virtual environment without any package checks them. For every folder a wrong one is
planted, with the hash bound again, so that only a check of the answers can refuse it: an automaton accepts
just the other words, rules of a counter machine end words where others go on, brackets have another depth,
one word of a context of a model gives its probability to another word.

    python -m benchmarks bare_kernel [--languages A,B]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from nerode.core import Budget
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.resolve import definition_hash
from nerode.network import network_hash
from nerode.proofs import Certificate, write_folder
from nerode.study import TARGETS, study_networks

SECONDS = 20.0
ATTENTION = ("transformer-nope", "transformer-periodic", "transformer-hard", "transformer-hard-periodic")
CLASSES = (*TARGETS, *ATTENTION)
SOURCE = Path(__file__).parent.parent / "src"


def write_language(name: str, place: Path) -> tuple[list[str], list[str], Counter[str]]:
    """Writes the proved networks of a language; returns their folders, planted ones, and methods."""
    language = find_language(name)
    right, wrong, methods = [], [], Counter[str]()
    found = study_networks(language, targets=dict.fromkeys(CLASSES, ()), budget=Budget(seconds=SECONDS))
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
    """Writes a copy with another language; False if there is no simple way to make one."""
    language = json.loads((folder / "language.json").read_text())
    definition = language["definition"]
    certificate = json.loads((folder / "certificate.json").read_text())
    if not _change(definition):
        return False
    planted.mkdir(parents=True)
    certificate["language"] = definition_hash(definition)
    (planted / "language.json").write_text(json.dumps(language))
    (planted / "certificate.json").write_text(json.dumps(certificate))
    (planted / "network.json").write_bytes((folder / "network.json").read_bytes())
    return True


def _change(definition: Any) -> bool:
    """Whether a definition was made one of another language over the same letters."""
    match definition["form"]:
        case "dfa":
            states = range(len(definition["transitions"]))
            definition["accepting"] = sorted(set(states) - set(definition["accepting"]))
        case "counters":
            for rule in definition["rules"]:
                rule["end"] = not rule["end"]
        case "brackets":
            definition["depth"] = (definition["depth"] or 2) + 1
        case _:
            model = definition["model"]
            if "levels" in model:
                next(iter(model["levels"][0].values()))[0] = "-0.123"
                return True
            for words, row in model["contexts"]:
                others = [word for word in model["vocabulary"] if word not in row]
                if "<s>" not in words and others:
                    row[others[0]] = row.pop(next(iter(row)))
                    return True
            return False
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


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks bare_kernel")
    parser.add_argument(
        "--languages", default="", help="names with commas between them; all if none are given"
    )
    names = [name for name in parser.parse_args(arguments).languages.split(",") if name] or list(BESTIARY)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "bare")], check=True)
        with ProcessPoolExecutor(max_workers=2) as pool:
            found = list(pool.map(functools.partial(write_language, place=place / "folders"), names))
        right = [folder for folders, _, _ in found for folder in folders]
        wrong = [folder for _, folders, _ in found for folder in folders]
        methods = sum((count for _, _, count in found), Counter[str]())
        print(f"{len(names)} languages x {len(CLASSES)} classes: {len(right)} folders with certificates")
        print("  folders by method: " + ", ".join(f"{m} {n}" for m, n in methods.most_common()))
        python = place / "bare" / "bin" / "python"
        for title, folders in (("certificates", right), ("planted wrong ones", wrong)):
            accepted, seconds = check_bare(python, folders)
            print(f"  {title}: {accepted} of {len(folders)} accepted by a bare Python in {seconds:.0f} s")
