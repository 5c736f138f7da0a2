"""Verdicts compared with networks: each "yes" of a recurrent architecture should have a construction.

    python -m benchmarks networks [--languages LANG …] [--arch NAME …] [--seconds S]

For each named language and each recurrent architecture of the table, the verdicts for recognition and
prediction in every sense but robustness are compared with what the compiler makes.

    both        some sense says "yes", and there is a network
    budget      some sense says "yes", and a construction applies but ends at its budget or at a size
    listed      every "yes" says itself why no network is compiled (the mark †)
    missing     some "yes" does not say so, and no construction applies
    undecided   there is a network, but exact arithmetic and finite precision are open for both tasks
    wrong       there is a network, and every sense says "no"
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from nerode.algebra import profile
from nerode.compiler import CONSTRUCTIONS, Options, compile_language
from nerode.core import Budget, BudgetExceeded, NotCompilable
from nerode.languages import Language
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.verdict import (
    ARCHITECTURES,
    Architecture,
    Facts,
    MemoryKind,
    Sense,
    Status,
    Verdict,
    VerdictTask,
    collect_facts,
    verdict_for,
)

SENSES = (Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE)


def compare(language: Language, rows: Sequence[Architecture], seconds: float) -> list[tuple[str, str, str]]:
    """Returns architecture, outcome and explanation for each row."""
    budget = Budget(seconds=seconds).start()
    found = profile(language, budget, on_demand=True)
    facts = {task: collect_facts(language, task=task, profile=found, budget=budget) for task in VerdictTask}
    return [(row.name, *_compare(language, row, facts, seconds)) for row in rows]


def _compare(
    language: Language, row: Architecture, facts: dict[VerdictTask, Facts], seconds: float
) -> tuple[str, str]:
    verdicts = {
        (task, sense): verdict_for(facts[task], row, sense) for task in VerdictTask for sense in SENSES
    }
    yes = [v for v in verdicts.values() if v.status is Status.YES]
    options = Options(budget=Budget(seconds=seconds).start())
    try:
        network = compile_language(language, row.name, options, facts=facts[VerdictTask.RECOGNISE])
    except (NotCompilable, BudgetExceeded) as refusal:
        if not yes:
            return "neither", ""
        return _without_network(row, facts[VerdictTask.RECOGNISE], yes, refusal)
    made = network.origin.construction
    if not yes:
        wrong = all(v.status is Status.NO for v in verdicts.values())
        return ("wrong" if wrong else "undecided"), made
    return "both", made


def _rows_of(verdicts: Sequence[Verdict]) -> str:
    return "; ".join(dict.fromkeys(f"{v.sense}: {v.theorem}" for v in verdicts))


def _without_network(
    row: Architecture, facts: Facts, yes: Sequence[Verdict], refusal: Exception
) -> tuple[str, str]:
    """Returns the outcome and the explanation of a "yes" without a network."""
    if isinstance(refusal, BudgetExceeded):
        return "budget", str(refusal)
    reasons = list(getattr(refusal, "reasons", ()))
    tried = {
        name
        for name, c in CONSTRUCTIONS.items()
        if c.architecture(row.properties) and c.language(facts) is not False
    }
    ended = [reason for reason in reasons if reason.partition(":")[0] in tried]
    left = [v for v in yes if not v.no_network]
    if not left:
        return "listed", f"{_rows_of(yes)}: {yes[0].no_network}"
    limits = [r for r in ended if any(word in r for word in ("budget", "more than", "too many"))]
    if limits:
        return "budget", limits[-1]
    return "missing", _rows_of(left)


def main(arguments: Sequence[str] = ()) -> int:
    """Prints one line per pair that is not "both" or "neither", and the counts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks networks")
    parser.add_argument("--languages", nargs="*", metavar="LANG")
    parser.add_argument("--arch", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds per network")
    chosen = parser.parse_args(arguments)
    recurrent = (MemoryKind.LINEAR, MemoryKind.NONLINEAR)
    rows = [
        row
        for row in ARCHITECTURES.values()
        if row.properties.recurrence in recurrent and (not chosen.arch or row.name in chosen.arch)
    ]
    counts: Counter[str] = Counter()
    for name in chosen.languages or list(BESTIARY):
        for architecture, outcome, why in compare(find_language(name), rows, chosen.seconds):
            counts[outcome] += 1
            if outcome not in ("both", "neither"):
                print(f"{outcome:10} {name:20} {architecture:22} {why}", flush=True)
    print(", ".join(f"{outcome}: {count}" for outcome, count in sorted(counts.items())))
    return int(bool(counts["missing"] or counts["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
