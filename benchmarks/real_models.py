"""`compile`, `verify` and `run` for named languages × architectures that carry compiled weights.

For each pair that theory and the compiler allow: the folder is written as `nerode compile` writes it, its
certificates are replayed as `nerode verify` does, and the model that was written reads 10,000 uniformly
random letters in float32, and 10,000 of a random word that can always be continued, compared with the
language at every letter. A line of JSON for each pair goes to experiments/real-models/results.jsonl. Pairs
that are there are not made again, so that the survey can be stopped and continued; small automata come
first. README.md has the counts.

    python -m benchmarks real_models [--languages=NAME,NAME] [--architectures=NAME,NAME] [--seconds=N]

Without names all languages and architectures are looked at; after N CPU seconds no other pair is begun.
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
from nerode.models import Model, read_model
from nerode.models.compiled import writer_of
from nerode.network import Network
from nerode.proofs import PREDICT, VALID_PREFIXES, certify, write_folder
from nerode.verdict import ARCHITECTURES, Facts, VerdictTask, collect_facts

FOLDER = Path("experiments/real-models")
RESULTS = FOLDER / "results.jsonl"
SECONDS = 60.0
"""CPU time for one network, and for one replay."""

LARGEST = 10**9

COLUMNS = (
    "architecture",
    "pairs",
    "networks",
    "models",
    "published",
    "correct",
    "all lengths",
    "to length",
    "unproved",
)

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


def size(name: str) -> int:
    """The order of the survey: small automata first, languages that count last."""
    language = resolve_language(name)
    try:
        return language.dfa().num_states * len(language.alphabet) if language.regular else LARGEST
    except BudgetExceeded:
        return LARGEST


def look(language: Language, architecture: str, facts: Facts) -> Row:
    """What was seen of one pair."""
    begun = time.process_time()
    row: Row = {"language": language.name, "architecture": architecture}
    try:
        row |= _written(language, architecture, facts)
    except NotCompilable as refusal:
        row["network"] = "impossible" if refusal.impossible else refusal.reasons[0]
    except BudgetExceeded as stop:
        row["network"] = f"budget: {stop}"
    return {**row, "seconds": round(time.process_time() - begun, 1)}


def _written(language: Language, architecture: str, facts: Facts) -> Row:
    options = Options(budget=Budget(seconds=SECONDS))
    network = compile_language(language, architecture, options, facts=facts)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "net"
        write_folder(folder, network, language)
        fresh = Options(budget=Budget(seconds=SECONDS))
        written = write_model(
            folder, network, language, fresh, dtype="float32", surroundings=None, proofs=True, facts=facts
        )
        row: Row = {"model": written.to_json()}
        if written.facts is None:
            return row
        tasks: list[str] = []
        try:
            replay = replay_model(folder, Budget(seconds=SECONDS))
            row["replayed"] = None if replay is None else replay.ok
            tasks = [] if replay is None else [str(claim.task) for claim in replay.claims]
        except BudgetExceeded:
            row["replayed"] = "no time"
        model = read_model(folder / "model")
        row["random"] = read_letters(model, language, lawful=False)
        row["lawful"] = read_letters(model, language, lawful=True)
    if row["random"]["wrong_at"] and not row["lawful"]["wrong_at"]:
        row["task"] = tasks[0] if tasks else _task(network, language)
    return row


def _task(network: Network, language: Language) -> str:
    """What is claimed of a network: every word, or valid prefixes."""
    try:
        outcome = certify(network, language, budget=Budget(seconds=SECONDS / 6))
    except BudgetExceeded:
        return PREDICT
    return str(next((claim.task for claim in getattr(outcome, "claims", ())), PREDICT))


@torch.no_grad()
def read_letters(model: Model, language: Language, *, lawful: bool) -> Row:
    """The letters that the written model read, and the first after which its answer is wrong.

    Args:
        model: as it was read from its folder.
        language: what it should do.
        lawful: whether each letter is drawn among those that may follow; the word ends where none may.
    """
    random = np.random.default_rng(7)
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
    state, wanted = None, torch.tensor(expected)
    for first in range(0, len(word), 2048):
        scores, state = model(torch.tensor([word[first : first + 2048]]), state)
        wrong = ((scores[0] > 0.5) != wanted[first : first + 2048]).any(-1).nonzero()
        if len(wrong):
            return {"letters": len(word), "wrong_at": first + int(wrong[0]) + 1}
    return {"letters": len(word), "wrong_at": None}


def is_correct(row: Row) -> bool:
    """Whether no answer was wrong; of words that theory leaves out only those that are claimed count."""
    promised = row["random"]["wrong_at"] is None or row.get("task") == VALID_PREFIXES
    return promised and row["lawful"]["wrong_at"] is None and row["replayed"] is not False


def page(rows: list[Row]) -> str:
    """The counts by architecture as Markdown."""
    languages = list(dict.fromkeys(row["language"] for row in rows))
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by[row["architecture"]].append(row)
    complete = sum(len({r["architecture"] for r in rows if r["language"] == n}) == len(by) for n in languages)
    lines = [
        "# Real weights, written and read again",
        "",
        "Written by `python -m benchmarks real_models` from `results.jsonl`. For each pair that theory and",
        "the compiler allow, `model/` was written, its certificates were replayed, and two words of up to",
        f"{LETTERS:,} letters were read in float32 by `forward`, one uniformly random and one that can",
        "always be continued, compared with the language at every letter. A network that is claimed for",
        "valid prefixes only is not held to the first.",
        "",
        f"{len(rows):,} pairs were looked at; {complete} of {len(BESTIARY)} languages with every carrier.",
        "",
        "Columns: pairs, networks that were compiled, models that were written, those that are whole",
        "published models, those without a wrong answer, and how far models are proved in float32.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'---|' * len(COLUMNS)}",
    ]
    total = [0] * 8
    for name in sorted(by):
        counts = _counts(by[name])
        total = [a + b for a, b in zip(total, counts, strict=True)]
        lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    lines += [f"| all | {' | '.join(map(str, total))} |", "", "Not written, wrong, or without a proof:", ""]
    lines += [f"- {row['language']}, {row['architecture']}: {why}" for row in rows if (why := _fault(row))]
    return "\n".join(lines) + "\n"


def _fault(row: Row) -> str:
    if str(row.get("network", "")).startswith("budget"):
        return str(row["network"])
    if "model" not in row:
        return ""
    if "refused" in row["model"]:
        return "; ".join(row["model"]["refused"])
    if not is_correct(row):
        at = row["lawful"]["wrong_at"] or row["random"]["wrong_at"]
        return f"wrong after {at} letters" if at else "its certificate was refused"
    return "" if _reach(row) else "correct on these words, no proof"


def _counts(rows: list[Row]) -> list[int]:
    networks = [row for row in rows if "model" in row]
    made = [row for row in networks if "refused" not in row["model"]]
    proved = [_reach(row) for row in made]
    return [
        len(rows),
        len(networks),
        len(made),
        sum(row["model"]["surroundings"] == "published" for row in made),
        sum(is_correct(row) for row in made),
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
    given = dict(a.removeprefix("--").split("=", 1) for a in arguments if "=" in a)
    names = given["languages"].split(",") if "languages" in given else sorted(BESTIARY, key=size)
    wanted = given["architectures"].split(",") if "architectures" in given else carriers()
    seconds = float(given.get("seconds", "inf"))
    rows = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()] if RESULTS.exists() else []
    done = {(row["language"], row["architecture"]) for row in rows}
    for name in names:
        language = resolve_language(name)
        left = [x for x in wanted if (language.name, x) not in done]
        if not left or time.process_time() > seconds:
            continue
        facts = collect_facts(language, task=VerdictTask.RECOGNISE, budget=Budget(seconds=SECONDS))
        for architecture in left:
            if time.process_time() > seconds:
                break
            row = look(language, architecture, facts)
            rows.append(row)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, sort_keys=True) + "\n")
            print(name, architecture, row["seconds"], _fault(row), flush=True)
    (FOLDER / "README.md").write_text(page(rows), encoding="utf-8")
