"""The `nerode` command: exit 0 success, 1 a negative answer, 2 wrong use, 130 stopped by the user."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from typing import Any

import click

from nerode.core import NerodeError

COMMANDS = {
    "check": "nerode.cli.check",
    "explain": "nerode.cli.explain",
    "compile": "nerode.cli.compile",
    "verify": "nerode.cli.verify",
    "polish": "nerode.cli.polish",
    "run": "nerode.cli.run",
    "export": "nerode.cli.export",
    "train": "nerode.cli.train",
    "analyse": "nerode.cli.analyse",
    "extract": "nerode.cli.extract",
    "repair": "nerode.cli.repair",
    "compare": "nerode.cli.compare",
    "sweep": "nerode.cli.sweep",
    "runs": "nerode.cli.runs",
    "reproduce": "nerode.cli.reproduce",
    "papers": "nerode.cli.reproduce",
    "report": "nerode.cli.report",
    "atlas": "nerode.cli.atlas",
    "languages": "nerode.cli.listings",
    "architectures": "nerode.cli.listings",
    "tasks": "nerode.cli.tasks",
    "audit": "nerode.cli.audit",
    "explore": "nerode.cli.explore",
}
"""Where each command lives; a module is imported only when its command is used."""


STOPPED = 130
"""The exit code of shells for a program that Control-C has ended."""

UNREAD = 141
"""That for a program whose reader (head, less) has gone away; the answer is then not known."""


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

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Returns the command of this name."""
        if name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[name])
        command = getattr(module, "compile_command" if name == "compile" else name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command, naming the nearest one for a misspelt word."""
        import difflib

        if args and args[0] not in COMMANDS:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(COMMANDS)}"
            ctx.fail(f"no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nerode")
def nerode() -> None:
    """What can a sequence model compute, at every length?

    LANG is a name (`nerode languages` lists them: tomita-3, flip-flop, dyck-2-5, S3, Z60, A4xZ5 …), a
    regular expression ("(aa)*"), or a file (.att, .dot, .jff, .json, .arpa).
    """


def main(argv: list[str] | None = None) -> Any:
    """Runs the command line and turns errors that nerode raises on purpose into one clear message."""
    try:
        sys.exit(nerode.main(args=argv, prog_name="nerode", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("\nnerode: stopped", err=True)
        sys.exit(STOPPED)
    except NerodeError as error:
        click.echo(f"nerode: {error}", err=True)
        sys.exit(2)
    except ReaderLeft:
        # Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(UNREAD)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        click.echo(f"nerode: cannot write: {error.strerror}", err=True)
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        # Torch has no error of its own for this.
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        click.echo("nerode: there is not enough memory; ask for something smaller", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
