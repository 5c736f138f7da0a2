"""Egg-boxes (the D-classes of a syntactic monoid, in J-order), and the other parts of a language to draw."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nerode.algebra import EggBox, EggBoxCell, Green, eggbox, green, j_levels, transition_monoid
from nerode.algebra.cascades import Cascade, decompose_general
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, InputError, started
from nerode.languages import Alphabet, Dfa, Language
from nerode.network import Network
from nerode.study.words import shorten

MAX_ROWS = 7
MAX_COLUMNS = 7
MAX_BOXES = 24
MAX_WORDS = 4

MAX_ELEMENTS = 5_000
"""Monoids above this size are not drawn; their D-classes would not be readable."""

_LONGEST_WORD = 20
_LONGEST_LEAST_WORD = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class EggCell:
    """One H-class.

    Attributes:
        words: the shortest word of some of its elements.
        size: how many elements it has.
        idempotent: which of the words is idempotent, None if none is; an H-class with one is a group.
    """

    words: tuple[str, ...]
    size: int
    idempotent: int | None = None

    def __post_init__(self) -> None:
        if not 0 < len(self.words) <= self.size:
            raise ValueError(f"a class of {self.size} elements cannot show {len(self.words)} words")
        if self.idempotent is not None and not 0 <= self.idempotent < len(self.words):
            raise ValueError("the idempotent of a class must be among its words")

    @property
    def is_group(self) -> bool:
        """Whether the class is a group of more than one element."""
        return self.idempotent is not None and self.size > 1

    @property
    def left_out(self) -> int:
        """The number of elements without a word here."""
        return self.size - len(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One D-class: rows are R-classes, columns are L-classes.

    Attributes:
        level: steps below the class of the identity in the J-order, along the longest way.
        cells: the part that is shown, row by row; every H-class of one D-class has the same size.
        num_rows: how many R-classes there are in all.
        num_columns: how many L-classes.
        regular: whether there is an idempotent, shown or not.
        group: name of its group if it has a non-trivial one.
        above: the places, in the list of boxes, of the classes directly above in the J-order.
    """

    level: int
    cells: tuple[tuple[EggCell, ...], ...]
    num_rows: int
    num_columns: int
    regular: bool
    group: str = ""
    above: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.cells or any(len(row) != len(self.cells[0]) for row in self.cells):
            raise ValueError("an egg-box needs rows of one length")
        if len(self.cells) > self.num_rows or len(self.cells[0]) > self.num_columns:
            raise ValueError("an egg-box shows more cells than it has")

    @property
    def num_elements(self) -> int:
        """Elements of the whole D-class."""
        return self.num_rows * self.num_columns * self.cells[0][0].size

    @property
    def width(self) -> float:
        """About how wide the box is on a page, in pixels."""
        texts = [max(len(", ".join(row[i].words)) for row in self.cells) for i in range(len(self.cells[0]))]
        return sum(max(52.0, 30.0 + 8.2 * text) for text in texts) + 18.0

    @property
    def note(self) -> str:
        """A note on rows and columns that are not shown; empty if all are."""
        rows, columns = len(self.cells), len(self.cells[0])
        if rows == self.num_rows and columns == self.num_columns:
            return ""
        return f"{rows} of {self.num_rows} rows and {columns} of {self.num_columns} columns"


def draw_eggboxes(dfa: Dfa, budget: Budget | None = None) -> list[Box]:
    """Returns the egg-boxes of the transition monoid of an automaton.

    Raises:
        BudgetExceeded: if the monoid has more than `MAX_ELEMENTS` elements, or the time is up.
    """
    limits = replace(started(budget), elements=MAX_ELEMENTS)
    return eggboxes_of(green(transition_monoid(dfa, limits), limits), dfa.alphabet)


