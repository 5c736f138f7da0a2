"""Where a language stands: what theory says, what compiles, what training found, and what is certified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nerode.analysis.about import language_of
from nerode.analysis.network_folders import Certified, Trained, find_folders, read_folder
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, NotCompilable, to_mapping
from nerode.languages import Language
from nerode.verdict import Sense, Task, collect_facts, find_architecture, verdict_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One architecture.

    Attributes:
        architecture: its name in the table of theory.
        theory: "yes", "no" or "open", at finite precision.
        reason: of the verdict.
        compiled: the construction that makes a network; None if there is none.
        refusal: why none is made; empty otherwise.
        trained: runs, all seeds.
        certified: certificates.
        disagreements: where two of the four do not go together, in words.
    """

    architecture: str
    theory: str
    reason: str
    compiled: str | None
    refusal: str
    trained: tuple[Trained, ...] = ()
    certified: tuple[Certified, ...] = ()
    disagreements: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return to_mapping(self)


def compare_standing(
    name: str,
    folders: Sequence[Path],
    *,
    architectures: Iterable[str] = (),
    budget: Budget | None = None,
) -> tuple[Language, list[Standing]]:
    """Returns the language that a name stands for and a row an architecture, disagreements first.

    Args:
        name: a language or a task.
        folders: runs, compiled networks, polished ones, or folders of these.
        architectures: further names of the table of theory.
        budget: limits of each stage.

    Raises:
        InputError: if a folder holds neither, or something about another language.
    """
    budget = budget or Budget()
    language = language_of(name)
    runs: dict[str, list[Trained]] = {}
    certificates: dict[str, list[Certified]] = {}
    asked = Task.PREDICT
    for folder in find_folders(folders):
        found = read_folder(folder, name, language, budget)
        if found.recognises:
            asked = Task.RECOGNISE
        place = found.architecture
        runs.setdefault(place, []).extend([] if found.trained is None else [found.trained])
        certificates.setdefault(place, []).extend(found.certified)
    rows = []
    facts = collect_facts(language, task=asked, budget=budget.start())
    for place in dict.fromkeys([*runs, *architectures]):
        verdict = verdict_for(facts, find_architecture(place), Sense.FINITE_PRECISION)
        construction, refusal = _compiles(language, place, budget)
        row = Standing(
            architecture=place,
            theory=verdict.status.value,
            reason=verdict.reason,
            compiled=construction,
            refusal=refusal,
            trained=tuple(runs.get(place, ())),
            certified=tuple(certificates.get(place, ())),
        )
        rows.append(judge(row))
    return language, sorted(rows, key=lambda row: not row.disagreements)


def _compiles(language: Language, architecture: str, budget: Budget) -> tuple[str | None, str]:
    try:
        network = compile_language(language, architecture, Options(budget=budget.start()))
    except NotCompilable as refusal:
        return None, refusal.reasons[0]
    except BudgetExceeded as stop:
        return None, str(stop)
    return network.origin.construction, ""


def judge(row: Standing) -> Standing:
    """Returns the row with what does not go together."""
    found = []
    proved = [c for c in row.certified if c.all_lengths]
    far = [run for run in row.trained if run.reaches_all]
    if row.theory == "no" and row.compiled is not None:
        found.append(f"theory says no, but {row.compiled} compiles it: a mistake in one of them")
    if row.theory == "no" and proved:
        found.append(
            "theory says no at finite precision, but a certificate speaks of every length: look at its sense"
        )
    if row.theory == "no" and far:
        found.append(
            f"theory says no, but {len(far)} of {len(row.trained)} runs are right up to length "
            f"{max(run.longest or 0 for run in far):,}: they can be right only up to some length"
        )
    if row.theory == "yes" and row.compiled is None:
        found.append("theory says yes, but no construction makes a network")
    if row.theory == "yes" and len(far) < len(row.trained):
        found.append(
            f"theory says yes, but {len(row.trained) - len(far)} of {len(row.trained)} runs did not learn it "
            "at all tested lengths"
        )
    found += [f"the certificate in {c.folder} is refused" for c in row.certified if not c.holds]
    return replace(row, disagreements=tuple(found))
