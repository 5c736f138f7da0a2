"""`compile`, `verify` and `run` for named languages × architectures that carry compiled weights.

For each pair that theory and the compiler allow: the folder is written as `nerode compile` writes it, its
certificates are replayed as `nerode compile` and `nerode verify` do, and the model that was written reads
10,000 uniformly random letters in float32, and 10,000 of a random word that can always be continued,
compared with the language at every letter. A line of JSON for each pair goes to
experiments/real-models/results.jsonl. Pairs that are there are not made again, so that the survey can be
stopped and continued; small automata come first. README.md has the counts.

    python -m benchmarks real_models [--languages=A,B] [--architectures=A,B] [--seconds=N] [--limit=N]

Without names all languages and architectures are looked at; after `seconds` of CPU time no other pair is
begun. `limit` is the CPU time for one network and for its model. Pairs that a smaller limit
has stopped, or proved to a length only, are made again.
"""

from __future__ import annotations

import functools
import json
import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, InputError, NerodeError, NotCompilable, write_atomically
from nerode.languages import Language, resolve_language
from nerode.languages.bestiary import BESTIARY
from nerode.models import Model, read_model, save_model
from nerode.models.lower import is_decoder, writer_of
from nerode.network import LogitDecoder, Network
from nerode.proofs import MODEL_FOLDER, PREDICT, VALID_PREFIXES, certificate_to_json, certify, write_folder
from nerode.proofs.artefacts import model_facts
from nerode.proofs.floats import LONGEST, RealModel, make_architecture, write_real_model
from nerode.proofs.replay import replay_network
from nerode.verdict import ARCHITECTURES, Facts, State, VerdictTask, collect_facts

FOLDER = Path("experiments/real-models")
RESULTS = FOLDER / "results.jsonl"
EARLIER = Path("experiments/long-words/results.jsonl")
"""What a survey before this one read, of networks that were carried and not written to files."""
CHUNK = 2_048
"""Letters that are read at once."""

LIMIT = 60.0
"""CPU time for one network, and for its model."""

PROOF = 5.0
"""CPU time for the proof of a model."""

LEAST_LOGIT = math.log(2) / 2
"""Between the logits of forbidden words, which are 0, and those of the others, at least ln 2."""

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
    "before",
)

Row = dict[str, Any]


def carriers() -> list[str]:
    """The architectures into which compiled weights are written; decoders have weights of their own."""
    found = []
    for row in ARCHITECTURES.values():
        try:
            carried = row.properties.state is State.CACHE or writer_of(row.name) is not None
        except NerodeError:
            continue
        if carried and not row.is_class:
            found.append(row.name)
    return found


def size(name: str) -> int:
    """The order of the survey: small automata first, languages that count last."""
    language = resolve_language(name)
    try:
        return language.dfa().num_states * len(language.alphabet) if language.regular else LARGEST
    except BudgetExceeded:
        return LARGEST


def look(language: Language, architecture: str, facts: Facts, limit: float = LIMIT) -> Row:
    """What was seen of one pair."""
    begun = time.process_time()
    row: Row = {"language": language.name, "architecture": architecture}
    try:
        row |= _written(language, architecture, facts, limit)
    except NotCompilable as refusal:
        row["network"] = "impossible" if refusal.impossible else refusal.reasons[0]
    except BudgetExceeded as stop:
        row |= {"network": f"budget: {stop}", "limit": limit}
    if "claims" in row.get("model", {}) and _reach(row) != "all":
        row["limit"] = limit
    return {**row, "seconds": round(time.process_time() - begun, 1)}


def _written(language: Language, architecture: str, facts: Facts, limit: float) -> Row:
    budget = Budget(seconds=limit)
    compile_language(language, architecture, Options(budget=budget), facts=facts)
    try:
        found = make_architecture(
            language,
            architecture,
            facts=facts,
            options=Options(budget=Budget(seconds=limit)),
            seconds=min(PROOF, limit / 2),
            longest=CHUNK,
            others=(),
        )
    except NotCompilable as refusal:
        return {"model": {"refused": list(refusal.reasons)}}
    except InputError as error:
        return {"model": {"refused": [str(error)]}}
    network = found.network
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "net"
        write_folder(folder, network, language)
        write_real_model(folder, found, language)
        claims = [{"scope": c.scope, "dtype": c.dtype, "length": c.length} for c in found.model.claims]
        row: Row = {"model": {**model_facts(found), "claims": claims}}
        replay = _replay_decoder if is_decoder(network) else _replay_layers
        more, tasks = replay(folder, found, language, limit)
        row |= more
        model = read_model(folder / MODEL_FOLDER)
        if isinstance(network.decoder, LogitDecoder):
            # Nothing is promised after fewer words than a context has, nor after words of no sentence.
            tasks, first = [VALID_PREFIXES], int(language.parameters["n"]) - 1
            row["random"], row["lawful"] = read_letters(model, language, above=LEAST_LOGIT, first=first)
        else:
            row["random"], row["lawful"] = read_letters(model, language)
    if row["random"]["wrong_at"] and not row["lawful"]["wrong_at"]:
        row["task"] = tasks[0] if tasks else _task(network, language)
    return row


