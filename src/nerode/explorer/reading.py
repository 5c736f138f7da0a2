"""From what a user typed or dropped to the language that is meant, without a look at the user's files."""

from __future__ import annotations

import functools
import re
import tempfile
from pathlib import Path

from nerode.core import Budget, FormatError, InputError
from nerode.explorer.orders import LanguageText
from nerode.languages import Language, resolve_language


def request_budget() -> Budget:
    """Returns what one request may use: enough for what a page can show."""
    return Budget(states=3_000, elements=50_000, images=20_000, seconds=5.0, bytes=1 << 28)


@functools.lru_cache(maxsize=8)
def read_language(given: LanguageText) -> Language:
    """Returns the language.

    Raises:
        InputError: if there is no such language; a PatternError says at which column.
    """
    symbols = None
    if given.alphabet.strip():
        listed = given.alphabet.split(",") if "," in given.alphabet else given.alphabet.replace(" ", "")
        symbols = tuple(symbol.strip() for symbol in listed if symbol.strip())
    if given.file is not None:
        return _read_file(Path(given.text).name, given.file, symbols)
    return resolve_language(
        given.text,
        alphabet=symbols,
        ltl=given.mode == "ltl",
        regex=given.mode == "regex",
        files=False,
        budget=request_budget(),
    )


def _read_file(name: str, content: str, symbols: tuple[str, ...] | None) -> Language:
    """The language of a dropped file, which is written into a folder of its own for its reader."""
    with tempfile.TemporaryDirectory(prefix="nerode-explore-") as folder:
        # The name is the user's; only how it ends matters to the readers.
        endings = "".join(Path(name).suffixes[-2:]).lower()
        path = Path(folder) / ("dropped" + re.sub("[^a-z0-9.]", "", endings)[-12:])
        path.write_text(content, encoding="utf-8", errors="replace")
        try:
            return resolve_language(str(path), alphabet=symbols, budget=request_budget())
        except FormatError as error:
            raise FormatError(error.what, path=name, line=error.line, hint=error.hint) from None
        except InputError as error:
            raise InputError(str(error).replace(str(path), name)) from None
