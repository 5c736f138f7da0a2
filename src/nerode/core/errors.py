"""The tree of errors that nerode raises on purpose.

NerodeError
├── InputError                 the user gave something that cannot be used (exit code 2)
│   ├── PatternError           a regular expression or formula, with the column
│   ├── FormatError            a file, with the line
│   └── UnknownName            no such language, architecture, group …, with the nearest name
├── NotCompilable              a theorem refuses, or no construction applies; carries the reasons (exit 1)
└── BudgetExceeded             a limit was reached; carries what is known so far

Refusals that carry an algebraic witness are subclasses beside the algebra (algebra/cascades).

Every message has one form: what was wrong, what was given, what is allowed, what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path

_FEW = 15
"""So many known names are listed where none is near."""


class NerodeError(Exception):
    """Base of all errors raised on purpose."""


class InputError(NerodeError, ValueError):
    """The error of an input that cannot be used."""


class PatternError(InputError):
    """A pattern or formula that does not parse; `column` counts from 1."""

    def __init__(self, what: str, *, text: str, column: int, hint: str = "") -> None:
        self.what = what
        self.text = text
        self.column = column
        self.hint = hint
        super().__init__(self._message())

    def _message(self) -> str:
        # A window of the text, so that a pattern of a million characters still gives a short error.
        first = max(0, self.column - 1 - 30)
        # A line break or a bell inside the pattern must not move the caret.
        window = "".join(c if c.isprintable() else "·" for c in self.text[first : first + 60])
        before = "…" if first else ""
        after = "…" if first + 60 < len(self.text) else ""
        caret = " " * (len(before) + self.column - 1 - first) + "^"
        hint = f"\n{self.hint}" if self.hint else ""
        return f"{self.what} at column {self.column}\n  {before}{window}{after}\n  {caret}{hint}"


class FormatError(InputError):
    """A file that does not have the form it claims; `line` counts from 1, None for the whole file."""

    def __init__(self, what: str, *, path: Path | str, line: int | None = None, hint: str = "") -> None:
        self.what = what
        self.path = str(path)
        self.line = line
        self.hint = hint
        where = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {what}" + (f". {hint}" if hint else ""))


class UnknownName(InputError):
    """A name that no registry row has."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str = "") -> None:
        self.kind = kind
        self.name = name
        known = sorted(known)
        near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.6)
        self.nearest = tuple(near)
        far = f"none of the {len(known)} known names is near."
        if known and len(known) <= _FEW:
            far += f" There are {', '.join(known)}."
        suggestion = f"did you mean {' or '.join(near)}?" if near else far
        shown = name if len(name) <= 60 else name[:57] + "…"
        super().__init__(f"unknown {kind} {shown!r}: {suggestion}" + (f" {hint}" if hint else ""))


class NotCompilable(NerodeError):
    """No construction makes a network for this language and target; a negative answer, not a mistake.

    Attributes:
        target: what was asked for.
        reasons: why each way is closed, the deepest reason first.
        impossible: whether a theorem says that no weights do it; otherwise no construction is known here.
        tried: the reasons of constructions that are for this language and target, by their names.
        word: one that refutes the weights that were made, for people; empty if there is none.
    """

    def __init__(
        self,
        target: str,
        reasons: Iterable[str],
        *,
        impossible: bool = False,
        tried: Mapping[str, str] | None = None,
        word: str = "",
    ) -> None:
        self.target = target
        self.reasons = tuple(reasons)
        self.impossible = impossible
        self.tried = dict(tried or {})
        self.word = word
        super().__init__(f"{target}: " + "; ".join(self.reasons))


class BudgetExceeded(NerodeError):
    """A limit of the Budget was reached.

    Attributes:
        resource: which limit, e.g. "states".
        limit: its value.
        known_so_far: facts that were already established, by name.
        remedy: how to raise the limit or avoid it.
    """

    def __init__(
        self,
        resource: str,
        limit: float,
        *,
        known_so_far: Mapping[str, object] | None = None,
        remedy: str = "",
    ) -> None:
        self.resource = resource
        self.limit = limit
        self.known_so_far = dict(known_so_far or {})
        self.remedy = remedy or f"raise it with --max-{resource}"
        known = "; ".join(f"{k}: {v}" for k, v in self.known_so_far.items())
        known = f" (known so far: {known})" if known else ""
        super().__init__(f"the budget of {_shown(limit)} {resource} is used up{known}; {self.remedy}")


def plural(number: int, noun: str) -> str:
    """Returns "1 state", "2 states", "1,200 states"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _shown(limit: float) -> str:
    """A limit as a user would write it."""
    return f"{limit:,}" if isinstance(limit, int) else f"{round(limit, 3) or limit:,}"