def eggboxes_of(relations: Green, alphabet: Alphabet) -> list[Box]:
    """Returns the egg-boxes of a monoid in J-order, the class of the identity first.

    At most `MAX_BOXES` boxes, the highest ones, and of each at most `MAX_ROWS` × `MAX_COLUMNS` cells.
    """
    levels = j_levels(relations.covers)
    highest = sorted(range(len(levels)), key=lambda d: (levels[d], d))[:MAX_BOXES]
    limits = {"max_rows": MAX_ROWS, "max_columns": MAX_COLUMNS, "max_words": MAX_WORDS}
    places = {d: place for place, d in enumerate(highest)}
    above: dict[int, list[int]] = {d: [] for d in highest}
    for d in highest:
        for below in relations.covers[d]:
            if below in above:
                above[below].append(places[d])
    return [
        _box(eggbox(relations, relations.d(d), **limits), levels[d], tuple(above[d]), alphabet)
        for d in highest
    ]


def _box(box: EggBox, level: int, above: tuple[int, ...], alphabet: Alphabet) -> Box:
    d_class = box.d_class
    group = d_class.group
    return Box(
        level=level,
        cells=tuple(tuple(_cell(cell, alphabet) for cell in row) for row in box.cells),
        num_rows=len(d_class.rows),
        num_columns=len(d_class.columns),
        regular=d_class.regular,
        group=group.name if group is not None and group.order > 1 else "",
        above=above,
    )


def _cell(cell: EggBoxCell, alphabet: Alphabet) -> EggCell:
    return EggCell(
        words=tuple(shorten(alphabet.decode(word), _LONGEST_WORD) for word in cell.words),
        size=cell.size,
        idempotent=None if cell.idempotent is None else cell.words.index(cell.idempotent),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementPlace:
    """An element of the monoid: its least word, the number of its box, and its row and column there."""

    word: str
    box: int
    row: int
    column: int


class ElementPlaces:
    """Follows a word through the transition monoid.

    Args:
        dfa: the minimal automaton.

    Raises:
        BudgetExceeded: if the monoid is too large to be drawn.
    """

    def __init__(self, dfa: Dfa) -> None:
        self._alphabet = dfa.alphabet
        self._monoid = transition_monoid(dfa, Budget(elements=MAX_ELEMENTS))
        self._relations: Green = green(self._monoid)
        levels = j_levels(self._relations.covers)
        order = sorted(range(len(levels)), key=lambda d: (levels[d], d))
        self._box = {d: number for number, d in enumerate(order)}
        self._element = 0

    @classmethod
    def of(cls, dfa: Dfa | None) -> ElementPlaces | None:
        """Returns where to follow words, None if there is no monoid that can be drawn."""
        try:
            return None if dfa is None else cls(dfa)
        except BudgetExceeded:
            return None

    def read(self, letter: int) -> None:
        """Goes on by one letter."""
        self._element = int(self._monoid.right[self._element, letter])

    def place(self) -> ElementPlace:
        """Returns the place of the present element."""
        relations, x = self._relations, self._element
        d_class = relations.d(int(relations.d_class[x]))
        return ElementPlace(
            word=shorten(self._alphabet.decode(self._monoid.word(x)), _LONGEST_LEAST_WORD),
            box=self._box[d_class.number],
            row=d_class.rows.tolist().index(int(relations.r_class[x])),
            column=d_class.columns.tolist().index(int(relations.l_class[x])),
        )


PARTS = ("automaton", "egg-box", "cascade", "network")
"""What can be drawn of a language."""

LanguagePart = Dfa | tuple[Box, ...] | Cascade | Network


def language_part(
    language: Language, what: str, *, to: str = "diagonal", budget: Budget | None = None
) -> LanguagePart:
    """Returns a part of a language that can be drawn.

    Args:
        language: the language.
        what: one of `PARTS`.
        to: the class or architecture that a network is compiled for.
        budget: limits of the computation.

    Raises:
        InputError: if there is no such part, or the language is not regular and has no automaton.
        BudgetExceeded: if the monoid or the cascade is too large.
        NotCompilable: with the reasons, if there is no such network.
    """
    limits = started(budget)
    if what not in PARTS:
        raise InputError(f"{what!r} cannot be drawn; choose one of {', '.join(PARTS)}")
    if what == "network":
        return compile_language(language, to, Options(budget=limits))
    if not language.regular:
        raise InputError(f"{language.name} is not regular and has no {what}; draw its network")
    dfa = language.dfa(limits)
    if what == "automaton":
        return dfa
    return tuple(draw_eggboxes(dfa, limits)) if what == "egg-box" else decompose_general(dfa, limits)
