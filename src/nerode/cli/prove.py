"""`nerode prove`: the end of a network: proved at every length, refuted by a word, or what is known."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.model_options import MODEL_OPTIONS, model_options, open_model
from nerode.cli.options import FOLDER, Command, RunPath, budgeted, default_option, trust_option
from nerode.cli.progress import Progress
from nerode.cli.searching import search_claims, search_options
from nerode.core import Budget, InputError, enforce
from nerode.languages import Language, resolve_language
from nerode.report import settlement_lines

if TYPE_CHECKING:
    from nerode.analysis.settle import SettleSettings
    from nerode.records import Settlement
    from nerode.tasks import Task

_NEXT = {
    "proved": "nerode verify {0}{1}",
    "refuted": "nerode mend {0} -o mended{1}; nerode analyse {0}{1}",
    "unsettled": "nerode prove {0} --again --max-seconds 600{1}; nerode mend {0} -o mended{1}",
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
@click.option("--language", metavar="LANG", help="What a model should do: any that `nerode ask` takes.")
@click.option("--task", "task_name", metavar="TASK", help="What a model should do that was not trained here.")
@click.option("--harden", is_flag=True, hidden=True)
@click.option("-o", "--out", type=FOLDER, hidden=True)
@click.option("--again", is_flag=True, help="Settle runs again that already have a result.")
@model_options
@search_options()
@trust_option
@budgeted(counts=False, per="run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per network, one per line.")
def prove(
    folders: tuple[Path, ...],
    states: int,
    longest: int | None,
    language: str | None,
    task_name: str | None,
    harden: bool,
    out: Path | None,
    again: bool,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
    **searched: Any,
) -> None:
    """Settle networks: proved, refuted by a word, or unsettled with what is known.

    RUN is the folder of a training run, DIR that of a compiled network, MODEL any model that `nerode ask`
    takes, which needs --language, or --task if it is a saved one. No weight is changed (`nerode mend` does
    that). The result of a run is stored in RUN/settled; `nerode verify RUN` replays its proof.

    With --dtype, --window, --noise or --fragile, more claims about one compiled network are searched for and
    stored in DIR; exit 1 if one of them is not proved.

    Exit code 0 if every network is proved, 1 if one is refuted, 3 if none is refuted and one is unsettled.

    \b
    nerode prove runs/9b7ef0cf02d1bbd9
    nerode prove runs/* --json
    nerode prove flip-flop/
    nerode prove flip-flop/ --dtype float32,bfloat16
    nerode prove last-but-3/ --window
    nerode prove parity/ --fragile --eps 1/100
    nerode prove saved/ --task predict-flip-flop
    nerode prove tiny-llama/ --letters a,b,c --language "(ab|c)*"
    """
    how = {name: searched.pop(name) for name in MODEL_OPTIONS}
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
    if language is not None and (task_name or again):
        raise InputError("--language says what a model should do; leave out --task and --again")
    if language is None and any(value is not None for value in how.values()):
        given = next(name for name, value in how.items() if value is not None)
        raise InputError(f"--{given} goes with --language; say what the model should do")
    wanted = None if language is None else resolve_language(language, budget=budget)
    if harden or out is not None:
        what = f"{folders[0]} -o {out or 'DIR'}"
        raise InputError(f"--harden is gone: `nerode mend {what}` makes a new model and proves it")
    settings = SettleSettings(states=states, longest=longest)
    ends: Counter[str] = Counter()
    with Progress("proving", len(folders), unit="network", quiet=as_json) as progress:
        for folder in folders:
            with enforce(budget.start()) as own:
                if wanted is not None:
                    found = _settle_about(folder, wanted, settings, own, trust_code=trust_code, how=how)
                else:
                    found = _settle(folder, settings, own, again=again, trust_code=trust_code, task=task)
            ends[found.status] += 1
            if as_json:
                click.echo(json.dumps({"folder": str(folder), **found.to_json()}, ensure_ascii=False))
            else:
                click.echo("\n".join(settlement_lines(found, name=str(folder))))
                progress.end(f"{folder}: {found.status}")
    if not as_json:
        _conclude(ends, folders[-1], found, kept=wanted is None, trusted=trust_code)
    codes = {EXIT_CODES[status] for status in ends}
    sys.exit(1 if 1 in codes else 3 if 3 in codes else 0)


def _conclude(ends: Counter[str], last: Path, found: Settlement, *, kept: bool, trusted: bool) -> None:
    """Prints how many networks ended how, and what to do next."""
    if ends.total() > 1:
        counts = ", ".join(f"{ends[status]} {status}" for status in EXIT_CODES if ends[status])
        click.echo(f"\n{ends.total()} networks: {counts}")
    if kept:
        steps = _NEXT[found.status].format(last, " --trust-code" if trusted else "").split("; ")
        click.echo(
            f"Next: {'; '.join(step for step in steps if ' mend ' not in step or _can_mend(last, trusted))}"
        )


def _can_mend(folder: Path, trusted: bool) -> bool:
    """Whether training on can end in a proof: a user's own module needs a state for it."""
    from nerode.analysis import load_subject
    from nerode.models import is_stateful

    return not trusted or is_stateful(load_subject(folder, trust_code=True).model)


def _settle_about(
    folder: Path,
    language: Language,
    settings: SettleSettings,
    budget: Budget,
    *,
    trust_code: bool,
    how: dict[str, Any],
) -> Settlement:
    """The settlement of any model about a language; `nerode ask` ends in the same."""
    from nerode.analysis.asking import settle_about, with_language

    subject = with_language(
        open_model(str(folder), {**how, "longest": settings.longest}, trust_code=trust_code), language
    )
    return settle_about(subject, settings, budget)


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
