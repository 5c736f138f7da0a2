"""Subjects on disk: what determines the function of a network and how it is read; and their folders.

The values are plain. `proofs.replay.subject` makes live objects of them, `proofs.reading` decodes scores by a
reading. The files of a folder are opened once each, by name, and are what its subject says they are. A link,
a device, a name with a separator and a file above its limit are refused; the folder itself may be reached by
a link. Nothing looks at a parent folder. The hash of weights is over the sorted names, types, shapes and
bytes of tensors.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from nerode.core import FormatError, InputError, from_mapping, parse_json, to_mapping
from nerode.kernel import NETWORK_FILE, content_hash

Bits = tuple[bool, ...]

SUBJECT_FILE = "subject.json"
SUBJECT_FORMAT = "nerode-subject"
SUBJECT_VERSION = 1

WEIGHTS_FILE = "model.safetensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The way from scores to the truth values of an answer.

    Attributes:
        kind: "above" if each truth value is a score above the threshold, "softmax" if it is a probability
            of at least the threshold, "largest" if the largest score names a class.
        threshold: of "above" and "softmax", as a fraction or a decimal.
        columns: the score of each truth value; empty for all scores in order, -1 for one that is always
            true. Probabilities are shares of all scores, whether a column names them or not.
        table: of "largest": the answer of each class. Of "above" with one score: the answers for a score
            that is not above the threshold, and for one that is.
    """

    kind: Literal["above", "softmax", "largest"]
    threshold: str = "0"
    columns: tuple[int, ...] = ()
    table: tuple[Bits, ...] = ()

    def __post_init__(self) -> None:
        if any(column < -1 for column in self.columns):
            raise InputError(f"the columns {self.columns} of a reading are no numbers of scores")
        if self.kind == "largest" and len(self.table) < 2:
            raise InputError("a reading by the largest score needs the answers of two classes or more")
        if self.kind == "softmax" and (self.table or not 0 < self.limit < 1):
            raise InputError(
                f"a probability of at least {self.threshold} decides nothing; give a number between 0 and 1"
            )
        if self.kind == "above" and self.table and (len(self.table) != 2 or len(self.columns) != 1):
            raise InputError("a reading by one score has two answers")
        if len({len(row) for row in self.table}) > 1:
            raise InputError("the answers of a reading have different lengths")

    @property
    def limit(self) -> Fraction:
        """The threshold as a number."""
        return Fraction(self.threshold)

    @classmethod
    def of_classes(cls, answers: Sequence[Bits]) -> Reading:
        """Returns the reading by the largest score, with the answer of each class."""
        return cls(kind="largest", table=tuple(tuple(map(bool, row)) for row in answers))

    @classmethod
    def by_name(cls, classes: int) -> Reading:
        """Returns the reading by the largest score where each class is an answer of its own."""
        return cls.of_classes([tuple(i == j for j in range(classes)) for i in range(classes)])

    def __str__(self) -> str:
        """The rule in words; columns and answers are named unless they are those in order."""
        rows = ["".join(str(int(bit)) for bit in row) for row in self.table]
        where = ""
        if self.columns != tuple(range(len(self.columns))):
            where = f" in the columns {', '.join(map(str, self.columns))}"
        if self.kind != "largest":
            above = self.kind == "above"
            text = f"scores above {self.threshold}" if above else f"probability at least {self.threshold}"
            return f"{text}{where}, which answer {' or '.join(rows)}" if rows else text + where
        if self == Reading.by_name(len(rows)):
            return "the largest score"
        classes = ", ".join(f"class {number} answers {row}" for number, row in enumerate(rows))
        return f"the largest score{where}: {classes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLetters:
    """The letters that a network reads.

    Attributes:
        alphabet: the letters in order; empty where a task has no letters with names.
        tokens: the number of each, in the vocabulary that the weights come from.
        begin: the token that is read before every word; None for none.
        end: the token of the last score; None for none.
        longest: the largest number of letters that may be read; None for any.
        feature: whether the letters 0 and 1 are the values of one feature.
    """

    alphabet: tuple[str, ...] = ()
    tokens: tuple[int, ...] = ()
    begin: int | None = None
    end: int | None = None
    longest: int | None = None
    feature: bool = False

    def __post_init__(self) -> None:
        if len(self.alphabet) != len(self.tokens) or len(set(self.tokens)) < len(self.tokens):
            raise InputError(f"{len(self.alphabet)} letters need as many different tokens, not {self.tokens}")

    @classmethod
    def numbered(cls, alphabet: Sequence[str], *, feature: bool = False) -> TokenLetters:
        """Returns letters whose tokens are their numbers."""
        return cls(alphabet=tuple(alphabet), tokens=tuple(range(len(alphabet))), feature=feature)

    def __str__(self) -> str:
        """The token of each letter, and the marks."""
        named = [f"{name} = {token}" for name, token in zip(self.alphabet, self.tokens, strict=True)]
        marks = (("begin", self.begin), ("end", self.end))
        return ", ".join([*named, *(f"{name} = {token}" for name, token in marks if token is not None)])


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkEntry:
    """The network of a subject.

    Attributes:
        kind: an exact network, a model of the zoo, or a module of the user's own.
        target: the architecture; a name, which determines nothing.
        dtype: of the weights; None for exact numbers.
        config: the settings of a model of the zoo.
        code: of a module of the user's own, its name and the SHA-256 of its files.
    """

    kind: Literal["exact", "zoo", "module"]
    target: str = ""
    dtype: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    code: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """The question that is asked about a language or a machine, which `language.json` defines.

    Attributes:
        name: of the language or the task.
        asks: what may follow, membership, or the class.
        words: of a language; as for `LanguageQuestion`.
    """

    name: str
    asks: Literal["next", "end", "class"]
    words: Literal["all", "valid", "strongest"] = "strongest"


