"""`nerode report`: figures and tables of runs, beside theory and what was published."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from nerode.cli.options import (
    FILE,
    FOLDER,
    Command,
    RunPath,
    budgeted,
    default_option,
    force_option,
    sense_option,
    split_names,
    trust_option,
)
from nerode.core import (
    MARK,
    Budget,
    InputError,
    NerodeError,
    Reference,
    claim_file,
    claim_folder,
    plural,
    write_atomically,
)
from nerode.records import Measure, is_import
from nerode.report import (
    Figure,
    RunReport,
    make_console,
    make_report,
    report_json,
    report_page,
    save_figure,
    standing_table,
    to_csv,
    to_latex,
    to_markdown,
)
from nerode.study import MEASURES, RunFile, read_run_files
from nerode.verdict import Sense


@click.command(cls=Command)
@click.argument("runs", metavar="[RUNS…]", nargs=-1, type=RunPath())
@click.option("-o", "--output", type=FILE, help="HTML file to write.  [default: report.html]")
@click.option(
    "--language",
    metavar="LANG",
    help="Print theory, compiler, training and proofs of this language or task in one table; exit 1 if "
    "two of them disagree. RUNS may be compiled networks, too. No page is written.",
)
@click.option("--arch", metavar="A,B", help="With --language: also these architectures, without runs.")
@click.option(
    "--figures", metavar="DIR", type=FOLDER, help="Also write every figure as SVG and PDF, for papers."
)
@click.option(
    "--tables",
    type=click.Choice(["md", "tex", "csv"]),
    multiple=True,
    help="Also write the tables beside the page; csv has all measured numbers.",
)
@default_option(
    "--width",
    default="5.5in",
    metavar="LENGTH",
    help="Width of the figures: a number with in, mm, cm or pt, or column (3.25in).",
)
@click.option(
    "--names",
    "names",
    metavar="MODEL=NAME",
    multiple=True,
    help='Display name of a model: --names mycell:build="Ours". Repeatable.',
)
@click.option("--measure", type=click.Choice(list(MEASURES)), help="Accuracy to show.")
@sense_option
@trust_option
@force_option
@budgeted(seconds=600.0)
@click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")
def report(
    runs: tuple[Path, ...],
    output: Path | None,
    language: str | None,
    arch: str | None,
    figures: Path | None,
    tables: tuple[str, ...],
    width: str,
    names: tuple[str, ...],
    measure: Measure | None,
    sense: str,
    trust_code: bool,
    force: bool,
    as_json: bool,
    budget: Budget,
) -> None:
    """Write the report of runs: curves over lengths, training, tables, theory and published values.

    RUNS are folders of runs (`nerode train` fills them), single runs, or models that were
    imported with a language, which are tested first.

    \b
    nerode report runs
    nerode report runs/parity runs/flip-flop -o report.html --figures figures --tables tex
    nerode report runs --figures figures --width column --names mycell:build="Our cell"
    nerode report runs compiled/ --language parity --arch mamba,mamba-signed
    """
    if language is None and (arch is not None or trust_code):
        raise InputError("--arch and --trust-code belong to --language; name one, or leave them out")
    if not runs and language is None:
        raise InputError("name folders of runs, or a language with --language")
    if language is not None:
        if output is not None or figures is not None or tables:
            raise InputError("--language prints a table and writes no files; leave it out to write a page")
        named = split_names(arch) or []
        sys.exit(_show_standing(language, runs, named, trust_code=trust_code, as_json=as_json, budget=budget))
    output = output or Path("report.html")
    inches, called = _inches(width), _display_names(names)
    _check_output(output, (*tables, "bib") if tables or figures is not None else ())
    beside = dict.fromkeys((*tables, "bib")) if tables or figures is not None else ()
    for path in (output, *(output.with_suffix(f".{form}") for form in beside)):
        claim_file(path, force=force)
    if figures is not None:
        claim_folder(figures, holds=("*.svg", "*.pdf"), of="figures of nerode", force=force)
    imports = [folder for folder in runs if is_import(folder)]
    others = tuple(folder for folder in runs if folder not in imports)
    found, left_out = read_run_files(others) if others else ([], [])
    if imports:
        from nerode.analysis import score_import

        found = [*found, *(RunFile(folder=folder, record=score_import(folder)) for folder in imports)]
    made = make_report(
        found,
        left_out=left_out,
        measure=measure,
        sense=Sense(sense),
        task_works=_task_works(found),
        names=called,
    )
    written = [output]
    write_atomically(output, report_page(made, command=_command(runs, output, measure, sense, names)))
    for path, text in _table_files(made, output, tables):
        write_atomically(path, text)
        written.append(path)
    if figures is not None:
        written += _save_figures(made, figures, inches)
    if tables or figures is not None:
        place = output.with_suffix(".bib")
        works = "\n\n".join(work.bibtex for _, work in made.bibliography())
        write_atomically(place, f"% {MARK}\n\n{works}\n")
        written.append(place)
    if as_json:
        click.echo(json.dumps({**report_json(made), "out": [str(p) for p in written]}, ensure_ascii=False))
        return
    for item in left_out:
        click.echo(f"left out: {item.path}: {item.why}", err=True)
    click.echo(f"{plural(len(made.runs), 'run')} on {plural(len(made.tasks), 'task')}", err=True)
    for path in written:
        click.echo(str(path))


def _show_standing(
    name: str,
    folders: Sequence[Path],
    named: Sequence[str],
    *,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
) -> int:
    """Prints the table of a language, disagreements first, and returns the exit code: 1 if there are any.

    Folders hold runs or compiled networks; `named` are further architectures, without runs.
    """
    from nerode.analysis import compare_standing

    if not folders and not named:
        raise InputError("there is nothing to compare; name folders of runs, or architectures with --arch")
    language, rows = compare_standing(
        name, folders, architectures=named, budget=budget, trust_code=trust_code
    )
    items = [row.to_json() for row in rows]
    disagreements = [(row.architecture, text) for row in rows for text in row.disagreements]
    if as_json:
        click.echo(
            json.dumps({"language": language.name, "rows": items}, ensure_ascii=False, allow_nan=False)
        )
    else:
        console = make_console()
        for architecture, text in disagreements:
            console.print(f"! {architecture}: {text}", markup=False)
        if not disagreements:
            console.print("no disagreements")
        console.print()
        console.print(standing_table(items))
        console.print("\ntheory: finite precision, every length; certificates were checked again")
    return 1 if disagreements else 0


def _check_output(output: Path, endings: tuple[str, ...]) -> None:
    """Refuses a page that one of the files beside it would overwrite."""
    if output.suffix.removeprefix(".") in endings:
        raise InputError(
            f"the page {output} would be overwritten by the file that goes beside it; end it in .html"
        )


def _inches(width: str) -> float:
    """The width of figures in inches.

    Raises:
        InputError: if it is no length, or one that no page has.
    """
    if width == "column":
        return 3.25
    number, unit = width.rstrip("abcdefghijklmnopqrstuvwxyz"), width.lstrip("0123456789.")
    try:
        inches = float(number) * _UNITS[unit or "in"]
    except (KeyError, ValueError):
        inches = 0.0
    if not 1 <= inches <= 40:
        raise InputError(
            f"--width {width}: give a number between 1in and 40in with in, mm, cm or pt (85mm), or column"
        )
    return inches


_UNITS = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54, "pt": 1 / 72}


def _display_names(pairs: tuple[str, ...]) -> dict[str, str]:
    """Display names by model.

    Raises:
        InputError: if a pair is not MODEL=NAME, or two models get one name.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        model, mark, name = pair.partition("=")
        if not mark or not model.strip() or not name.strip():
            raise InputError(f'--names {pair}: write MODEL=NAME, such as mycell:build="Ours"')
        found[model.strip()] = name.strip()
    if len(set(found.values())) < len(found):
        raise InputError("--names gives two models the same name; a figure could not tell them apart")
    return found


