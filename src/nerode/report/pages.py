"""Templates to files: one HTML document with everything inside it, which asks the network for nothing."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import metadata, resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nerode.report.engine import engine_program
from nerode.report.notation import author_list, group_name, percent, plural, sentence, visible


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
    env.filters.update(
        author_list=author_list, group_name=group_name, percent=percent, plural=plural, sentence=sentence
    )
    return env


def render(
    template: str, *, styles: tuple[str, ...] = (), script: str = "", figures: bool = False, **context: Any
) -> str:
    """Returns a page.

    The page's policy allows no source outside itself and no script but the given one and the one that draws
    figures, by their hashes, so that even a symbol or a name that got through as markup could not run.

    Args:
        template: its file name.
        styles: file names of style sheets, in addition to the one of every page.
        script: file name of the page's script, empty for none.
        figures: whether the page has figures (`nerode.report.vega`).
        context: what the template shows.
    """
    program = _text(script) if script else ""
    engine = engine_program() if figures else ""
    sources = " ".join(_source(text) for text in (program, engine) if text)
    if figures:
        styles = ("figures.css", *styles)
    page = (
        environment()
        .get_template(template)
        .render(
            css=Markup("".join(map(_text, ("page.css", *styles)))),
            script=Markup(program),
            engine=Markup(engine),
            script_source=Markup(sources or "'none'"),
            version=metadata.version("nerode"),
            **context,
        )
    )
    return visible(page)


def _source(program: str) -> str:
    """How a content policy names a script."""
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _text(name: str) -> str:
    return resources.files("nerode.report").joinpath("templates", name).read_text(encoding="utf-8")
