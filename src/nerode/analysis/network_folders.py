"""What folders of runs and of compiled or polished networks hold, with their certificates checked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nerode.analysis.about import polished_language, same_language, task_language
from nerode.analysis.extraction.extraction import names_in_theory
from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import Language
from nerode.proofs import (
    CERTIFICATE_FILE,
    EXACT,
    LANGUAGE_FILE,
    TRACK,
    Claim,
    check_folder,
    check_polished,
    is_polished,
    read_language,
    read_network,
)
from nerode.records import RESULT, read_run
from nerode.tasks import build_task
from nerode.training import spec_model_config

POLISHED = "ids4"
"""Where polished networks stand: a linear recurrence with a dense matrix for each letter."""


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
class FolderContent:
    """What one folder holds.

    Attributes:
        architecture: its name in the table of theory.
        certified: its certificates.
        trained: what its training found; None if it was not trained.
        recognises: whether it was trained to answer about words rather than to predict what follows.
    """

    architecture: str
    certified: tuple[Certified, ...]
    trained: Trained | None = None
    recognises: bool = False


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
    return (folder / RESULT).exists() or (folder / LANGUAGE_FILE).exists() or is_polished(folder)


def read_folder(folder: Path, name: str, language: Language, budget: Budget) -> FolderContent:
    """Returns what a folder holds about a language, its certificates checked again.

    Args:
        folder: a run, or a compiled or polished network.
        name: what the user calls the language, or a task.
        language: what that stands for.
        budget: limits of each check.

    Raises:
        InputError: if it is about another language, or its layers are not one row of the table of theory.
    """
    if (folder / RESULT).exists():
        return _run(folder, name, language, budget)
    if is_polished(folder):
        _require_same(folder, polished_language(folder), language)
        certified = (_certified(folder, _check_polished, budget),)
        return FolderContent(architecture=POLISHED, certified=certified, recognises=True)
    network = read_network(folder)
    _require_same(folder, read_language(folder), language)
    return FolderContent(architecture=network.target, certified=_certificates(folder, language, budget))


def _run(folder: Path, name: str, language: Language, budget: Budget) -> FolderContent:
    record = read_run(folder)
    spec = record.spec
    task = build_task(spec.task)
    if spec.task.name != name:
        _require_same(folder, task_language(task), language)
    layers = () if spec.model.module else spec_model_config(spec.model, task).layers
    return FolderContent(
        architecture=_only(folder, names_in_theory(layers)),
        certified=_certificates(folder, language, budget),
        recognises=task.name != "language-prediction",
        trained=Trained(
            folder=str(folder),
            seed=spec.run.seed,
            longest=max((score.length for score in record.evaluations), default=None),
            reaches=record.extrapolates_to,
            diverged=record.divergence is not None,
        ),
    )


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
        raise InputError(f"{folder} is about {found.name}, not about {wanted.name}")


def _certificates(folder: Path, language: Language, budget: Budget) -> tuple[Certified, ...]:
    """The certificates in a folder and directly inside it, as the proof of a run is."""

    def check(place: Path, budget: Budget) -> tuple[tuple[Claim, ...], str]:
        result = check_folder(place, budget=budget)
        _require_same(place, read_language(place), language)
        return result.claims, "" if result.failure is None else result.failure.what

    paths = sorted([*folder.glob(CERTIFICATE_FILE), *folder.glob(f"*/{CERTIFICATE_FILE}")])
    return tuple(_certified(path.parent, check, budget) for path in paths)


def _check_polished(folder: Path, budget: Budget) -> tuple[tuple[Claim, ...], str]:
    found = check_polished(folder, budget=budget)
    return found.claims, found.problem


def _certified(
    folder: Path, check: Callable[[Path, Budget], tuple[tuple[Claim, ...], str]], budget: Budget
) -> Certified:
    """A certificate checked again; `check` returns its claims, or none and why it is refused."""
    try:
        claims, refused = check(folder, budget.start())
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
    length = "N" if claim.length == "all" else f"{claim.length:,}"
    said = claim.scope.replace("a dtype", claim.dtype or "a dtype").replace("length N", f"length {length}")
    # The claim about every length is not about the weights, which are rounded.
    return f"{said}, with its exact matrices" if claim.task == TRACK and claim.scope == EXACT else said
