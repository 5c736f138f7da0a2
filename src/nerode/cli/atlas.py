"""`nerode atlas`: every named language and every architecture on one page. The main job."""

from __future__ import annotations

import functools
import json
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nerode.cli.options import (
    FILE,
    Command,
    budgeted,
    default_option,
    force_option,
    read_trained,
    sense_option,
    split_names,
    trained_options,
)
from nerode.cli.progress import Progress
from nerode.core import Budget, InputError, claim_file, enforce, plural, to_mapping, write_atomically
from nerode.languages.bestiary import BESTIARY, find_language, suite as suite_rows
from nerode.report import AtlasEntry, atlas_page, count_open, entry_from_json, entry_of
from nerode.study import StudyCache, declared_verdicts, for_all_languages, study_named
from nerode.verdict import Sense, Status


@click.command(cls=Command)
@default_option("-o", "--output", type=FILE, default=Path("atlas.html"), help="HTML file to write.")
@click.option("--suite", metavar="TAG", help="List only the languages of one published suite.")
@click.option("--only", metavar="NAME,…", help="Show only these languages.")
@default_option("--networks/--no-networks", default=True, help="Compile and certify networks.")
@click.option("--jobs", type=click.IntRange(1, 64), default=os.cpu_count() or 1, help="Number of processes.")
@trained_options
@click.option("--fresh", is_flag=True, help="Compute everything again, without the cache.")
@sense_option
@force_option
@budgeted(per="language")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON instead of the path.")
def atlas(
    output: Path, suite: str | None, only: str | None, as_json: bool, budget: Budget, **options: Any
) -> None:
    """Write the page of every named language × every architecture.

    Results are stored in the folder .atlas beside the page, so that the next run is quick. The
    first one takes a few minutes.

    \b
    nerode atlas -o atlas.html
    nerode atlas --suite tomita --runs runs -o tomita.html
    """
    started = time.monotonic()
    names = _names(suite, only)
    claim_file(output, force=options["force"])
    # What cannot be read stops the work before it begins, not after an hour.
    trained = read_trained(options["experiments"], options["runs"])
    command = _command()
    found = dict(_progress(_entries(names, output, options, budget), len(names)))
    entries = [found[name] for name in names]
    sense = Sense(options["sense"])
    page = atlas_page(
        entries,
        sense=sense,
        command=command,
        trained=trained,
        declared=declared_verdicts(trained, names, sense),
    )
    write_atomically(output, page)
    if as_json:
        answers = [a for e in entries for row in e.cells.values() for a in row if a is not None]
        counts = {s.value: sum(answer.status == s.value for answer in answers) for s in Status}
        left = count_open(entries)
        still_open = {"cells": left.cells, "open": left.open, "outside_attention": left.recurrent}
        summary = {"languages": len(entries), "verdicts": counts, "out": str(output), "open": still_open}
        click.echo(json.dumps(summary))
        return
    left = count_open(entries)
    click.echo(
        f"{left.open:,} of {left.cells:,} cells open, {left.recurrent:,} of them outside attention", err=True
    )
    click.echo(f"{plural(len(entries), 'language')} in {time.monotonic() - started:.1f} s", err=True)
    click.echo(str(output))


def _names(suite: str | None, only: str | None) -> list[str]:
    """The languages that are asked for, each once."""
    if suite is not None and only is not None:
        raise InputError("--suite and --only exclude each other; give one of them")
    if suite is not None:
        return [row.name for row in suite_rows(suite)]
    names = split_names(only, option="--only", listing="list languages")
    if names is None:
        return list(BESTIARY)
    names = list(dict.fromkeys(name.lower() for name in names))
    for name in names:
        # A name that nothing has stops the work before it begins, not after an hour.
        find_language(name)
    return names


def _command() -> str:
    """The command line that makes the page again: every option that was given and changes the page."""
    context = click.get_current_context()
    words = ["nerode", "atlas"]
    for parameter in context.command.params:
        name, value = parameter.name or "", context.params.get(parameter.name or "")
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not given or name in ("jobs", "fresh", "force", "as_json"):
            continue
        if name == "networks":
            words += [] if value else ["--no-networks"]
            continue
        for item in value if isinstance(value, tuple) else (value,):
            words += [parameter.opts[0], str(item)]
    return shlex.join(words)


def _entries(
    names: list[str], output: Path, options: dict[str, Any], budget: Budget
) -> Iterator[tuple[str, AtlasEntry]]:
    """Yields names with their entries as they are ready."""
    sense, networks = Sense(options["sense"]), options["networks"]
    cache = StudyCache(
        None if options["fresh"] else output.parent / ".atlas",
        {"budget": dict(budget.limits()), "sense": sense.value, "networks": networks},
    )
    missing = []
    for name in names:
        entry = entry_from_json(cache.read(name))
        if entry is None:
            missing.append(name)
        else:
            yield name, entry
    work = functools.partial(_entry, budget=budget, sense=sense, networks=networks)
    for name, entry in for_all_languages(missing, work, jobs=options["jobs"]):
        cache.write(name, to_mapping(entry))
        yield name, entry


def _entry(name: str, *, budget: Budget, sense: Sense, networks: bool) -> AtlasEntry:
    """The entry of a language on the page."""
    suites = BESTIARY[name].suites if name in BESTIARY else ()
    with enforce(budget.start()) as limits:
        study = study_named(name, networks=networks, budget=limits)
        return entry_of(study, group=suites[0] if suites else "", sense=sense)


def _progress(entries: Iterator[tuple[str, AtlasEntry]], total: int) -> Iterator[tuple[str, AtlasEntry]]:
    """Passes the entries on, with a bar on a terminal and one line per language elsewhere."""
    with Progress("atlas", total, unit="language", terse=True) as progress:
        for name, entry in entries:
            progress.end(f"{name}: {plural(len(entry.networks), 'network')}, {entry.proved} proved")
            yield name, entry
