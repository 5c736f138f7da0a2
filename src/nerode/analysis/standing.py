"""The standing of a language: theory, constructions, runs and certificates side by side, per architecture.

Folders of runs and of compiled or polished networks are read, and their certificates checked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nerode.analysis.extraction.comparison import acceptor
from nerode.analysis.extraction.extraction import architectures_of, names_in_theory
from nerode.analysis.settle.keeping import confirmed_settlement, replay_settlement
from nerode.analysis.subject import load_subject
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, InputError, NotCompilable, UnknownName, started, to_mapping
from nerode.languages import (
    Alphabet,
    Dfa,
    Language,
    LanguageQuestion,
    MooreQuestion,
    RegularLanguage,
    language_hash,
    resolve_language,
    title_of,
)
from nerode.proofs import (
    CERTIFICATE_FILE,
    EXACT,
    TRACK,
    UP_TO_LENGTH,
    Claim,
    check_folder,
    check_polished,
    is_polished,
    read_language,
    read_network,
    read_proof,
)
from nerode.records import (
    RESULT,
    SETTLED,
    SUBJECT_FILE,
    Folder,
    Settlement,
    TaskConfig,
    read_run,
    read_settlement,
    run_status,
)
from nerode.tasks import Recognition, Task, build_task, find_task
from nerode.training import spec_model_config
from nerode.verdict import (
    Sense,
    VerdictTask,
    collect_facts,
    declaration_trouble,
    find_architecture,
    verdict_for,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One architecture.

    Attributes:
        architecture: its name in the table of theory; of an own model its title and its declared class.
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
    trust_code: bool = False,
) -> tuple[Language, list[Standing]]:
    """Returns the language that a name stands for and one row per architecture, disagreements first.

    Args:
        name: a language or a task.
        folders: runs, compiled networks, polished ones, or folders of these.
        architectures: further names of the table of theory.
        budget: limits; each stage may take half of the seconds that are left.
        trust_code: whether modules that runs name may run, so that proofs of own models are replayed. What
            is kept of their ends does not count otherwise.

    Raises:
        InputError: if a folder holds neither, or something about another language.
    """
    budget = started(budget)
    language = language_of(name)
    runs: dict[str, list[Trained]] = {}
    declared: dict[str, tuple[str, str]] = {}
    certificates: dict[str, list[Certified]] = {}
    asked = VerdictTask.PREDICT
    for folder in find_folders(folders):
        found = read_folder(folder, name, language, budget, trust_code=trust_code)
        if found.recognises:
            asked = VerdictTask.RECOGNISE
        place = found.label or found.architecture
        declared[place] = (found.architecture, found.trouble)
        runs.setdefault(place, []).extend([] if found.trained is None else [found.trained])
        certificates.setdefault(place, []).extend(found.certified)
    rows = []
    facts = collect_facts(language, task=asked, budget=budget.part())
    for place in dict.fromkeys([*runs, *architectures]):
        architecture, trouble = declared.get(place, (place, ""))
        if trouble:
            rows.append(_untold(place, trouble, tuple(runs[place])))
            continue
        verdict = verdict_for(facts, find_architecture(architecture), Sense.FINITE_PRECISION)
        construction, refusal = _compiles(language, architecture, budget)
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


def _untold(place: str, trouble: str, runs: tuple[Trained, ...]) -> Standing:
    """The row of an own model of which theory says nothing: undeclared, or not what is declared."""
    contrary = (trouble,) if trouble.startswith("it is declared") else ()
    return Standing(
        architecture=place,
        theory="open",
        reason=trouble,
        compiled=None,
        refusal=trouble,
        trained=runs,
        disagreements=contrary,
    )


def _compiles(language: Language, architecture: str, budget: Budget) -> tuple[str | None, str]:
    try:
        network = compile_language(language, architecture, Options(budget=budget.part()))
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
            f"theory says no, but {len(far)} of {len(row.trained)} runs pass the tests up to length "
            f"{max(run.longest or 0 for run in far):,}: longer words will fail"
        )
    if row.theory == "yes" and row.compiled is None:
        found.append("theory says yes, but no construction makes a network")
    if row.theory == "yes" and len(far) < len(row.trained):
        found.append(
            f"theory says yes, but {len(row.trained) - len(far)} of {len(row.trained)} runs fail at a "
            "tested length, or on a word that is known"
        )
    found += [f"the certificate in {c.folder} is refused" for c in row.certified if not c.holds]
    return replace(row, disagreements=tuple(found))


POLISHED = "ids4"
"""The architecture of polished networks: a linear recurrence with a dense matrix for each letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """The outcome of one run.

    Attributes:
        folder: of the run.
        seed: of the run.
        longest: the longest length that was tested.
        reaches: the longest tested length that is mastered with all shorter ones; None if none is.
        diverged: whether it has no model.
        status: in words: proved, refuted or tested.
        settled: "proved", "refuted" or "unsettled"; empty if `nerode prove` was not asked.
        fails_first: the length of the failing word, if it is refuted.
    """

    folder: str
    seed: int
    longest: int | None
    reaches: int | None
    diverged: bool
    status: str = ""
    settled: str = ""
    fails_first: int | None = None

    @property
    def reaches_all(self) -> bool:
        """Whether all tests are passed, and no word of at most their length is known to be wrong."""
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
class FolderContent:
    """The content of one folder.

    Attributes:
        architecture: its name in the table of theory.
        certified: its certificates.
        trained: what its training found; None if it was not trained.
        recognises: whether it was trained to answer about words rather than to predict what follows.
        label: what its row is called, if not by the architecture.
        trouble: why theory says nothing of it; empty if it does.
    """

    architecture: str
    certified: tuple[Certified, ...]
    trained: Trained | None = None
    recognises: bool = False
    label: str = ""
    trouble: str = ""


