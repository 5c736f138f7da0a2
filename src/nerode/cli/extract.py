"""`nerode extract`: the automaton that a network has learned."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.options import FILE, Command, RunPath, budgeted, default_option, force_option, trust_option
from nerode.cli.progress import Progress
from nerode.core import Budget, InputError, claim_file, write_atomically
from nerode.languages import resolve_language
from nerode.languages.formats import automaton_files, write_automaton
from nerode.report import extraction_lines

if TYPE_CHECKING:
    from nerode.analysis.extraction import Extraction


@click.command(cls=Command)
@click.argument("folder", metavar="RUN_OR_DIR", type=RunPath())
@click.option(
    "--method",
    type=click.Choice(["cluster", "lstar", "kv", "exact"]),
    help="Clusters of states, queries (L* or Kearns and Vazirani's), or all states of a compiled network.  "
    "[default: exact for compiled networks, lstar with words only for attention, cluster for others]",
)
@click.option(
    "--black-box", is_flag=True, help="With lstar and kv: query words only, without access to states."
)
@click.option("--target", metavar="LANG", help="Compare with this language instead of the network's own.")
@click.option("--recognise", is_flag=True, help="With --target: read the scores as two classes, out and in.")
@default_option("--longest", type=click.IntRange(1, 100_000), default=100, help="Longest test word.")
@default_option("--seed", type=click.IntRange(0), default=0, help="Seed of the random words.")
@click.option("-o", "--output", type=FILE, help="File of the automaton: .dot, .json, .att or .jff.")
@trust_option
@force_option
@budgeted(seconds=300.0)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def extract(folder: Path, output: Path | None, as_json: bool, budget: Budget, **options: Any) -> None:
    """Extract the automaton of a trained or compiled network; exit 1 if it is not that of its language.

    \b
    nerode extract runs/0da03a78b0411ff5
    nerode extract runs/0da03a78b0411ff5 --method lstar --black-box -o learned.dot
    nerode extract parity/ --method exact --json
    """
    from nerode.analysis import load_subject
    from nerode.analysis.extraction import EXTRACTION_PARTS, HypothesisTest, extract as extract_automaton

    for file in () if output is None else automaton_files(output):
        claim_file(file, force=options["force"])
    target = None if options["target"] is None else resolve_language(options["target"], budget=budget)
    subject = load_subject(folder, trust_code=options["trust_code"])
    parts = len(EXTRACTION_PARTS)
    with Progress(f"extracting from {subject.name}", parts, unit="part", quiet=as_json) as progress:
        found = extract_automaton(
            subject,
            method=options["method"],
            target=target,
            kind="acceptance" if options["recognise"] else None,
            black_box=options["black_box"],
            probe=HypothesisTest(longest=options["longest"]),
            seed=options["seed"],
            budget=budget,
            on_part=progress.end,
        )
    written = [] if output is None else _write(found, output)
    if as_json:
        click.echo(json.dumps(found.to_json() | {"files": written}, ensure_ascii=False, allow_nan=False))
    else:
        for line in extraction_lines(found.to_json()):
            click.echo(line)
        for path in written:
            click.echo(f"written: {path}")
        click.echo(f"Next: nerode prove {folder}; nerode analyse {folder}", err=True)
    sys.exit(0 if found.equal else 1)


def _write(found: Extraction, path: Path) -> list[str]:
    """Writes the automaton: with its outputs, if these are classes; as an acceptor otherwise."""
    if found.kind != "class":
        return [str(p) for p in write_automaton(found.acceptor(), path)]
    suffix = path.suffix.lower()
    if suffix in (".dot", ".gv"):
        write_atomically(path, found.machine.to_dot())
    elif suffix == ".json":
        write_atomically(path, json.dumps(found.machine.to_json(), ensure_ascii=False) + "\n")
    else:
        raise InputError(
            f"{path.name} cannot hold a machine whose outputs are classes; name a file that ends in .dot or "
            ".json"
        )
    return [str(path)]
