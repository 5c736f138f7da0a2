"""Settings, registries, plug-ins, cited works: found by name; an unknown name is refused with the known ones.

Settings are frozen dataclasses, made from JSON or TOML and back; what does not fit is refused with its place
named. A registry is one explicit table per kind of thing; tests, command line and docs loop over it.

Installed packages add rows to registries by entry points:

| group                  | what an entry point names                                       |
|------------------------|-----------------------------------------------------------------|
| nerode.architectures   | a row of theory, `nerode.verdict.Architecture`; no torch        |
| nerode.layers          | a layer that can be trained, `nerode.models.base.LayerKind`     |
| nerode.languages       | a row of the bestiary, `nerode.languages.bestiary.Row`          |
| nerode.tasks           | a kind of task, `nerode.tasks.TaskKind`                         |
| nerode.theorems        | a row of the theorem table, `nerode.verdict.Theorem`; no torch  |

An entry point names the row itself. A plug-in never replaces a row of nerode, and a broken one is an error
that names the package.

The works that the code cites are read from `references.bib`. Random streams are named, too: one seed, one
purpose, one generator.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import re
import types
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload

import numpy as np

from nerode.core.errors import InputError, UnknownName

T = TypeVar("T")


def from_mapping(cls: type[T], given: Mapping[str, Any], *, where: str = "") -> T:
    """Returns the dataclass that a mapping describes.

    Numbers, texts, truth values, literals, tuples, mappings, other dataclasses and unions with None are
    understood; a whole number will do where a float is wanted.

    Args:
        cls: a dataclass.
        given: its fields by name.
        where: what error messages call the place ("model.block").

    Raises:
        UnknownName: for a field that does not exist.
        InputError: for a missing field, or a value of the wrong kind.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"{where or cls.__name__} is {_show(given)}; it has to be a table of settings")
    hints = _hints(cls)  # type: ignore[arg-type]  # mypy doubts that a class can be hashed
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    for name in given:
        if name not in fields:
            raise UnknownName(f"setting of {where or cls.__name__}", str(name), fields)
    values = {}
    for name, field in fields.items():
        place = f"{where}.{name}" if where else name
        if name in given:
            values[name] = convert(hints[name], given[name], where=place)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise InputError(f"the setting {place} is missing")
    return cls(**values)


def to_mapping(config: object) -> dict[str, Any]:
    """Returns the fields of a dataclass as plain values for JSON; tuples become lists."""
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        raise TypeError(f"{config!r} is not a dataclass")
    return {f.name: _plain(getattr(config, f.name)) for f in dataclasses.fields(config) if f.init}


