"""Constructions, kernel methods, theorem rows and class tests, with the pairs that need each of them.

    python -m benchmarks needs [--out FILE] [--languages LANG …] [--seconds S]
    python -m benchmarks needs --compare BEFORE [--out FILE]
    python -m benchmarks needs --summary FILE

A pair is a named language and a target of the atlas. Each pair is compiled and certified as the atlas does;
every other construction that applies is tried, too. The file (gzip) has one JSON object per line. A pair has
the hash of its network (without target and origin), the construction, the size, and the sizes of what other
constructions make. A line with "claims" has those of a network. A line with "theorems" has the rows that
settle verdicts of a language, and how often alone; a line with "classes" the class tests that were asked for.

A construction is justified if it is sole for some pair, at least three times smaller than the next for some
pair, or named by a seed. `--compare` makes the survey again and lists pairs without a network or with fewer
claims than before, and networks with more parameters.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from nerode.algebra import Profile
from nerode.compiler import CONSTRUCTIONS, Options, compile_language
from nerode.core import Budget, BudgetExceeded, NotCompilable, started
from nerode.languages import Language
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.network import Network, network_to_json
from nerode.proofs import Certificate, certify
from nerode.study import all_targets
from nerode.verdict import ARCHITECTURES, Facts, Sense, Status, VerdictTask, collect_facts, verdict_for

Row = dict[str, Any]

FILE = Path("experiments/needs/pairs.jsonl.gz")

EXACT_ONLY = (
    *("open-counters", "quotient-counters", "tanh-counters", "open-stack", "quotient-stack"),
    *("power-stack", "relu-stack", "integer-stack", "growing-registers", "fading-registers"),
    *("clocked-fading-registers", "quotient-registers", "fading-signs", "fading-cascade"),
    *("contractions", "shrinking-blocks"),
)
"""Constructions for real arithmetic alone, which earlier surveys have: none had a claim in a float format."""

SEEDS = (
    *("parity-sign", "flip-flop", "flip-flop-predictor", "bounded-dyck", "bounded-dyck-predictor"),
    *("counters-predictor", "offset-counting", "window", "n-gram-ssm", "n-gram-rnn"),
)
"""Constructions that a seed names."""

HYBRIDS = ("diagonal-attention", "mamba-attention-periodic")
"""Targets beside those of the atlas."""

_CELLS = 40_000
"""Cells of one proof, as in the atlas."""

_SMALLER = 3
"""How many times smaller than the next a construction is that is kept for its size."""


def survey(names: Sequence[str], seconds: float) -> Iterator[Row]:
    """Yields the rows of each language: its pairs, then its theorems and its class tests."""
    for name in names:
        language = find_language(name)
        asked: set[str] = set()
        with patch.object(Profile, "holds", _listening(Profile.holds, asked)):
            facts = collect_facts(
                language, task=VerdictTask.RECOGNISE, budget=started(Budget(seconds=10 * seconds))
            )
            claims: dict[str, list[str]] = {}
            for target in (*all_targets(), *HYBRIDS):
                yield {"language": name, "target": target, **_pair(language, target, facts, seconds, claims)}
            yield from ({"hash": digest, "claims": found} for digest, found in claims.items())
            yield {"language": name, "theorems": _theorems(facts)}
        yield {"language": name, "classes": sorted(asked)}


def _listening(holds: Callable[[Profile, str], bool | None], asked: set[str]) -> Callable[..., bool | None]:
    def answer(profile: Profile, name: str) -> bool | None:
        asked.add(name)
        return holds(profile, name)

    return answer


def _pair(language: Language, target: str, facts: Facts, seconds: float, claims: dict[str, list[str]]) -> Row:
    try:
        network = compile_language(language, target, Options(budget=Budget(seconds=seconds)), facts=facts)
    except (NotCompilable, BudgetExceeded) as refusal:
        return {"refused": type(refusal).__name__}
    digest = _digest(network)
    if digest not in claims:
        claims[digest] = _claims(network, language, seconds)
    made = network.origin.construction
    others: dict[str, int] = {}
    for other in CONSTRUCTIONS:
        if other != made and CONSTRUCTIONS[other].architecture(ARCHITECTURES[target].properties):
            options = Options(budget=Budget(seconds=seconds / 2), construction=other)
            try:
                others[other] = compile_language(language, target, options, facts=facts).num_parameters
            except (NotCompilable, BudgetExceeded):
                continue
    return {
        "hash": digest,
        "construction": made,
        "layers": network.depth,
        "parameters": network.num_parameters,
        "others": others,
    }


def _digest(network: Network) -> str:
    data = {k: v for k, v in network_to_json(network).items() if k not in ("target", "origin")}
    text = json.dumps(data, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _claims(network: Network, language: Language, seconds: float) -> list[str]:
    """The claims of a network, each as "scope | task | dtype | length | method"."""
    budget = replace(started(Budget(seconds=seconds)), elements=_CELLS)
    try:
        outcome = certify(network, language, budget=budget)
    except BudgetExceeded:
        return []
    if not isinstance(outcome, Certificate):
        return []
    return sorted(f"{c.scope} | {c.task} | {c.dtype} | {c.length} | {c.method}" for c in outcome.claims)


def _theorems(facts: Facts) -> dict[str, list[int]]:
    """How many verdicts each row settles, and how many of them alone, for both tasks."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for task in VerdictTask:
        asked = facts if task is facts.task else replace(facts, task=task)
        for architecture in ARCHITECTURES.values():
            for sense in Sense:
                verdict = verdict_for(asked, architecture, sense)
                if verdict.status is not Status.OPEN:
                    for row in (verdict.theorem, *verdict.also):
                        found[row][0] += 1
                        found[row][1] += not verdict.also
    return dict(sorted(found.items()))


