"""Rows of the bestiary: regular languages of published suites, then classics that try one idea each."""

from __future__ import annotations

from functools import partial

from nerode.core import Reference
from nerode.languages.bestiary import automata
from nerode.languages.bestiary.row import regular_row

BHATTAMISHRA = "bhattamishra-27"
TOMITA = "tomita"
DELETANG = "deletang-2023"
FLARE = "flare"
GRAZZI = "grazzi-2025"
STAR_FREE = "star-free"

_TOMITA = Reference("Tomita1982")
_SUITE = Reference("Bhattamishra2020")
_CHOMSKY = Reference("Deletang2023")
_FLARE = Reference("Butoi2025")

_tomita_row = partial(regular_row, source=_TOMITA, suites=(TOMITA, BHATTAMISHRA))
_suite_row = partial(regular_row, source=_SUITE, suites=(BHATTAMISHRA,))
_flare_row = partial(regular_row, source=_FLARE, suites=(FLARE,))
_classic_row = partial(regular_row, suites=(STAR_FREE,))

TOMITA_ROWS = (
    _tomita_row(
        "tomita-1",
        automata.tomita_1,
        convention="1*: words over 0 and 1 without a 0",
        breaks="memories that forget one 0 after many 1s",
    ),
    _tomita_row(
        "tomita-2",
        automata.tomita_2,
        convention="(10)*: words over 0 and 1 made of copies of 10",
        breaks="the belief that a star of a two-letter word needs counting modulo 2: it is star-free",
    ),
    _tomita_row(
        "tomita-3",
        automata.tomita_3,
        convention=(
            "words over 0 and 1 in which no maximal run of 1s of odd length is directly followed by a "
            "maximal run of 0s of odd length"
        ),
        breaks="labels that call 0 after an odd run of 1s illegal, although a second 0 revives the prefix",
    ),
    _tomita_row(
        "tomita-4",
        automata.tomita_4,
        convention="words over 0 and 1 without the factor 000",
        breaks="a window that is one letter too short",
    ),
    _tomita_row(
        "tomita-5",
        automata.tomita_5,
        convention="words over 0 and 1 with an even number of 0s and an even number of 1s",
        breaks="models with one sign bit only: the group is Z2xZ2, two independent parities",
    ),
    _tomita_row(
        "tomita-6",
        automata.tomita_6,
        convention="words over 0 and 1 in which the number of 0s minus the number of 1s is divisible by 3",
        breaks="real diagonal gates in [-1,1], which count modulo 2 but not modulo 3",
    ),
    _tomita_row(
        "tomita-7",
        automata.tomita_7,
        convention="0*1*0*1*: words over 0 and 1 with at most four alternating blocks, 0s first",
        breaks="memories that lose the number of blocks seen when a block is long",
    ),
)

SUITE_ROWS = (
    _suite_row(
        "aabbccddee",
        partial(automata.blocks_in_order, "abcde"),
        convention="aa*bb*cc*dd*ee*: one or more of each of a, b, c, d, e, in this order",
        breaks="a forgetful memory of which block comes next",
    ),
    _suite_row(
        "ab-star-d-bc-star",
        automata.one_d,
        convention="{a,b}*d{b,c}*: words over a, b, c, d with one d, no c before it and no a after it",
        breaks="data whose longer test words are not longer: the published second bin overlaps the first",
    ),
    _suite_row(
        "012-star-02-star",
        automata.last_nonzero_tail,
        convention="{0,1,2}*02*: words over 0, 1, 2 whose last letter other than 2 exists and is 0",
        breaks="labels that allow the end only after a 2, although a word may end in 0",
    ),
    regular_row(
        "parity",
        partial(automata.parity, odd=False),
        convention="words over 0 and 1 with an even number of 1s; the empty word is in it",
        source=_SUITE,
        breaks="diagonal linear models whose gates are not negative, at every depth, at finite precision",
        suites=(BHATTAMISHRA, GRAZZI, DELETANG),
    ),
    _suite_row(
        "aa-star",
        partial(automata.star_of, "aa"),
        convention="(aa)*: words over the one letter a of even length",
        breaks="input-dependent gates with only one input: position alone has to be counted modulo 2",
    ),
    _suite_row(
        "aaaa-star",
        partial(automata.star_of, "aaaa"),
        convention="(aaaa)*: words over the one letter a whose length is divisible by 4",
        breaks="one layer of signs: counting modulo 4 needs two, or a gate of order 4",
    ),
    _suite_row(
        "abab-star",
        partial(automata.star_of, "abab"),
        convention="(abab)*: words over a and b made of copies of abab",
        breaks="guessing star-freeness from the looks: (ab)* is star-free, (abab)* is not",
    ),
)

