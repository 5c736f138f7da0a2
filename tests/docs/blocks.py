"""The fenced blocks of a page, in order, and how each kind is run.

python     runs, all blocks of a page in one namespace; a block whose first line names a file (`# file: NAME`)
           is written to it, and can be imported
console    lines that begin with `$ nerode` run in the folder of the page, and end with exit code 0 or 1,
           or with another if they say so (`# exit 2`); every other line has to appear in what the command
           before it printed, but for lines that begin with `…`
toml       is written to the file that its first line names (`# file: NAME`)
text       is not run: help texts, layouts, commands for a shell
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.runner import run

KINDS = ("python", "console", "toml", "text", "bibtex", "{toctree}", "{eval-rst}")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        kind: the word after the fence.
        line: where it begins.
        text: what is inside.
    """

    kind: str
    line: int
    text: str


def blocks_of(page: str) -> Iterator[Block]:
    """Yields the fenced blocks of a page in Markdown."""
    kind, begin, inside = None, 0, []
    for number, line in enumerate(page.splitlines(), start=1):
        if not line.lstrip().startswith("```"):
            inside.append(line)
        elif kind is None:
            kind, begin, inside = line.lstrip()[3:].split(" ")[0], number, []
        else:
            yield Block(kind, begin, "\n".join(inside))
            kind = None
    assert kind is None, f"the block of line {begin} has no end"


def run_page(path: Path) -> int:
    """Runs the blocks of a page in the current folder and returns how many were run."""
    space: dict[str, Any] = {"__name__": "__page__"}
    done = 0
    for block in blocks_of(path.read_text(encoding="utf-8")):
        place = f"{path.name}, line {block.line}"
        if block.kind == "python" and block.text.startswith(_FILE):
            _write(block, place)
            sys.path.insert(0, str(Path.cwd()))
        elif block.kind == "python":
            exec(compile(block.text, place, "exec"), space)  # noqa: S102  (our own pages)
        elif block.kind == "console":
            _run_console(block.text, place)
        elif block.kind == "toml":
            _write(block, place)
        else:
            continue
        done += 1
    return done


_FILE = "# file: "


def _write(block: Block, place: str) -> None:
    first = block.text.splitlines()[0]
    assert first.startswith(_FILE), f"{place}: name the file in the first line"
    Path(first.removeprefix(_FILE)).write_text(block.text + "\n", encoding="utf-8")


def _run_console(text: str, place: str) -> None:
    said = ""
    for line in text.splitlines():
        if line.startswith("$ "):
            program, *arguments = shlex.split(line[2:], comments=True)
            assert program == "nerode", f"{place}: only nerode runs here, not {program}"
            outcome = run(*arguments)
            _, said_so, code = line.partition("# exit ")
            wanted = (int(code),) if said_so else (0, 1)
            assert outcome.code in wanted, f"{place}: {line}\n{outcome.out}\n{outcome.err}"
            said = _plain(outcome.out + outcome.err)
        elif line.strip() and not line.lstrip().startswith("…"):
            assert _plain(line) in said, f"{place}: {line!r} is not in\n{said}"


def _plain(text: str) -> str:
    return " ".join(text.split())
