"""Automata extracted from compiled and trained networks for Tomita 1 to 7; writes experiments/extraction.

    python -m benchmarks extraction

Every run of training is kept under experiments/extraction/runs (not in git), so that a second call only
extracts. All seeds are in the tables, those that did not learn too.
"""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import nerode as nr
from nerode.analysis import LoadedNetwork, load_subject
from nerode.analysis.extraction import Extraction, HypothesisTest, extract
from nerode.core import NotCompilable, write_atomically
from nerode.models.network_module import load_model
from nerode.records import run_name
from nerode.training import make_specs, run_key
from nerode.training.runs import run_in

FOLDER = Path("experiments/extraction")
LANGUAGES = tuple(f"tomita-{i}" for i in range(1, 8))
TARGETS = ("permutation-diagonal", "lstm")
TRAINED = ("lstm", "elman")
SEEDS = (0, 1, 2)
JOBS = 4
HELD_OUT = HypothesisTest(words=150, longest=200, extra_states=0)
METHODS: tuple[tuple[Any, bool], ...] = (("cluster", False), ("lstar", False), ("lstar", True))
TABLES = {"run": {"steps": 1500, "batch": 32, "test_lengths": [50, 500], "test_sequences": 64}}
HEADINGS = (
    *("language", "network", "seed", "accuracy at 50 / 500", "method", "states", "equal to the target"),
    *(
        "shortest difference",
        "network differs after",
        "words asked",
        "letters read",
        "states stepped",
        "CPU s",
    ),
)


def main() -> None:
    """Extracts, several languages at once, and writes the page anew after each."""
    found: dict[str, list[dict[str, Any]]] = {}
    with ProcessPoolExecutor(max_workers=JOBS) as pool:
        under_way = {pool.submit(rows_of, name): name for name in LANGUAGES}
        for done in as_completed(under_way):
            found[under_way[done]] = done.result()
            rows = [row for name in LANGUAGES for row in found.get(name, ())]
            lines = [json.dumps(row, ensure_ascii=False) for row in rows]
            write_atomically(FOLDER / "results.jsonl", "\n".join(lines) + "\n")
            write_atomically(FOLDER / "README.md", page(rows))
            equal = sum(row["equal"] for row in rows)
            print(f"{under_way[done]}: {equal} of {len(rows)} extractions so far give the target", flush=True)


def rows_of(name: str) -> list[dict[str, Any]]:
    """All extractions for one language."""
    return [*compiled_rows(name), *trained_rows(name)]


def compiled_rows(name: str) -> list[dict[str, Any]]:
    language = nr.language(name)
    rows = []
    for target in TARGETS:
        try:
            network = nr.compile_language(language, to=target)
        except NotCompilable:
            continue
        model = load_model(network).eval()
        subject = LoadedNetwork(name=f"{target}, compiled", model=model, language=language, network=network)
        for method, black_box in (("exact", False), *METHODS):
            found = extract(subject, method=method, black_box=black_box, held_out=HELD_OUT)
            rows.append(row_of(found, name, f"{target}, compiled", None, None))
    return rows


def trained_rows(name: str) -> list[dict[str, Any]]:
    rows = []
    for spec in make_specs(f"predict-{name}", TRAINED, seeds=SEEDS, tables=TABLES):
        run = run_in(FOLDER / "runs", spec)
        subject = load_subject(FOLDER / "runs" / run_name(run_key(spec)))
        accuracies = [score.sequence for score in run.evaluations]
        for method, black_box in METHODS:
            found = extract(subject, method=method, black_box=black_box, held_out=HELD_OUT)
            rows.append(row_of(found, name, spec.model.title, spec.run.seed, accuracies))
    return rows


def row_of(
    found: Extraction, language: str, network: str, seed: int | None, accuracies: list[float] | None
) -> dict[str, Any]:
    item = found.to_json()
    kept = ("method", "states", "equal", "difference", "consistent", "fails_on", "queries", "theory")
    row = {"language": language, "network": network, "seed": seed, "accuracies": accuracies}
    return row | {key: item[key] for key in kept} | {"cpu_seconds": item["cpu_seconds"]}


def page(rows: list[dict[str, Any]]) -> str:
    learned = [row for row in rows if row["accuracies"] is None or min(row["accuracies"]) == 1]
    equal = sum(row["equal"] for row in learned)
    lines = [
        "# Automata extracted from networks for Tomita 1 to 7",
        "",
        "Written by `python -m benchmarks extraction`. All seeds are listed; none was chosen by its score.",
        "Trained networks predict which symbols may follow (task `predict-tomita-N`, lengths 1 to 50,",
        f"{TABLES['run']['steps']} steps at most). Equal to the target means: on every word. A network",
        "is not asked about the empty word; there the answer of its language is taken.",
        "",
        f"Of {len(rows)} extractions, {len(learned)} are from compiled networks or trained ones that are",
        f"right on all test words of length 50 and 500; {equal} of these give the target exactly.",
        f"The other {len(rows) - len(learned)} are from networks that fail on words of length 50 or 500;",
        f"{sum(row['equal'] for row in rows) - equal} of them give the target: right on the words that are",
        "asked (up to length 200), wrong on long ones.",
        "Not settled: the automaton still differed from the network when extraction ended (after too many",
        "states, rounds or seconds), so the automaton shown is not its.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
    ]
    return "\n".join([*lines, *map(_line, rows)]) + "\n"


def _line(row: dict[str, Any]) -> str:
    difference, asked = row["difference"], row["queries"]
    accuracies = row["accuracies"]
    cells = (
        row["language"],
        row["network"],
        "" if row["seed"] is None else row["seed"],
        "" if accuracies is None else " / ".join(f"{a:.2f}" for a in accuracies),
        row["method"],
        f"{row['states']}" + ("" if row["consistent"] else " (not settled)"),
        "yes" if row["equal"] else "no",
        ""
        if difference is None
        else f"{difference['word']}: {difference['expected']} expected, {difference['got']} got",
        "" if row["fails_on"] is None else f"a word of length {len(row['fails_on'])}",
        asked["words"],
        asked["letters"],
        asked["states"],
        f"{row['cpu_seconds']:.2f}",
    )
    return "| " + " | ".join(map(str, cells)) + " |"
