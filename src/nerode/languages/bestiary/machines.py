"""Rows of the bestiary: brackets, counters, n-grams, word problems; and families of names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from nerode.core import Budget, Reference
from nerode.languages.bestiary import automata
from nerode.languages.bestiary.regular import BHATTAMISHRA, FLARE, GRAZZI, STAR_FREE
from nerode.languages.bestiary.row import Row
from nerode.languages.brackets import (
    bounded_dyck_1,
    dyck,
    dyck_1,
    dyck_convention,
    shuffle_convention,
    shuffle_dyck,
)
from nerode.languages.counters import (
    MAJORITY_CONVENTION,
    blocks_convention,
    boolean_convention,
    boolean_expressions,
    counting_blocks,
    majority,
)
from nerode.languages.groups import is_monoid_name, split_letters, word_problem, word_problem_convention
from nerode.languages.language import Language, RegularLanguage
from nerode.languages.ngrams.templates import SEED_CONVENTION, seed_ngram_language

_SUITE = Reference("Bhattamishra2020")
_MERRILL = "merrill-2024"
_SIEMS = "siems-2025"
_SEED_003 = "seed-003"


def _row(
    name: str,
    make: Callable[[], Language],
    convention: str,
    source: Reference,
    breaks: str,
    *suites: str,
) -> Row:
    def build(budget: Budget | None) -> Language:
        return make()

    return Row(name=name, builder=build, convention=convention, source=source, breaks=breaks, suites=suites)


def _bounded_row(depth: int, breaks: str) -> Row:
    return _row(
        f"d-{depth}",
        lambda: bounded_dyck_1(depth),
        dyck_convention(1, depth, pairs=(("a", "b"),)),
        _SUITE,
        breaks,
        BHATTAMISHRA,
        STAR_FREE,
    )


def _dyck_row(k: int, depth: int | None, source: Reference, breaks: str, *suites: str) -> Row:
    name = f"dyck-{k}" if depth is None else f"dyck-{k}-{depth}"
    return _row(name, lambda: dyck(k, depth), dyck_convention(k, depth), source, breaks, *suites)


def _shuffle_row(k: int, breaks: str) -> Row:
    return _row(f"shuffle-{k}", lambda: shuffle_dyck(k), shuffle_convention(k), _SUITE, breaks, BHATTAMISHRA)


def _boolean_row(arity: int, breaks: str) -> Row:
    return _row(
        f"boolean-{arity}",
        lambda: boolean_expressions(arity),
        boolean_convention(arity),
        _SUITE,
        breaks,
        BHATTAMISHRA,
    )


def _blocks_row(letters: int, breaks: str) -> Row:
    name = "".join(f"{symbol}n" for symbol in "abcd"[:letters])
    return _row(
        name, lambda: counting_blocks(letters), blocks_convention(letters), _SUITE, breaks, BHATTAMISHRA
    )


def _word_problem_row(name: str, source: Reference, breaks: str, *suites: str, row: str = "") -> Row:
    plain, over = split_letters(name)

    def build(budget: Budget | None) -> Language:
        return word_problem(plain, over=over, budget=budget)

    return Row(
        name=row or plain,
        builder=build,
        convention=word_problem_convention(plain, over=over),
        source=source,
        breaks=breaks,
        suites=suites,
    )


BRACKET_ROWS = (
    _bounded_row(2, "attention: the published transformer has 3 % of the longer words right"),
    _bounded_row(3, "cascades of bounded height: the dot-depth of D_n is n"),
    _bounded_row(4, "cascades of bounded height: the dot-depth of D_n is n"),
    _bounded_row(12, "compilers that enumerate: 820 elements where 13 levels suffice"),
    _row(
        "dyck-1",
        dyck_1,
        dyck_convention(1),
        _SUITE,
        "gates below 1, which let a counter leak; and training, which finds no counter that lasts",
        BHATTAMISHRA,
    ),
    _shuffle_row(2, "a stack: kinds of brackets may cross, so that two counters are needed"),
    _shuffle_row(4, "a norm shared by all counters, which hides a small one beside a large one"),
    _shuffle_row(6, "a norm shared by all counters, which hides a small one beside a large one"),
    _boolean_row(3, "counters that move by one only: an operator of arity 3 adds 2"),
    _boolean_row(5, "counters that move by one only: an operator of arity 5 adds 4"),
    _blocks_row(2, "test words that were trained on: the published in-distribution bin is training data"),
    _blocks_row(3, "one counter: two differences have to be kept"),
    _blocks_row(4, "two counters: three differences have to be kept"),
    _dyck_row(2, 3, Reference("Butoi2025"), "counters: the kinds of open brackets matter", FLARE, STAR_FREE),
    _dyck_row(
        2,
        5,
        Reference("Hewitt2020"),
        "a state for each of 63 stacks, where a depth and 5 bits suffice",
        STAR_FREE,
    ),
    _dyck_row(
        8,
        10,
        Reference("Sarrof2024"),
        "all that builds the automaton: it has more than 10⁹ states; a depth and 30 bits suffice",
        "sarrof-2024",
        STAR_FREE,
    ),
    _dyck_row(2, None, Reference("Hewitt2020"), "counters of any number: a stack is needed"),
    _row(
        "majority",
        majority,
        MAJORITY_CONVENTION,
        Reference("Butoi2025"),
        "counters that stop at zero: this one has to go below",
        FLARE,
    ),
)

NGRAM_ROWS = (
    _row(
        "ngram-seed",
        seed_ngram_language,
        SEED_CONVENTION,
        Reference("Nandakumar2024"),
        "state spaces that grow with the vocabulary: 79 words, but two words back decide what follows",
        "seed-000",
        STAR_FREE,
    ),
)

_ILLUSION = Reference("Merrill2024")
_PRODUCT = Reference("Siems2025")
_KROHN_RHODES = Reference("KrohnRhodes1965")

WORD_PROBLEM_ROWS = (
    _word_problem_row("z2", _KROHN_RHODES, "gates that are not negative: this is parity as a word problem"),
    _word_problem_row("z3", _KROHN_RHODES, "real diagonal gates: no real number has order 3"),
    _word_problem_row("z2xz2", _KROHN_RHODES, "one sign bit: two independent ones are needed"),
    _word_problem_row(
        "z60",
        _ILLUSION,
        "real gates, although the group is Abelian: 60 = 4·3·5 needs roots of unity of each order",
        _MERRILL,
        _SEED_003,
        GRAZZI,
    ),
    _word_problem_row(
        "a4xz5",
        _ILLUSION,
        "one diagonal layer: the group is solvable but not Abelian",
        _MERRILL,
        _SEED_003,
    ),
    _word_problem_row(
        "a5",
        _ILLUSION,
        "diagonal layers at any depth: the smallest group that is not solvable",
        _MERRILL,
        _SEED_003,
        _SIEMS,
    ),
    _word_problem_row("s3", _PRODUCT, "one diagonal layer: the smallest non-Abelian group", _SIEMS),
    _word_problem_row("s4", _PRODUCT, "two diagonal layers: the derived length is 3", _SIEMS),
    _word_problem_row(
        "s5",
        _PRODUCT,
        "diagonal layers at any depth, and one layer with fewer than four reflections a step",
        _SIEMS,
        GRAZZI,
    ),
    _word_problem_row(
        "q8",
        Reference("Shakerinava2026"),
        "real 2×2 matrices: the faithful real representations of Q8 have dimension 4 or more",
    ),
    _word_problem_row(
        "d4",
        Reference("Shakerinava2026"),
        "telling groups apart by their order: D4 and Q8 both have 8 elements",
    ),
    _word_problem_row(
        "s5:generators",
        Reference("Grazzi2025"),
        "alphabets with a letter for each element: here two letters generate everything",
        GRAZZI,
        row="s5-generators",
    ),
    _word_problem_row(
        "a5:generators",
        Reference("Barrington1989"),
        "alphabets with a letter for each element: here two letters generate everything",
        row="a5-generators",
    ),
    _word_problem_row("t3", _KROHN_RHODES, "groups alone or resets alone: maps of three points have both"),
    _word_problem_row(
        "u1", _KROHN_RHODES, "tests that start too large: the smallest monoid that is not a group"
    ),
    _word_problem_row("u2", _KROHN_RHODES, "memories that leak: one bit, set, reset and held for ever"),
    _word_problem_row(
        "cyclic-monoid-2-3",
        Reference("Eilenberg1976"),
        "counters that forget their first steps: a tail of 2 leads into a cycle of 3",
    ),
)


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


def _named(pattern: str, make: Callable[..., Language]) -> Callable[[str, Budget | None], Language | None]:
    """A reader for names whose words and numbers are the arguments of a function, the budget last."""
    compiled = re.compile(pattern)

    def read(name: str, budget: Budget | None) -> Language | None:
        match = compiled.fullmatch(name)
        return make(*match.groups(), budget) if match else None

    return read


def _numbered(pattern: str, make: Callable[..., Language]) -> Callable[[str, Budget | None], Language | None]:
    """A reader for names whose numbers are the arguments of a function."""
    return _named(pattern, lambda *arguments: make(*map(int, arguments[:-1])))


def _offset_counting(number: str, budget: Budget | None) -> Language:
    burst = int(number)
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


def _undo_flip_flop(number: str, budget: Budget | None) -> Language:
    writes = int(number)
    return RegularLanguage(
        name=f"undo-flip-flop-{writes}",
        automaton=automata.undo_flip_flop(writes, budget),
        convention=(
            "words of pairs of an instruction w, r, i or u and a bit 0 or 1: w writes its bit, u takes back "
            "the last write in force, the bit after r is that of the last write in force; with none only w "
            f"follows, and at most {writes} are in force"
        ),
        family="undo-flip-flop",
        parameters={"writes": writes},
    )


def _last_but(number: str, budget: Budget | None) -> Language:
    n = int(number)
    return RegularLanguage(
        name=f"last-but-{n}",
        automaton=automata.last_but(n, budget),
        convention=f"words over a and b with an a {n} places before the last letter",
    )


def _contains(word: str, budget: Budget | None) -> Language:
    return RegularLanguage(
        name=f"contains-{word}",
        automaton=automata.contains(word),
        convention=f"words over {_letters(word)} that contain {word} as a factor",
    )


def _subsequence(word: str, budget: Budget | None) -> Language:
    return RegularLanguage(
        name=f"subsequence-{word}",
        automaton=automata.has_subsequence(word),
        convention=(
            f"words over {_letters(word)} that contain the letters of {word} in this order, "
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
        read=_named(r"offset-counting-(\d{1,9})", _offset_counting),
    ),
    NamePattern(
        form="undo-flip-flop-N",
        meaning="flip-flop with an instruction that takes back the last of at most N writes",
        example="undo-flip-flop-2",
        read=_named(r"undo-flip-flop-(\d{1,9})", _undo_flip_flop),
    ),
    NamePattern(
        form="last-but-N",
        meaning="words with an a N places before the last letter",
        example="last-but-8",
        read=_named(r"last-but-(\d{1,9})", _last_but),
    ),
    NamePattern(
        form="contains-WORD",
        meaning="words that contain WORD as a factor",
        example="contains-abaab",
        read=_named(r"contains-([a-z]{1,200})", _contains),
    ),
    NamePattern(
        form="subsequence-WORD",
        meaning="words that contain WORD as a scattered subword",
        example="subsequence-abc",
        read=_named(r"subsequence-([a-z]{1,200})", _subsequence),
    ),
    NamePattern(
        form="Zn, Sn, An, Dn, Q8, Tn, U1, U2, C(m,n), products with x, :generators",
        meaning="word problems of groups, and languages of monoids",
        example="A4xZ5",
        read=_read_word_problem,
    ),
)
