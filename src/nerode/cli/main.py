"""The `nerode` command, and the table of its subcommands.

Exit codes: 0 success, 1 negative answer, 2 usage error, 3 unsettled, 130 interrupted, 141 broken pipe.
"""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import io
import os
import shlex
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from nerode.core import NerodeError, missing_extra

FIRST = ("ask", "check", "explain", "compile", "verify", "train", "report", "mend")
"""The commands that a newcomer needs; the help begins with them."""

COMMAND_GROUPS = {
    "Ask": {
        "ask": (
            "nerode.cli.ask",
            "What MODEL computes: its automaton, a proof, or a failing word.",
        ),
        "check": ("nerode.cli.check", "Which architectures can express LANG, in which arithmetic, and why."),
        "explain": ("nerode.cli.explain", "A page about LANG: automaton, egg-box, classes, verdicts."),
        "explore": ("nerode.cli.explore", "A local page: type a language, step through words."),
        "atlas": ("nerode.cli.atlas", "The page of every named language and every architecture."),
    },
    "Languages": {
        "draw": ("nerode.cli.draw", "The automaton, egg-boxes, a cascade or a network as a picture."),
        "convert": ("nerode.cli.convert", "The minimal automaton of LANG in another format."),
        "diff": ("nerode.cli.convert", "Whether two languages are equal, or a word that tells them apart."),
    },
    "Build and prove": {
        "compile": ("nerode.cli.compile", "Exact weights for LANG on an architecture, with a proof."),
        "verify": ("nerode.cli.verify", "Replay the proof in DIR."),
        "prove": ("nerode.cli.prove", "Prove a network at every length, or find a word that it gets wrong."),
        "mend": ("nerode.cli.mend", "Change a model until it is proved."),
        "run": ("nerode.cli.run", "Run the network in DIR on words."),
        "export": ("nerode.cli.export", "Write a network for ONNX or another library."),
        "import": ("nerode.cli.import_weights", "Read weights of another library."),
    },
    "Train": {
        "learn": (
            "nerode.cli.learn",
            "A language from labelled words, and a network proved equal to it.",
        ),
        "train": ("nerode.cli.train", "Train models on TASK, or the runs of a FILE.toml, and test them."),
        "runs": ("nerode.cli.runs", "List, show, export and prune the runs of a folder."),
        "report": ("nerode.cli.report", "Figures and tables of runs; theory beside them."),
    },
    "Look inside": {
        "analyse": ("nerode.cli.analyse", "Look inside a network; extract its automaton."),
    },
    "Papers and lists": {
        "reproduce": ("nerode.cli.reproduce", "Tables of papers, measured again."),
        "list": ("nerode.cli.lists", "Languages, architectures, tasks, papers, constructions."),
        "mcp": ("nerode.cli.mcp", "The commands as tools for programs (Model Context Protocol)."),
    },
}
COMMANDS = {name: module for group in COMMAND_GROUPS.values() for name, (module, _) in group.items()}
"""Where each command lives; a module is imported only when its command is used, and so helps are above."""

ALIASES = {"analyze": "analyse"}
"""Other spellings of commands."""

RENAMED = {
    "languages": ("list", "languages"),
    "architectures": ("list", "architectures"),
    "tasks": ("list", "tasks"),
    "papers": ("list", "papers"),
    "sweep": ("train",),
    "extract": ("analyse", "--automaton"),
    "compare": ("report",),
    "polish": ("mend", "--method", "group"),
    "repair": ("mend", "--method", "words"),
}
"""Commands of earlier versions, by the words that now begin the same command; they work in this release."""


WRONG_USE = 2
"""The exit code for what cannot be used, and for answers that cannot be written."""

STOPPED = 130
"""The exit code of shells for a program that Control-C has stopped."""

_OBJECTS = 50_000
"""New objects between two searches for cycles."""

UNREAD = 141
"""That for a program whose reader (head, less) has gone away; the answer is then not known."""


def _function(command: str) -> str:
    """The name of the function behind a command."""
    return f"{command}_command" if command in ("compile", "import", "list") else command


class ReaderLeft(Exception):
    """The reader of our output has gone away."""