def read(path: Path) -> list[Row]:
    """Returns the rows of a survey, each pair with the claims of its network."""
    with gzip.open(path, "rt") as file:
        return _joined([json.loads(line) for line in file])


def _joined(rows: Sequence[Row]) -> list[Row]:
    claims = {row["hash"]: row["claims"] for row in rows if "claims" in row}
    pairs = [{**row, "claims": claims[row["hash"]]} if "construction" in row else row for row in rows]
    return [row for row in pairs if "language" in row]


def summarise(rows: Sequence[Row]) -> list[str]:
    """Returns what the constructions, methods, theorem rows and class tests are needed for, in lines."""
    made = [row for row in rows if "construction" in row]
    lines = [f"{len(made)} networks, {sum(bool(row['claims']) for row in made)} with a certificate", ""]
    reasons = {name: _reason(name, made) for name in CONSTRUCTIONS}
    wins = Counter(row["construction"] for row in made)
    lines += [f"{name:36} {wins[name]:5} pairs  {reason}" for name, reason in reasons.items()]
    unneeded = sum(reason == UNNEEDED for reason in reasons.values())
    lines += [f"{len(CONSTRUCTIONS)} constructions, {unneeded} {UNNEEDED}", ""]
    methods: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in made:
        for claim in row["claims"]:
            methods[claim.rsplit(" | ", 1)[1]].add((row["language"], row["target"]))
    lines += [
        f"{name:36} {len(pairs):5} pairs  of {len({language for language, _ in pairs})} languages"
        for name, pairs in sorted(methods.items(), key=lambda item: -len(item[1]))
    ]
    theorems: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        for name, (cells, alone) in row.get("theorems", {}).items():
            theorems[name] = [theorems[name][0] + cells, theorems[name][1] + alone]
    lines += ["", f"{len(theorems)} theorem rows, {sum(alone > 0 for _, alone in theorems.values())} alone"]
    classes = sorted({name for row in rows for name in row.get("classes", ())})
    return [*lines, f"class tests asked for: {', '.join(classes)}"]


