"""`compile`, `verify` and `run` for named languages × architectures that carry compiled weights.

For each pair that theory and the compiler allow: the folder is written as `nerode compile` writes it, its
certificates are replayed as `nerode verify` does, and the written model reads 10,000 random letters in
float32, compared with the language at every letter. A line of JSON for each goes to
experiments/real-models/results.jsonl; pairs that are there are not made again. README.md has the counts.

    python -m benchmarks real_models [--languages=NAME,NAME]      all named languages without names
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nerode.cli.models import LETTERS, replay_model, write_model
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, NerodeError, NotCompilable
from nerode.languages import Language, resolve_language
from nerode.languages.bestiary import BESTIARY
from nerode.models import read_model
from nerode.models.compiled import writer_of
from nerode.proofs import VALID_PREFIXES, certify, write_folder
from nerode.verdict import ARCHITECTURES, Facts, VerdictTask, collect_facts

FOLDER = Path("experiments/real-models")
RESULTS = FOLDER / "results.jsonl"
SECONDS = 60.0
"""For one network and its proof."""

Row = dict[str, Any]


def carriers() -> list[str]:
    """The architectures into which compiled weights are written."""
    found = []
    for row in ARCHITECTURES.values():
        try:
            if not row.is_class and writer_of(row.name) is not None:
                found.append(row.name)
        except NerodeError:
            continue
    return found


def look(language: Language, architecture: str, facts: Facts) -> Row | None:
    """What was seen of one pair; None if theory or the compiler refuses it."""
    begun = time.process_time()
    options = Options(budget=Budget(seconds=SECONDS))
    try:
        network = compile_language(language, architecture, options, facts=facts)
    except NotCompilable:
        return None
    row: Row = {"language": language.name, "architecture": architecture, "wrong_at": None, "letters": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "net"
        try:
            outcome = certify(network, language, budget=Budget(seconds=SECONDS / 6))
            tasks = {claim.task for claim in getattr(outcome, "claims", ())}
        except BudgetExceeded:
            tasks = set()
        write_folder(folder, network, language)
        written = write_model(
            folder, network, language, options, dtype="float32", surroundings=None, proofs=True
        )
        row["model"] = written.to_json()
        if written.facts is not None:
            replay = replay_model(folder, Budget(seconds=SECONDS))
            row["replayed"] = None if replay is None else replay.ok
            lawful = VALID_PREFIXES in tasks and len(tasks) == 1
            row["letters"], row["wrong_at"] = read_letters(folder / "model", language, lawful=lawful)
    return {**row, "seconds": round(time.process_time() - begun, 1)}


@torch.no_grad()
def read_letters(folder: Path, language: Language, *, lawful: bool) -> tuple[int, int | None]:
    """Letters that the written model answered correctly, and the first that it did not.

    Args:
        folder: of the model.
        language: what it should do.
        lawful: whether the network is for words whose prefixes can all be continued.
    """
    model, random = read_model(folder), np.random.default_rng(7)
    letters = range(len(language.alphabet))
    word: list[int] = []
    expected: list[list[bool]] = []
    configuration = language.initial()
    while len(word) < LETTERS:
        choices = sorted(language.legal(configuration).symbols) if lawful else list(letters)
        if not choices:
            break
        word.append(int(random.choice(choices)))
        configuration = language.advance(configuration, word[-1])
        legal = language.legal(configuration)
        expected.append([*(a in legal.symbols for a in letters), legal.end])
    if not word:
        return 0, None
    state, wanted = None, torch.tensor(expected)
    for first in range(0, len(word), 2048):
        scores, state = model(torch.tensor([word[first : first + 2048]]), state)
        wrong = ((scores[0] > 0.5) != wanted[first : first + 2048]).any(-1).nonzero()
        if len(wrong):
            at = first + int(wrong[0]) + 1
            return at - 1, at
    return len(word), None


def page(rows: list[Row]) -> str:
    """The counts by architecture as Markdown."""
    languages = list(dict.fromkeys(row["language"] for row in rows))
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by[row["architecture"]].append(row)
    lines = [
        "# Real weights, written and read again",
        "",
        "Written by `python -m benchmarks real_models --languages=…` from `results.jsonl`. For each pair",
        "that theory and the compiler allow, `model/` was written, its certificates were replayed, and",
        f"{LETTERS:,} letters were read in float32 by `forward`, compared with the language at every letter.",
        "",
        f"Languages ({len(languages)} of {len(BESTIARY)}): {', '.join(languages)}.",
        "",
        "| architecture | networks | models | published | correct | all lengths | to length | tested |",
        "|---|---|---|---|---|---|---|---|",
    ]
    total = [0] * 7
    for name in sorted(by):
        counts = _counts(by[name])
        total = [a + b for a, b in zip(total, counts, strict=True)]
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    lines += [f"| all | {' | '.join(map(str, total))} |", "", "Not written, or wrong:", ""]
    for row in rows:
        if "refused" in row["model"] or row["wrong_at"]:
            why = "; ".join(row["model"].get("refused", [f"wrong at letter {row['wrong_at']}"]))
            lines.append(f"- {row['language']}, {row['architecture']}: {why}")
    return "\n".join(lines) + "\n"


def _counts(rows: list[Row]) -> list[int]:
    made = [row for row in rows if "refused" not in row["model"]]
    proved = [_reach(row) for row in made]
    return [
        len(rows),
        len(made),
        sum(row["model"]["surroundings"] == "published" for row in made),
        sum(row["wrong_at"] is None and row["replayed"] is not False for row in made),
        proved.count("all"),
        sum(isinstance(n, int) and n > 0 for n in proved),
        proved.count(0),
    ]


def _reach(row: Row) -> int | str:
    """The length up to which a model is proved in float32."""
    lengths = [
        c["length"]
        for c in row["model"]["claims"]
        if c["dtype"] == "float32" and c["scope"] != "tested only" and "refuted" not in c["scope"]
    ]
    return "all" if "all" in lengths else max(lengths, default=0)


def main(arguments: Sequence[str] = ()) -> None:
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    given = [a.removeprefix("--languages=") for a in arguments if a.startswith("--languages=")]
    names = given[0].split(",") if given else [name for name in BESTIARY if name != "ngram-seed"]
    rows = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()] if RESULTS.exists() else []
    done = {(row["language"], row["architecture"]) for row in rows}
    for name in names:
        language = resolve_language(name)
        facts = collect_facts(language, task=VerdictTask.RECOGNISE, budget=Budget(seconds=600))
        for architecture in carriers():
            if (language.name, architecture) in done:
                continue
            row = look(language, architecture, facts)
            if row is None:
                continue
            rows.append(row)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, sort_keys=True) + "\n")
            print(name, architecture, row["letters"], row["wrong_at"], row["seconds"], flush=True)
        (FOLDER / "README.md").write_text(page(rows), encoding="utf-8")
