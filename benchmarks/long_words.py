"""Compiled networks in float32 on words of 100,000 letters: every named language, every architecture.

For each network that theory allows and the compiler makes: the module (`load_model`), the real architecture
where there is a carrier (`carry`), both against the language on a random word and on a word whose prefixes
can all be continued; and what is proved of the module in float formats. A line of JSON for each goes to
experiments/long-words/results.jsonl; lines that are there are not made again. README.md is the summary.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nerode.certificates.certificate import DTYPES, TESTED, Certificate, Claim
from nerode.certificates.certify import certify
from nerode.certificates.floats.examination import examine
from nerode.compiler.construction import Options
from nerode.compiler.interpreter import Interpreter
from nerode.compiler.network import Network
from nerode.compiler.pipeline import compile_language
from nerode.core.budget import Budget
from nerode.core.errors import BudgetExceeded, NerodeError, NotCompilable
from nerode.languages.bestiary import BESTIARY
from nerode.languages.language import Language
from nerode.models.base import State
from nerode.models.compiled.carriers.carry import CELLS, STREAMS, carry
from nerode.models.compiled.model import CompiledModel
from nerode.models.load import load_model
from nerode.models.model import Model
from nerode.report.networks import NetworkStudy, all_targets
from nerode.verdict.architectures import ARCHITECTURES
from nerode.verdict.decide import collect_facts, verdict_for
from nerode.verdict.facts import Facts
from nerode.verdict.records import Sense, Status, Task

LENGTH = 100_000
LAWFUL = 20_000
WIDE = 600
"""Networks with more coordinates are too large for the dense layers of a real architecture."""

FOLDER = Path("experiments/long-words")
RESULTS = FOLDER / "results.jsonl"
SECONDS = 8.0
PLAIN = {"slstm": 10_000}
"""Modules without a fast path read so many letters; the real architecture reads all of them."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was seen of one network.

    Attributes:
        language: its name.
        target: the class or architecture.
        form: "module", "real", or "none" if there is no network.
        verdict: what theory says at finite precision.
        layers: of the network.
        states: numbers in its state.
        right: letters of the longest word up to which every answer was right.
        wrong_at: the first position with a wrong answer; None if there is none.
        proved: for each float format, the length up to which the module is proved right: "all", or a
            number; None where it was not asked.
        horizon: the length at which a loop of letters was seen to fail; None if none was.
        note: why there is no network, or no proof.
        seconds: of the processor.
    """

    language: str
    target: str
    form: str
    verdict: str
    layers: int = 0
    states: int = 0
    right: int = 0
    wrong_at: int | None = None
    proved: dict[str, int | str | None] | None = None
    horizon: int | None = None
    note: str = ""
    seconds: float = 0.0


@functools.lru_cache(maxsize=2)
def facts_of(name: str) -> Facts:
    """What the algebra says about a named language."""
    budget = Budget(seconds=36_000)
    return collect_facts(BESTIARY[name].language(), task=Task.RECOGNISE, budget=budget)


@functools.lru_cache(maxsize=2)
def words_of(name: str) -> list[tuple[Tensor, Tensor]]:
    """A random and a lawful word of a language, each with what may follow every prefix."""
    language = facts_of(name).language
    random = np.random.default_rng(0)
    words = [random.integers(0, len(language.alphabet), LENGTH).tolist(), lawful_word(language, LAWFUL)]
    return [(torch.tensor([word]), legal_table(language, word)) for word in words if word]


def lawful_word(language: Language, length: int) -> list[int]:
    """A word each prefix of which can be continued as the language says; shorter if it has to end."""
    random = np.random.default_rng(0)
    word: list[int] = []
    configuration = language.initial()
    while len(word) < length:
        choices = sorted(language.legal(configuration).symbols)
        if not choices:
            break
        word.append(choices[int(random.integers(len(choices)))])
        configuration = language.advance(configuration, word[-1])
    return word


def legal_table(language: Language, word: list[int]) -> Tensor:
    """What may follow each non-empty prefix: (1, time, letters + 1), the end last."""
    letters = range(len(language.alphabet))

    @functools.cache
    def row(configuration: object) -> tuple[bool, ...]:
        legal = language.legal(configuration)
        return (*(i in legal.symbols for i in letters), legal.end)

    visited = itertools.accumulate(word, language.advance, initial=language.initial())
    return torch.tensor([[row(configuration) for configuration in visited][1:]])


@torch.no_grad()
def first_wrong(
    model: CompiledModel | Model, word: Tensor, legal: Tensor, *, chunk: int = 2048
) -> int | None:
    """The first position with a wrong answer, counted from 1; the word is fed in chunks."""
    state: State | None = None
    done = 0
    for part, wanted in zip(word.split(chunk, dim=1), legal.split(chunk, dim=1), strict=True):
        scores, state = model(part, state)
        wrong = ((scores > 0.5) != wanted).any(-1)[0].nonzero()
        if len(wrong):
            return done + int(wrong[0]) + 1
        done += part.shape[1]
    return None


def tried(model: CompiledModel | Model, name: str, most: int = LENGTH) -> tuple[int, int | None]:
    """How many letters were answered right, and where the first wrong answer is."""
    right = 0
    for word, legal in words_of(name):
        word, legal = word[:, :most], legal[:, :most]
        wrong = first_wrong(model, word, legal)
        if wrong is not None:
            return wrong - 1, wrong
        right = max(right, word.shape[1])
    return right, None


def survey(name: str, only: tuple[str, ...] = ()) -> Iterator[Row]:
    """Yields what was seen of each network of a language."""
    facts = facts_of(name)
    for target, also in all_targets().items():
        named = [target, *also]
        if only and not set(only) & set(named):
            continue
        status = verdict_for(facts, ARCHITECTURES[target], Sense.FINITE_PRECISION).status
        begun = time.process_time()
        try:
            network = _compiled(facts, target, exclusive_scan=True)
        except NotCompilable as refusal:
            yield Row(
                language=name, target=target, form="none", verdict=status.value, note=refusal.reasons[0]
            )
            continue
        yield _module_row(name, target, network, status, begun)
        for real in named:
            if real in STREAMS or real in CELLS:
                yield _real_row(name, real, facts)


def _compiled(facts: Facts, target: str, *, exclusive_scan: bool) -> Network:
    options = Options(exclusive_scan=exclusive_scan, budget=Budget(seconds=600))
    return compile_language(facts.language, target, options, facts=facts)


def _module_row(name: str, target: str, network: Network, status: Status, begun: float) -> Row:
    right, wrong = tried(load_model(network), name, PLAIN.get(target, LENGTH))
    proved, horizon, note = _proofs(network, facts_of(name).language)
    return Row(
        language=name,
        target=target,
        form="module",
        verdict=status.value,
        layers=network.depth,
        states=network.state_size,
        right=right,
        wrong_at=wrong,
        proved=proved,
        horizon=horizon,
        note=note,
        seconds=round(time.process_time() - begun, 2),
    )


def _real_row(name: str, target: str, facts: Facts) -> Row:
    status = verdict_for(facts, ARCHITECTURES[target], Sense.FINITE_PRECISION).status
    begun = time.process_time()
    plain = Row(language=name, target=target, form="real", verdict=status.value)
    try:
        network = _compiled(facts, target, exclusive_scan=False)
        if network.width > WIDE:
            return _noted(plain, f"{network.width} coordinates are too many for dense layers")
        model = carry(network, target)
    except NotCompilable as refusal:
        return _noted(plain, refusal.reasons[0])
    right, wrong = tried(model, name)
    return Row(
        language=name,
        target=target,
        form="real",
        verdict=status.value,
        layers=network.depth,
        states=network.state_size,
        right=right,
        wrong_at=wrong,
        seconds=round(time.process_time() - begun, 2),
    )


def _noted(row: Row, note: str) -> Row:
    return Row(**{**asdict(row), "form": "none", "note": note})


def _proofs(network: Network, language: Language) -> tuple[dict[str, int | str | None], int | None, str]:
    """What is proved in each format: by the exact certificate, or by looking at the module's float states."""
    proved: dict[str, int | str | None] = dict.fromkeys(DTYPES)
    claims: tuple[Claim, ...] = ()
    # Cells with tanh and sigmoid are looked at in float32 only: no format computes them exactly.
    if Interpreter(network).exact:
        with contextlib.suppress(BudgetExceeded):
            result = certify(network, language, budget=Budget(seconds=SECONDS))
            claims = result.claims if isinstance(result, Certificate) else ()
            lengths = NetworkStudy(target="", network=network, result=result).lengths
            proved.update((d, n if n == "all" else int(n.replace(",", "") or 0)) for d, n in lengths.items())
    if proved["float32"] == "all":
        return proved, None, ""
    found = examine(network, language, dtype="float32", known=claims, budget=Budget(seconds=SECONDS))
    reached = [c.length for c in found.claims if c.dtype == "float32" and c.scope != TESTED]
    if "all" in reached:
        proved["float32"] = "all"
    else:
        numbers = [n for n in (*reached, proved["float32"]) if isinstance(n, int)]
        proved["float32"] = max(numbers, default=0)
    horizon = None if found.horizon is None else found.horizon.measured
    return proved, horizon, str(found.details.get("reason") or "")


