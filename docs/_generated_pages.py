"""Pages that are written from the program itself, so that they cannot be out of date.

A page for each row of the theorem table, the reference of the command line, and the lists of languages,
architectures, tasks and configurations. They go to docs/generated, which is not kept in the repository.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import shutil
from pathlib import Path

import click

from nerode.cli.main import COMMANDS, nerode
from nerode.compiler import CONSTRUCTIONS, Construction
from nerode.core import work
from nerode.languages.bestiary import BESTIARY
from nerode.records import (
    Curriculum,
    ModelSpec,
    OptimiserSpec,
    RunSpec,
    StopRule,
    Surroundings,
    TaskConfig,
)
from nerode.report import family_title
from nerode.report.notation import author_list
from nerode.report.tables.verdicts import SENSE_TITLES
from nerode.tasks import all_tasks
from nerode.verdict import ARCHITECTURES
from nerode.verdict.theorems import THEOREMS, Theorem


def write_pages(docs: Path) -> None:
    """Writes all generated pages anew."""
    folder = docs / "generated"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "theorems").mkdir(parents=True)
    derived = {
        name: text
        for page in sorted((docs / "theory").glob("*.md"))
        for name, text in _sections(page).items()
    }
    for row in THEOREMS.values():
        _write(folder / "theorems" / f"{row.name}.md", _theorem_page(row, derived))
    _write(folder / "theorems" / "index.md", _theorem_index())
    _write(folder / "commands.md", _commands())
    _write(folder / "architectures.md", _architectures())
    _write(folder / "languages.md", _languages())
    _write(folder / "tasks.md", _tasks())
    _write(folder / "settings.md", _settings())


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _sections(path: Path) -> dict[str, str]:
    """The parts of a page by the names of theorems in their headings."""
    found: dict[str, str] = {}
    for part in path.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        for word in title.replace(",", " ").split():
            if word in THEOREMS:
                found[word] = body.strip()
    return found


def _theorem_page(row: Theorem, derived: dict[str, str]) -> str:
    senses = ", ".join(SENSE_TITLES[sense] for sense in SENSE_TITLES if sense in row.senses)
    lines = [
        f"# {row.name}",
        "",
        f"**{_sentence(row.statement)}**",
        "",
        f"- **says**: {row.conclusion.value}",
        f"- **for languages**: {row.language.text}",
        f"- **on architectures with**: {row.architecture.text}",
        *([f"- **in exact arithmetic also**: {row.over_the_reals.text}"] if row.over_the_reals else []),
        f"- **arithmetic**: {senses}",
        f"- **task**: {', '.join(sorted(task.value for task in row.tasks))}",
        f"- **source**: {_cited(row)} ({row.provenance.value})",
        f"- **stated for**: {row.model}",
        *([f"- **on the condition**: {row.conditional_on}"] if row.conditional_on else []),
    ]
    lines += [f"- **assumes**: {text}" for text in row.assumptions]
    lines += [
        f"- **no network**, {n.architecture.text}, {n.language.text}: {n.reason}" for n in row.no_network
    ]
    affected = [a.title for a in ARCHITECTURES.values() if not a.is_class and row.architecture(a.properties)]
    if affected:
        lines += ["", "## Architectures it speaks of", "", ", ".join(affected) + "."]
    made = [c for c in CONSTRUCTIONS.values() if c.theorem == row.name]
    if made:
        lines += ["", "## Constructions that make it true", ""]
        lines += [_construction(c) for c in made]
    if row.name in derived:
        # The argument is quoted from a page of docs/theory, whose links lead to pages beside it.
        quoted = re.sub(r"\]\(([a-z-]+\.md)", r"](../../theory/\1", derived[row.name])
        lines += ["", "## The argument", "", quoted]
    return "\n".join(lines) + "\n"


def _construction(row: Construction) -> str:
    module = importlib.import_module(row.build.__module__)
    about = (module.__doc__ or "").strip().replace("\n", " ")
    return f"- `{row.name}` (`{row.build.__module__}`): {about}"


def _cited(row: Theorem) -> str:
    source = work(row.reference.key)
    place = f", {row.reference.place}" if row.reference.place else ""
    return f"{author_list(source.author)} ({source.year}), *{source.title}*{place}"


def _theorem_index() -> str:
    lines = [
        "# The theorem table",
        "",
        "Every verdict of `nerode check` comes from a row of this table; `--details` names the rows that",
        "were used. Two rows that contradict each other on a named language fail a test.",
        "",
        "| row | says | for languages | on architectures with |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| [{row.name}]({row.name}.md) | {row.conclusion.value} | {_cell(row.language.text)} "
        f"| {_cell(row.architecture.text)} |"
        for row in THEOREMS.values()
    ]
    lines += ["", "```{toctree}", ":hidden:", "", *THEOREMS, "```"]
    return "\n".join(lines) + "\n"


def _commands() -> str:
    lines = [
        "# Command line",
        "",
        "Exit codes: 0 success, 1 negative answer, 2 usage error, 3 unsettled (`nerode prove`), 130",
        "interrupted, 141 broken pipe.",
        "Every command that answers has `--json`.",
    ]
    for name in COMMANDS:
        command = nerode.get_command(click.Context(nerode), name)
        assert command is not None
        lines += ["", f"## nerode {name}", *_help(command, f"nerode {name}")]
        if isinstance(command, click.Group):
            for part, child in command.commands.items():
                lines += ["", f"### nerode {name} {part}", *_help(child, f"nerode {name} {part}")]
    return "\n".join(lines) + "\n"


def _help(command: click.Command, called: str) -> list[str]:
    text = command.get_help(click.Context(command, info_name=called))
    return ["", "```text", text.rstrip(), "```"]


def _architectures() -> str:
    lines = [
        "# Architectures",
        "",
        "Theorems speak of classes; an architecture is a row that points to a class.",
        "",
        "| name | title | family | update | class |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{row.name}` | {_cell(row.title)} | {_cell(family_title(row))} | `{_cell(row.update)}` "
        f"| {_cell(row.properties.describe())} |"
        for row in ARCHITECTURES.values()
    ]
    return "\n".join(lines) + "\n"


def _languages() -> str:
    lines = [
        "# Named languages",
        "",
        "| name | words | suites |",
        "|---|---|---|",
    ]
    for name, row in BESTIARY.items():
        words = row.language().convention
        lines.append(f"| `{name}` | {_cell(_sentence(words))} | {', '.join(row.suites)} |")
    return "\n".join(lines) + "\n"


def _tasks() -> str:
    kinds, presets = all_tasks()
    lines = ["# Tasks", "", "| name | task | presets |", "|---|---|---|"]
    for name, kind in kinds.items():
        named = [f"`{preset}`" for preset, (of, _) in presets.items() if of == name]
        shown = ", ".join(named[:8]) + (f" and {len(named) - 8} more" if len(named) > 8 else "")
        lines.append(f"| `{name}` | {_cell(kind.title)} | {shown} |")
    return "\n".join(lines) + "\n"


def _settings() -> str:
    """Every setting of a training spec: its dotted name, its default and what it is."""
    lines = [
        "# Settings of training",
        "",
        "Every setting of `nerode train`, of sweep files and of `nr.train`. On the command line: "
        "`--set run.batch=128`; in a file: `run.batch = 128`; in Python: "
        '`nr.train(…, settings={"run.batch": 128})`. Unknown settings are rejected, with a suggestion. '
        "`optimizer` and `optimiser.lr` are understood as well. With `--arch`, width, settings of layers and "
        "rate have defaults per architecture. Training runs on the CPU; there is no setting for a device.",
        "",
        "The settings of a task (`task.settings.…`) are those of its kind; `nerode list tasks` lists them.",
    ]
    for table, config in (
        ("task", TaskConfig),
        ("model", ModelSpec),
        ("optimiser", OptimiserSpec),
        ("run", RunSpec),
    ):
        lines += ["", f"## {table}", "", "| setting | default | what it is |", "|---|---|---|"]
        lines += _setting_rows(table, config)
    return "\n".join(lines) + "\n"


def _setting_rows(place: str, config: type) -> list[str]:
    """The rows of a table of settings, those of tables inside it after it."""
    about = _attributes(config)
    rows = []
    for field in dataclasses.fields(config):
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        shown = (
            "required"
            if default is dataclasses.MISSING
            else ""
            if dataclasses.is_dataclass(default)
            else f"`{default!r}`"
        )
        rows.append(f"| `{place}.{field.name}` | {_cell(shown)} | {_cell(about.get(field.name, ''))} |")
        inner = _INNER.get(field.name)
        if inner is not None:
            rows += _setting_rows(f"{place}.{field.name}", inner)
    return rows


_INNER: dict[str, type] = {"surroundings": Surroundings, "curriculum": Curriculum, "stop": StopRule}
"""Tables inside tables, by the name of the setting that holds them."""


def _attributes(config: type) -> dict[str, str]:
    """What the docstring of a class says of each attribute."""
    text = inspect.cleandoc(config.__doc__ or "").partition("Attributes:\n")[2]
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        match = re.match(r"    (\w+): (.*)", line)
        if match is not None:
            name, found[match[1]] = match[1], match[2]
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return found


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _cell(text: str) -> str:
    """Text inside a table: a bar would end the cell, and a star or angle would be markup."""
    for mark in "|*<_":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")