def convert(wanted: Any, value: Any, *, where: str) -> Any:
    """Returns a plain value as the type that an annotation asks for, or raises InputError."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if wanted is Any:
        return value
    if origin in (Union, types.UnionType):
        return _convert_union(arguments, value, where)
    if origin is Literal:
        if value not in arguments or isinstance(value, bool) != any(
            value is a for a in arguments if a in (True, False)
        ):
            raise InputError(f"{where} is {_show(value)}; allowed are {', '.join(map(str, arguments))}")
        return value
    if origin is tuple:
        return _convert_tuple(arguments, value, where)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise InputError(f"{where} is {_show(value)}; it has to be a table")
        return {str(k): convert(arguments[1], v, where=f"{where}.{k}") for k, v in value.items()}
    if dataclasses.is_dataclass(wanted):
        return value if isinstance(value, wanted) else from_mapping(wanted, value, where=where)  # type: ignore[arg-type]
    return _convert_plain(wanted, value, where)


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    """The annotations of a dataclass; reading them takes longer than all else here."""
    return get_type_hints(cls)


_PLAIN = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _convert_plain(wanted: Any, value: Any, where: str) -> Any:
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if wanted in _PLAIN:
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise InputError(f"{where} is {_show(value)}; it has to be {_PLAIN[wanted]}")
        return value
    raise TypeError(f"{where} has an annotation that settings cannot have: {wanted!r}")


def _convert_union(arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in arguments:
        return None
    problems = []
    for option in (a for a in arguments if a is not type(None)):
        try:
            return convert(option, value, where=where)
        except InputError as problem:
            problems.append(problem)
    raise problems[0]


def _convert_tuple(arguments: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"{where} is {_show(value)}; it has to be a list")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(convert(arguments[0], v, where=f"{where}[{i}]") for i, v in enumerate(value))
    if len(value) != len(arguments):
        raise InputError(f"{where} has {len(value)} entries; it has to have {len(arguments)}")
    return tuple(
        convert(a, v, where=f"{where}[{i}]") for i, (a, v) in enumerate(zip(arguments, value, strict=True))
    )


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_mapping(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


D = TypeVar("D")

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


class Registry(Mapping[str, T], Generic[T]):
    """A table of rows by kebab-case name, in the order in which they were added.

    Args:
        kind: what a row is, for error messages ("language", "architecture" …).
        hint: what a user can do when a name is unknown.
        compose: makes a row of several, whose names a plus joins ("a+b"); it is no row of the table.
    """

    def __init__(
        self, kind: str, *, hint: str = "", compose: Callable[[tuple[T, ...]], T] | None = None
    ) -> None:
        self.kind = kind
        self.hint = hint
        self._compose = compose
        self._rows: dict[str, T] = {}

    def add(self, name: str, row: T) -> T:
        """Adds a row and returns it; a second row of the same name is a programming error."""
        if not _KEBAB.match(name):
            raise ValueError(f"the {self.kind} name {name!r} is not kebab-case")
        if name in self._rows:
            raise ValueError(f"two rows of the {self.kind} table are called {name!r}")
        self._rows[name] = row
        return row

    def __getitem__(self, name: str) -> T:
        try:
            return self._rows[name]
        except KeyError:
            if self._compose is not None and "+" in name:
                return self._compose(tuple(self[part.strip()] for part in name.split("+")))
            raise UnknownName(self.kind, name, self._rows, hint=self.hint) from None

    @overload
    def get(self, name: str, default: None = None, /) -> T | None: ...
    @overload
    def get(self, name: str, default: T, /) -> T: ...
    @overload
    def get(self, name: str, default: D, /) -> T | D: ...
    def get(self, name: str, default: object = None, /) -> object:
        """Returns a row, or `default` if there is none of this name."""
        return self._rows.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


PLUGIN_GROUPS = {
    name: f"nerode.{name}" for name in ("architectures", "layers", "languages", "tasks", "theorems")
}
"""The groups of entry points, by the table that they add to."""


def add_plugins(table: str, registry: Registry[T], kind: type[T]) -> list[T]:
    """Adds the rows of installed packages to a table, and returns them.

    Args:
        table: one of `PLUGIN_GROUPS`.
        registry: the table.
        kind: the class of its rows.

    Raises:
        InputError: if a plug-in cannot be loaded, is no such row, or has the name of another row.
    """
    added = []
    for point in sorted(_points(PLUGIN_GROUPS[table]), key=lambda p: p.name):
        package = point.dist.name if point.dist is not None else "an unknown package"
        where = f"the plug-in {point.name} = {point.value} of {package} ({PLUGIN_GROUPS[table]})"
        try:
            row = point.load()
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise InputError(f"{where} cannot be loaded: {what}; mend or uninstall {package}") from None
        if not isinstance(row, kind):
            raise InputError(
                f"{where} is a {type(row).__name__}, not a {kind.__name__}; mend or uninstall {package}"
            )
        try:
            registry.add(getattr(row, "name", point.name), row)
        except ValueError as error:
            raise InputError(f"{where} cannot be added: {error}; mend or uninstall {package}") from None
        added.append(row)
    return added


def _points(group: str) -> list[importlib.metadata.EntryPoint]:
    return list(importlib.metadata.entry_points(group=group))


_BEGINNING = re.compile(r"^@", re.MULTILINE)
_ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),((?:(?!^@).)*?)\n\}", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"(\w+)\s*=\s*\{(.*?)\}\s*(?:,\s*\n|\n|\Z)", re.DOTALL)

_ACCENTS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "v": "\u030c", "^": "\u0302", "c": "\u0327"}
_ACCENT = re.compile(r"""\{?\\(["'`^]|[vc](?=\{))\{?(\\?\w)\}?\}?""")


def _without_markup(text: str) -> str:
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
            title=_without_markup(fields["title"]),
            author=_without_markup(fields["author"]),
            year=fields["year"],
            where=_without_markup(_where(fields)),
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


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """Returns the generator that belongs to `seed` and `purpose`.

    The same arguments give the same numbers on every machine and in every order of calls; different
    purposes give independent streams.
    """
    text = "\x1f".join([str(seed), *map(str, purpose)])
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
