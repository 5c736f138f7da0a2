"""Each "yes" in floats without the mark †: has its network a claim at every length, in float32?

    python -m benchmarks float_claims [--languages LANG …] [--arch NAME …] [--seconds S] [--keep FILE]
    python -m benchmarks float_claims --keep FILE --again [--seconds S]

Networks are made as `nerode compile` makes them, by default and by each construction that applies, with
`--exact-floats` and without, once for all architectures that get the same one. The claims of the kernel
count, then those of its module in float32, for attention those of the decoder. To predict, claims for
prefixes of valid words are enough. A hybrid has what one of its recurrent parts has: attention whose output
matrix is 0 passes the stream on bit for bit. Smaller languages come first; a line for each reason for which
verdicts have no claim, then the counts. `--keep` adds one JSON object per language and task to a file, and
asks nothing that the file has; with `--again` it asks only what has no claim there, and writes the file anew.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from nerode.algebra import profile
from nerode.compiler import CONSTRUCTIONS, Options, compile_language
from nerode.core import Budget, BudgetExceeded, NerodeError
from nerode.kernel import LANGUAGE_TASKS, VALID_PREFIXES, Certificate, Claim
from nerode.languages import Language
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.languages.ngrams import NgramLanguage
from nerode.network import Network, network_hash
from nerode.proofs import certify
from nerode.proofs.find.closure import certify_floats
from nerode.proofs.floats import decoder_length
from nerode.verdict import ARCHITECTURES, Facts, Sense, Status, VerdictTask, collect_facts, verdict_for

DTYPE = "float32"

FILE = Path("experiments/float-claims/rows.jsonl")
"""The kept survey, one row per language and task."""

Known = dict[str, tuple[Claim, ...] | str]
"""The claims of a network in floats by its hash without target, or why there are none."""


def claims_of(network: Network, language: Language, seconds: float) -> tuple[Claim, ...] | str:
    """Returns the claims at every length in float32, or why nothing is known."""
    try:
        if network.attends:
            reach = decoder_length(network, language, dtype=DTYPE, budget=Budget(seconds=seconds))
            return "all" if reach == "all" else f"the decoder is proved up to {reach} letters"
        found = certify(network, language, budget=Budget(seconds=seconds))
        claims = found.claims if isinstance(found, Certificate) else ()
        lasting = [c for c in claims if c.dtype == DTYPE and c.length == "all"]
        why = "no claim at every length"
        if not any(c.task != VALID_PREFIXES for c in lasting):
            verdict = certify_floats(network, language, dtype=DTYPE, budget=Budget(seconds=seconds))
            further = () if verdict.certificate is None else verdict.certificate.claims
            lasting += [c for c in further if c.length == "all"]
            why = verdict.reason or why
        return tuple(c for c in lasting if c.task in LANGUAGE_TASKS) or why
    except BudgetExceeded as stop:
        return f"budget: {stop}"
    except NerodeError as problem:
        return str(problem)


def missing(facts: Facts, whole: Facts, architecture: str, seconds: float, known: Known) -> str | None:
    """Returns why a verdict has no claim; empty if it has one, None if it is no "yes" without the mark.

    Args:
        facts: of the language and the task.
        whole: of the language to recognise, which the compiler asks.
        architecture: its name.
        seconds: for the network, and for the proof.
        known: claims of networks, filled here.
    """
    verdict = verdict_for(facts, ARCHITECTURES[architecture], Sense.IEEE)
    if verdict.status is not Status.YES or verdict.no_network:
        return None
    reasons = []
    recurrent = [part for part in ARCHITECTURES[architecture].properties.parts if "transformer" not in part]
    for target in (*recurrent, architecture):
        why = _lacking(facts, whole, target, seconds, known)
        if not why:
            return ""
        reasons += why
    return f"{verdict.theorem}: {'; '.join(reasons)}"


def _lacking(facts: Facts, whole: Facts, target: str, seconds: float, known: Known) -> list[str]:
    """Returns why networks of one target have no claim; empty if one has."""
    predicts = facts.task is VerdictTask.PREDICT
    reasons = []
    properties = ARCHITECTURES[target].properties
    fitting = [name for name, row in CONSTRUCTIONS.items() if row.architecture(properties)]
    plain = Options()
    ways = [plain, replace(plain, exact_floats=True), *([replace(plain, predicts=True)] if predicts else [])]
    chosen = [replace(way, construction=name) for name in fitting for way in ways[:2]]
    for way in (*ways, *chosen):
        options = replace(way, budget=Budget(seconds=seconds).start())
        try:
            network = compile_language(facts.language, target, options, facts=whole)
        except NerodeError as refusal:
            if way is plain or isinstance(refusal, BudgetExceeded):
                reasons.append(f"{type(refusal).__name__}: {refusal}")
            continue
        key = network_hash(replace(network, target="", origin=replace(network.origin, route="")))
        if key not in known:
            known[key] = claims_of(network, facts.language, seconds)
        found = known[key]
        if found == "all" or (not isinstance(found, str) and (predicts or _all_words(found))):
            return []
        why = found if isinstance(found, str) else "valid prefixes only"
        reasons.append(f"{network.origin.construction}: {why}")
    return reasons or [f"{target}: no construction"]


def _states(language: Language) -> int | None:
    """The states of a regular language; None for others and for models with probabilities."""
    if not language.regular or isinstance(language, NgramLanguage):
        return None
    return language.num_states() or language.dfa(Budget(seconds=20)).num_states


def _all_words(claims: Sequence[Claim]) -> bool:
    return any(claim.task != VALID_PREFIXES for claim in claims)


def asked(facts: Facts, architectures: Sequence[str]) -> list[str]:
    """Returns the architectures with a "yes" in floats without the mark †."""
    verdicts = ((name, verdict_for(facts, ARCHITECTURES[name], Sense.IEEE)) for name in architectures)
    return [name for name, found in verdicts if found.status is Status.YES and not found.no_network]


def read(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a kept survey: language, task, names with a claim, and reasons of the others."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _survey(
    languages: Sequence[Language], architectures: Sequence[str], seconds: float, done: set[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    for language in languages:
        tasks = [task for task in VerdictTask if (language.name, task) not in done]
        budget, known = Budget(seconds=60).start(), Known()
        found = profile(language, budget, on_demand=True)
        whole = collect_facts(language, task=VerdictTask.RECOGNISE, profile=found, budget=budget)
        for task in tasks:
            facts = collect_facts(language, task=task, profile=found, budget=budget)
            yield _row(facts, whole, asked(facts, architectures), seconds, known)


def _again(rows: Sequence[dict[str, Any]], seconds: float) -> Iterator[dict[str, Any]]:
    """The rows of a file, where each verdict without a claim is asked once more."""
    for row in rows:
        left = [
            name for outcome in ("budget", "lacking") for names in row[outcome].values() for name in names
        ]
        if not left:
            yield row
            continue
        language, budget, known = find_language(row["language"].lower()), Budget(seconds=60).start(), Known()
        found = profile(language, budget, on_demand=True)
        whole, facts = (
            collect_facts(language, task=task, profile=found, budget=budget)
            for task in (VerdictTask.RECOGNISE, VerdictTask(row["task"]))
        )
        yield _row(facts, whole, left, seconds, known, row["claimed"])


def _row(
    facts: Facts,
    whole: Facts,
    names: Sequence[str],
    seconds: float,
    known: Known,
    claimed: Sequence[str] = (),
) -> dict[str, Any]:
    row: dict[str, Any] = {"language": facts.language.name, "task": str(facts.task), "claimed": [*claimed]}
    row |= {"budget": defaultdict(list), "lacking": defaultdict(list)}
    for name in names:
        why = missing(facts, whole, name, seconds, known)
        if why:
            row["budget" if "udget" in why else "lacking"][why].append(name)
        elif why is not None:
            row["claimed"].append(name)
    return row


def main(arguments: Sequence[str] = ()) -> int:
    """Prints the verdicts without a claim at every length, and the counts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks float_claims")
    parser.add_argument("--languages", nargs="*", metavar="LANG")
    parser.add_argument("--arch", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU seconds per network, and per proof")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="add rows to this file, and ask no others")
    parser.add_argument("--again", action="store_true", help="ask what has no claim in the kept file")
    chosen = parser.parse_args(arguments)
    if chosen.again and not chosen.keep:
        parser.error("--again asks what a file has no claim for; give it by --keep FILE")
    languages = [find_language(name) for name in chosen.languages or BESTIARY]
    sized = [(states, language) for language in languages if (states := _states(language)) is not None]
    rows = chosen.arch or [row.name for row in ARCHITECTURES.values() if not row.is_class]
    ordered = [language for _, language in sorted(sized, key=lambda pair: pair[0])]
    counts: Counter[str] = Counter()
    kept = read(chosen.keep) if chosen.keep else []
    if chosen.again:
        kept, ordered = list(_again(kept, chosen.seconds)), []
        chosen.keep.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
    done = {(row["language"], row["task"]) for row in kept}
    for row in chain(kept, _survey(ordered, rows, chosen.seconds, done)):
        counts["claimed"] += len(row["claimed"])
        for outcome in ("budget", "lacking"):
            for why, names in row[outcome].items():
                counts[outcome] += len(names)
                print(f"{row['language']:28} {row['task']:10} {' '.join(names)}: {why}", flush=True)
        if chosen.keep and (row["language"], row["task"]) not in done:
            with chosen.keep.open("a") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(", ".join(f"{outcome}: {count}" for outcome, count in sorted(counts.items())))
    return int(bool(counts["lacking"]))
