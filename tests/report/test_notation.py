from __future__ import annotations

import pytest

from nerode.core import plural
from nerode.languages.bestiary import BESTIARY
from nerode.report.notation import author_list, group_name, language_title, percent, sentence, visible


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Z2", "Z₂"), ("Z2xZ4", "Z₂×Z₄"), ("A5", "A₅"), ("A4xZ5", "A₄×Z₅"), ("Z60", "Z₆₀"), ("Q8", "Q₈")],
)
def test_group_names_get_subscripts(name: str, shown: str) -> None:
    assert group_name(name) == shown


def test_described_groups_stay_as_they_are() -> None:
    assert group_name("group of order 48") == "group of order 48"


def test_control_characters_become_visible() -> None:
    assert visible("a\x00b\x1bc\x7f\u2066d\ufffe\ud800") == "a␀b␛c␡⟨U+2066⟩d⟨U+FFFE⟩⟨U+D800⟩"
    assert visible("line\n\ttab ε 漢") == "line\n\ttab ε 漢"


def test_plural() -> None:
    assert [plural(n, "state") for n in (0, 1, 1200)] == ["0 states", "1 state", "1,200 states"]


def test_authors_are_written_with_initials() -> None:
    assert author_list("Nerode, Anil") == "A. Nerode"
    assert author_list("Cho, Sang and Huynh, Dung T.") == "S. Cho & D. T. Huynh"
    assert author_list("A, B and C, D and E, F") == "B. A, D. C & F. E"
    assert author_list("Terzić, Aleksandar and others") == "A. Terzić et al."
    assert author_list(" and ".join(f"N{i}, X" for i in range(9))).endswith("X. N4 et al.")


def test_conventions_become_sentences() -> None:
    assert sentence("words over 0 and 1") == "Words over 0 and 1."
    assert sentence("Every word. ") == "Every word."
    assert sentence("a occurs before b") == "a occurs before b."
    assert sentence("(ab)* and nothing else") == "(ab)* and nothing else."
    assert sentence("") == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.0, "100"), (0.999, "99.9"), (0.5, "50"), (0.001, "0.1"), (0.0, "0"), (-0.07, "-7"), (-0.001, "-0.1")],
)
def test_percentages_are_never_rounded_to_all_or_nothing(value: float, expected: str) -> None:
    assert percent(value) == expected


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("012-star-02-star", "{0,1,2}*02*"),
        ("aa-star", "(aa)*"),
        ("anbncn", "aⁿbⁿcⁿ"),
        ("tomita-3", "Tomita 3"),
        ("d-4", "Dyck-1, depth 4"),
        ("d4", "D₄"),
        ("dyck-2-3", "Dyck-2, depth 3"),
        ("a4xz5", "A₄×Z₅"),
        ("s5-generators", "S₅ by generators"),
        ("flip-flop", "flip-flop"),
    ],
)
def test_languages_are_called_as_people_write_them(name: str, shown: str) -> None:
    assert language_title(name, BESTIARY[name].convention) == shown


def test_titles_tell_all_named_languages_apart() -> None:
    titles = [language_title(name, row.convention) for name, row in BESTIARY.items()]
    assert len(set(titles)) == len(titles)
    assert language_title("tomita-3 (1)", "Some words.") == "tomita-3 (1)"
    assert language_title("S5:generators", "words over the generators of S5 …") == "S₅ by generators"
    assert language_title("a1", "words of a regular expression") == "a1"
    assert language_title("<b>", "<i>*: x") == "<i>*"
