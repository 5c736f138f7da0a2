"""Conclusions: what runs show about their models, in one sentence per model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nerode.core import plural
from nerode.records import RunRecord, Settlement, TableResult, extrapolates_to, first_failing_length
from nerode.study.runs import ModelGroup, TaskGroup
from nerode.study.trained import TheoryOfRuns

_VERDICTS = {"yes": "possible", "no": "impossible", "open": "open in theory"}
_AGREEMENTS = {
    "in kind": "agree in kind",
    "differs": "differ",
    "the paper fails as well": "fail in the paper as well",
    "not learned here": "were not learned here",
}


def conclude_task(
    task: TaskGroup, theory: TheoryOfRuns, settled: Mapping[str, Settlement] | None = None
) -> list[str]:
    """Returns a sentence per model: what theory says, and how far its seeds came.

    Args:
        task: the runs on one task.
        theory: the verdicts on its models.
        settled: the ends of the runs, by key.
    """
    found = []
    for model in task.models:
        verdict = theory.of(model)
        status = None if verdict is None else verdict.status
        found.append(f"{model.label}: {conclude_model(task, model, status, settled or {})}")
    return found


def conclude_model(
    task: TaskGroup, model: ModelGroup, status: str | None, settled: Mapping[str, Settlement]
) -> str:
    """Returns what theory says of a model and what its seeds did, as the end of a sentence.

    Args:
        task: the task, with its measure and its threshold.
        model: all seeds of one model.
        status: "yes", "no" or "open"; None where theory does not speak of the model or the task.
        settled: the ends of its runs, by key.
    """
    seeds = [_seed_end(task, run.record, settled.get(run.record.key)) for run in model.runs]
    longest = max((end.tested for end in seeds), default=0)
    proved = sum(end.proved for end in seeds)
    reaching = sum(end.reaches == longest and end.tested > 0 for end in seeds)
    told = _failures(seeds)
    if proved or reaching:
        verb = "passes" if len(seeds) == 1 else "pass"
        how = "proved at every length" if proved else f"{verb} the tests up to length {longest:,}"
        told = "; ".join(filter(None, (_counted(proved or reaching, len(seeds), how), told)))
    told = told or "not tested"
    if status is None:
        return f"{told}."
    good = bool(proved or reaching)
    if status == "no" and good and not proved:
        return f"impossible at every length, yet {told}; longer words will fail."
    joint = {("yes", True): ": ", ("yes", False): ", but ", ("no", False): ", and "}.get((status, good), "; ")
    return f"{_VERDICTS[status]}{joint}{told}."


@dataclass(frozen=True, slots=True, kw_only=True)
class _SeedEnd:
    """One run: whether it is proved, how far it was tested, reached and failed."""

    proved: bool
    diverged: bool
    tested: int
    reaches: int | None
    fails: int | None
    refuted: int | None


def _seed_end(task: TaskGroup, record: RunRecord, end: Settlement | None) -> _SeedEnd:
    rule = {"measure": task.measure, "threshold": task.threshold}
    return _SeedEnd(
        proved=end is not None and end.status == "proved",
        diverged=record.divergence is not None,
        tested=max((score.length for score in record.evaluations), default=0),
        reaches=extrapolates_to(record.evaluations, **rule),  # type: ignore[arg-type]
        fails=first_failing_length(record.evaluations, **rule),  # type: ignore[arg-type]
        refuted=None if end is None else end.first_wrong_length,
    )


def _failures(seeds: Sequence[_SeedEnd]) -> str:
    """The places at which seeds fail; empty if none does."""
    failing = [end.fails for end in seeds if end.fails is not None and not end.proved]
    refuted = [end.refuted for end in seeds if end.refuted is not None and end.fails is None]
    parts = []
    if failing:
        low, high = min(failing), max(failing)
        where = f"length {low:,}" if low == high else f"lengths {low:,} to {high:,}"
        verb = "fails" if len(seeds) == 1 else "fail"
        parts.append(_counted(len(failing), len(seeds), f"{verb} first at {where}"))
    if refuted:
        more = " or more" if len(refuted) > 1 else ""
        found = f"refuted by search, on a word of {plural(min(refuted), 'letter')}{more}"
        parts.append(_counted(len(refuted), len(seeds), found))
    diverged = sum(end.diverged for end in seeds)
    if diverged:
        parts.append(_counted(diverged, len(seeds), "diverged"))
    return "; ".join(parts)


def _counted(count: int, total: int, what: str) -> str:
    return what if total == 1 else f"{count} of {total} seeds {what}"


def conclude_table(table: TableResult) -> str:
    """Returns what a reproduced table shows: how many published numbers came out again."""
    counts = Counter(cell.agreement for line in table.lines for cell in line.cells if cell.agreement != "–")
    total = counts.total()
    if not total:
        return "No published number stands beside these results."
    agree = counts.pop("agrees", 0)
    rest = "".join(f", {count} {_AGREEMENTS.get(name, name)}" for name, count in counts.most_common())
    return f"{agree} of {total} published numbers agree{rest}."
