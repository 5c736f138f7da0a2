"""The page as one file: styles, program and answers inside it, nothing to ask anybody."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import metadata, resources
from typing import Any

from nerode.explorer.orders import PageOrder

MODULES = (
    "elements.js",
    "server.js",
    "address.js",
    "svg.js",
    "language.js",
    "network.js",
    "stepper.js",
    "exports.js",
    "editor.js",
    "main.js",
)
"""The modules of the page, each after those that it imports."""

STYLES = ("page.css", "explorer.css")

_IMPORT = re.compile(r"^import .*?;$", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_HEAD = re.compile(r"<!--head-->.*?<!--/head-->", re.DOTALL)


def freeze(order: PageOrder, *, words: int = 0) -> bytes:
    """Returns the page as one HTML file, with the answers that it had.

    Args:
        order: the answers, and what is shown.
        words: the length up to which it has the traces of all words, so that words can be typed.
    """
    program = bundle()
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    version = metadata.version("nerode")
    frozen = {"answers": order.answers, "state": order.state, "version": version, "words": words}
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        f"<style>\n{''.join(map(style, STYLES))}</style>\n"
        f'<script type="application/json" id="frozen">{embedded(frozen)}</script>\n'
        f'<script type="module">{program}</script>'
    )
    # A function, so that backslashes of the program are not taken for references.
    page = _HEAD.sub(lambda _: head, read_static("index.html"))
    return page.encode()


def bundle() -> str:
    """Returns all modules as one: their imports are of each other, so that order is all they need."""
    parts = [_EXPORT.sub("", _IMPORT.sub("", read_static(name))).strip() for name in MODULES]
    return "\n" + "\n".join(parts) + "\n"


def style(name: str) -> str:
    """Returns a style sheet; that of every page belongs to the reports."""
    if name == "page.css":
        return resources.files("nerode.report").joinpath("templates", name).read_text(encoding="utf-8")
    return read_static(name)


def read_static(name: str) -> str:
    """Returns a file of the page."""
    return resources.files("nerode.explorer").joinpath("static", name).read_text(encoding="utf-8")


def embedded(value: Any) -> str:
    """Returns JSON that cannot end the element that it stands in."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")
