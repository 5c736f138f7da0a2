"""`nerode prove`: the end of a network: proved at every length, refuted by a word, or what is known."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.options import FOLDER, Command, RunPath, budgeted, default_option, force_option, trust_option
from nerode.cli.progress import Progress
from nerode.cli.searching import search_claims, search_options
from nerode.core import Budget, InputError, enforce
from nerode.report import settlement_lines

if TYPE_CHECKING:
    from nerode.analysis.settle import SettleSettings
    from nerode.records import Settlement
    from nerode.tasks import Task

_NEXT = {
    "proved": "nerode verify {}",
    "refuted": "nerode repair {0} -o mended; nerode analyse {0}",
    "unsettled": "nerode prove {0} --again --max-seconds 600; nerode prove {0} --harden -o hardened",
}
"""The next command after each end."""

EXIT_CODES = {"proved": 0, "refuted": 1, "unsettled": 3}


@click.command(cls=Command)
@click.argument("folders", metavar="RUN|DIR|MODEL...", nargs=-1, required=True, type=RunPath())
@default_option(
    "--states",
    type=click.IntRange(1, 1_000_000),
    default=100_000,
    help="Largest number of float states that a proof may list.",
)
@click.option("--longest", type=click.IntRange(1, 1_000_000), help="Length of the longest test.")
@click.option("--task", "task_name", metavar="TASK", help="What a model should do that was not trained here.")
@click.option(
    "--harden",
    is_flag=True,
    help="Train the model on through exact gates until it is proved; the new one goes to -o.",
)
@click.option("-o", "--out", type=FOLDER, help="With --harden: the folder of the new model and its proof.")
@force_option
@click.option("--again", is_flag=True, help="Settle a run again that is settled already.")
@search_options()
@trust_option
@budgeted(counts=False, per="run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per network, one per line.")
def prove(
    folders: tuple[Path, ...],
    states: int,
    longest: int | None,
    task_name: str | None,
    harden: bool,
    out: Path | None,
    force: bool,
    again: bool,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
    **searched: Any,
) -> None:
    """Settle networks: proved, refuted by a word, or unsettled with what is known.

    RUN is the folder of a training run, DIR that of a compiled network, MODEL that of a saved model, which
    needs --task. No weight is changed, unless --harden asks for a new model. The end of a run is kept in
    RUN/settled; `nerode verify RUN` replays its proof.

    With --dtype, --window, --noise or --fragile, more claims about one compiled network are searched for and
    kept in DIR; exit 1 if one of them is not proved.

    Exit code 0 if every network is proved, 1 if one is refuted, 3 if none is refuted and one is unsettled.

    \b
    nerode prove runs/9b7ef0cf02d1bbd9
    nerode prove runs/* --json
    nerode prove flip-flop/
    nerode prove flip-flop/ --dtype float32,bfloat16
    nerode prove last-but-3/ --window
    nerode prove parity/ --fragile --eps 1/100
    nerode prove mended/ --task predict-flip-flop
    nerode prove runs/9b7ef0cf02d1bbd9 --harden -o hardened
    """
    if any(searched.values()):
        if len(folders) > 1 or harden or again or task_name:
            raise InputError("--dtype, --window, --noise and --fragile are about one compiled network alone")
        search_claims(folders[0], {**searched, "save": False}, save=True, as_json=as_json, budget=budget)
    from nerode.analysis.settle import SettleSettings

    task = None
    if task_name is not None:
        from nerode.records import TaskConfig
        from nerode.tasks import build_task

        task = build_task(TaskConfig(name=task_name))
    if harden != (out is not None) or (harden and len(folders) > 1):
        raise InputError(
            "--harden takes one network, and -o a folder for the new model; give both or neither"
        )
    if out is not None:
        from nerode.training import claim_model_folder

        claim_model_folder(out, force=force)
    settings = SettleSettings(states=states, longest=longest)
    ends: Counter[str] = Counter()
    with Progress("proving", len(folders), unit="network", quiet=as_json) as progress:
        for folder in folders:
            with enforce(budget.start()) as own:
                if out is not None:
                    found = _harden(folder, out, task, own, trust_code=trust_code)
                else:
                    found = _settle(folder, settings, own, again=again, trust_code=trust_code, task=task)
            ends[found.status] += 1
            if as_json:
                click.echo(json.dumps({"folder": str(folder), **found.to_json()}, ensure_ascii=False))
            else:
                click.echo("\n".join(settlement_lines(found, name=str(folder))))
                progress.end(f"{folder}: {found.status}")
    if not as_json:
        _conclude(ends, folders[-1], found.status)
    codes = {EXIT_CODES[status] for status in ends}
    sys.exit(1 if 1 in codes else 3 if 3 in codes else 0)


def _conclude(ends: Counter[str], last: Path, status: str) -> None:
    """Prints how many networks ended how, and what to do next."""
    if ends.total() > 1:
        counts = ", ".join(f"{ends[status]} {status}" for status in EXIT_CODES if ends[status])
        click.echo(f"\n{ends.total()} networks: {counts}")
    click.echo(f"Next: {_NEXT[status].format(last)}")


def _harden(folder: Path, out: Path, task: Task | None, budget: Budget, *, trust_code: bool) -> Settlement:
    """The end of a new model, trained on through exact gates; what was tried goes to the error stream."""
    from nerode.analysis.settle import harden, load_for_task, write_hardened

    found, end = harden(load_for_task(folder, task, trust_code=trust_code), budget=budget)
    for look in found.looks:
        begun = "the given weights" if look.given else "fresh weights"
        click.echo(
            f"attempt {look.attempt + 1} ({begun}, {look.words} words), {look.step} updates: "
            f"{look.accuracy:.1%} of the words of training correct, {look.outcome}",
            err=True,
        )
    return write_hardened(out, found, end)


def _settle(
    folder: Path,
    settings: SettleSettings,
    budget: Budget,
    *,
    again: bool,
    trust_code: bool,
    task: Task | None,
) -> Settlement:
    """The settlement that is kept, or a new one."""
    from nerode.analysis.settle import settle_folder, settled_or_new

    if again or task is not None:
        return settle_folder(folder, settings=settings, budget=budget, trust_code=trust_code, task=task)
    return settled_or_new(folder, settings=settings, budget=budget, trust_code=trust_code)
