"""`nerode verify`: re-checks a certificate by the kernel, which shares no code with what made it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nerode.cli.models import Replay, has_proved_weights, replay_model
from nerode.cli.options import Command, RunPath, budgeted, trust_option
from nerode.core import DTYPES, Budget, BudgetExceeded, InputError, UnknownName, read_fraction
from nerode.network import LogitDecoder
from nerode.proofs import (
    CERTIFICATE_FILE,
    POLISH_FILE,
    Certificate,
    CheckResult,
    Failure,
    Unproved,
    check_folder,
    check_polished,
    claim_to_json,
    is_polished,
    read_language,
    read_network,
    renew,
    run_of,
)
from nerode.records import read_settlement
from nerode.report import claim_line, language_line, polished_lines
from nerode.study import Question, add_claims

FLOAT_CERTIFICATE = "certificate.float32.json"
"""The list of float states of a run's proof, in its folder `proof`."""

NOTHING_PROVED = 3
"""The exit code for a run with a proof that holds, but of another model than its own."""

if TYPE_CHECKING:
    from nerode.proofs.floats import Examination


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=RunPath())
@click.option(
    "--dtype",
    "dtypes",
    metavar="D,D",
    help=f"Also run the network as a module in these float formats ({', '.join(DTYPES)}): prove it "
    "correct bit for bit, or say up to which length.",
)
@click.option(
    "--renew",
    "renews",
    is_flag=True,
    help="Prove the network again and rewrite its certificate, for one of an older version.",
)
@click.option(
    "--window",
    is_flag=True,
    help="Also prove how many last letters matter, and add it to the certificate.",
)
@click.option(
    "--noise",
    is_flag=True,
    help="Also prove the network correct under the largest noise that is found, and add it.",
)
@click.option(
    "--fragile",
    is_flag=True,
    help="Also find a word along which a linear layer keeps every error, and add it.",
)
@click.option(
    "--eps",
    metavar="E",
    help="With --window: change that older letters may make. With --fragile: size of the noise.",
)
@click.option("--save", is_flag=True, help="Keep the proofs in floats in DIR; later they are only replayed.")
@trust_option
@budgeted()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(
    folder: Path,
    dtypes: str | None,
    renews: bool,
    save: bool,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
    **options: Any,
) -> None:
    """Re-check the certificate in DIR; exit 1 if it does not hold.

    Exit 3 for a run whose proof holds, but is about another model than the weights of the run.

    The certificates of the weights in DIR/model/ are replayed step by step, if torch is installed.

    DIR may also be the folder of a run that was certified (`nerode train … --certify`), or of a polished
    network (`nerode polish RUN -o DIR`).
    With --dtype, also exit 1 if the network fails on some word in one of the formats, or nothing is proved;
    with --window, --noise or --fragile, if nothing of the kind is proved.

    \b
    nerode verify flip-flop/ --dtype float32,bfloat16 --save
    nerode verify last-but-3/ --window
    nerode verify lstm/ --noise
    nerode verify parity/ --fragile --eps 1/100
    """
    wanted = _read_dtypes(dtypes)
    eps = _read_eps(options["eps"], options)
    if save and not wanted:
        raise InputError("--save keeps proofs in floats; say in which with --dtype")
    if is_polished(folder):
        if _questions(options):
            raise InputError(
                "the certificate of a polished network has no windows, noise or fragile words; leave them out"
            )
        _verify_polished(folder, wanted, as_json, budget)
    replayed = _replayed(folder, budget, trust_code=trust_code)
    if replayed is not None:
        replay, about, of_run = replayed
        if replay.ok and not of_run:
            _other_model(about, as_json)
        _conclude(replay, [*map(claim_line, replay.claims), f"about {about}"], as_json, about=about)
    folder = _folder_of_proof(folder)
    if renews:
        _renew(folder, budget)
    questions = _questions(options)
    result, about, of_run = _check(folder, budget)
    if result.ok and about and not of_run:
        _other_model(about, as_json)
    searches = add_claims(folder, questions, eps=eps, budget=budget) if result.ok and questions else []
    if any(search.found for search in searches):
        result, about, _ = _check(folder, budget)
    # What is stored takes as long as it takes; the search in floats takes what is left.
    model = replay_model(folder, budget) if result.ok else None
    found: list[Examination] = []
    stopped = ""
    try:
        for seen in (
            _examine(folder, result, wanted, save=save, budget=budget) if result.ok and wanted else ()
        ):
            found.append(seen)  # noqa: PERF402 - what is there when the budget ends counts
    except BudgetExceeded as stop:
        refuted = (model is not None and model.failure) or any(seen.failure for seen in found)
        if not refuted:
            raise
        stopped = f"not examined in {', '.join(wanted[len(found) :])}: {stop}"
    if as_json:
        item = _object(result, found) | ({"about": about} if about else {})
        if stopped:
            item["stopped"] = stopped
        if model is not None:
            item |= {"ok": item["ok"] and model.ok, "model": _replay_object(model)}
        if searches:
            item["searches"] = {s.question: {"found": s.found, "problem": s.problem} for s in searches}
        click.echo(json.dumps(item, ensure_ascii=False))
    else:
        _print(folder, result, found)
        if about:
            click.echo(f"about {about}")
        if model is not None:
            _print_model(model)
        if stopped:
            click.echo(stopped, err=True)
        for search in searches:
            if not search.found:
                click.echo(f"✗ {search.question}: {search.problem}", err=True)
    good = result.ok and all(_is_good(e, result) for e in found) and all(s.found for s in searches)
    sys.exit(0 if good and (model is None or model.ok) else 1)


