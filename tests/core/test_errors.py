"""The form of messages: what was wrong, what was given, what is allowed, what to do."""

from __future__ import annotations

import re

import pytest

from nerode.core import errors
from nerode.core.errors import (
    BudgetExceeded,
    FormatError,
    InputError,
    NerodeError,
    NotCompilable,
    PatternError,
    UnknownName,
)

ALL = ("Error", "UnknownName", "NotCompilable", "BudgetExceeded")


def test_the_tree_at_the_top_of_the_file_is_the_tree_of_classes() -> None:
    def lines(cls: type[NerodeError], indent: str) -> list[str]:
        # Refusals with an algebraic witness are defined beside the algebra, if it is loaded at all.
        children = [child for child in cls.__subclasses__() if child.__module__ == errors.__name__]
        found = []
        for child in children:
            last = child is children[-1]
            found.append(f"{indent}{'└──' if last else '├──'} {child.__name__}")
            found += lines(child, indent + ("    " if last else "│   "))
        return found

    assert errors.__doc__ is not None
    drawn = [re.match(r"[│├└─ ]*\w+", line) for line in errors.__doc__.splitlines()]
    names = [match[0] for match in drawn if match is not None and match[0].endswith(ALL)]
    assert names == ["NerodeError", *lines(NerodeError, "")]


def test_bad_input_is_also_a_value_error() -> None:
    assert issubclass(InputError, ValueError)
    assert not issubclass(NotCompilable, InputError)
    assert not issubclass(BudgetExceeded, InputError)


def test_pattern_errors_point_at_the_column() -> None:
    error = PatternError("a bracket is not closed", text="ab(c", column=3, hint="add )")
    what, text, caret, hint = str(error).splitlines()
    assert what == "a bracket is not closed at column 3"
    assert text[caret.index("^")] == "("
    assert hint == "add )"
    assert (error.text, error.column, error.hint) == ("ab(c", 3, "add )")


def test_pattern_errors_can_point_behind_the_end() -> None:
    _, text, caret = str(PatternError("something is missing", text="a|", column=3)).splitlines()
    assert caret.index("^") == len(text)


@pytest.mark.parametrize("column", [1, 29, 31, 32, 5_000, 99_970, 99_971, 100_000])
def test_long_patterns_are_shown_in_a_window(column: int) -> None:
    text = "x" * (column - 1) + "(" + "x" * (100_000 - column)
    message = str(PatternError("wrong", text=text, column=column))
    assert len(message) < 250
    _, shown, caret = message.splitlines()
    assert shown[caret.index("^")] == "("
    assert ("…" in shown[:4]) == (column > 31)
    assert shown.endswith("…") == (column + 29 < 100_000)


def test_characters_that_move_the_cursor_do_not_move_the_caret() -> None:
    message = str(PatternError("wrong", text="a\nb\tc\0\x1b(", column=8))
    _, shown, caret = message.splitlines()
    assert shown[caret.index("^")] == "("
    assert shown.strip() == "a·b·c··("


def test_format_errors_name_the_file_and_the_line() -> None:
    assert str(FormatError("no start state", path="x.att")) == "x.att: no start state"
    error = FormatError("four columns expected, got 2", path="x.att", line=7, hint="see the manual")
    assert str(error) == "x.att, line 7: four columns expected, got 2. see the manual"
    assert (error.path, error.line, error.hint) == ("x.att", 7, "see the manual")


def test_unknown_names_come_with_the_nearest() -> None:
    error = UnknownName("language", "Pariti", ["parity", "odd-parity", "dyck-1"], hint="look it up.")
    assert error.nearest[0] == "parity"
    assert "unknown language 'Pariti'" in str(error)
    assert "did you mean parity" in str(error)
    assert str(error).endswith("look it up.")


def test_at_most_three_near_names_are_given() -> None:
    known = [f"tomita-{i}" for i in range(1, 8)]
    assert len(UnknownName("language", "tomita-9", known).nearest) == 3


def test_names_without_a_neighbour_say_how_many_there_are() -> None:
    error = UnknownName("language", "zzzzzz", ["parity", "dyck-1"])
    assert error.nearest == ()
    assert "none of the 2 known names is near." in str(error)


def test_long_names_are_cut() -> None:
    assert len(str(UnknownName("language", "n" * 10_000, ["parity"]))) < 150


def test_refusals_carry_all_reasons() -> None:
    error = NotCompilable("mamba", (reason for reason in ["contains Z2", "no counter"]))
    assert error.reasons == ("contains Z2", "no counter")
    assert str(error) == "mamba: contains Z2; no counter"


def test_a_used_up_budget_says_what_is_known_and_what_to_do() -> None:
    error = BudgetExceeded("states", 20_000, known_so_far={"states": "at least 20,001"})
    assert "the budget of 20,000 states is used up" in str(error)
    assert "known so far: states: at least 20,001" in str(error)
    assert "--max-states" in str(error)
    assert error.known_so_far == {"states": "at least 20,001"}
    assert "known so far" not in str(BudgetExceeded("seconds", 1.5))
    assert str(BudgetExceeded("bytes", 8, remedy="use a smaller table")).endswith("use a smaller table")


def test_few_known_names_are_listed():
    error = UnknownName("setting of task", "language", ["settings", "name"])
    assert str(error).endswith("none of the 2 known names is near. There are name, settings.")
    many = UnknownName("language", "zzzz", [f"name-{i}" for i in range(40)])
    assert "There are" not in str(many)
