from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import BudgetExceeded, InputError
from nerode.languages.alphabet import Alphabet
from nerode.languages.ngrams import (
    BOS,
    NgramModel,
    seed_ngram_model,
    seed_templates,
)
from nerode.languages.ngrams.model import equally_likely
from tests.languages.ngrams.counted import model_from_sentences

AB = Alphabet(("a", "b"))
HALF = Fraction(1, 2)
ONE = Fraction(1)


def bigrams(pads: int = 1) -> NgramModel:
    """After a: a or b. After b: the end, b or a. Sentences begin with a."""
    table = {(0,): {0: HALF, 1: HALF}, (1,): {0: Fraction(1, 6), 1: Fraction(1, 3), 2: HALF}}
    if pads:
        table[(BOS,)] = {0: ONE}
    return NgramModel.from_table(order=2, vocabulary=AB, table=table, pads=pads)


def test_contexts_are_sorted_and_the_model_does_not_depend_on_the_order_of_the_table() -> None:
    table = {(1,): {2: ONE}, (0,): {1: ONE}}
    model = NgramModel.from_table(order=2, vocabulary=AB, table=table)
    assert model.contexts == ((0,), (1,))
    assert model == NgramModel.from_table(order=2, vocabulary=AB, table=dict(sorted(table.items())))
    assert hash(model) == hash(NgramModel.from_table(order=2, vocabulary=AB, table=table))


def test_words_of_probability_zero_are_left_out() -> None:
    model = NgramModel.from_table(order=1, vocabulary=AB, table={(): {0: Fraction(0), 2: ONE}})
    assert model.rows == (((), ((2, ONE),)),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": 0}, "order 0"),
        ({"pads": 2}, "2 start marks"),
        ({"pads": -1}, "-1 start marks"),
        ({"vocabulary": Alphabet(("a", "<s>"))}, "<s>"),
        ({"rows": (((0, 1), ((2, ONE),)),)}, "has 2 words"),
        ({"rows": (((2,), ((2, ONE),)),)}, r"outside 0…1"),
        ({"rows": (((-2,), ((2, ONE),)),)}, r"outside 0…1"),
        ({"rows": (((BOS,), ((2, ONE),)),)}, "start marks"),
        ({"rows": (((1,), ((2, ONE),)), ((0,), ((2, ONE),)))}, "out of order"),
        ({"rows": (((1,), ((2, ONE),)), ((1,), ((2, ONE),)))}, "repeated"),
        ({"rows": (((1,), ((1, HALF), (1, HALF))),)}, "repeated"),
        ({"rows": (((1,), ((1, HALF), (0, HALF))),)}, "out of order"),
        ({"rows": (((1,), ((3, ONE),)),)}, r"outside 0…2"),
        ({"rows": (((1,), ((BOS, ONE),)),)}, r"outside 0…2"),
        ({"rows": (((1,), ((0, 0.5), (1, 0.5))),)}, "positive Fraction"),
        ({"rows": (((1,), ((0, -ONE), (1, Fraction(2)))),)}, "positive Fraction"),
        ({"rows": (((1,), ((0, HALF),)),)}, "after 'b' sum to 1/2"),
        ({"rows": (((1,), ()),)}, "after 'b' sum to 0"),
        ({"unseen": ((0, HALF),)}, "after unseen contexts sum to 1/2"),
    ],
)
def test_each_invariant_is_kept(changes: dict[str, object], message: str) -> None:
    fields: dict[str, object] = {"order": 2, "vocabulary": AB, "rows": (((1,), ((2, ONE),)),), "pads": 0}
    NgramModel(**fields)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        NgramModel(**(fields | changes))  # type: ignore[arg-type]


def test_start_marks_stand_in_front() -> None:
    with pytest.raises(InputError, match="not at its beginning"):
        NgramModel(order=3, vocabulary=AB, rows=(((0, BOS), ((2, ONE),)),), pads=1)


def test_distribution_takes_words_or_numbers() -> None:
    model = bigrams()
    assert model.distribution(("a",)) == model.distribution((0,)) == {0: HALF, 1: HALF}
    assert model.distribution(("<s>",)) == {0: ONE}
    assert model.vector(("b",)) == (Fraction(1, 6), Fraction(1, 3), HALF)
    with pytest.raises(InputError, match="'c'"):
        model.distribution(("c",))
    with pytest.raises(InputError, match="2 entries"):
        model.distribution(("a", "b"))


