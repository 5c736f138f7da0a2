"""Open cells of the table of verdicts: all named languages × named architectures × senses, both tasks."""

from __future__ import annotations

from collections import Counter

from nerode.algebra import profile
from nerode.core import Budget
from nerode.languages import resolve_language
from nerode.languages.bestiary import BESTIARY
from nerode.verdict import Sense, Verdict, VerdictTask, decide

AT_THE_START = {VerdictTask.PREDICT: 654, VerdictTask.RECOGNISE: 662}
"""Open cells at the start of the third build, commit d354449c."""

_WITHOUT_SLOPES = ("transformer", "transformer-nope")
_OUTSIDE_COMPONENTS = (
    ("cyclic-monoid-2-3", VerdictTask.PREDICT),
    ("cyclic-monoid-2-3", VerdictTask.RECOGNISE),
    ("cycle-navigation-announced", VerdictTask.RECOGNISE),
)


def reopened(verdict: Verdict, language: str) -> str:
    """Returns the correction that made an open cell of a "no"; empty for other cells."""
    if verdict.sense is Sense.IEEE and verdict.architecture in _WITHOUT_SLOPES:
        return "W2, W5: sums of attention in order"
    if verdict.sense is Sense.FINITE_PRECISION and language == "dyck-2" and "rwkv" in verdict.architecture:
        return "W1: products of steps of RWKV-7"
    if verdict.architecture in ("aussm", "orthogonal") and (language, verdict.task) in _OUTSIDE_COMPONENTS:
        return "W3: overwriting outside of components" if verdict.sense is Sense.FINITE_PRECISION else ""
    return ""


def main() -> None:
    """Prints the open cells by task and sense, and those that corrections have opened."""
    defined, left, again = Counter[str](), Counter[tuple[str, str]](), Counter[str]()
    for name in BESTIARY:
        language = resolve_language(name)
        algebra = profile(language, Budget(seconds=30))
        for task in VerdictTask:
            table = decide(language, task=task, profile=algebra)
            defined[task] += sum(not verdict.undefined for verdict in table)
            for verdict in table.open_cells():
                left[task, verdict.sense] += 1
                again[reopened(verdict, name)] += 1
    del again[""]
    total, opened = sum(left.values()), sum(again.values())
    print(f"{total} of {sum(defined.values()):,} cells are open, {opened} of them by corrections")
    for task in VerdictTask:
        of_task = {str(sense): left[task, sense] for sense in Sense}
        print(f"to {task}: {sum(of_task.values())} (at the start {AT_THE_START[task]}): {of_task}")
    for reason, cells in sorted(again.items()):
        print(f"  {cells:3} open by {reason}")


if __name__ == "__main__":
    main()
