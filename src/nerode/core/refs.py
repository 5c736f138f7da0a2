"""The works that the code cites, read from `references.bib`."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from importlib import resources

from nerode.core.errors import UnknownName

_BEGINNING = re.compile(r"^@", re.MULTILINE)
_ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),((?:(?!^@).)*?)\n\}", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"(\w+)\s*=\s*\{(.*?)\}\s*(?:,\s*\n|\n|\Z)", re.DOTALL)

_ACCENTS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "v": "\u030c", "^": "\u0302", "c": "\u0327"}
_ACCENT = re.compile(r"""\{?\\(["'`^]|[vc](?=\{))\{?(\\?\w)\}?\}?""")


def _plain(text: str) -> str:
    """The text of a BibTeX field with accents as Unicode and without braces."""
    accented = _ACCENT.sub(lambda m: m.group(2).lstrip("\\") + _ACCENTS[m.group(1)], text)
    return unicodedata.normalize("NFC", accented).replace("{", "").replace("}", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One entry of `references.bib`."""

    key: str
    kind: str
    title: str
    author: str
    year: str
    where: str
    bibtex: str

    @property
    def label(self) -> str:
        """A short form: first author (and "et al." or the second) and year."""
        names = [name.split(",")[0].strip() for name in self.author.split(" and ")]
        if len(names) == 1:
            who = names[0]
        elif len(names) == 2 and names[1] != "others":
            who = f"{names[0]} & {names[1]}"
        else:
            who = f"{names[0]} et al."
        return f"{who} {self.year}"


@functools.cache
def works() -> dict[str, Work]:
    """All entries of `references.bib` by key."""
    text = resources.files("nerode.core").joinpath("references.bib").read_text(encoding="utf-8")
    return parse_works(text)


def parse_works(text: str) -> dict[str, Work]:
    """Returns the entries of a BibTeX text by key, in their order.

    Values stand in braces, one field per line, and an entry ends with a brace on a line of its own.

    Raises:
        ValueError: if an entry does not have this form, lacks a title, an author or a year, or has the key
            of another one.
    """
    found: dict[str, Work] = {}
    for match in _ENTRY.finditer(text):
        kind, key, body = match.groups()
        if key in found:
            raise ValueError(f"references.bib has two entries called {key}")
        fields = {name.lower(): " ".join(value.split()) for name, value in _FIELD.findall(body + "\n")}
        missing = [name for name in ("author", "title", "year") if not fields.get(name)]
        if missing:
            raise ValueError(f"the entry {key} of references.bib has no {' and no '.join(missing)}")
        found[key] = Work(
            key=key,
            kind=kind.lower(),
            title=_plain(fields["title"]),
            author=_plain(fields["author"]),
            year=fields["year"],
            where=_plain(_where(fields)),
            bibtex=match.group(0),
        )
    # An entry that the pattern does not match must not vanish without a word.
    if len(found) != len(_BEGINNING.findall(text)):
        raise ValueError("an entry of references.bib is not closed by a brace on a line of its own")
    return found


def _where(fields: dict[str, str]) -> str:
    """The place of publication: journal, conference or publisher, and its number at arXiv."""
    places = [fields[name] for name in ("journal", "booktitle", "publisher") if fields.get(name)][:1]
    if fields.get("eprint"):
        places.append(f"arXiv:{fields['eprint']}")
    return ", ".join(places)


def work(key: str) -> Work:
    """Returns the entry `key`, or raises UnknownName."""
    try:
        return works()[key]
    except KeyError:
        raise UnknownName("reference", key, works()) from None


@dataclass(frozen=True, slots=True)
class Reference:
    """A work and, where the source was read, the place inside it."""

    key: str
    place: str = ""

    def __post_init__(self) -> None:
        work(self.key)

    def __str__(self) -> str:
        label = work(self.key).label
        return f"{label}, {self.place}" if self.place else label
