"""`nerode verify`: re-checks what is stored in a folder; it searches nothing."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nerode.cli.options import (
    Command,
    RunPath,
    budgeted,
    failure_object,
    print_failure,
    trust_option,
)
from nerode.core import Budget, InputError, defer_registrations, missing_extra
from nerode.languages import title_of
from nerode.proofs import (
    CERTIFICATE_FILE,
    CHECKED,
    FORMAL,
    FRAGILE,
    LANGUAGE_FILE,
    NETWORK_FILE,
    POLISH_FILE,
    WINDOW,
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
    scans_matrices,
)
from nerode.records import EXACT_NETWORK, RESULT, WEIGHTS, Folder, read_run, read_settlement
from nerode.report import (
    claim_line,
    language_line,
    polished_lines,
    reliance_lines,
    reliance_objects,
    reliance_rows,
)

if TYPE_CHECKING:
    from nerode.proofs.replay import Replayed

NOTHING_PROVED = 3
"""The exit code where nothing is shown."""


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=RunPath())
@click.option("--dtype", "dtypes", hidden=True)
@click.option("--window", is_flag=True, hidden=True)
@click.option("--noise", is_flag=True, hidden=True)
@click.option("--fragile", is_flag=True, hidden=True)
@click.option("--eps", hidden=True)
@click.option("--save", is_flag=True, hidden=True)
@click.option("--formal", is_flag=True, help="Ask nerode-check as well, the checker that is proved in Coq.")
@trust_option
@budgeted()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(folder: Path, formal: bool, trust_code: bool, as_json: bool, budget: Budget, **moved: Any) -> None:
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
    if any(value is not None and value is not False for value in moved.values()):
        from nerode.cli.searching import search_claims

        click.echo("searches are part of `nerode prove` now, with the same options", err=True)
        search_claims(folder, moved, save=moved["save"], as_json=as_json, budget=budget)
    if formal and ((folder / RESULT).exists() or Folder(folder).subject.network.kind != "exact"):
        raise InputError(f"{folder} is no compiled network; --formal is about the proofs of exact networks")
    # A folder with the result of a run is a run, whatever else lies in it.
    if Folder(folder).subject.network.kind != "exact" or (folder / RESULT).exists():
        # A run is asked what its task asks, and no product of letters.
        if is_polished(folder) and not (folder / RESULT).exists():
            _verify_polished(folder, as_json, budget)
        _verify_weights(folder, budget, trust_code=trust_code, as_json=as_json)
    result = _check(folder, budget)
    known = levels(folder, result.claims) if formal else [CHECKED] * len(result.claims)
    floats, weights, skipped = _replay_stored(folder, budget) if result.ok else ([], [], "")
    failed = [seen for seen in (*floats, *weights) if seen.failure is not None]
    # Batches alone say nothing of a word that is read by itself, nor windows and errors of what is right.
    shown = [c for c in result.claims if c.task not in (WINDOW, FRAGILE)]
    alone = [s for s in (*floats, *weights) if s.claims and s.details.get("alone", True)]
    holds = result.ok and not failed
    if as_json:
        item = _object(result, known)
        if floats:
            item["floats"] = {seen.dtype: _replay_object(seen) for seen in floats}
            item["claims"] += [_claim(claim) for seen in floats for claim in seen.claims]
        if weights or skipped:
            item["model"] = {
                "claims": [_claim(claim) for seen in weights for claim in seen.claims],
                "failure": next((failure_object(s.failure) for s in weights if s.failure), None),
                "skipped": skipped or None,
            }
        item["relies"] = reliance_objects(_rows(result, known, floats, weights))
        click.echo(json.dumps(item | {"ok": holds and bool(shown or alone)}, ensure_ascii=False))
    else:
        _print(folder, result, known, floats, weights)
        rows = _rows(result, known, floats, weights)
        if rows:
            click.echo("\n".join(["what may be relied on:", *reliance_lines(rows)]))
        if formal:
            click.echo(_trusted(folder, result.claims, known))
        if skipped:
            click.echo(skipped, err=True)
    sys.exit(1 if not holds else 0 if shown or alone else NOTHING_PROVED)


def _verify_weights(folder: Path, budget: Budget, *, trust_code: bool, as_json: bool) -> NoReturn:
    """Replays the proof with which weights were settled; it imports neither searches nor theory."""
    from nerode.proofs.replay import is_proof, open_subject, replay_settled
    from nerode.training import folder_builder

    settled, place = read_settlement(folder), Folder(folder)
    if settled is None or settled.status != "proved":
        known = "without a proof of its own" if settled is None else settled.status
        raise InputError(
            f"{folder} is {known}; there is no proof to replay (`nerode prove {folder}` looks for one)"
        )
    build = folder_builder(folder) if trust_code else None
    subject = open_subject(place, build=build)
    about = f"the weights in {folder.resolve().name}, for {subject.about}"
    if (folder / RESULT).exists():
        from nerode.training import task_of_run

        task = task_of_run(read_run(folder), subject.question, subject.reading, subject.bare)
        name = task.name if (language := getattr(task, "language", None)) is None else title_of(language)
        about = f"the weights of the run {folder.resolve().name}, for {name}"
    found = replay_settled(folder, subject, budget=budget)
    lines = [*map(claim_line, found.claims), f"about {about}; answers are {subject.reading}"]
    if subject.record.imported is not None:
        lines.append(f"letters and their tokens, as named at import: {subject.letters}")
    if "made_on" in found.details:
        lines.append(_arithmetic_line(found.details))
    proved = found.failure is None and is_proof(subject.asked, found)
    if found.failure is None and not proved:
        lines.append("not proved: the claims do not cover every word of the question, read alone")
    rows = reliance_rows(found.claims, about=WEIGHTS, lifted=True)
    lines += ["what may be relied on:", *reliance_lines(rows)] if rows else []
    result = CheckResult(ok=found.failure is None, claims=found.claims, failure=found.failure)
    if as_json:
        item = _object(result) | {"ok": proved}
        if result.ok:
            item |= {"about": about, "letters": str(subject.letters), **found.details}
            item["relies"] = reliance_objects(rows)
        click.echo(json.dumps(item, ensure_ascii=False))
    elif result.failure is not None:
        print_failure("refused", result.failure)
    else:
        click.echo("\n".join(lines))
    sys.exit(1 if result.failure is not None else 0 if proved else NOTHING_PROVED)


def _arithmetic_line(details: dict[str, Any]) -> str:
    """The difference between the arithmetic of the search and that of this replay."""
    here, there = details["arithmetic"], details["made_on"]
    if not isinstance(there, dict):
        return "the evidence does not name the arithmetic of its search; it was replayed with this one"
    odd = [
        f"{key} {there.get(key)!r}, here {here.get(key)!r}"
        for key in sorted({*here, *there})
        if here.get(key) != there.get(key)
    ]
    return f"found with another arithmetic ({'; '.join(odd)}); it was replayed with this one and holds here"


def _replay_stored(folder: Path, budget: Budget) -> tuple[list[Replayed], list[Replayed], str]:
    """The replays of the float certificates beside the network and in model/, or why there are none."""
    if not [*folder.glob("certificate.*.json"), *folder.glob("model/certificate.*.json")]:
        return [], [], ""
    defer_registrations()
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


def _check(folder: Path, budget: Budget) -> CheckResult:
    """The check of the certificate of a network by the kernel."""
    if not (folder / CERTIFICATE_FILE).exists() and any(folder.glob("model/certificate.*.json")):
        # Nothing is known of the network that explains the weights; their own certificates count.
        return CheckResult(ok=True, claims=(), failure=None)
    found = check_folder(folder, budget=budget)
    if found.ok:
        # What the kernel has read are the files of the subject, and none is a link.
        Folder(folder).require_files(NETWORK_FILE, LANGUAGE_FILE)
    return found


def _verify_polished(folder: Path, as_json: bool, budget: Budget) -> NoReturn:
    """Re-checks a polished network."""
    found = check_polished(folder, budget=budget)
    failure = None if found.ok else Failure(what=found.problem, entry=POLISH_FILE)
    result = CheckResult(ok=found.ok, claims=found.claims, failure=failure)
    lines = polished_lines(margin=found.margin, length=found.length, dtype=found.dtype)
    if as_json:
        click.echo(json.dumps(_object(result), ensure_ascii=False))
    elif result.failure is not None:
        print_failure("refused", result.failure)
    else:
        click.echo(f"products in {found.group}, {found.letters} letters\n{lines}")
    sys.exit(0 if result.ok else 1)


def _trusted(folder: Path, claims: Sequence[Claim], known: list[str]) -> str:
    """The code that has to be believed, for the claims of each level."""
    read = "formal/Network.v, Reader.v; Rounding.v for floats"
    believed = f"Coq, its specification ({read}) and the extraction to OCaml"
    others = "" if set(known) == {FORMAL} else "; for all others the Python kernel"
    spoken = functools.partial(formal_senses, matrices=scans_matrices(folder))
    refused = [c for c, level in zip(claims, known, strict=True) if level == CHECKED and spoken(c)]
    if refused:
        click.echo(f"nerode-check does not accept: {'; '.join(map(claim_line, refused))}", err=True)
    return f"trusted for formal claims: {believed}{others} (docs/trust.md)"


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
                click.echo(f"  {seen.dtype}: {_arithmetic_line(seen.details)}", err=True)


def _rows(
    result: CheckResult, known: list[str], floats: list[Replayed], weights: list[Replayed]
) -> list[tuple[str, ...]]:
    """The table of what may be relied on."""
    rows = reliance_rows(result.claims, about=EXACT_NETWORK, levels=known)
    rows += [row for seen in floats for row in reliance_rows(seen.claims, about="its module")]
    return rows + [row for seen in weights for row in reliance_rows(seen.claims, about=WEIGHTS)]


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
