"""`nerode draw`: automata, egg-boxes, cascades, networks and spectra as files for papers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nerode.cli.options import (
    FILE,
    Command,
    LanguageReading,
    budgeted,
    default_option,
    force_option,
    language_options,
    trust_option,
)
from nerode.core import Budget, InputError, claim_file
from nerode.records import find_run
from nerode.report import DRAWING_FORMATS, draw as draw_value, save_figure, spectrum_plots
from nerode.study import PARTS

SPECTRA = "spectra"


@click.command(cls=Command)
@click.argument("language", metavar="LANG_OR_RUN")
@click.option(
    "-o",
    "--out",
    type=FILE,
    required=True,
    help="File to write; its suffix gives the format: .svg, .pdf, .tikz (or .tex), .dot.",
)
@default_option(
    "--what",
    type=click.Choice([*PARTS, SPECTRA]),
    default="automaton",
    help="Part of the language to draw; spectra are of a run or a network, as .svg or .pdf.",
)
@default_option("--to", "target", default="diagonal", help="Target of the network that is drawn.")
@click.option("--dead", is_flag=True, help="Draw dead states, too.")
@language_options
@trust_option
@force_option
@budgeted()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def draw(
    language: str,
    out: Path,
    what: str,
    target: str,
    dead: bool,
    force: bool,
    as_json: bool,
    trust_code: bool,
    reading: LanguageReading,
    budget: Budget,
) -> None:
    """Draw the automaton, the egg-boxes, a cascade or a compiled network of a language; spectra of a run.

    Drawings carry their own colours. A .tikz file needs the package tikz and nothing else.

    \b
    nerode draw tomita-3 -o tomita-3.svg
    nerode draw "(ab)*" --what egg-box -o eggs.tikz
    nerode draw flip-flop --what network --to mamba -o network.pdf
    nerode draw last --what spectra -o spectra.svg
    """
    if out.suffix.lower() not in DRAWING_FORMATS:
        raise InputError(
            f"drawings are written as {', '.join(DRAWING_FORMATS)}; {str(out)!r} ends in none of these"
        )
    if what == SPECTRA:
        _draw_spectra(language, out, force=force, as_json=as_json, trust_code=trust_code, budget=budget)
        return
    claim_file(out, force=force)
    found = reading.read(language, budget)
    content = draw_value(found, out, what=what, to=target, show_dead=dead, budget=budget)
    item = {"language": found.name, "what": what, "out": str(out), "bytes": len(content)}
    click.echo(json.dumps(item, ensure_ascii=False) if as_json else f"{out}: {what} of {found.name}")


def _draw_spectra(
    name: str, out: Path, *, force: bool, as_json: bool, trust_code: bool, budget: Budget
) -> None:
    """One file for each layer that has a spectrum; of several, each name ends with the layer's number."""
    forms = [form for form in DRAWING_FORMATS if form != ".dot"]
    if out.suffix.lower() not in forms:
        raise InputError(f"spectra are written as {', '.join(forms)}; {str(out)!r} is none of these")
    folder = find_run(Path(name))
    if not folder.is_dir():
        raise InputError(f"spectra are of a network: give a run or a folder; {name!r} is none")
    from nerode.analysis import analyse, load_subject

    found = analyse(load_subject(folder, trust_code=trust_code), budget=budget, parts=("spectra",)).to_json()
    plots = spectrum_plots(found)
    if not plots:
        raise InputError(f"{name} has no spectra: {found['left_out']['spectra']}")
    one = len(plots) == 1
    files = [out if one else out.with_stem(f"{out.stem}-{i}") for i in range(1, len(plots) + 1)]
    for path in files:
        claim_file(path, force=force)
    for path, plot in zip(files, plots, strict=True):
        save_figure(plot, path)
        item = {"network": found["name"], "what": SPECTRA, "out": str(path), "bytes": path.stat().st_size}
        click.echo(json.dumps(item, ensure_ascii=False) if as_json else f"{path}: {plot.title}")