def _command(
    runs: tuple[Path, ...], output: Path, measure: Measure | None, sense: str, names: tuple[str, ...]
) -> str:
    """The command line that makes the page again."""
    words = ["nerode", "report", *map(str, runs), "-o", str(output)]
    words += ["--measure", measure] if measure is not None else []
    words += [word for pair in names for word in ("--names", pair)]
    words += ["--sense", sense] if sense != Sense.FINITE_PRECISION else []
    return shlex.join(words)


def _task_works(runs: list[RunFile]) -> dict[str, Reference]:
    """The works that published the tasks; none without torch, which the table of tasks needs."""
    try:
        from nerode.tasks import find_task
    except ImportError:
        return {}
    found = {}
    for name in dict.fromkeys(run.record.complete.task.name for run in runs):
        try:
            found[name] = find_task(name)[0].reference
        except NerodeError:
            # A task of the user's own.
            continue
    return found


def _table_files(made: RunReport, output: Path, forms: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    tables = [item.table for item in made.tasks]
    writers = {
        "md": lambda: f"<!-- {MARK} -->\n\n{to_markdown(tables)}",
        "tex": lambda: f"% {MARK}\n{to_latex(tables)}",
        "csv": lambda: to_csv(item.task for item in made.tasks),
    }
    for form in dict.fromkeys(forms):
        yield output.with_suffix(f".{form}"), writers[form]()


def _save_figures(made: RunReport, folder: Path, width: float) -> list[Path]:
    written = []
    for number, item in enumerate(made.tasks, start=1):
        loss, accuracy = item.dynamics
        records: dict[str, Figure | None] = {
            "lengths": item.curves,
            "loss": loss,
            "accuracy": accuracy,
            "successes": item.successes,
            "streams": item.streams,
        }
        # The names of tasks come from files: what is no plain word does not become a path.
        task = re.sub(r"[^a-z0-9]+", "-", item.task.title.lower()).strip("-")[:60]
        for name, record in records.items():
            for kind in ("svg", "pdf") if record is not None else ():
                path = folder / f"{number}-{task}-{name}.{kind}"
                assert record is not None
                save_figure(record, path, width=width)
                written.append(path)
    return written