def _replay_decoder(
    folder: Path, found: RealModel, language: Language, limit: float
) -> tuple[Row, list[str]]:
    """Replays the certificate of a softmax decoder."""
    try:
        replays = replay_network(folder, found.network, language, budget=Budget(seconds=limit))
        seen = next(replays, None)
    except BudgetExceeded:
        return {"replayed": "no time", "limit": limit}, []
    tasks = [] if seen is None else [str(claim.task) for claim in seen.claims]
    return {"replayed": None if seen is None else seen.failure is None}, tasks


def _replay_layers(folder: Path, found: RealModel, language: Language, limit: float) -> tuple[Row, list[str]]:
    """Compares the folder with what was written.

    Each certificate was replayed on the model before it is written. What `verify` would replay is the same
    if model and certificates are read as they were written, bit for bit.
    """
    ok = _is_as_written(folder / MODEL_FOLDER, found) if found.certificates else None
    return {"replayed": ok}, [str(claim.task) for c in found.certificates for claim in c.claims]


def _is_as_written(place: Path, found: RealModel) -> bool:
    """Whether a model is read from its folder as it was written, and certificates as they are in memory."""
    again = place.with_name("again")
    save_model(again, read_model(place))
    same = all((again / path.name).read_bytes() == path.read_bytes() for path in again.iterdir())
    read = [json.loads(path.read_text("utf-8")) for path in place.glob("certificate.*")]
    sealed = [json.loads(json.dumps(certificate_to_json(c))) for c in found.certificates]
    return same and read == sealed


def _task(network: Network, language: Language) -> str:
    """What is claimed of a network: every word, or valid prefixes."""
    try:
        outcome = certify(network, language, budget=Budget(seconds=LIMIT / 6))
    except BudgetExceeded:
        return PREDICT
    return str(next((claim.task for claim in getattr(outcome, "claims", ())), PREDICT))


@torch.no_grad()
def read_letters(model: Model, language: Language, *, above: float = 0.5, first: int = 1) -> tuple[Row, Row]:
    """The letters that the written model read, and the first after which its answer is wrong.

    The first word is uniformly random; in the second each letter is one that may follow, and it ends where
    none may. Words of one length are read together. Scores are above a threshold where a symbol may follow;
    answers after fewer letters than `first` do not count.
    """
    words = [_word(language, lawful) for lawful in (False, True)]
    if len(words[0][0]) == len(words[1][0]):
        random, lawful = _read(model, words, above, first)
        return random, lawful
    return _read(model, words[:1], above, first)[0], _read(model, words[1:], above, first)[0]


Answered = tuple[list[int], list[tuple[bool, ...]]]
"""A word and what may follow each of its letters, last the end."""


def _word(language: Language, lawful: bool) -> Answered:
    random = np.random.default_rng(7)
    letters = range(len(language.alphabet))

    @functools.cache
    def answer(configuration: Any) -> tuple[list[int], tuple[bool, ...]]:
        legal = language.legal(configuration)
        return sorted(legal.symbols), (*(a in legal.symbols for a in letters), legal.end)

    word: list[int] = []
    expected: list[tuple[bool, ...]] = []
    configuration = language.initial()
    while len(word) < LONGEST:
        choices = answer(configuration)[0] if lawful else letters
        if not choices:
            break
        word.append(choices[int(random.integers(len(choices)))])
        configuration = language.advance(configuration, word[-1])
        expected.append(answer(configuration)[1])
    return word, expected


