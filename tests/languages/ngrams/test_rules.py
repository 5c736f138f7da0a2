from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from nerode.core import FormatError
from nerode.languages.ngrams import BOS, parse_rules, read_rules, seed_ngram_model


def test_rules_with_and_without_probabilities() -> None:
    model = parse_rules(
        """# a comment
        go back to -> sleep : 0.25
        go back to -> bed : 3/4

        back to bed -> $
        was too C -> x
        was too C -> y
        """
    )
    assert model.order == 4
    assert model.pads == 0
    word = model.vocabulary.index
    assert model.distribution(["go", "back", "to"]) == {
        word("sleep"): Fraction(1, 4),
        word("bed"): Fraction(3, 4),
    }
    assert model.distribution(["back", "to", "bed"]) == {model.end: 1}
    assert set(model.distribution(["was", "too", "C"]).values()) == {Fraction(1, 2)}


def test_start_marks_and_the_empty_context() -> None:
    model = parse_rules("<s> <s> -> a\n<s> a -> $")
    assert (model.order, model.pads) == (3, 2)
    assert model.distribution((BOS, BOS)) == {0: 1}
    assert parse_rules("-> a : 1/3\n-> $ : 2/3").distribution(()) == {0: Fraction(1, 3), 1: Fraction(2, 3)}


def test_the_words_of_the_notation_can_be_words() -> None:
    model = parse_rules("-> : -> : : 1/2\n-> : -> -> : 1/2")
    assert model.vocabulary.symbols == ("->", ":")
    assert model.distribution(("->", ":")) == {0: Fraction(1, 2), 1: Fraction(1, 2)}


def test_a_rule_of_probability_zero_only_makes_a_word_known() -> None:
    model = parse_rules("a -> b : 0\na -> $ : 1")
    assert model.vocabulary.symbols == ("a", "b")
    assert model.distribution("a") == {2: 1}


def test_a_star_is_any_word_and_gives_way_to_named_ones() -> None:
    model = parse_rules("* b -> c\na * -> b : 1/2\na * -> $ : 1/2\na b -> a\n* * -> b")
    said = {
        (x, y): {model.vocabulary.symbols[w] if w < model.end else "$" for w in model.distribution((x, y))}
        for x in "abc"
        for y in "abc"
    }
    named, last, first, other = {"a"}, {"c"}, {"b", "$"}, {"b"}
    assert said == {
        **{(x, y): other for x in "bc" for y in "ac"},
        **{("a", y): first for y in "ac"},
        **{(x, "b"): last for x in "bc"},
        ("a", "b"): named,
    }
    # The same rules with each context written out are the same model.
    lines = [f"{x} {y} -> {word}" for (x, y), words in said.items() for word in sorted(words)]
    assert parse_rules("\n".join(lines)) == model


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no rule"),
        ("a b -> *", 1, "stands only in a context"),
        ("# only this\n", None, "no rule"),
        ("a b c", 1, "not a rule"),
        ("a -> b c", 1, "not a rule"),
        ("a -> b : 1\na b -> c : 1", 2, "2 words before the arrow"),
        ("a -> b : x", 1, "'x' is not a probability"),
        ("a -> b : 3/2", 1, "above 1"),
        ("a -> b : -1/2", 1, "not a probability"),
        ("a -> b : 1/2\na -> c", 2, "some have none"),
        ("a -> b : 1/2\na -> b : 1/2", 2, "twice"),
        ("a -> b : 0.333\na -> c : 0.333\na -> d : 0.333", 3, "after 'a' sum to 999/1000"),
        ("$ -> b", 1, "follows the end"),
        ("a -> <s>", 1, "beginning"),
        ("a <s> -> b", 1, "beginning"),
    ],
)
def test_each_error_names_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        parse_rules(text)
    assert caught.value.line == line


def test_seed_model_written_as_rules(tmp_path: Path) -> None:
    model = seed_ngram_model()
    names = (*model.vocabulary.symbols, "$")
    lines = [
        f"{model.show(context)} -> {names[word]} : {p}"
        for context, distribution in model.rows
        for word, p in distribution
    ]
    path = tmp_path / "seed.rules"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read_rules(path) == model


@given(st.text(alphabet="ab$<s>-:/ 012\n#", max_size=60))
def test_any_text_is_a_model_or_a_format_error(text: str) -> None:
    try:
        model = parse_rules(text)
    except FormatError:
        return
    assert all(sum(p for _, p in distribution) == 1 for _, distribution in model.rows)