TASK_ROWS = (
    regular_row(
        "flip-flop",
        automata.flip_flop,
        convention=(
            "words of pairs of an instruction w, r or i and a bit 0 or 1, in which the first instruction is "
            "w and the bit after r is the bit after the last w; whole pairs only; the empty word is in it"
        ),
        source=Reference("Liu2023FlipFlop"),
        breaks="attention that loses the last write, and leaky gates that forget it after many ignores",
        suites=("sarrof-2024", "dankowiakowski-2025", STAR_FREE),
        family="flip-flop",
    ),
    _flare_row(
        "odd-parity",
        partial(automata.parity, odd=True),
        convention="words over 0 and 1 with an odd number of 1s; the empty word is not in it",
        breaks="comparisons across papers: some call this language parity, others its complement",
    ),
    regular_row(
        "even-pairs",
        automata.even_pairs,
        convention=(
            "words over 0 and 1 with an even number of factors 01 and 10, that is, whose first and last "
            "letters agree; the empty word is in it"
        ),
        source=_CHOMSKY,
        breaks="the belief that a task that says even needs a parity: this one is star-free",
        suites=(DELETANG, FLARE, "slice-2025"),
    ),
    regular_row(
        "cycle-navigation",
        partial(automata.cycle_navigation, announced=False),
        convention=(
            "walks on a circle of 5 places over < (back), = (stay) and > (on) that end where they began; "
            "the task of naming the last place has the same automaton"
        ),
        source=_CHOMSKY,
        breaks="signs and powers of two: the group is Z5",
        suites=(DELETANG, "slice-2025"),
    ),
    _flare_row(
        "cycle-navigation-announced",
        partial(automata.cycle_navigation, announced=True),
        convention="walks on a circle of 5 places over <, =, > followed by the digit of the place reached",
        breaks="recognisers that look at the form only: any of the five digits is well formed",
    ),
    regular_row(
        "modular-arithmetic",
        automata.modular_arithmetic,
        convention=(
            "expressions of digits 0…4 and operators + - * in turn, digits first and last, whose value "
            "modulo 5 is 0, where * binds tighter than + and -"
        ),
        source=_CHOMSKY,
        breaks="one running value: a sum and an unfinished term have to be kept side by side",
        suites=(DELETANG, GRAZZI, "slice-2025"),
    ),
    _flare_row(
        "modular-arithmetic-simple",
        automata.modular_arithmetic_simple,
        convention=(
            "expressions of digits 0…4 and operators + - * in turn, evaluated modulo 5 from left to right "
            "without precedence, followed by = and the digit of their value"
        ),
        breaks="commuting gates: adding and multiplying modulo 5 generate the non-Abelian group F20",
    ),
    regular_row(
        "repeat-01",
        partial(automata.star_of, "01"),
        convention="(01)*: words over 0 and 1 made of copies of 01",
        source=_FLARE,
        breaks="test sets of random words: almost none of them is in the language",
        suites=(FLARE, STAR_FREE),
    ),
    regular_row(
        "first",
        automata.starts_with_one,
        convention="1{0,1}*: words over 0 and 1 that begin with 1",
        source=_FLARE,
        breaks="memories that fade: the only letter that counts is the oldest",
        suites=(FLARE, STAR_FREE),
    ),
)


_COUNTER_FREE = Reference("McNaughtonPapert1971")
_OURS = Reference("NerodeTheory")

FIBONACCI = "abaababaabaababaababaa"
"""The first 22 letters of the Fibonacci word, which overlaps itself as much as a word can."""

CLASSIC_ROWS = (
    _classic_row(
        "ab-star",
        partial(automata.star_of, "ab"),
        convention="(ab)*: words over a and b made of copies of ab",
        source=Reference("Sarrof2024"),
        breaks="layers that show the next one only their new state: they cannot tell ab from aabb",
    ),
    _classic_row(
        "aab-star",
        partial(automata.star_of, "aab"),
        convention="(aab)*: words over a and b made of copies of aab",
        source=_COUNTER_FREE,
        breaks="the belief that a cycle of three states needs counting modulo 3",
    ),
    _classic_row(
        "aabb-star",
        partial(automata.star_of, "aabb"),
        convention="(aabb)*: words over a and b made of copies of aabb",
        source=_COUNTER_FREE,
        breaks="the belief that a cycle of four states needs counting modulo 4",
    ),
    _classic_row(
        "contains-abaab",
        partial(automata.contains, "abaab"),
        convention="words over a and b that contain abaab as a factor",
        source=_OURS,
        breaks="pattern matchers without failure links: abaab overlaps itself",
    ),
    _classic_row(
        "contains-fibonacci-22",
        partial(automata.contains, FIBONACCI),
        convention=f"words over a and b that contain {FIBONACCI} (22 letters) as a factor",
        source=_OURS,
        breaks="matchers that start afresh after a mismatch: much of what was read still counts",
    ),
    _classic_row(
        "subsequence-abcdefgh",
        partial(automata.has_subsequence, "abcdefgh"),
        convention="words over a…h that contain a, b, …, h in this order, with anything between",
        source=Reference("Simon1975"),
        breaks="searches over images of the state set: a partially ordered automaton needs none",
    ),
    _classic_row(
        "last-letter",
        partial(automata.last_letter, "ab", "a"),
        convention="{a,b}*a: words over a and b that end with a",
        source=Reference("PerlesRabinShamir1963"),
        breaks="recurrences that cannot forget: only the last letter counts",
    ),
    _classic_row(
        "set-reset",
        automata.set_reset,
        convention="words over 0, 1 (write) and h (hold) whose last letter other than h exists and is 1",
        source=Reference("Sarrof2024"),
        breaks="memories that leak: one bit, held for any number of steps",
    ),
    _classic_row(
        "last-but-8",
        partial(automata.last_but, 8),
        convention="words over a and b with an a 8 places before the last letter",
        source=Reference("PerlesRabinShamir1963"),
        breaks="one-hot states: 512 of them, where a window of 9 letters is enough",
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
