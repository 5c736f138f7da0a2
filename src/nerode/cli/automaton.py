"""`nerode analyse --automaton`: the automaton that a network has learned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.progress import Progress
from nerode.core import Budget, InputError, claim_file, write_atomically
from nerode.languages import resolve_language
from nerode.languages.formats import automaton_files, write_automaton
from nerode.report import extraction_lines

if TYPE_CHECKING:
    from nerode.analysis.extraction import Extraction


AUTOMATON_OPTIONS = ("method", "black_box", "target", "recognise")
"""Options of `nerode analyse` that only the automaton has."""

_LONGEST, _MOST_LETTERS = 100, 100_000
"""Letters of the longest test word: unless the user gives others, and at most."""


def show_automaton(
    folder: Path, output: Path | None, *, as_json: bool, budget: Budget, **options: Any
) -> int:
    """Prints the automaton of a network and returns the exit code: 1 if it is not that of its language.

    The options are those of `nerode analyse`.
    """
    from nerode.analysis import load_subject
    from nerode.analysis.extraction import EXTRACTION_PARTS, HypothesisTest, extract as extract_automaton

    longest = options["longest"] or _LONGEST
    if longest > _MOST_LETTERS:
        raise InputError(
            f"--longest is {longest:,}; with --automaton test words have at most {_MOST_LETTERS:,}"
        )
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
            probe=HypothesisTest(longest=longest),
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
    return 0 if found.equal else 1


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