def find_folders(folders: Sequence[Path]) -> list[Path]:
    """Returns the folders that hold a network: the given ones, or those directly inside them.

    Raises:
        InputError: if one holds none.
    """
    found: list[Path] = []
    for folder in folders:
        if _holds_network(folder):
            found.append(folder)
            continue
        inside = sorted(p for p in folder.iterdir() if _holds_network(p)) if folder.is_dir() else []
        if not inside:
            raise InputError(
                f"{folder} is neither a run nor a compiled or polished network, nor a folder of these"
            )
        found.extend(inside)
    return found


def _holds_network(folder: Path) -> bool:
    return any((folder / name).exists() for name in (RESULT, SUBJECT_FILE))


def read_folder(
    folder: Path, name: str, language: Language, budget: Budget, *, trust_code: bool = False
) -> FolderContent:
    """Returns the content of a folder about a language, its certificates checked again.

    Args:
        folder: a run, or a compiled or polished network.
        name: what the user calls the language, or a task.
        language: what that stands for.
        budget: limits of each check.
        trust_code: whether a module that a run names may run.

    Raises:
        InputError: if it is about another language, or its layers are not one row of the table of theory.
    """
    if (folder / RESULT).exists():
        return _run(folder, name, language, budget, trust_code)
    if is_polished(folder):
        _require_same(folder, polished_language(folder), language)
        certified = (_certified(folder, _check_polished, budget),)
        return FolderContent(architecture=POLISHED, certified=certified, recognises=True)
    if Folder(folder).subject.network.kind != "exact":
        return _imported(folder, language)
    network = read_network(folder)
    _require_same(folder, read_language(folder), language)
    return FolderContent(architecture=network.target, certified=_certificates(folder, language, budget))


def _imported(folder: Path, language: Language) -> FolderContent:
    subject = load_subject(folder)
    if subject.language is None or subject.imported is None:
        raise InputError(
            f"{folder} has no language (`nerode import --language`); nothing says what is correct"
        )
    _require_same(folder, subject.language, language)
    return FolderContent(
        architecture=_only(folder, architectures_of(subject)),
        certified=(),
        recognises=isinstance(subject.task, Recognition),
        label=subject.name,
    )


def _run(folder: Path, name: str, language: Language, budget: Budget, trust_code: bool) -> FolderContent:
    record = read_run(folder)
    spec = record.spec
    task = build_task(spec.task)
    if spec.task.name != name:
        _require_same(folder, task_language(task), language)
    architecture, label, trouble = record.theory, "", ""
    if spec.model.module:
        label = f"{record.title} ({record.theory or 'undeclared'})"
        trouble = declaration_trouble(record.theory, record.transitions)
    else:
        architecture = _only(folder, names_in_theory(spec_model_config(spec.model, task).layers))
    replays = (trust_code or not spec.model.module) and record.divergence is None
    end, kept = _end(folder, budget, trust_code) if replays else (None, ())
    status = run_status(record, end)
    unread = record.divergence is None and not replays and read_settlement(folder) is not None
    return FolderContent(
        architecture=architecture,
        label=label,
        trouble=trouble,
        certified=kept,
        recognises=task.name != "language-prediction",
        trained=Trained(
            folder=str(folder),
            seed=spec.run.seed,
            longest=max((score.length for score in record.evaluations), default=None),
            reaches=status.tested or None,
            diverged=record.divergence is not None,
            status=f"{status}; its stored result is not replayed without --trust-code"
            if unread
            else str(status),
            settled="" if end is None else end.status,
            fails_first=None if end is None else end.first_wrong_length,
        ),
    )