def _read(model: Model, words: Sequence[Answered], above: float, least: int) -> list[Row]:
    length = len(words[0][0])
    found: list[Row] = [{"letters": length, "wrong_at": None} for _ in words]
    letters, wanted = torch.tensor([w for w, _ in words]), torch.tensor([e for _, e in words])
    state = None
    for first in range(0, length, CHUNK):
        part = slice(first, first + CHUNK)
        scores, state = model(letters[:, part], state)
        wrong = ((scores > above) != wanted[:, part]).any(-1)
        wrong[:, : max(0, least - 1 - first)] = False
        for row, places in zip(found, wrong, strict=True):
            if row["wrong_at"] is None and places.any():
                row["wrong_at"] = first + int(places.nonzero()[0]) + 1
    return found


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
    complete = sum(
        set(carriers()) <= {r["architecture"] for r in rows if r["language"] == n} for n in languages
    )
    lines = [
        "# Real weights, written and read again",
        "",
        "Written by `python -m benchmarks real_models` from `results.jsonl`. For each pair that theory and",
        "the compiler allow, `model/` was written, its certificates were replayed, and two words of up to",
        f"{LONGEST:,} letters were read in float32 by `forward`, one uniformly random and one that can",
        "always be continued, compared with the language at every letter. A network that is claimed for",
        "valid prefixes only is not held to the first.",
        "",
        f"{len(rows):,} pairs were looked at; {complete} of {len(BESTIARY)} languages with every carrier.",
        "",
        "Columns: pairs, networks that were compiled, models that were written, those that are whole",
        "published models, those without a wrong answer, and how far models are proved in float32. The",
        "last column counts the models of `experiments/long-words`, which were carried and read, not",
        "written or replayed, and those of them without a wrong answer in 100,000 letters.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"|{'---|' * len(COLUMNS)}",
    ]
    total = [0] * 10
    before = _before()
    for name in sorted(by):
        counts = [*_counts(by[name]), *before.get(name, [0, 0])]
        total = [a + b for a, b in zip(total, counts, strict=True)]
        lines.append(_line(name, counts))
    lines += [_line("all", total), "", "Not written, wrong, or without a proof:", ""]
    lines += [f"- {row['language']}, {row['architecture']}: {why}" for row in rows if (why := _fault(row))]
    lines += ["", "Not looked at yet:", "", *_missing(rows)]
    return "\n".join(lines) + "\n"


def _missing(rows: list[Row]) -> list[str]:
    """The languages with the carriers that they were not tried on, as items of a list."""
    seen, every = set(map(_pair, rows)), carriers()
    found = []
    for name in sorted(BESTIARY, key=size):
        left = [x for x in every if (resolve_language(name).name, x) not in seen]
        if left:
            found.append(f"- {name}: {'every carrier' if len(left) == len(every) else ', '.join(left)}")
    return found


def _line(name: str, counts: list[int]) -> str:
    return f"| {name} | {' | '.join(map(str, counts[:-2]))} | {counts[-2]:,} of {counts[-1]:,} |"


def _before() -> dict[str, list[int]]:
    """The models of the earlier survey by architecture: those without a wrong answer, and all."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for line in EARLIER.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["form"] == "real" and "right" in row:
            found[row["target"]][0] += row["wrong_at"] is None
            found[row["target"]][1] += 1
    return found


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
    refuted = [c["length"] for c in row["model"]["claims"] if "refuted" in c["scope"]]
    if refuted:
        return f"proved to {_reach(row):,} letters, wrong after {refuted[0]:,} of another word"
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
    seconds, limit = float(given.get("seconds", "inf")), float(given.get("limit", LIMIT))
    rows = _kept()
    for name in names:
        language = resolve_language(name)
        left = [x for x in wanted if _is_open(rows.get((language.name, x)), limit)]
        if not left or time.process_time() > seconds:
            continue
        facts = collect_facts(language, task=VerdictTask.RECOGNISE, budget=Budget(seconds=limit))
        for architecture in left:
            if time.process_time() > seconds:
                break
            row = look(language, architecture, facts, limit)
            rows[_pair(row)] = row
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, sort_keys=True) + "\n")
            print(name, architecture, row["seconds"], _fault(row), flush=True)
    # Another process may have written rows in the meantime.
    rows = _kept()
    write_atomically(RESULTS, "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows.values()))
    (FOLDER / "README.md").write_text(page(list(rows.values())), encoding="utf-8")


def _kept() -> dict[tuple[str, str], Row]:
    """The last row of each pair."""
    lines = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    return {_pair(row): row for row in map(json.loads, lines)}


def _pair(row: Row) -> tuple[str, str]:
    return row["language"], row["architecture"]


def _is_open(row: Row | None, limit: float) -> bool:
    """Whether a pair was not looked at, or a smaller limit has stopped it or its proof."""
    return row is None or row.get("limit", limit) < limit
