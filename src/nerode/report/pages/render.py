"""Templates to files: one HTML document with its scripts and its works inside it, which loads nothing."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Iterator
from importlib import metadata, resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nerode.core import Reference, Work, plural, work
from nerode.report.notation import STATUS_WORDS, author_list, group_name, percent, sentence, visible


@functools.cache
def environment() -> Environment:
    """Returns the template environment: everything that is not marked as markup is escaped."""
    env = Environment(
        loader=PackageLoader("nerode.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.globals["status_words"] = STATUS_WORDS
    env.filters.update(
        author_list=author_list, group_name=group_name, percent=percent, plural=plural, sentence=sentence
    )
    return env


def render(template: str, *, styles: tuple[str, ...] = (), script: str = "", **context: Any) -> str:
    """Returns a page.

    The page's policy allows no source outside itself and no script but the given one, by its hash, so that
    even a symbol or a name that got through as markup could not run.

    Args:
        template: its file name.
        styles: file names of style sheets, in addition to the one of every page.
        script: file name of the page's script, empty for none.
        context: what the template shows.
    """
    program = _text(script) if script else ""
    page = (
        environment()
        .get_template(template)
        .render(
            css=Markup("".join(map(_text, ("page.css", *styles)))),
            script=Markup(program),
            script_source=Markup(_source(program) if program else "'none'"),
            version=metadata.version("nerode"),
            **context,
        )
    )
    return visible(page)


def _source(program: str) -> str:
    """The name of a script in a content policy."""
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _text(name: str) -> str:
    return resources.files("nerode.report").joinpath("templates", name).read_text(encoding="utf-8")


class Bibliography:
    """A list of works that grows while a page is written."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def cite(self, reference: Reference | None) -> Reference | None:
        """Notes the work of a reference for the list at the end, and returns the reference."""
        if reference is not None:
            self.note([reference.key])
        return reference

    def note(self, keys: Iterable[str]) -> None:
        """Notes works for the list at the end that were cited elsewhere."""
        for key in keys:
            self._numbers.setdefault(key, len(self._numbers) + 1)

    @property
    def keys(self) -> list[str]:
        """The keys of all works, in order."""
        return list(self._numbers)

    def __iter__(self) -> Iterator[tuple[int, Work]]:
        return ((number, work(key)) for key, number in self._numbers.items())

    def __len__(self) -> int:
        return len(self._numbers)
