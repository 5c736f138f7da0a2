"""Conclusions: what runs show about their models, in one sentence per model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nerode.core import plural
from nerode.languages import with_powers
from nerode.records import RunStatus, TableResult, first_failing_length
from nerode.study.runs import ModelGroup, TaskGroup
from nerode.study.trained import TheoryOfRuns

_VERDICTS = {"yes": "possible", "no": "impossible", "open": "open in theory"}
_AGREEMENTS = {
    "in kind": "agree in kind",
    "differs": "differ",
    "the paper fails as well": "fail in the paper as well",
    "not learned here": "were not learned here",
}


def conclude_task(task: TaskGroup, theory: TheoryOfRuns) -> list[str]:
    """Returns a sentence per model: what theory says, and what its seeds reach.

    Args:
        task: the runs on one task.
        theory: the verdicts on its models.
    """
    found = []
    for model in task.models:
        verdict = theory.of(model)
        found.append(
            f"{model.label}: {conclude_model(task, model, None if verdict is None else verdict.status)}"
        )
    return found


def conclude_model(task: TaskGroup, model: ModelGroup, status: str | None) -> str:
    """Returns the verdict on a model and the results of its seeds, as the second half of a sentence.

    Args:
        task: the task, with its measure and its threshold.
        model: all seeds of one model.
        status: "yes", "no" or "open"; None where theory does not speak of the model or the task.
    """
    seeds = [run.status(measure=task.measure, threshold=task.threshold) for run in model.runs]
    longest = max(model.lengths, default=0)
    proved = sum(seed.kind == "proved" for seed in seeds)
    passing = sum(seed.passes(longest) for seed in seeds)
    text = _failures(task, model, seeds)
    if proved or passing:
        verb = "passes" if len(seeds) == 1 else "pass"
        how = "proved at every length" if proved else f"{verb} the tests up to length {longest:,}"
        text = "; ".join(filter(None, (_counted(proved or passing, len(seeds), how), text)))
    text = text or "not tested"
    if status is None:
        return f"{text}."
    good = bool(proved or passing)
    if status == "no" and good and not proved:
        return f"impossible at every length, yet {text}; longer words will fail."
    joint = {("yes", True): ", and ", ("yes", False): ", but ", ("no", False): ", and "}.get(
        (status, good), "; "
    )
    return f"{_VERDICTS[status]}{joint}{text}."


def _failures(task: TaskGroup, model: ModelGroup, seeds: Sequence[RunStatus]) -> str:
    """The lengths at which seeds fail; empty if none does."""
    rule = {"measure": task.measure, "threshold": task.threshold}
    words: list[tuple[str, ...]] = []
    tests: list[int] = []
    for run, seed in zip(model.runs, seeds, strict=True):
        if seed.kind == "refuted":
            failing = first_failing_length(run.record.evaluations, **rule)  # type: ignore[arg-type]
            if seed.length != failing and run.settled is not None and run.settled.word is not None:
                words.append(run.settled.word)
            else:
                tests.append(seed.length)
    parts = []
    if tests:
        low, high = min(tests), max(tests)
        where = f"length {low:,}" if low == high else f"lengths {low:,} to {high:,}"
        verb = "fails" if len(seeds) == 1 else "fail"
        parts.append(_counted(len(tests), len(seeds), f"{verb} first at {where}"))
    if words:
        shortest, which = min(words, key=len), "words, the shortest" if len(words) > 1 else "the word"
        found = f"refuted by {which} {with_powers(shortest)} ({plural(len(shortest), 'letter')})"
        parts.append(_counted(len(words), len(seeds), found))
    if model.diverged:
        parts.append(_counted(len(model.diverged), len(seeds), "diverged"))
    return "; ".join(parts)


def _counted(count: int, total: int, what: str) -> str:
    return what if total == 1 else f"{count} of {total} seeds {what}"


def conclude_table(table: TableResult) -> str:
    """Returns what a reproduced table shows: how many published numbers agree."""
    counts = Counter(cell.agreement for line in table.lines for cell in line.cells if cell.agreement != "–")
    total = counts.total()
    if not total:
        return "No published number is compared with these results."
    agree = counts.pop("agrees", 0)
    rest = "".join(f", {count} {_AGREEMENTS.get(name, name)}" for name, count in counts.most_common())
    return f"{agree} of {total} published numbers agree{rest}."
