"""Options that several commands share, and failures of certificates as they print them."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from nerode.core import DTYPES, TABLES, Budget, InputError, enforce
from nerode.languages import Language, resolve_language
from nerode.records import find_run, kept_experiments

if TYPE_CHECKING:
    from nerode.proofs import Failure
    from nerode.study import TrainingOutcome

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
"""Types of options that name a place."""

default_option = functools.partial(click.option, show_default=True)
"""An option whose help names its default."""

_DEFAULTS = Budget()


class Command(click.Command):
    """A command whose help has the limits of its budget under a heading of their own.

    Args:
        sections: names of options by the heading that they stand under, if it is not "Options".
    """

    def __init__(
        self, *given: Any, sections: Mapping[str, Sequence[str]] | None = None, **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self._headings = {name: title for title, names in (sections or {}).items() for name in names}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the arguments that many commands share, the options by section, then the limits."""
        titles = ("Arguments", "Options", *dict.fromkeys(self._headings.values()), "Limits")
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in titles}
        taken = re.findall("[A-Z]+", " ".join(self.collect_usage_pieces(ctx)))
        sections["Arguments"] = [(word, text) for word, text in _ARGUMENTS.items() if word in taken]
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                name = parameter.name or ""
                title = "Limits" if name.startswith("max_") else self._headings.get(name, "Options")
                sections[title].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


_ARGUMENTS = {
    "LANG": "A name (`nerode list languages`), a regular expression, or a file; see `nerode --help`.",
    "RUN": "The folder of a run, the beginning of its key, or `last` for the newest.",
}
"""Arguments that mean the same in every command."""


