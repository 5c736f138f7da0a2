"""Compiled networks in float32 on words of 100,000 letters: every named language, every architecture.

For each network that theory allows and the compiler makes: the module (`load_model`), the real architecture
where compiled weights can be written (`make_architecture`), both against the language on a random word and on
a word whose prefixes can all be continued (only on the second, but as long, where the network is proved for
such words alone); and what is proved of them in float formats. A line of JSON for each goes to
experiments/long-words/results.jsonl; lines that are there are not made again. README.md is the summary.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks._long_words_page import LENGTH, PLAIN, left_to_do, page, read_rows
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, NerodeError, NotCompilable
from nerode.languages import Language
from nerode.languages.bestiary import BESTIARY
from nerode.models import Model, State, all_kinds
from nerode.models.lower.assembly import writer_of
from nerode.models.network_module import CompiledModel, load_model
from nerode.network import Interpreter, Network
from nerode.proofs import DTYPES, TESTED, VALID_PREFIXES, Certificate, Claim, certify
from nerode.proofs.find.closure import certify_module
from nerode.proofs.floats import examine, make_architecture
from nerode.study import NetworkStudy, all_targets
from nerode.verdict import ARCHITECTURES, Facts, Sense, Status, VerdictTask, collect_facts, verdict_for

LAWFUL = 20_000
FOLDER = Path("experiments/long-words")
RESULTS = FOLDER / "results.jsonl"
SECONDS = 8.0
"""For one proof of a module."""

REAL_SECONDS = 20.0
"""For the proof of a real architecture: all its float states."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was seen of one network.

    Attributes:
        language: its name.
        target: the class or architecture.
        form: "module", "real", or "none" if there is no network.
        star_free: whether the language is star-free.
        verdict: what theory says at finite precision.
        words: "all", or "valid prefixes" if the network is for these alone.
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
    star_free: bool
    verdict: str
    words: str = "all"
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
    return collect_facts(BESTIARY[name].language(), task=VerdictTask.RECOGNISE, budget=budget)


@functools.lru_cache(maxsize=2)
def words_of(name: str) -> list[tuple[Tensor, Tensor]]:
    """A lawful and a random word of a language, each with what may follow every prefix."""
    language = facts_of(name).language
    random = np.random.default_rng(0)
    words = [lawful_word(language, LENGTH), random.integers(0, len(language.alphabet), LENGTH).tolist()]
    return [(torch.tensor([word]).reshape(1, -1), legal_table(language, word)) for word in words]


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


def tried(model: CompiledModel | Model, name: str, words: str, most: int = LENGTH) -> tuple[int, int | None]:
    """How many letters were answered right, and where the first wrong answer is."""
    (lawful, answers), every = words_of(name)
    only = words == VALID_PREFIXES
    right = 0
    for word, legal in [(lawful, answers)] if only else [every, (lawful[:, :LAWFUL], answers[:, :LAWFUL])]:
        word, legal = word[:, :most], legal[:, :most]
        if not word.shape[1]:
            continue
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
            network = _compiled(facts, target)
        except NotCompilable as refusal:
            yield _no_row(name, target, status, refusal)
            continue
        module = _module_row(name, target, network, status, begun)
        yield module
        for real in named:
            if real in all_kinds() and writer_of(real) is not None:
                yield _real_row(name, real, facts, module.words)


def _compiled(facts: Facts, target: str) -> Network:
    options = Options(budget=Budget(seconds=600))
    return compile_language(facts.language, target, options, facts=facts)


def _module_row(name: str, target: str, network: Network, status: Status, begun: float) -> Row:
    words, proved, horizon, note = _proofs(network, facts_of(name).language)
    right, wrong = tried(load_model(network), name, words, PLAIN.get(target, LENGTH))
    return Row(
        language=name,
        target=target,
        form="module",
        star_free=_is_star_free(name),
        verdict=status.value,
        words=words,
        layers=network.depth,
        states=network.state_size,
        right=right,
        wrong_at=wrong,
        proved=proved,
        horizon=horizon,
        note=note,
        seconds=round(time.process_time() - begun, 2),
    )


