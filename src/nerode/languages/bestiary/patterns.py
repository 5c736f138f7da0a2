"""Names with numbers or words in them: every member of a family can be named, not only the rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from nerode.core import Budget
from nerode.languages.bestiary import automata
from nerode.languages.brackets import bounded_dyck_1, dyck, dyck_1, shuffle_dyck
from nerode.languages.counters import boolean_expressions
from nerode.languages.groups import is_monoid_name, split_letters, word_problem
from nerode.languages.language import Language, RegularLanguage


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePattern:
    """A family of names.

    Attributes:
        form: how the names are written, e.g. "dyck-K-m".
        meaning: what they name.
        example: one of them.
        read: makes the language from a lower-case name, or returns None if the name has another form.
    """

    form: str
    meaning: str
    example: str
    read: Callable[[str, Budget | None], Language | None]


def _numbered(pattern: str, make: Callable[..., Language]) -> Callable[[str, Budget | None], Language | None]:
    """A reader for names whose numbers are the arguments of a function."""
    compiled = re.compile(pattern)

    def read(name: str, budget: Budget | None) -> Language | None:
        match = compiled.fullmatch(name)
        return make(*map(int, match.groups())) if match else None

    return read


def _read_offset(name: str, budget: Budget | None) -> Language | None:
    match = re.fullmatch(r"offset-counting-(\d{1,9})", name)
    if not match:
        return None
    burst = int(match[1])
    return RegularLanguage(
        name=f"offset-counting-{burst}",
        automaton=automata.offset_counting(burst, budget),
        convention=(
            "signals over 0 (off) and 1 (on) that do not begin with 1 and in which every maximal run of 1s "
            f"has length exactly {burst}"
        ),
        family="offset-counting",
        parameters={"burst": burst},
    )


def _read_last_but(name: str, budget: Budget | None) -> Language | None:
    match = re.fullmatch(r"last-but-(\d{1,9})", name)
    if not match:
        return None
    n = int(match[1])
    return RegularLanguage(
        name=f"last-but-{n}",
        automaton=automata.last_but(n, budget),
        convention=f"words over a and b with an a {n} places before the last letter",
    )


def _read_contains(name: str, budget: Budget | None) -> Language | None:
    match = re.fullmatch(r"contains-([a-z]{1,200})", name)
    if not match:
        return None
    return RegularLanguage(
        name=name,
        automaton=automata.contains(match[1]),
        convention=f"words over {_letters(match[1])} that contain {match[1]} as a factor",
    )


def _read_subsequence(name: str, budget: Budget | None) -> Language | None:
    match = re.fullmatch(r"subsequence-([a-z]{1,200})", name)
    if not match:
        return None
    return RegularLanguage(
        name=name,
        automaton=automata.has_subsequence(match[1]),
        convention=(
            f"words over {_letters(match[1])} that contain the letters of {match[1]} in this order, "
            "with anything between"
        ),
    )


def _letters(word: str) -> str:
    return ", ".join(sorted(set(word)))


def _read_word_problem(name: str, budget: Budget | None) -> Language | None:
    if not is_monoid_name(name):
        return None
    plain, over = split_letters(name)
    return word_problem(plain, over=over, budget=budget)


def _dyck_without_bound(k: int) -> Language:
    return dyck_1() if k == 1 else dyck(k)


PATTERNS = (
    NamePattern(
        form="dyck-K-m",
        meaning="balanced words of K kinds of brackets with at most m open",
        example="dyck-2-5",
        read=_numbered(r"dyck-(\d{1,9})-(\d{1,9})", dyck),
    ),
    NamePattern(
        form="dyck-K",
        meaning="balanced words of K kinds of brackets",
        example="dyck-2",
        read=_numbered(r"dyck-(\d{1,9})", _dyck_without_bound),
    ),
    NamePattern(
        form="d-N",
        meaning="balanced words over a and b with at most N open",
        example="d-12",
        read=_numbered(r"d-(\d{1,9})", bounded_dyck_1),
    ),
    NamePattern(
        form="shuffle-K",
        meaning="shuffles of K balanced words, each of its own kind of brackets",
        example="shuffle-2",
        read=_numbered(r"shuffle-(\d{1,9})", shuffle_dyck),
    ),
    NamePattern(
        form="boolean-N",
        meaning="Boolean expressions in prefix notation with operators of arity 1 … N",
        example="boolean-3",
        read=_numbered(r"boolean-(\d{1,9})", boolean_expressions),
    ),
    NamePattern(
        form="offset-counting-N",
        meaning="signals whose bursts have length N",
        example="offset-counting-10",
        read=_read_offset,
    ),
    NamePattern(
        form="last-but-N",
        meaning="words with an a N places before the last letter",
        example="last-but-8",
        read=_read_last_but,
    ),
    NamePattern(
        form="contains-WORD",
        meaning="words that contain WORD as a factor",
        example="contains-abaab",
        read=_read_contains,
    ),
    NamePattern(
        form="subsequence-WORD",
        meaning="words that contain WORD as a scattered subword",
        example="subsequence-abc",
        read=_read_subsequence,
    ),
    NamePattern(
        form="Zn, Sn, An, Dn, Q8, Tn, U1, U2, C(m,n), products with x, :generators",
        meaning="word problems of groups, and languages of monoids",
        example="A4xZ5",
        read=_read_word_problem,
    ),
)