class RunPath(click.Path):
    """A folder of a run or a network: a path, the beginning of a run's key, or "last"."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the path."""
        path = super().convert(value, param, ctx)
        assert isinstance(path, Path)
        return find_run(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageReading:
    """The reading of LANG that the options of `language_options` ask for.

    Attributes:
        ltl: as a past-LTL formula.
        regex: as a regular expression, never as a name.
        alphabet: over these letters; None for those that occur.
    """

    ltl: bool
    regex: bool
    alphabet: str | None

    def read(self, text: str, budget: Budget) -> Language:
        """Returns the language that the user means."""
        if self.ltl and self.regex:
            raise InputError("--ltl and --regex exclude each other; give one of them")
        symbols = None
        if self.alphabet is not None:
            comma = "," in self.alphabet
            symbols = tuple(self.alphabet.split(",") if comma else self.alphabet.replace(" ", ""))
        return resolve_language(text, ltl=self.ltl, regex=self.regex, alphabet=symbols, budget=budget)

    def named_again(self, text: str) -> str:
        """Returns the words for a shell that name the same language to another command."""
        from nerode.report import quote

        flags = ("--ltl",) * self.ltl + ("--regex",) * self.regex
        letters = ("--alphabet", quote(self.alphabet)) if self.alphabet is not None else ()
        return " ".join((quote(text), *flags, *letters))


def language_options(command: F) -> F:
    """Adds the options that say how LANG is to be read, which the command gets as its `reading`."""

    @functools.wraps(command)
    def read(*, ltl: bool, regex: bool, alphabet: str | None, **options: Any) -> Any:
        return command(reading=LanguageReading(ltl=ltl, regex=regex, alphabet=alphabet), **options)

    reading: Any = read
    for option in (
        click.option("--ltl", is_flag=True, help="Read LANG as a past-LTL formula."),
        click.option("--regex", is_flag=True, help="Read LANG as a regular expression, never as a name."),
        click.option(
            "--alphabet",
            metavar="LETTERS",
            help="Letters of the alphabet: ab01; with commas if a letter has several characters: push,pop.",
        ),
    ):
        reading = option(reading)
    return cast(F, reading)


def budgeted(*, seconds: float = _DEFAULTS.seconds, counts: bool = True, per: str = "") -> Callable[[F], F]:
    """Adds the options of the budget to a command, which runs under it, and has it if it names `budget`.

    Args:
        seconds: how many it has by default.
        counts: whether it builds automata and monoids, and so takes the options that limit their sizes.
        per: what has seconds of its own ("language", "run"); the command then calls `enforce` for each.
    """

    def decorate(command: F) -> F:
        named = "budget" in inspect.signature(command).parameters

        @functools.wraps(command)
        def run(**options: Any) -> Any:
            limits = [name for name in _DEFAULTS.limits() if f"max_{name}" in options]
            budget = Budget(**{name: options.pop(f"max_{name}") for name in limits}).start()
            given = {"budget": budget} if named else {}
            with enforce(replace(budget, seconds=math.inf) if per else budget):
                return command(**options, **given)

        limited: Any = run
        for option in _budget_options(seconds, counts, per):
            limited = option(limited)
        return cast(F, limited)

    return decorate


def _budget_options(
    seconds: float, counts: bool, per: str
) -> Iterator[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """The options, the last one first, as click wants them."""
    yield click.option(
        "--max-bytes",
        default=_DEFAULTS.bytes,
        show_default=f"{_DEFAULTS.bytes:,}",
        help=f"Memory of one table, in bytes; the command may take {TABLES} times as much.",
    )
    yield click.option(
        "--max-seconds",
        default=seconds,
        show_default=True if math.isfinite(seconds) else "no limit",
        help=f"CPU seconds per {per}." if per else "CPU seconds of the command.",
    )
    if not counts:
        return
    yield default_option(
        "--max-images", default=_DEFAULTS.images, help="Largest number of images of the state set."
    )
    yield default_option(
        "--max-elements", default=_DEFAULTS.elements, help="Largest number of elements of a monoid."
    )
    yield default_option(
        "--max-states", default=_DEFAULTS.states, help="Largest number of states of an automaton."
    )


class FiniteRange(click.FloatRange):
    """A range of numbers that has neither NaN, which passes every comparison, nor infinities."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


def force_option(command: F) -> F:
    """Adds the option of every command that writes: to replace what nerode did not write."""
    return click.option(
        "--force", is_flag=True, help="Replace a file, or fill a folder, that nerode did not write."
    )(command)


def trust_option(command: F) -> F:
    """Adds the option by which the user lets a module run that files name for a model."""
    return click.option(
        "--trust-code",
        is_flag=True,
        help="Import the module that a file names for its model; this runs its code.",
    )(command)


def verdict_options(command: F) -> F:
    """Adds the options that say which question is asked."""
    from nerode.verdict import VerdictTask

    for option in (
        click.option(
            "--arch",
            metavar="A,B",
            help="Ask only about these architectures or classes; gla+transformer-nope is a stack of both.",
        ),
        default_option(
            "--task",
            type=click.Choice([t.value for t in VerdictTask]),
            default=VerdictTask.PREDICT.value,
            help="Predict what may follow every valid prefix, or recognise whole words.",
        ),
        default_option(
            "--dtype",
            type=click.Choice(list(DTYPES)),
            default="float32",
            help="Float format of the IEEE sense.",
        ),
    ):
        command = option(command)
    return command


def sense_option(command: F) -> F:
    """Adds the option that picks the sense whose reasons are shown."""
    from nerode.verdict import Sense

    return default_option(
        "--sense",
        type=click.Choice([s.value for s in Sense]),
        default=Sense.FINITE_PRECISION.value,
        help="Arithmetic whose reasons and sizes are shown.",
    )(command)


def trained_options(command: F) -> F:
    """Adds the folders whose results of training a page shows."""
    command = click.option(
        "--runs", type=FOLDER, multiple=True, help="Folder of your own runs, shown in the same way."
    )(command)
    return click.option(
        "--experiments",
        type=FOLDER,
        default=kept_experiments,
        help="Folder of tables of experiments: results of training.  [default: those that come with nerode]",
    )(command)


def read_trained(experiments: Path, runs: tuple[Path, ...]) -> list[TrainingOutcome]:
    """Returns results of training, from tables of experiments (there may be none) and from the user's runs.

    Raises:
        InputError: if a folder of runs is missing.
    """
    # Most commands read no runs, and answer sooner without what reads them.
    from nerode.study import read_experiments, read_runs

    found = read_experiments(experiments)
    for folder in runs:
        if not folder.is_dir():
            raise InputError(
                f"there is no folder {str(folder)!r}; --runs wants one that `nerode train` wrote"
            )
        found += read_runs(folder)
    return found


def split_names(
    names: str | None, *, option: str = "--arch", listing: str = "list architectures"
) -> list[str] | None:
    """Returns the names of a comma-separated list, None for None.

    Args:
        names: what the user gave.
        option: with which option.
        listing: the command that lists what may be given.
    """
    if names is None:
        return None
    found = [name.strip() for name in names.split(",") if name.strip()]
    if not found:
        raise InputError(f"{option} was given no name; `nerode {listing}` lists them")
    return found


def print_failure(what: str, failure: Failure) -> None:
    """Prints a failure, and the entry that it is about."""
    click.echo(f"✗ {what}: {failure.what}", err=True)
    if failure.entry:
        click.echo(f"  at {failure.entry}", err=True)


def failure_object(failure: Failure) -> dict[str, Any]:
    """Returns a failure for programs."""
    found: dict[str, Any] = {"what": failure.what, "entry": failure.entry or None}
    if failure.refutation is not None:
        found |= {
            "word": " ".join(failure.refutation.word),
            "at": failure.refutation.at,
            "expected": list(failure.refutation.expected),
            "got": list(failure.refutation.got),
        }
    return found
