"""Rows of the bestiary: regular languages that try cascades, windows and memories, one idea each."""

from __future__ import annotations

from functools import partial

from nerode.core import Reference
from nerode.languages.bestiary import automata
from nerode.languages.bestiary.published import STAR_FREE
from nerode.languages.bestiary.row import regular_row

_COUNTER_FREE = Reference("McNaughtonPapert1971")
_OURS = Reference("NerodeTheory")

FIBONACCI = "abaababaabaababaababaa"
"""The first 22 letters of the Fibonacci word, which overlaps itself as much as a word can."""

CLASSIC_ROWS = (
    regular_row(
        "ab-star",
        partial(automata.star_of, "ab"),
        convention="(ab)*: words over a and b made of copies of ab",
        source=Reference("Sarrof2024"),
        breaks="layers that show the next one only their new state: they cannot tell ab from aabb",
        suites=(STAR_FREE,),
    ),
    regular_row(
        "aab-star",
        partial(automata.star_of, "aab"),
        convention="(aab)*: words over a and b made of copies of aab",
        source=_COUNTER_FREE,
        breaks="the belief that a cycle of three states needs counting modulo 3",
        suites=(STAR_FREE,),
    ),
    regular_row(
        "aabb-star",
        partial(automata.star_of, "aabb"),
        convention="(aabb)*: words over a and b made of copies of aabb",
        source=_COUNTER_FREE,
        breaks="the belief that a cycle of four states needs counting modulo 4",
        suites=(STAR_FREE,),
    ),
    regular_row(
        "contains-abaab",
        partial(automata.contains, "abaab"),
        convention="words over a and b that contain abaab as a factor",
        source=_OURS,
        breaks="pattern matchers without failure links: abaab overlaps itself",
        suites=(STAR_FREE,),
    ),
    regular_row(
        "contains-fibonacci-22",
        partial(automata.contains, FIBONACCI),
        convention=f"words over a and b that contain {FIBONACCI} (22 letters) as a factor",
        source=_OURS,
        breaks="matchers that start afresh after a mismatch: much of what was read still counts",
        suites=(STAR_FREE,),
    ),
    regular_row(
        "subsequence-abcdefgh",
        partial(automata.has_subsequence, "abcdefgh"),
        convention="words over a…h that contain a, b, …, h in this order, with anything between",
        source=Reference("Simon1975"),
        breaks="searches over images of the state set: a partially ordered automaton needs none",
        suites=(STAR_FREE,),
    ),
    regular_row(
        "last-letter",
        partial(automata.last_letter, "ab", "a"),
        convention="{a,b}*a: words over a and b that end with a",
        source=Reference("PerlesRabinShamir1963"),
        breaks="recurrences that cannot forget: only the last letter counts",
        suites=(STAR_FREE,),
    ),
    regular_row(
        "set-reset",
        automata.set_reset,
        convention="words over 0, 1 (write) and h (hold) whose last letter other than h exists and is 1",
        source=Reference("Sarrof2024"),
        breaks="memories that leak: one bit, held for any number of steps",
        suites=(STAR_FREE,),
    ),
    regular_row(
        "last-but-8",
        partial(automata.last_but, 8),
        convention="words over a and b with an a 8 places before the last letter",
        source=Reference("PerlesRabinShamir1963"),
        breaks="one-hot states: 512 of them, where a window of 9 letters is enough",
        suites=(STAR_FREE,),
    ),
    regular_row(
        "offset-counting-10",
        partial(automata.offset_counting, 10),
        convention=(
            "signals over 0 (off) and 1 (on) that do not begin with 1 and in which every maximal run of 1s "
            "has length exactly 10"
        ),
        source=Reference("MemoryGeneralization"),
        breaks="counters modulo 10, which also accept a burst of 20",
        suites=("seed-003", STAR_FREE),
        family="offset-counting",
        parameters={"burst": 10},
    ),
)
