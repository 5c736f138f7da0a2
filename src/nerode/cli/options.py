"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from nerode.core import DTYPES, Budget, InputError
from nerode.languages import Language, resolve_language
from nerode.verdict import Sense, VerdictTask

F = TypeVar("F", bound=Callable[..., Any])

_DEFAULTS = Budget()


def language_options(command: F) -> F:
    """Adds the options that say how LANG is to be read."""
    for option in (
        click.option("--ltl", is_flag=True, help="Read LANG as a past-LTL formula."),
        click.option("--regex", is_flag=True, help="Read LANG as a regular expression, never as a name."),
        click.option(
            "--alphabet",
            metavar="SYMBOLS",
            help="Letters of the alphabet: ab01, or several characters each with commas: push,pop.",
        ),
    ):
        command = option(command)
    return command


def budget_options(command: F) -> F:
    """Adds the options that raise or lower the limits."""
    for option in (
        click.option(
            "--max-states",
            default=_DEFAULTS.states,
            show_default=True,
            help="Largest number of states of an automaton.",
        ),
        click.option(
            "--max-elements",
            default=_DEFAULTS.elements,
            show_default=True,
            help="Largest number of elements of a monoid.",
        ),
        click.option(
            "--max-images",
            default=_DEFAULTS.images,
            show_default=True,
            help="Largest number of images of the state set.",
        ),
        click.option(
            "--max-seconds",
            default=_DEFAULTS.seconds,
            show_default=True,
            help="Time limit per language, in seconds.",
        ),
    ):
        command = option(command)
    return command


def verdict_options(command: F) -> F:
    """Adds the options that say which question is asked."""
    for option in (
        click.option("--arch", metavar="A,B", help="Ask only about these architectures or classes."),
        click.option(
            "--task",
            type=click.Choice([t.value for t in VerdictTask]),
            default=VerdictTask.PREDICT.value,
            show_default=True,
            help="Predict what may follow every valid prefix, or recognise whole words.",
        ),
        click.option(
            "--dtype",
            type=click.Choice(list(DTYPES)),
            default="float32",
            show_default=True,
            help="Float format of the IEEE sense.",
        ),
    ):
        command = option(command)
    return command


def sense_option(command: F) -> F:
    """Adds the option that picks the sense whose reasons are shown."""
    return click.option(
        "--sense",
        type=click.Choice([s.value for s in Sense]),
        default=Sense.FINITE_PRECISION.value,
        show_default=True,
        help="Arithmetic whose reasons and sizes are shown.",
    )(command)


def make_budget(options: dict[str, Any]) -> Budget:
    """Takes the budget options out of `options` and returns a started Budget."""
    return Budget(
        states=options.pop("max_states"),
        elements=options.pop("max_elements"),
        images=options.pop("max_images"),
        seconds=options.pop("max_seconds"),
    )


def read_language(text: str, *, ltl: bool, regex: bool, alphabet: str | None, budget: Budget) -> Language:
    """Returns the language that the user means."""
    if ltl and regex:
        raise InputError("--ltl and --regex exclude each other; give one of them")
    symbols = None
    if alphabet is not None:
        symbols = tuple(alphabet.split(",")) if "," in alphabet else tuple(alphabet.replace(" ", ""))
    return resolve_language(text, ltl=ltl, regex=regex, alphabet=symbols, budget=budget)


def named_again(text: str, *, ltl: bool, regex: bool, alphabet: str | None) -> str:
    """Returns the words for a shell that name the same language to another command."""
    from nerode.report import quote

    flags = ("--ltl",) * ltl + ("--regex",) * regex
    letters = ("--alphabet", quote(alphabet)) if alphabet is not None else ()
    return " ".join((quote(text), *flags, *letters))


def split_names(
    names: str | None, *, option: str = "--arch", listing: str = "architectures"
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
