"""Searches for more claims about a compiled network: float formats, windows, noise, fragile words."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from nerode.cli.options import failure_object, print_failure
from nerode.core import DTYPES, Budget, BudgetExceeded, InputError, UnknownName, read_fraction
from nerode.network import LogitDecoder
from nerode.proofs import (
    CheckResult,
    check_folder,
    claim_to_json,
    read_float_certificate,
    read_language,
    read_network,
)
from nerode.records import Folder
from nerode.report import claim_line, language_line

if TYPE_CHECKING:
    from nerode.proofs.floats import Examination
    from nerode.study import Question

_KNOWN: tuple[Question, ...] = ("window", "noise", "fragile")


def search_claims(
    folder: Path, options: dict[str, Any], *, save: bool, as_json: bool, budget: Budget
) -> NoReturn:
    """Searches for what the options ask about the network of a folder, prints it and ends the command.

    What is found in exact arithmetic is added to its certificate; what is found in floats is written beside
    it if it is to be saved.
    """
    from nerode.study import add_claims

    wanted = _read_dtypes(options["dtypes"])
    eps = _read_eps(options["eps"], options)
    if options["save"] and not wanted:
        raise InputError("--save keeps proofs in floats; say in which with --dtype")
    if Folder(folder).subject.network.kind != "exact":
        raise InputError(f"these searches are for compiled networks, and {folder} is none; leave them out")
    questions = [question for question in _KNOWN if options[question]]
    result = check_folder(folder, budget=budget)
    searches = add_claims(folder, questions, eps=eps, budget=budget) if result.ok and questions else []
    if any(search.found for search in searches):
        result = check_folder(folder, budget=budget)
    found: list[Examination] = []
    stopped = ""
    try:
        for seen in _examine(folder, result, wanted, save=save, budget=budget) if result.ok else ():
            found.append(seen)  # noqa: PERF402 - what is there when the budget ends counts
    except BudgetExceeded as stop:
        if not any(seen.failure for seen in found):
            raise
        stopped = f"not examined in {', '.join(wanted[len(found) :])}: {stop}"
    if as_json:
        item = _object(result, found)
        if stopped:
            item["stopped"] = stopped
        if searches:
            item["searches"] = {s.question: {"found": s.found, "problem": s.problem} for s in searches}
        click.echo(json.dumps(item, ensure_ascii=False))
    else:
        _print(folder, result, found)
        if stopped:
            click.echo(stopped, err=True)
        for search in searches:
            if not search.found:
                click.echo(f"✗ {search.question}: {search.problem}", err=True)
    good = result.ok and all(_is_good(e, result) for e in found) and all(s.found for s in searches)
    sys.exit(0 if good else 1)


_Command = TypeVar("_Command", bound=Callable[..., Any])


def search_options(*, hidden: bool = False) -> Callable[[_Command], _Command]:
    """Returns the options of these searches for a command."""
    options = [
        click.option(
            "--dtype",
            "dtypes",
            metavar="D,D",
            hidden=hidden,
            help=f"Run a compiled network as a module in these float formats ({', '.join(DTYPES)}): prove "
            "it correct bit for bit, or report up to which length.",
        ),
        click.option(
            "--window",
            is_flag=True,
            hidden=hidden,
            help="Prove how many last letters matter in a compiled network, and add it to the certificate.",
        ),
        click.option(
            "--noise",
            is_flag=True,
            hidden=hidden,
            help="Prove a compiled network correct under the largest noise that is found, and add it.",
        ),
        click.option(
            "--fragile",
            is_flag=True,
            hidden=hidden,
            help="Find a word along which a linear layer keeps every error, and add it.",
        ),
        click.option(
            "--eps",
            metavar="E",
            hidden=hidden,
            help="With --window: change that older letters may make. With --fragile: size of the noise.",
        ),
    ]

    def added(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return added


def _read_eps(text: str | None, options: dict[str, Any]) -> Fraction | None:
    """The size that windows and fragile words are about."""
    if text is None:
        return None
    if not options["window"] and not options["fragile"]:
        raise InputError("--eps belongs to --window and --fragile; give one of them")
    return read_fraction(text, name="--eps")


def _read_dtypes(names: str | None) -> list[str]:
    if names is None:
        return []
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise InputError(f"--dtype was given no name; allowed are {', '.join(DTYPES)}")
    for name in wanted:
        if name not in DTYPES:
            raise UnknownName("float format", name, DTYPES)
    return wanted


def _examine(
    folder: Path, result: CheckResult, dtypes: list[str], *, save: bool, budget: Budget
) -> Iterator[Examination]:
    """The examinations in each float format; this loads torch."""
    if not dtypes:
        return
    from nerode.proofs.floats import examine, store

    network, language = read_network(folder), read_language(folder)
    if save:
        # A file of somebody else is not overwritten.
        for dtype in dtypes:
            read_float_certificate(folder, dtype)
    for number, dtype in enumerate(dtypes):
        share = budget.part(1 / (len(dtypes) - number))
        seen = examine(network, language, dtype=dtype, known=result.claims, folder=folder, budget=share)
        if save:
            store(folder, seen)
        yield seen


def _is_good(seen: Examination, result: CheckResult) -> bool:
    """Whether no word fails in a format, and something is proved for it."""
    proofs = [c for c in (*result.claims, *seen.claims) if c.dtype == seen.dtype and c.scope != "tested only"]
    return seen.failure is None and bool(proofs)


def _print(folder: Path, result: CheckResult, found: list[Examination]) -> None:
    if result.ok:
        click.echo(language_line(read_language(folder)))
    else:
        assert result.failure is not None
        print_failure("refused", result.failure)
    for claim in result.claims:
        click.echo(claim_line(claim))
    # The module of a model with probabilities is compared by the words that it allows.
    logits = found and isinstance(read_network(folder).decoder, LogitDecoder)
    what = ": which words may follow" if logits else ""
    for claim in (c for seen in found for c in seen.claims):
        click.echo(claim_line(claim) + what)
    for seen in found:
        if seen.failure is not None:
            print_failure(seen.dtype, seen.failure)
        elif not _is_good(seen, result):
            click.echo(f"nothing is proved in {seen.dtype}: {seen.details.get('reason')}", err=True)
        if "horizon" in seen.details:
            click.echo(f"  {seen.dtype}: {_horizon_line(**seen.details['horizon'])}", err=True)


def _horizon_line(
    *, word: str, predicted: int | None, measured: int | None, at: int | None, steps: bool
) -> str:
    """The length at which a loop fails, in one line."""
    if measured is None or at is None:
        return f"{word} should fail at n = {predicted:,}; it was not run that far"
    guess = "not predicted" if predicted is None else f"predicted: n = {predicted:,}"
    return f"{word} fails at n = {measured:,}, after {at:,} letters ({guess})"


def _object(result: CheckResult, found: list[Examination]) -> dict[str, Any]:
    failure = result.failure or next((seen.failure for seen in found if seen.failure is not None), None)
    item = {
        "ok": result.ok and all(_is_good(seen, result) for seen in found),
        "claims": [
            claim_to_json(claim) for claim in (*result.claims, *(c for seen in found for c in seen.claims))
        ],
        "failure": None if failure is None else failure_object(failure),
    }
    if found:
        item["floats"] = {
            seen.dtype: {
                **seen.details,
                "failure": None if seen.failure is None else failure_object(seen.failure),
            }
            for seen in found
        }
    return item