def test_next_distribution_looks_at_the_last_words_only() -> None:
    model = bigrams()
    assert model.next_distribution("aab") == model.next_distribution("b") == model.distribution("b")
    assert model.next_distribution("") == {0: ONE}
    assert model.next_distribution((0, 1)) == model.distribution("b")


def test_short_prefixes_are_undefined_without_start_marks() -> None:
    model = bigrams(pads=0)
    assert model.num_given == 1
    with pytest.raises(InputError, match="start marks"):
        model.next_distribution("")
    with pytest.raises(InputError, match="0 words"):
        model.probability("")
    with pytest.raises(InputError, match="start marks"):
        model.sample(np.random.default_rng(0))
    # The first word is given, so only the second and the end are scored.
    assert model.probability("ab") == HALF * HALF


def test_contexts_without_a_row() -> None:
    known = {(0,): {1: ONE}}
    model = NgramModel.from_table(order=2, vocabulary=AB, table=known)
    assert model.distribution("b") == {2: ONE}
    smoothed = NgramModel.from_table(order=2, vocabulary=AB, table=known, unseen=equally_likely(range(3)))
    assert smoothed.distribution("b") == {w: Fraction(1, 3) for w in range(3)}


def test_probability_log_probability_and_perplexity_by_hand() -> None:
    model = bigrams()
    # <s> a (1), a a (1/2), a b (1/2), b end (1/2)
    assert model.probability("aab") == Fraction(1, 8)
    assert model.log_probability("aab") == pytest.approx(math.log(1 / 8), rel=1e-15)
    assert model.probability("b") == 0
    assert model.log_probability("b") == -math.inf
    assert model.perplexity(["aab", "ab"]) == pytest.approx((1 / 8 * 1 / 4) ** (-1 / 7), rel=1e-14)
    assert model.perplexity(["b"]) == math.inf
    with pytest.raises(InputError, match="at least one"):
        model.perplexity([])


def test_log_probability_of_what_no_float_holds() -> None:
    tiny = Fraction(1, 10**400)
    model = NgramModel.from_table(order=1, vocabulary=AB, table={(): {0: tiny, 2: 1 - tiny}})
    assert model.log_probability("a") == pytest.approx(-400 * math.log(10), rel=1e-14)
    assert model.perplexity(["a"]) == pytest.approx(1e200, rel=1e-10)
    assert model.perplexity([["a"] * 20]) == math.inf


def test_words_outside_the_vocabulary_are_refused() -> None:
    for sentence in ("abc", ["a", "c"], [0, 2], [-1]):
        with pytest.raises(InputError, match="position"):
            bigrams().log_probability(sentence)


def test_samples_follow_the_model() -> None:
    model = bigrams()
    rng = np.random.default_rng(1)
    drawn = [model.sample(rng) for _ in range(3000)]
    assert all(model.probability(s) > 0 for s in drawn)
    share = sum(s == (0, 1) for s in drawn) / 3000
    assert abs(share - 1 / 4) < 0.04
    assert model.sample(rng, prefix="ab")[:2] == (0, 1)


def test_a_model_that_never_ends_stops_with_an_error() -> None:
    model = NgramModel.from_table(order=1, vocabulary=AB, table={(): {0: ONE}})
    with pytest.raises(BudgetExceeded, match="50 words"):
        model.sample(np.random.default_rng(0), max_words=50)


def test_comparison_needs_one_vocabulary_and_a_lower_order() -> None:
    other = NgramModel.from_table(order=2, vocabulary=Alphabet(("a", "c")), table={})
    with pytest.raises(InputError, match="one vocabulary"):
        bigrams().disagreements(other)
    with pytest.raises(InputError, match="lower order"):
        NgramModel.from_table(order=1, vocabulary=AB, table={}).disagreements(bigrams())


@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.lists(st.integers(0, 1), max_size=8))
def test_unigram_probabilities_multiply(weights: list[int], word: list[int]) -> None:
    p = [Fraction(w, sum(weights)) for w in weights]
    model = NgramModel.from_table(order=1, vocabulary=AB, table={(): dict(enumerate(p))})
    expected = math.prod((p[w] for w in word), start=p[2])
    assert model.probability(word) == expected
    assert math.isclose(model.log_probability(word), math.log(expected), rel_tol=1e-12)


def test_the_seed_from_its_listed_sentences() -> None:
    sentences = list(seed_templates().sentences())
    assert model_from_sentences(sentences, 4, pads=0) == seed_ngram_model()
    assert model_from_sentences(sentences, 4) == seed_ngram_model(pads=3)
