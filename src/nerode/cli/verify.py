"""`nerode verify`: re-checks what is stored in a folder; it searches nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nerode.cli.failures import failure_object, print_failure
from nerode.cli.options import Command, RunPath, budgeted, trust_option
from nerode.core import Budget, InputError, missing_extra
from nerode.proofs import (
    CERTIFICATE_FILE,
    CHECKED,
    FORMAL,
    POLISH_FILE,
    CheckResult,
    Claim,
    Failure,
    check_folder,
    check_polished,
    claim_to_json,
    formal_senses,
    is_polished,
    levels,
    read_language,
    read_network,
    run_of,
)
from nerode.records import RESULT, read_settlement
from nerode.report import claim_line, language_line, polished_lines

if TYPE_CHECKING:
    from nerode.proofs.replay import Replayed

NOTHING_PROVED = 3
"""The exit code where nothing is shown."""

MOVED = ("dtypes", "window", "noise", "fragile", "eps", "save")
"""Options of searches, which are those of `nerode prove` now."""


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=RunPath())
@click.option("--dtype", "dtypes", hidden=True)
@click.option("--window", is_flag=True, hidden=True)
@click.option("--noise", is_flag=True, hidden=True)
@click.option("--fragile", is_flag=True, hidden=True)
@click.option("--eps", hidden=True)
@click.option("--save", is_flag=True, hidden=True)
@click.option("--renew", is_flag=True, hidden=True)
@click.option("--formal", is_flag=True, help="Ask nerode-check as well, the checker that is proved in Coq.")
@trust_option
@budgeted()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(
    folder: Path, renew: bool, formal: bool, trust_code: bool, as_json: bool, budget: Budget, **moved: Any
) -> None:
    """Re-check what is stored in DIR; exit 1 if it does not hold.

    The certificate of the network is checked by the kernel. Those in float formats, and those of the weights
    in DIR/model/, are replayed step by step, if torch is installed. Nothing is searched: `nerode prove`
    does that.

    DIR may also be the folder of a run that is proved (`nerode train … --certify`, `nerode prove RUN`), or of
    a mended model (`nerode mend MODEL -o DIR`).

    \b
    nerode verify flip-flop/
    nerode verify runs/9b7ef0cf02d1bbd9
    """
    if renew:
        raise InputError("certificates are no longer renewed; compile the network again")
    if any(value is not None and value is not False for value in moved.values()):
        from nerode.cli.searching import search_claims

        click.echo("searches are part of `nerode prove` now, with the same options", err=True)
        search_claims(folder, moved, save=moved["save"], as_json=as_json, budget=budget)
    if formal and (is_polished(folder) or (folder / RESULT).exists()):
        raise InputError(f"{folder} is no compiled network; --formal is about the proofs of exact networks")
    # A folder with the result of a run is a run, whatever else lies in it.
    if is_polished(folder) and not (folder / RESULT).exists():
        _verify_polished(folder, as_json, budget)
    replayed = _replayed(folder, budget, trust_code=trust_code)
    if replayed is not None:
        replay, about = replayed
        _conclude(replay, [*map(claim_line, replay.claims), f"about {about}"], as_json, about=about)
    result, about = _check(folder, budget)
    known = levels(folder, result.claims) if formal else [CHECKED] * len(result.claims)
    # Inside a run, other certificates than its own proof are about other weights.
    stored = result.ok and run_of(folder) is None
    floats, weights, skipped = _replay_stored(folder, budget) if stored else ([], [], "")
    failed = [seen for seen in (*floats, *weights) if seen.failure is not None]
    if as_json:
        item = _object(result, known) | ({"about": about} if about else {})
        if floats:
            item["floats"] = {seen.dtype: _replay_object(seen) for seen in floats}
            item["claims"] += [_claim(claim) for seen in floats for claim in seen.claims]
        if weights or skipped:
            item["model"] = {
                "claims": [_claim(claim) for seen in weights for claim in seen.claims],
                "failure": next((failure_object(s.failure) for s in weights if s.failure), None),
                "skipped": skipped or None,
            }
        click.echo(json.dumps(item | {"ok": result.ok and not failed}, ensure_ascii=False))
    else:
        _print(folder, result, known, floats, weights)
        if formal:
            click.echo(_trusted(result.claims, known))
        if about:
            click.echo(f"about {about}")
        if skipped:
            click.echo(skipped, err=True)
    shown = bool(result.claims or [claim for seen in (*floats, *weights) for claim in seen.claims])
    sys.exit(1 if failed or not result.ok else 0 if shown else NOTHING_PROVED)


def _replay_stored(folder: Path, budget: Budget) -> tuple[list[Replayed], list[Replayed], str]:
    """The replays of the float certificates beside the network and in model/, or why there are none."""
    if not [*folder.glob("certificate.*.json"), *folder.glob("model/certificate.*.json")]:
        return [], [], ""
    try:
        from nerode.proofs.replay import replay_network, replay_weights
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        return [], [], f"claims in floats were not replayed: {missing}"
    language = read_language(folder)
    floats = replay_network(folder, read_network(folder), language, budget=budget)
    return _up_to_failure(floats), _up_to_failure(replay_weights(folder, language, budget=budget)), ""


def _up_to_failure(replays: Iterator[Replayed]) -> list[Replayed]:
    found = []
    for seen in replays:
        found.append(seen)
        if seen.failure is not None:
            break
    return found


def _check(folder: Path, budget: Budget) -> tuple[CheckResult, str]:
    """The check of a certificate, and which weights it is about if it lies in the folder of a run."""
    if run_of(folder) is None:
        if not (folder / CERTIFICATE_FILE).exists() and any(folder.glob("model/certificate.*.json")):
            # Nothing is known of the network that explains the weights; their own certificates count.
            return CheckResult(ok=True, claims=(), failure=None), ""
        return check_folder(folder, budget=budget), ""
    from nerode.analysis.proofs import check_proof

    found = check_proof(folder, budget=budget)
    return found.result, found.about


def _verify_polished(folder: Path, as_json: bool, budget: Budget) -> NoReturn:
    """Re-checks a polished network."""
    found = check_polished(folder, budget=budget)
    failure = None if found.ok else Failure(what=found.problem, entry=POLISH_FILE)
    result = CheckResult(ok=found.ok, claims=found.claims, failure=failure)
    lines = polished_lines(margin=found.margin, length=found.length, dtype=found.dtype)
    _conclude(result, [f"products in {found.group}, {found.letters} letters", lines], as_json)


def _replayed(folder: Path, budget: Budget, *, trust_code: bool) -> tuple[CheckResult, str] | None:
    """The replay of a run's proof, and of what; None for another kind of folder."""
    if not (folder / RESULT).exists():
        return None
    settled = read_settlement(folder)
    if settled is None:
        raise InputError(f"{folder} is a run without a proof; `nerode prove {folder}` looks for one")
    from nerode.analysis.settle import replay_settlement

    found = replay_settlement(folder, budget=budget, trust_code=trust_code)
    about = f"the weights of the run {folder.resolve().name}"
    return found, f"{about}, asked for {settled.about}"