def _print_model(model: Replay) -> None:
    for claim in model.claims:
        click.echo(f"{claim_line(claim)}: model/")
    if model.failure is not None:
        _print_failure("model/ refused", model.failure)
    if model.skipped:
        click.echo(model.skipped, err=True)


def _replay_object(model: Replay) -> dict[str, Any]:
    return {
        "claims": [claim_to_json(claim) for claim in model.claims],
        "failure": None if model.failure is None else _failure(model.failure),
        "skipped": model.skipped or None,
    }


def _check(folder: Path, budget: Budget) -> tuple[CheckResult, str, bool]:
    """The check of a certificate; in the folder of a run its weights, and whether they are the run's own."""
    if run_of(folder) is None:
        if not (folder / CERTIFICATE_FILE).exists() and has_proved_weights(folder):
            # Nothing is known of the network that explains the weights; their own certificates count.
            return CheckResult(ok=True, claims=(), failure=None), "", False
        return check_folder(folder, budget=budget), "", False
    from nerode.analysis.proofs import check_proof

    found = check_proof(folder, budget=budget)
    return found.result, found.about, found.of_run


def _other_model(about: str, as_json: bool) -> NoReturn:
    """Ends the command for a proof that holds, but of another model than that of the run."""
    failure = Failure(what=f"nothing is proved of the weights of this run: its proof is about {about}")
    if as_json:
        found = CheckResult(ok=False, claims=(), failure=failure)
        click.echo(json.dumps(_object(found, []) | {"about": about}, ensure_ascii=False))
    else:
        click.echo(failure.what, err=True)
    sys.exit(NOTHING_PROVED)


def _questions(options: dict[str, Any]) -> list[Question]:
    """The searches that are asked for."""
    known: tuple[Question, ...] = ("window", "noise", "fragile")
    return [question for question in known if options[question]]


def _read_eps(text: str | None, options: dict[str, Any]) -> Fraction | None:
    """The size that windows and fragile words are about."""
    if text is None:
        return None
    if not options["window"] and not options["fragile"]:
        raise InputError("--eps belongs to --window and --fragile; give one of them")
    return read_fraction(text, name="--eps")


def _verify_polished(folder: Path, dtypes: list[str], as_json: bool, budget: Budget) -> NoReturn:
    """Re-checks a polished network."""
    if dtypes:
        raise InputError(
            "the certificate of a polished network says itself in which floats it holds; leave out --dtype"
        )
    found = check_polished(folder, budget=budget)
    failure = None if found.ok else Failure(what=found.problem, entry=POLISH_FILE)
    result = CheckResult(ok=found.ok, claims=found.claims, failure=failure)
    lines = polished_lines(margin=found.margin, length=found.length, dtype=found.dtype)
    _conclude(result, [f"products in {found.group}, {found.letters} letters", lines], as_json)