def _end(folder: Path, budget: Budget, trust_code: bool) -> tuple[Settlement | None, tuple[Certified, ...]]:
    """The kept end of a run if a replay confirms it, with its proof or the reason why it does not count."""
    confirmed: list[Settlement | None] = []

    def check(place: Path, budget: Budget) -> tuple[tuple[Claim, ...], str]:
        if known is not None and known.status == "proved":
            replayed, settlement = replay_settlement(folder, budget=budget, trust_code=trust_code)
            confirmed.append(settlement)
            failure = "" if replayed.failure is None else replayed.failure.what
            return replayed.claims, failure or ("" if settlement is not None else "it does not prove the run")
        confirmed.append(confirmed_settlement(folder, budget=budget, trust_code=trust_code))
        return (), "" if confirmed[0] else "what is kept of its end is not confirmed by its weights"

    known = read_settlement(folder)
    if known is None:
        return None, ()
    found = _certified(folder / SETTLED, check, budget)
    return (confirmed[0] if found.holds and confirmed else None), (found,) if found.claims else ()


def _only(folder: Path, architectures: Sequence[str]) -> str:
    names = set(architectures)
    if len(names) != 1:
        raise InputError(
            f"{folder} has layers that are not one architecture of the table of theory "
            f"({', '.join(sorted(names)) or 'none of them is there'}); leave it out"
        )
    return names.pop()


def _require_same(folder: Path, found: Language, wanted: Language) -> None:
    if not same_language(found, wanted):
        raise InputError(f"{folder} is about {title_of(found)}, not about {wanted.name}")


def _certificates(folder: Path, language: Language, budget: Budget) -> tuple[Certified, ...]:
    """The certificate in the folder of a compiled network."""

    def check(place: Path, budget: Budget) -> tuple[tuple[Claim, ...], str]:
        found = check_folder(place, budget=budget)
        return found.claims, "" if found.failure is None else found.failure.what

    return (_certified(folder, check, budget),) if (folder / CERTIFICATE_FILE).exists() else ()


def _check_polished(folder: Path, budget: Budget) -> tuple[tuple[Claim, ...], str]:
    found = check_polished(folder, budget=budget)
    return found.claims, found.problem


def _certified(
    folder: Path, check: Callable[[Path, Budget], tuple[tuple[Claim, ...], str]], budget: Budget
) -> Certified:
    """A certificate checked again; `check` returns its claims, or none and why it is refused."""
    try:
        claims, refused = check(folder, budget.part())
    except (InputError, BudgetExceeded) as error:
        claims, refused = (), str(error)
    return Certified(
        folder=str(folder),
        holds=not refused,
        claims=(refused,) if refused else tuple(map(_said, claims)),
        all_lengths=any(claim.length == "all" for claim in claims),
    )


def _said(claim: Claim) -> str:
    """The scope of a claim with its dtype and length."""
    if claim.scope == UP_TO_LENGTH:
        return f"correct up to length {claim.length:,} in {claim.dtype}"
    length = "N" if claim.length == "all" else f"{claim.length:,}"
    said = claim.scope.replace("a dtype", claim.dtype or "a dtype").replace("length N", f"length {length}")
    # The claim about every length is not about the weights, which are rounded.
    return f"{said}, with its exact matrices" if claim.task == TRACK and claim.scope == EXACT else said


def language_of(name: str) -> Language:
    """Returns the language that a name of a language or of a task stands for."""
    try:
        return resolve_language(name)
    except InputError as no_language:
        try:
            find_task(name)
        except UnknownName:
            raise no_language from None
        return task_language(build_task(TaskConfig(name=name)))


def task_language(task: Task) -> Language:
    """Returns the language that a task is about; for classes, the words of one class."""
    found = getattr(task, "language", None)
    if isinstance(found, Language) and task.name != "dfa-states":
        return found
    question = task.question()
    if isinstance(question, LanguageQuestion):
        return question.language
    assert isinstance(question, MooreQuestion)
    dfa = acceptor(question.machine, "class")
    return RegularLanguage(name=question.name, automaton=dfa, convention=question.name)


def polished_language(folder: Path) -> Language:
    """Returns the language that a polished network is about: the words whose product is the identity."""
    proof = read_proof(folder)
    group = proof.group
    identity = np.arange(group.order) == group.identity
    dfa = Dfa(
        alphabet=Alphabet(tuple(group.element_names[letter] for letter in proof.letters)),
        transitions=group.times(proof.letters),
        start=group.identity,
        accepting=identity,
    )
    name = f"the word problem of {group.name}"
    return RegularLanguage(name=name, automaton=dfa, convention=name)


def same_language(left: Language, right: Language) -> bool:
    """Returns whether two languages are equal up to the names of letters, or complements.

    What a language is called does not count: a file may call its language as it likes.
    """
    if not (left.regular and right.regular):
        return language_hash(left) == language_hash(right)
    one, two = left.dfa(), right.dfa()
    same_moves = one.start == two.start and bool(np.array_equal(one.transitions, two.transitions))
    return same_moves and (
        bool(np.array_equal(one.accepting, two.accepting))
        or bool(np.array_equal(~one.accepting, two.accepting))
    )
