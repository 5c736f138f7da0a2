from __future__ import annotations

from fractions import Fraction

import pytest

from nerode.core import InputError
from nerode.languages.ngrams import BOS, parse_rules, seed_ngram_model, with_starts

RULES = """
a b -> a : 1/2
a b -> $ : 1/2
b a -> b : 1
"""


def test_every_context_may_start_a_sentence_unless_told_otherwise() -> None:
    model = with_starts(parse_rules(RULES))
    assert model.pads == 2
    assert model.distribution((BOS, BOS)) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert model.distribution((BOS, 0)) == {1: 1}
    assert model.probability("ab") == Fraction(1, 2) * Fraction(1, 2)
    assert model.probability("bab") == Fraction(1, 2) * 1 * Fraction(1, 2)


def test_given_starts() -> None:
    model = with_starts(parse_rules(RULES), {(0, 1): Fraction(1, 3), (1, 0): Fraction(2, 3)})
    assert model.distribution((BOS, BOS)) == {0: Fraction(1, 3), 1: Fraction(2, 3)}
    assert tuple(row for row in model.rows if BOS not in row[0]) == parse_rules(RULES).rows


def test_a_start_of_probability_zero_leaves_no_trace() -> None:
    model = with_starts(parse_rules(RULES), {(0, 1): Fraction(1), (1, 0): Fraction(0)})
    assert model.distribution((BOS, BOS)) == {0: 1}


def test_seed_starts_give_back_the_padded_seed_model() -> None:
    padded, plain = seed_ngram_model(pads=3), seed_ngram_model()
    names, he = plain.vocabulary, plain.vocabulary.index("He")
    starts = {}
    for context in plain.contexts:
        if [names.symbols[w] for w in context[1:]] == ["woke", "at"]:
            starts[context] = Fraction(168, 7980)
        elif context[0] == he:
            starts[context] = Fraction(2100, 7980)
    assert with_starts(plain, starts) == padded
    partly = {(BOS, BOS, w): p for w, p in padded.distribution((BOS, BOS, BOS)).items()}
    assert with_starts(seed_ngram_model(pads=2), partly) == padded


def test_a_complete_model_comes_back_as_it_is() -> None:
    model = seed_ngram_model(pads=3)
    assert with_starts(model) is model


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        ({(0,): Fraction(1)}, "give 2 entries"),
        ({(0, 5): Fraction(1)}, r"outside 0…1"),
        ({(BOS, 0): Fraction(1)}, r"outside 0…1"),
        ({(0, 1): Fraction(-1), (1, 0): Fraction(2)}, "negative"),
        ({(0, 1): Fraction(1, 2)}, "sum to 1/2"),
    ],
)
def test_wrong_starts(starts: dict[tuple[int, ...], Fraction], message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_starts(parse_rules(RULES), starts)