def main() -> None:
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    done = {row["language"] for row in read_rows()}
    for name in BESTIARY:
        # Distributions over words have no long lawful words to compare with bit by bit.
        if name in done or name == "ngram-seed":
            continue
        try:
            rows = list(survey(name))
        except NerodeError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        with RESULTS.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(row), sort_keys=True) + "\n" for row in rows)
        bad = [f"{row.target} {row.form} at {row.wrong_at}" for row in rows if row.wrong_at]
        print(f"{name}: {len(rows)} networks, {sum(r.seconds for r in rows):.0f} s", *bad, flush=True)
    (FOLDER / "README.md").write_text(summary(), encoding="utf-8")


def read_rows() -> list[dict[str, object]]:
    """The rows that were seen before."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


def _left(rows: list[dict[str, object]]) -> list[str]:
    """The languages that are still to be looked at."""
    done = {row["language"] for row in rows}
    left = [name for name in BESTIARY if name not in done and name != "ngram-seed"]
    if not left:
        return []
    return [f"Not surveyed yet ({len(left)}; the command goes on with them): {', '.join(left)}.", ""]


def summary() -> str:
    """The page: how many are right, and every one that is not."""
    rows = read_rows()
    lines = [
        "# Long words in float32",
        "",
        "Written by `python -m benchmarks long_words` from `results.jsonl`. Tested, which is no proof; what",
        f"is proved in float32 stands in the last columns. Modules without a fast path ({', '.join(PLAIN)})",
        "read 10,000 letters, the real architectures all of them.",
        "",
        *_left(rows),
        f"| form | networks | right to length {LENGTH:,} | wrong earlier | proved at all lengths in float32 "
        "| proved to a length |",
        "|---|---|---|---|---|---|",
    ]
    for form in ("module", "real"):
        some = [row for row in rows if row["form"] == form]
        wrong = sum(row["wrong_at"] is not None for row in some)
        proofs = Counter(
            "all" if row["proved"]["float32"] == "all" else "some" if row["proved"]["float32"] else "none"  # type: ignore[index]
            for row in some
            if row["proved"]
        )
        shown = (proofs["all"], proofs["some"]) if form == "module" else ("", "")
        lines.append(f"| {form} | {len(some)} | {len(some) - wrong} | {wrong} | {shown[0]} | {shown[1]} |")
    lines += [
        "",
        "## Wrong before the end",
        "",
        "| language | target | form | first wrong letter |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['language']} | {row['target']} | {row['form']} | {row['wrong_at']:,} |"
        for row in rows
        if row["wrong_at"] is not None
    ]
    lines += [
        "",
        "## Theory says yes at finite precision, and there is no network",
        "",
        "| language | target | why |",
        "|---|---|---|",
    ]
    lines += [
        f"| {row['language']} | {row['target']} | {str(row['note'])[:160]} |"
        for row in rows
        if row["form"] == "none" and row["verdict"] == "yes"
    ]
    return "\n".join(lines) + "\n"