IMPORTED = "imported"
ORIGINS = ("compiled", "trained", IMPORTED, "mended", "given")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOrigin:
    """The origin of an imported model.

    Attributes:
        library: the library it comes from.
        format: the name of the format.
        source: the folder or file that it was read from.
        config: the library's config.
        cap: the cap that the library puts on the scores, which changes no sign and no order; 0 for none.
        difference: the largest difference from the library's scores, as a share of the largest; None where
            the library is not installed.
        compared: the library and version compared with, or why it was not.
        language: the language that the model is about, as `nerode check` takes it; empty if not known.
    """

    library: str
    format: str
    source: str
    config: dict[str, Any] = field(default_factory=dict)
    cap: float = 0.0
    difference: float | None = None
    compared: str = ""
    language: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns plain values, as an origin has them."""
        return {"kind": IMPORTED, **to_mapping(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRecord:
    """The content of `subject.json`.

    Attributes:
        network: what computes.
        letters: what it reads.
        reading: how its scores are read; None if nothing says.
        question: what it should answer; None if nothing says.
        explains: what an exact network beside weights is: "lifted" from them, "lowered" to them.
        origin: where the weights come from; its "kind" is compiled, trained, imported, mended or given.
        files: the hash of each file: of the tensors of weights, of the canonical text of JSON.
    """

    network: NetworkEntry
    letters: TokenLetters = TokenLetters()
    reading: Reading | None = None
    question: AskedQuestion | None = None
    explains: Literal["lifted", "lowered", "none"] = "none"
    origin: dict[str, Any] = field(default_factory=lambda: {"kind": "given"})
    files: dict[str, str] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """The SHA-256 of all that determines the function and how it is read; not of the question."""
        network = to_mapping(self.network)
        del network["target"]
        source = NETWORK_FILE if self.network.kind == "exact" else WEIGHTS_FILE
        reading = None if self.reading is None else to_mapping(self.reading)
        letters = to_mapping(self.letters)
        return content_hash(
            {"network": network, "letters": letters, "reading": reading, "tensors": self.files.get(source)}
        )

    @property
    def imported(self) -> ImportOrigin | None:
        """The origin of weights that come from another library; None for others."""
        return self.library if self.origin["kind"] == IMPORTED else None

    @property
    def library(self) -> ImportOrigin | None:
        """The library that the weights come from, as they are or before they were mended; None for none."""
        given = self.origin if self.origin["kind"] == IMPORTED else self.origin.get(IMPORTED)
        if given is None:
            return None
        rest = {key: value for key, value in given.items() if key != "kind"}
        return from_mapping(ImportOrigin, rest, where="origin")

    def to_json(self) -> dict[str, Any]:
        """Returns plain values."""
        return {"format": SUBJECT_FORMAT, "version": SUBJECT_VERSION, **to_mapping(self)}

    @classmethod
    def from_json(cls, data: Any, *, path: Path) -> SubjectRecord:
        """Returns the subject of plain values; `path` is where they were read.

        Raises:
            FormatError: if they are none.
        """
        if not isinstance(data, dict) or data.get("format") != SUBJECT_FORMAT:
            raise FormatError(f"is not a subject: its format is not {SUBJECT_FORMAT!r}", path=path)
        if data.get("version") != SUBJECT_VERSION:
            raise FormatError(
                f"has version {data.get('version')!r}; this nerode reads {SUBJECT_VERSION}", path=path
            )
        try:
            found = from_mapping(cls, {k: v for k, v in data.items() if k not in ("format", "version")})
            if found.origin.get("kind") not in ORIGINS:
                raise InputError(f"its origin is none of {', '.join(ORIGINS)}")
            _ = found.library
            return found
        except InputError as error:
            raise FormatError(str(error), path=path) from None


def hash_tensors(content: bytes) -> str:
    """Returns the SHA-256 of the tensors in the bytes of a safetensors file.

    Raises:
        ValueError, KeyError, TypeError, AttributeError or RecursionError: if they are no such file.
    """
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    digest = hashlib.sha256()
    for name in sorted(header.keys() - {"__metadata__"}):
        entry = header[name]
        first, last = (8 + size + int(offset) for offset in entry["data_offsets"])
        digest.update(f"{name} {entry['dtype']} {entry['shape']}\n".encode())
        digest.update(content[first:last])
    return digest.hexdigest()


MAX_WEIGHTS = 20_000_000_000
"""Bytes of weights; larger files are not read."""

MAX_JSON = 1 << 28
"""Bytes of any other file."""

_PART = 1 << 24

_MADE_AGAIN = "Older folders are not read; `nerode train`, `nerode compile` and `nerode import` make them"


class Folder:
    """The files of one folder.

    Args:
        path: of the folder.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._content: dict[str, bytes] = {}

    def __contains__(self, name: str) -> bool:
        return os.path.lexists(self.path / name)

    def read(self, name: str, *, max_bytes: int = MAX_JSON, hint: str = "") -> bytes:
        """Returns the content of a file; it is opened once.

        Raises:
            FormatError: if it is missing, a link, no regular file, unreadable or too large.
        """
        if name not in self._content:
            self._content[name] = self._open(name, max_bytes, hint)
        return self._content[name]

    def _open(self, name: str, max_bytes: int, hint: str) -> bytes:
        path = self.path / name
        if Path(name).name != name:
            raise FormatError("is no name of a file in the folder", path=path)
        try:
            place = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                # A fifo would wait for somebody who writes.
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
            finally:
                os.close(place)
        except (FileNotFoundError, NotADirectoryError):
            if not os.path.lexists(self.path):
                raise FormatError("there is no such folder", path=self.path) from None
            raise FormatError("there is no such file", path=path, hint=hint) from None
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.ELOOP:
                raise FormatError(
                    "is a link; the files of a network lie in its own folder", path=path
                ) from None
            raise FormatError(f"the file cannot be read ({error})", path=path, hint=hint) from None
        content = bytearray()
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise FormatError("this is a directory or a device, not a file", path=path, hint=hint)
            while len(content) <= max_bytes and (
                part := os.read(file, min(_PART, max_bytes + 1 - len(content)))
            ):
                content += part
        finally:
            os.close(file)
        if len(content) > max_bytes:
            raise FormatError(f"the file has more than {max_bytes:,} bytes, the most that is read", path=path)
        return bytes(content)

    def read_json(self, name: str, *, max_bytes: int = MAX_JSON, hint: str = "") -> Any:
        """Returns the values of a JSON file.

        Raises:
            FormatError: as `read`, and with the line of a fault.
        """
        return parse_json(self.read(name, max_bytes=max_bytes, hint=hint), path=self.path / name)

    @cached_property
    def subject(self) -> SubjectRecord:
        """The subject.

        Raises:
            FormatError: if there is none, or it is damaged.
        """
        data = self.read_json(SUBJECT_FILE, hint=_MADE_AGAIN)
        return SubjectRecord.from_json(data, path=self.path / SUBJECT_FILE)

    def file_hash(self, name: str) -> str:
        """Returns the hash of a file: of its tensors, or of its values.

        Raises:
            FormatError: if it does not read.
        """
        if not name.endswith(".safetensors"):
            return content_hash(self.read_json(name))
        try:
            return hash_tensors(self.read(name, max_bytes=MAX_WEIGHTS))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise FormatError("is not a safetensors file", path=self.path / name) from None

    def require_files(self, *needed: str) -> None:
        """Raises FormatError unless each file that the subject names, and it has to name some, is the one."""
        for name in needed:
            if name not in self.subject.files:
                raise FormatError(f"does not name {name}", path=self.path / SUBJECT_FILE)
        for name, stated in self.subject.files.items():
            if self.file_hash(name) != stated:
                path = self.path / name
                raise FormatError(
                    f"is not the file that {self.path / SUBJECT_FILE} was written with", path=path
                )

    @property
    def weights(self) -> bytes:
        """The content of the file of weights."""
        return self.read(WEIGHTS_FILE, max_bytes=MAX_WEIGHTS)


def is_import(path: Path) -> bool:
    """Whether a folder holds weights that were imported; a folder that is no subject does not."""
    folder = Folder(path)
    return SUBJECT_FILE in folder and folder.subject.imported is not None