class LazyGroup(click.Group):
    """A command group that imports a command when it is called."""

    def invoke(self, ctx: click.Context) -> Any:
        """Carries the command out; click would turn a reader that left into a negative answer."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderLeft from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which a user meets them."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands that one needs first, then the others by what they are for."""
        texts = {name: text for group in COMMAND_GROUPS.values() for name, (_, text) in group.items()}
        others = {
            title: [name for name in names if name not in FIRST] for title, names in COMMAND_GROUPS.items()
        }
        for title, names in {"Start here": list(FIRST), **others}.items():
            with formatter.section(title):
                formatter.write_dl([(name, texts[name]) for name in names])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Returns the command of this name."""
        name = ALIASES.get(name, name)
        if name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(COMMANDS[name]), _function(name))
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command, naming the nearest one for a misspelt word."""
        import difflib

        if args and args[0] in RENAMED:
            args = _renamed(*args)
        if args and args[0] not in COMMANDS and args[0] not in ALIASES:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(COMMANDS)}"
            ctx.fail(f"no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)


def _renamed(old: str, *words: str) -> list[str]:
    """The words of a command of an earlier version as they are written now; it is printed."""
    now = [*RENAMED[old], *words]
    if old == "compare" and words:
        now = ["report", *words[1:], "--language", words[0]]
    if old == "repair" and not {"-o", "--out"} & set(words):
        now = ["prove", *words]
    if old == "polish" and "--check" in words:
        now = ["verify", *(word for word in words if word != "--check")]
    _say(f"nerode {old} is now: nerode {shlex.join(now)}")
    return now


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nerode")
def nerode() -> None:
    """What can a sequence model compute, at every length?

    LANG is a name (`nerode list languages`: tomita-3, flip-flop, dyck-2-5, S3, Z60, A4xZ5 …), a
    regular expression ("(aa)*"), or a file (.att, .dot, .jff, .json, .arpa, .rules).
    """


def main(argv: list[str] | None = None) -> NoReturn:
    """Runs the command line and turns errors that nerode raises on purpose into one clear message."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file name that is not UTF-8, or a terminal that has no ✓, shows an escape and is no error.
        sys.stdout.reconfigure(errors="backslashreplace")
    # Imports make many objects that stay. Looking through them for cycles, once more before the process ends,
    # took a quarter of a short command.
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)
    _shorten_warnings()
    sys.exit(_flush(_status(argv)))


def _shorten_warnings() -> None:
    """Shows warnings of nerode as one sentence, without a place in the source."""
    shown = warnings.formatwarning
    package = str(Path(__file__).parents[1])

    def short(message: Warning | str, category: type[Warning], filename: str, *rest: Any) -> str:
        if filename.startswith(package):
            return f"nerode: {message}\n"
        return shown(message, category, filename, *rest)

    warnings.formatwarning = short  # type: ignore[assignment]


def _status(argv: list[str] | None) -> int:
    """Carries a command out and returns the exit status."""
    try:
        return int(nerode.main(args=argv, prog_name="nerode", standalone_mode=False) or 0)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return error.exit_code
    except click.Abort:
        _say("\nnerode: stopped")
        return STOPPED
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        _say(f"nerode: {missing}")
    except NerodeError as error:
        _say(f"nerode: {error}")
    except ReaderLeft:
        return UNREAD
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _say(f"nerode: cannot write: {error.strerror}; make room, or write elsewhere")
    except (MemoryError, RuntimeError) as error:
        # Torch has no error of its own for this.
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        _say("nerode: there is not enough memory; ask for something smaller")
    return WRONG_USE


def _say(text: str) -> None:
    """Prints a message, unless nobody can read it: the exit status says the rest."""
    # A name of a file may hold what a terminal obeys.
    shown = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    with suppress(OSError):
        click.echo(shown, err=True)


def _flush(status: int) -> int:
    """Writes out what is still in the buffers and returns the exit status.

    Python would do so itself after all else, and complain in its own words with a status of its own.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError as error:
            if stream is sys.stdout and status != UNREAD:
                gone = error.errno == errno.EPIPE
                status = UNREAD if gone else WRONG_USE
                if not gone:
                    _say(f"nerode: cannot write: {error.strerror}; make room, or write elsewhere")
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return status


if __name__ == "__main__":
    main()
