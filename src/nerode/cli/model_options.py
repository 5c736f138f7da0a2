"""Options of commands that take any model: which letters it reads, and how its scores become answers."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nerode.cli.options import PATH
from nerode.core import InputError
from nerode.records import find_run

if TYPE_CHECKING:
    from nerode.proofs.replay import Subject

_Command = TypeVar("_Command", bound=Callable[..., Any])

MODEL_OPTIONS = ("letters", "begin", "end", "reading", "weights")
"""The options that say how a model is read, but for the longest word, which commands have themselves."""


def token_options(command: _Command) -> _Command:
    """Adds the options that say which tokens are the letters, the beginning and the end."""
    named = "The tokens that are letters: by number, or by name (a,b or ab) where a tokenizer has them."
    ended = "Token whose score says that the word may end, or none."
    options = [
        click.option("--letters", metavar="a=12,b=15", help=named),
        click.option("--begin", metavar="TOKEN", help="Token read before every word, or none."),
        click.option("--end", metavar="TOKEN", help=ended),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def model_options(command: _Command) -> _Command:
    """Adds the options that say which letters a model reads, and how its scores become answers."""
    options = [
        token_options,
        click.option(
            "--reading",
            metavar="RULE",
            help="How scores become answers: softmax:P (a probability of at least P), above:T, or largest.  "
            "[default: softmax:0.02]",
        ),
        click.option(
            "--weights",
            type=PATH,
            help="safetensors file for the module that MODEL, written as module:function, builds.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def open_model(text: str, options: dict[str, Any], *, trust_code: bool) -> Subject:
    """Returns the model that a command names: a folder, a file, a run, or a function of the user's own."""
    from nerode.analysis.asking import model

    return model(source_of(text, options), trust_code=trust_code, **options)


def source_of(text: str, options: dict[str, Any]) -> Any:
    """Returns the path that a command names, or what the user's own function builds.

    With weights for it, the function itself is returned. A function that takes a task, as `nerode train
    --model` calls it, is given the number of letters, and one score more.
    """
    if ":" not in text or Path(text).exists():
        return find_run(Path(text))
    from nerode.training import import_builder, own_code

    build: Any = import_builder(text)
    needed = [p for p in signature(build).parameters.values() if p.default is p.empty]
    letters = options["letters"] or ""
    if needed and not letters:
        raise InputError(f"{text} takes {needed[0].name!r}; name the letters for it (--letters ab)")
    count = len(letters.split(",")) if "," in letters else len(letters)
    sizes = [SimpleNamespace(letters=count, features=None, outputs=count + 1)] if needed else []

    def made() -> Any:
        with own_code(f"{text}()"):
            return build(*sizes)

    return made() if options["weights"] is None else made