def _replayed(folder: Path, budget: Budget, *, trust_code: bool) -> tuple[CheckResult, str, bool] | None:
    """The replay of a run's proof that lists float states, of what, and whether these are the run's weights.

    None for another kind of folder.
    """
    if not (folder / "result.json").exists() or (folder / "proof" / CERTIFICATE_FILE).exists():
        return None
    if (folder / "proof" / FLOAT_CERTIFICATE).exists():
        from nerode.analysis.proofs import replay_certified

        about = f"proof/model, another model than that of the run {folder.resolve().name}"
        return replay_certified(folder, budget=budget), about, False
    if read_settlement(folder) is None:
        return None
    from nerode.analysis.settle import replay_settlement

    found = replay_settlement(folder, budget=budget, trust_code=trust_code)
    return found, f"the weights of the run {folder.resolve().name}", True


def _conclude(result: CheckResult, lines: list[str], as_json: bool, *, about: str = "") -> NoReturn:
    """Prints the result of a replay, with these lines if it holds, and ends the command."""
    if as_json:
        known = {"about": about} if about and result.ok else {}
        click.echo(json.dumps(_object(result, []) | known, ensure_ascii=False))
    elif result.failure is not None:
        _print_failure("refused", result.failure)
    else:
        click.echo("\n".join(lines))
    sys.exit(0 if result.ok else 1)


def _renew(folder: Path, budget: Budget) -> None:
    """Proves a network again; the check that follows speaks of the new certificate."""
    outcome = renew(folder, budget=budget)
    if isinstance(outcome, Certificate):
        return
    reason = outcome.reason if isinstance(outcome, Unproved) else f"it fails on {' '.join(outcome.word)!r}"
    raise InputError(f"the certificate in {folder} was not renewed: {reason}")


def _folder_of_proof(folder: Path) -> Path:
    """The folder itself, or that of the proof if it is the folder of a run."""
    if not (folder / "result.json").exists() or (folder / CERTIFICATE_FILE).exists():
        return folder
    inside = folder / "proof"
    if not (inside / CERTIFICATE_FILE).exists():
        tried = "none was found" if inside.exists() else "none was looked for"
        raise InputError(
            f"{folder} is a run without a proof: {tried}; `nerode train … --certify` looks for one"
        )
    return inside


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
    from nerode.proofs.floats import examine, recheck_stored, store

    network, language = read_network(folder), read_language(folder)
    for number, dtype in enumerate(dtypes):
        share = budget.part(1 / (len(dtypes) - number))
        seen = recheck_stored(folder, network, language, dtype=dtype, budget=share)
        if seen is None:
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
        _print_failure("refused", result.failure)
    for claim in result.claims:
        click.echo(claim_line(claim))
    # The module of a model with probabilities is compared by the words that it allows.
    logits = found and isinstance(read_network(folder).decoder, LogitDecoder)
    what = ": which words may follow" if logits else ""
    for claim in (c for seen in found for c in seen.claims):
        click.echo(claim_line(claim) + what)
    for seen in found:
        if seen.failure is not None:
            _print_failure(seen.dtype, seen.failure)
        elif not _is_good(seen, result):
            click.echo(f"nothing is proved in {seen.dtype}: {seen.details.get('reason')}", err=True)
        if "made_on" in seen.details:
            click.echo(f"  {seen.dtype}: made on another arithmetic; the replay speaks of this one", err=True)
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


def _print_failure(what: str, failure: Failure) -> None:
    click.echo(f"✗ {what}: {failure.what}", err=True)
    if failure.entry:
        click.echo(f"  at {failure.entry}", err=True)


def _object(result: CheckResult, found: list[Examination]) -> dict[str, Any]:
    failure = result.failure or next((seen.failure for seen in found if seen.failure is not None), None)
    item = {
        "ok": result.ok and all(_is_good(seen, result) for seen in found),
        "claims": [
            claim_to_json(claim) for claim in (*result.claims, *(c for seen in found for c in seen.claims))
        ],
        "failure": None if failure is None else _failure(failure),
    }
    if found:
        item["floats"] = {
            seen.dtype: {
                **seen.details,
                "failure": None if seen.failure is None else _failure(seen.failure),
            }
            for seen in found
        }
    return item


def _failure(failure: Failure) -> dict[str, Any]:
    found: dict[str, Any] = {"what": failure.what, "entry": failure.entry or None}
    if failure.refutation is not None:
        found |= {
            "word": " ".join(failure.refutation.word),
            "at": failure.refutation.at,
            "expected": list(failure.refutation.expected),
            "got": list(failure.refutation.got),
        }
    return found