def _conclude(result: CheckResult, lines: list[str], as_json: bool, *, about: str = "") -> NoReturn:
    """Prints the result of a replay, with these lines if it holds, and ends the command."""
    if as_json:
        known = {"about": about} if about and result.ok else {}
        click.echo(json.dumps(_object(result) | known, ensure_ascii=False))
    elif result.failure is not None:
        print_failure("refused", result.failure)
    else:
        click.echo("\n".join(lines))
    sys.exit(0 if result.ok else 1)


def _trusted(claims: Sequence[Claim], known: list[str]) -> str:
    """The code that has to be believed, for the claims of each level."""
    believed = "Coq, its specification formal/Network.v and the extraction to OCaml"
    others = "" if set(known) == {FORMAL} else "; for all others the Python kernel"
    refused = [c for c, level in zip(claims, known, strict=True) if level == CHECKED and formal_senses(c)]
    if refused:
        click.echo(f"nerode-check does not accept: {'; '.join(map(claim_line, refused))}", err=True)
    return f"to be believed for formal claims: {believed}{others} (docs/trust.md)"


def _print(
    folder: Path, result: CheckResult, known: list[str], floats: list[Replayed], weights: list[Replayed]
) -> None:
    if result.failure is not None:
        print_failure("refused", result.failure)
        return
    click.echo(language_line(read_language(folder)))
    for claim, level in zip(result.claims, known, strict=True):
        click.echo(claim_line(claim) + (f" {level}" if level == FORMAL else ""))
    for place, replays in (("", floats), (": model/", weights)):
        for seen in replays:
            for claim in seen.claims:
                click.echo(claim_line(claim) + place)
            if seen.failure is not None:
                print_failure(f"{place[2:] or seen.dtype} refused", seen.failure)
            elif "made_on" in seen.details:
                click.echo(f"  {seen.dtype}: made on another arithmetic; the replay is on this one", err=True)


def _claim(claim: Claim, level: str = CHECKED) -> dict[str, Any]:
    return {**claim_to_json(claim), "level": level}


def _object(result: CheckResult, known: list[str] | None = None) -> dict[str, Any]:
    return {
        "ok": result.ok,
        "claims": list(map(_claim, result.claims, known or [CHECKED] * len(result.claims))),
        "failure": None if result.failure is None else failure_object(result.failure),
    }


def _replay_object(seen: Replayed) -> dict[str, Any]:
    return {**seen.details, "failure": None if seen.failure is None else failure_object(seen.failure)}