def _no_row(name: str, target: str, status: Status, refusal: NotCompilable) -> Row:
    return Row(
        language=name,
        target=target,
        form="none",
        star_free=_is_star_free(name),
        verdict=status.value,
        note=_why(refusal),
    )


def _why(refusal: NotCompilable) -> str:
    """The reason that says most: of a construction that was tried, before one that is for other languages."""
    tried = (reason for reason in refusal.reasons if "the language is not" not in reason)
    return next(tried, refusal.reasons[0])


def _is_star_free(name: str) -> bool:
    return facts_of(name).profile.star_free is True


def _real_row(name: str, target: str, facts: Facts, words: str) -> Row:
    status = verdict_for(facts, ARCHITECTURES[target], Sense.FINITE_PRECISION).status
    begun = time.process_time()
    try:
        model = make_architecture(
            facts.language, target, facts=facts, options=Options(budget=Budget(seconds=600)), seconds=0
        ).model
    except NotCompilable as refusal:
        return _no_row(name, target, status, refusal)
    proved, note = _proved_real(model, facts.language)
    right, wrong = tried(model, name, words)
    return Row(
        language=name,
        target=target,
        form="real",
        star_free=_is_star_free(name),
        verdict=status.value,
        words=words,
        layers=len(model.blocks),
        states=model.state_size,
        right=right,
        wrong_at=wrong,
        proved={"float32": proved},
        note=note,
        seconds=round(time.process_time() - begun, 2),
    )


def _proved_real(model: Model, language: Language) -> tuple[int | str, str]:
    """The length up to which all float32 states were looked at, and why no further."""
    found = certify_module(
        model,
        language,
        dtype="float32",
        decode=lambda scores: scores > 0.5,
        empty=language.legal(language.initial()),
        budget=Budget(seconds=REAL_SECONDS),
    )
    return found.length, found.reason


def _words(claims: Iterable[Claim]) -> str:
    """For which words a network is proved; for all, as far as is known, if it is not."""
    return VALID_PREFIXES if {claim.task for claim in claims} == {VALID_PREFIXES} else "all"


def _proofs(network: Network, language: Language) -> tuple[str, dict[str, int | str | None], int | None, str]:
    """For which words, and to which length in each format: by the exact certificate, or by float states."""
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
        return _words(claims), proved, None, ""
    found = examine(network, language, dtype="float32", known=claims, budget=Budget(seconds=SECONDS))
    reached = [c.length for c in found.claims if c.dtype == "float32" and c.scope != TESTED]
    if "all" in reached:
        proved["float32"] = "all"
    else:
        numbers = [n for n in (*reached, proved["float32"]) if isinstance(n, int)]
        proved["float32"] = max(numbers, default=0)
    loops = None if found.settled is None else found.settled.loops
    horizon = None if loops is None or loops.horizon is None else loops.horizon.repetitions
    return _words(claims), proved, horizon, str(found.details.get("reason") or "")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    left = left_to_do(read_rows(RESULTS))
    with multiprocessing.get_context("spawn").Pool(os.cpu_count(), _begin_worker, maxtasksperchild=1) as pool:
        for name, rows in pool.imap_unordered(_surveyed, left):
            if not rows:
                continue
            with RESULTS.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(row), sort_keys=True) + "\n" for row in rows)
            bad = [f"{row.target} {row.form} at {row.wrong_at}" for row in rows if row.wrong_at]
            print(f"{name}: {len(rows)} networks, {sum(r.seconds for r in rows):.0f} s", *bad, flush=True)
    (FOLDER / "README.md").write_text(page(read_rows(RESULTS)), encoding="utf-8")


def _begin_worker() -> None:
    torch.set_num_threads(1)


def _surveyed(name: str) -> tuple[str, list[Row]]:
    """The rows of one language; none, with the reason on standard error, if it could not be looked at."""
    try:
        return name, list(survey(name))
    except NerodeError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return name, []