UNNEEDED = "NOT NEEDED"


def _reason(name: str, made: Sequence[Row]) -> str:
    """Why a construction is kept."""
    mine = [(row, _sizes(row)) for row in made if name in _sizes(row)]
    sole = sum(len(sizes) == 1 for _, sizes in mine)
    if sole:
        return f"sole for {sole}"
    ratios = [
        min(size for other, size in sizes.items() if other != name) / max(sizes[name], 1) for _, sizes in mine
    ]
    if ratios and max(ratios) >= _SMALLER:
        return f"{max(ratios):.0f} times smaller than the next"
    return "named by a seed" if name in SEEDS else UNNEEDED


def _sizes(row: Row) -> dict[str, int]:
    """Parameters by construction, of those that do as much: predictors only where nothing else is made."""
    sizes = {row["construction"]: row["parameters"], **row["others"]}
    sizes = {name: size for name, size in sizes.items() if name in CONSTRUCTIONS}
    whole = {name: size for name, size in sizes.items() if not CONSTRUCTIONS[name].predicts_only}
    return whole or sizes


def compare(before: Sequence[Row], after: Sequence[Row]) -> tuple[list[str], list[str]]:
    """Returns the pairs outside the exact-only family that lost something, and those that became larger."""
    now = {(row["language"], row["target"]): row for row in after if "target" in row}
    lost, larger = [], []
    for row in before:
        key = (row.get("language"), row.get("target"))
        if key not in now or row.get("construction", EXACT_ONLY[0]) in EXACT_ONLY:
            continue
        new = now[key]
        pair = f"{row['language']} on {row['target']}: {row['construction']}"
        if "construction" not in new:
            lost.append(f"{pair}, no network ({new['refused']})")
            continue
        missing = [claim for claim in row["claims"] if not _covered(claim, new["claims"])]
        if missing:
            lost.append(f"{pair} → {new['construction']}, without {'; '.join(missing)}")
        if new["parameters"] > row["parameters"]:
            sizes = f"{row['parameters']} → {new['parameters']} parameters"
            larger.append(f"{pair} → {new['construction']}, {sizes}")
    return lost, larger


def _covered(claim: str, claims: Sequence[str]) -> bool:
    """Whether a claim of the same scope, task and format is there for at least the same length."""
    scope, task, dtype, length, _ = claim.split(" | ")
    return any(
        parts[:3] == [scope, task, dtype] and _reaches(parts[3], length)
        for parts in (other.split(" | ") for other in claims)
    )


def _reaches(length: str, asked: str) -> bool:
    return length == asked or length == "all" or (asked != "all" and int(length) >= int(asked))


def _write(path: Path, rows: Iterator[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main(arguments: Sequence[str] = ()) -> int:
    """Makes or reads a survey, prints the summary, and compares it with an earlier one if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks needs")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--languages", nargs="*", metavar="LANG", default=list(BESTIARY))
    parser.add_argument("--seconds", type=float, default=4.0, help="CPU seconds per network and proof")
    parser.add_argument("--compare", type=Path, metavar="BEFORE")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="read this survey instead")
    chosen = parser.parse_args(arguments)
    if chosen.summary is None:
        _write(chosen.out, survey(chosen.languages, chosen.seconds))
    rows = read(chosen.summary or chosen.out)
    print("\n".join(summarise(rows)))
    if chosen.compare is None:
        return 0
    lost, larger = compare(read(chosen.compare), rows)
    if lost:
        # A proof that ends at its seconds on a busy machine is tried again with more of them.
        names = list(dict.fromkeys(line.partition(" on ")[0] for line in lost))
        lost, _ = compare(read(chosen.compare), _joined(list(survey(names, 5 * chosen.seconds))))
    print("\n".join(["", "larger:", *larger, "", "lost:", *lost, f"{len(lost)} pairs lost something"]))
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
