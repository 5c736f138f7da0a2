"""Verdicts compared with networks: each "yes" of a recurrent architecture should have a construction.

    python -m benchmarks networks [--languages LANG …] [--arch NAME …] [--seconds S]

For each named language and each recurrent architecture of the table, the verdicts for recognition and
prediction in every sense but robustness are compared with what the compiler makes.

    both        some sense says "yes", and there is a network
    budget      some sense says "yes", and a construction applies but ends at its budget or at a size
    unwritable  some sense says "yes", but the network needs numbers or maps that the record does not have
    missing     some sense says "yes", and no construction applies
    undecided   there is a network, but exact arithmetic and finite precision are open for both tasks
    wrong       there is a network, and every sense says "no"

`finite` counts, among "both", the pairs whose finite-precision "yes" has only a network that fades, which
answers in exact arithmetic alone.
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
    VerdictTask,
    collect_facts,
    verdict_for,
)

SENSES = (Sense.EXACT, Sense.FINITE_PRECISION, Sense.IEEE)

_FADES = ("open-counters", "open-stack", "fading-registers", "clocked-fading-registers", "contractions")
"""Constructions whose numbers shrink for ever."""

_SIGN = "a layer would read the sign of a number that fades, and no piecewise linear map does"
_IRRATIONAL = "the angles of RetNet are no rational parts of a turn"
_GROWS = "a map between layers is an exponential, not piecewise linear"
_CELLS = "numbers that fade through tanh and sigmoids are not algebraic"
_UNWRITABLE = {
    ("rwkv-7", "exact-fading-signs"): _SIGN,
    ("rwkv-7", "exact-blocks-one-factor"): _SIGN,
    **{("retnet", row): _IRRATIONAL for row in ("exact-registers-fixed-decay", "delay-line")},
    **{
        (cell, row): _CELLS
        for cell in ("elman-tanh", "lstm", "gru", "slstm")
        for row in ("exact-counters-open-gates", "exact-stack-open-gates")
    },
    ("retnet", "exact-counters-open-gates"): _IRRATIONAL,
}
"""Rows of the theorem table whose networks the record cannot hold, by architecture, with the reason."""


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
    yes = sorted({(s.value, v.theorem) for (_, s), v in verdicts.items() if v.status is Status.YES})
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
    if made in _FADES and any(sense == Sense.FINITE_PRECISION for sense, _ in yes):
        return "finite", "; ".join(f"{sense}: {theorem}" for sense, theorem in yes)
    return "both", made


def _without_network(
    row: Architecture, facts: Facts, yes: Sequence[tuple[str, str]], refusal: Exception
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
    why = [_GROWS if "growing" in theorem else _UNWRITABLE.get((row.name, theorem)) for _, theorem in yes]
    if all(why):
        return "unwritable", f"{yes[0][1]}: {why[0]}"
    if ended and any(word in reason for reason in ended for word in ("budget", "more than", "too many")):
        return "budget", ended[0]
    return "missing", "; ".join(f"{sense}: {theorem}" for sense, theorem in yes)


def main(arguments: Sequence[str] | None = None) -> int:
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
