"""Where a language stands: what theory says, what compiles, what training found, and what is certified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nerode.analysis.extraction.comparison import acceptor
from nerode.analysis.extraction.extract import architectures_of
from nerode.analysis.extraction.question import MooreTarget
from nerode.analysis.extraction.task_questions import question_of
from nerode.analysis.subject import Subject, load_subject
from nerode.certificates.checker import CERTIFICATE_FILE, LANGUAGE_FILE, check_folder
from nerode.compiler.construction import Options
from nerode.compiler.pipeline import compile_language
from nerode.core.budget import Budget
from nerode.core.config import to_mapping
from nerode.core.errors import BudgetExceeded, InputError, NotCompilable, UnknownName
from nerode.languages.dfa import Dfa
from nerode.languages.language import Language, RegularLanguage
from nerode.languages.resolve import resolve_language
from nerode.tasks.table import TaskConfig, find_task
from nerode.tasks.task import Task
from nerode.training.run_folder import RESULT, read_run
from nerode.verdict.architectures import find_architecture
from nerode.verdict.decide import collect_facts, verdict_for
from nerode.verdict.records import Sense
from nerode.verdict.records import Task as Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What one run found.

    Attributes:
        folder: of the run.
        seed: of the run.
        longest: the longest length that was tested.
        reaches: the longest tested length that is mastered with all shorter ones; None if none is.
        diverged: whether it has no model.
    """

    folder: str
    seed: int
    longest: int | None
    reaches: int | None
    diverged: bool

    @property
    def reaches_all(self) -> bool:
        """Whether all tested lengths are mastered."""
        return self.longest is not None and self.reaches == self.longest


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """A certificate, checked again.

    Attributes:
        folder: where it is.
        holds: whether the checker accepts it.
        claims: what it then claims, or why it is refused.
        all_lengths: whether one of the claims is about every length.
    """

    folder: str
    holds: bool
    claims: tuple[str, ...]
    all_lengths: bool


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
        folders: runs, compiled networks, or folders of these.
        architectures: further names of the table of theory.
        budget: limits of each stage.

    Raises:
        InputError: if a folder holds neither, or something about another language.
    """
    budget = budget or Budget()
    language = language_of(name)
    runs: dict[str, list[Trained]] = {}
    certificates: dict[str, list[Certified]] = {}
    asked = Asked.PREDICT
    for folder in _all_folders(folders):
        place, trained, recognises = _look(folder, name, language)
        if recognises:
            asked = Asked.RECOGNISE
        runs.setdefault(place, [])
        if trained is not None:
            runs[place].append(trained)
        certificates.setdefault(place, []).extend(_certificates(folder, budget))
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


def language_of(name: str) -> Language:
    """Returns the language that a name of a language or of a task stands for."""
    try:
        return resolve_language(name)
    except InputError as no_language:
        try:
            find_task(name)
        except UnknownName:
            raise no_language from None
        return task_language(TaskConfig(name=name).build())


def task_language(task: Task) -> Language:
    """Returns the language that a task is about; for classes, the words of one class."""
    found = getattr(task, "language", None)
    if isinstance(found, Language) and task.name != "dfa-states":
        return found
    question = question_of(task)
    assert isinstance(question.target, MooreTarget)
    dfa = acceptor(question.target.machine, question.kind)
    return RegularLanguage(name=question.target.name, automaton=dfa, convention=question.target.name)


def _all_folders(folders: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for folder in folders:
        if _holds_network(folder):
            found.append(folder)
            continue
        inside = sorted(p for p in folder.iterdir() if _holds_network(p)) if folder.is_dir() else []
        if not inside:
            raise InputError(f"{folder} is neither a run nor a compiled network, nor a folder of these")
        found.extend(inside)
    return found


def _holds_network(folder: Path) -> bool:
    return (folder / RESULT).exists() or (folder / LANGUAGE_FILE).exists()


def _look(folder: Path, name: str, language: Language) -> tuple[str, Trained | None, bool]:
    """The architecture of a folder, what its training found, and whether whole words are recognised."""
    if not (folder / RESULT).exists():
        subject = load_subject(folder)
        _require_same(folder, subject.language, language)
        return _architecture(folder, subject), None, False
    record = read_run(folder)
    task = TaskConfig(**record.spec["task"]).build()
    if record.spec["task"]["name"] != name:
        _require_same(folder, task_language(task), language)
    trained = Trained(
        folder=str(folder),
        seed=int(record.spec.get("run", {}).get("seed", 0)),
        longest=max((score.length for score in record.evaluations), default=None),
        reaches=record.extrapolates_to,
        diverged=record.divergence is not None,
    )
    place = record.title if record.divergence else _architecture(folder, load_subject(folder))
    return place, trained, task.name != "language-prediction"


def _architecture(folder: Path, subject: Subject) -> str:
    names = set(architectures_of(subject))
    if len(names) != 1:
        raise InputError(
            f"{folder} has layers that are not one architecture of the table of theory "
            f"({', '.join(sorted(names)) or 'none of them is there'}); leave it out"
        )
    return names.pop()


def _require_same(folder: Path, found: Language | None, wanted: Language) -> None:
    if found is not None and (found.name == wanted.name or same_language(found, wanted)):
        return
    raise InputError(f"{folder} is about {found.name if found else 'no language'}, not about {wanted.name}")


def same_language(left: Language, right: Language) -> bool:
    """Returns whether two languages are equal up to the names of letters, or complements."""
    if not (left.regular and right.regular):
        return False
    one, two = left.dfa(), right.dfa()
    return _tables_equal(one, two) and (
        bool(np.array_equal(one.accepting, two.accepting))
        or bool(np.array_equal(~one.accepting, two.accepting))
    )


def _tables_equal(left: Dfa, right: Dfa) -> bool:
    return bool(np.array_equal(left.transitions, right.transitions)) and left.start == right.start


def _certificates(folder: Path, budget: Budget) -> list[Certified]:
    found = []
    for path in sorted([*folder.glob(CERTIFICATE_FILE), *folder.glob(f"*/{CERTIFICATE_FILE}")]):
        try:
            result = check_folder(path.parent, budget=budget.start())
        except (InputError, BudgetExceeded) as error:
            found.append(
                Certified(folder=str(path.parent), holds=False, claims=(str(error),), all_lengths=False)
            )
            continue
        claims = tuple(claim.scope for claim in result.claims) if result.ok else ()
        refused = () if result.failure is None else (result.failure.what,)
        found.append(
            Certified(
                folder=str(path.parent),
                holds=result.ok,
                claims=claims or refused,
                all_lengths=result.ok and any(claim.length == "all" for claim in result.claims),
            )
        )
    return found


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
