r"""Cases of bad input, one per line of a table:

    code | phrase | @setup … command line

- `code` is the exit status that is documented for it; `0/1` where either is an honest answer.
- `phrase` has to stand in what the command says. It may be empty for a status of 0 or 1 only.
- The command line is quoted as for a shell. `\xNN` and `\uNNNN` stand for characters, `\\` for a backslash;
  `*N` behind a piece in double angle brackets repeats it: `<<a>>*1000`.
- The folder of a case is empty but for `in`, a link to the shared inputs. Set-ups come before the command:

    @copy:NAME            a copy of in/NAME, to be damaged or written to
    @put:PATH:TEXT        a file with this text        @cut:PATH    the first half of a file
    @empty:PATH           an empty file                @noise:PATH  bytes that are no text
    @rm:PATH  @dir:PATH   nothing, a folder instead    @fifo:PATH   a pipe that nobody writes into
    @deep:PATH            JSON nested without end      @loop:PATH   a link to itself
    @key:PATH:KEY=JSON    another value in an object   @link:PATH:TARGET
    @each-cut:DIR:NAME    that damage to NAME in every folder of DIR
    @stdout:WHERE @stderr:WHERE @stdin:WHERE           closed, full, gone (no reader), or a file
    @without:PACKAGE      torch, extras, native, home
    @signal:NAME:SECONDS  a signal to the command; with `said` for the seconds once it has said something
    @twice                two of them at once, into the same folder
    @slow                 only in `make test-slow`
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from nerode.cli.main import COMMANDS

TABLES = Path(__file__).parent / "tables"

_ESCAPE = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\\\")
_REPEAT = re.compile(r"<<(.+?)>>\*(\d+)", re.DOTALL)
_PLACES = ("torch", "extras")
_DAMAGE = tuple(f"@{kind}" for kind in "copy: put: cut: empty: noise: rm: dir: deep: key: each-".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of a table.

    Attributes:
        table: the name of the table.
        line: of the table.
        codes: exit statuses that are allowed.
        phrase: what has to be said.
        setup: what is done before.
        words: the command line.
        text: the command line as the table has it.
    """

    table: str
    line: int
    codes: tuple[int, ...]
    phrase: str
    setup: tuple[str, ...]
    words: tuple[str, ...]
    text: str

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"{self.table}:{self.line}: {self.text}"

    @property
    def without(self) -> str:
        """The packages that are missing for it: "torch", "extras" or nothing."""
        return next((w for w in _PLACES if f"@without:{w}" in self.setup), "")

    @property
    def slow(self) -> bool:
        """Whether it takes seconds."""
        return "@slow" in self.setup

    @property
    def outcome(self) -> tuple[object, ...]:
        """The end that it shares with its twins: the same sentence of the same command."""
        return self.codes, self.phrase, self.words[:1], self.without


def read_table(path: Path) -> list[Case]:
    """Returns the cases of a table."""
    cases = []
    for number, row in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if row.strip() and not row.startswith("#"):
            code, phrase, text = (part.strip() for part in row.split("|", 2))
            cases.append(make_case(path.stem, number, code, phrase, text))
    return cases


def make_case(table: str, line: int, code: str, phrase: str, text: str) -> Case:
    """Returns the case of a row."""
    words = [_unescape(word) for word in shlex.split(text)]
    first = next((i for i, word in enumerate(words) if not word.startswith("@")), len(words))
    codes = tuple(int(part) for part in code.split("/")) if code != "?" else ()
    return Case(
        table=table,
        line=line,
        codes=codes,
        phrase=phrase,
        setup=tuple(words[:first]),
        words=tuple(words[first:]),
        text=text,
    )


def all_cases() -> list[Case]:
    """Returns the cases of all tables, and those of every command."""
    return [*(case for path in sorted(TABLES.glob("*.txt")) for case in read_table(path)), *command_cases()]


def first_cases() -> list[Case]:
    """Returns the cases of `make test`: none that is slow, and two for each outcome of damaged files."""
    seen: Counter[object] = Counter()
    found = []
    for case in all_cases():
        if not case.slow:
            seen[case.outcome] += 1
            damage = all(item.startswith(_DAMAGE) for item in case.setup)
            if not case.setup or not damage or seen[case.outcome] <= 2:
                found.append(case)
    return found


_EVERY_COMMAND = (
    "2 | No such option '--no-such-option'. | {} --no-such-option",
    "2 | does not take a value | {} --help=x",
    "0 |  | @stdout:closed {} --help",
    "2 | make room, or write elsewhere | @stdout:full {} --help",
    "141 |  | @stdout:gone {} --help",
)
"""Rows that every command has, new ones too."""


def command_cases() -> list[Case]:
    """Returns the cases that every command has."""
    rows = [row.format(name).split("|", 2) for name in COMMANDS for row in _EVERY_COMMAND]
    return [make_case("commands", i, *map(str.strip, row)) for i, row in enumerate(rows, start=1)]


def _unescape(word: str) -> str:
    word = _REPEAT.sub(lambda found: found[1] * int(found[2]), word)
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2] or "5c", 16)), word)
