from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from nerode.core import Budget, BudgetExceeded, FormatError, InputError
from nerode.languages.ngrams import BOS, model_from_sentences, read_corpus, seed_ngram_model, seed_templates

TEXT = [("a", "b"), ("a", "a", "b"), ("b",)]


def test_relative_frequencies_by_hand() -> None:
    model = model_from_sentences(TEXT, 2)
    assert model.pads == 1
    assert model.distribution((BOS,)) == {0: Fraction(2, 3), 1: Fraction(1, 3)}
    assert model.distribution("a") == {0: Fraction(1, 3), 1: Fraction(2, 3)}
    assert model.distribution("b") == {2: 1}


def test_without_start_marks_short_sentences_leave_no_window() -> None:
    model = model_from_sentences(TEXT, 3, pads=0)
    assert model.contexts == ((0, 0), (0, 1))


def test_without_ends_a_window_that_nothing_follows_still_is_in_p() -> None:
    model = model_from_sentences(TEXT, 2, ends=False)
    assert model.distribution("b") == {2: 1}
    assert model.distribution("a") == {0: Fraction(1, 3), 1: Fraction(2, 3)}
    continued = model_from_sentences([*TEXT, ("b", "a")], 2, ends=False)
    assert continued.distribution("b") == {0: 1}


def test_add_k_by_hand() -> None:
    model = model_from_sentences(TEXT, 2, add_k=Fraction(1, 2))
    # After a: counts 1, 2, 0; three outcomes get 1/2 more each.
    assert model.vector("a") == (Fraction(3, 9), Fraction(5, 9), Fraction(1, 9))
    assert model_from_sentences(TEXT, 3, add_k=1).next_distribution("bba") == {
        w: Fraction(1, 3) for w in range(3)
    }
    assert model_from_sentences(TEXT, 2, add_k=1, ends=False).vector("a") == (
        Fraction(2, 5),
        Fraction(3, 5),
        0,
    )


def test_smoothing_makes_unseen_sentences_possible() -> None:
    plain, smoothed = model_from_sentences(TEXT, 3), model_from_sentences(TEXT, 3, add_k=Fraction(1, 10))
    assert plain.log_probability("bbab") == -math.inf
    assert math.isfinite(smoothed.perplexity(["bbab"]))


def test_the_seed_from_its_listed_sentences() -> None:
    sentences = list(seed_templates().sentences())
    assert model_from_sentences(sentences, 4, pads=0) == seed_ngram_model()
    assert model_from_sentences(sentences, 4) == seed_ngram_model(pads=3)


def test_wrong_arguments() -> None:
    with pytest.raises(InputError, match="at least one sentence"):
        model_from_sentences([], 2)
    with pytest.raises(InputError, match="order 0"):
        model_from_sentences(TEXT, 0)
    with pytest.raises(InputError, match="start marks"):
        model_from_sentences(TEXT, 2, pads=2)
    with pytest.raises(InputError, match="add_k is -1"):
        model_from_sentences(TEXT, 2, add_k=-1)
    with pytest.raises(InputError, match=r"'\$'"):
        model_from_sentences([("$",)], 2)
    with pytest.raises(BudgetExceeded, match="contexts"):
        model_from_sentences([tuple("abcdefgh")], 2, add_k=1, budget=Budget(elements=20))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a  b\n\n\ta\ta b\r\nb\n", encoding="utf-8")
    assert read_corpus(path) == TEXT
    for word in ("$", "<s>", "</s>"):
        path.write_text(f"a b\na {word}\n", encoding="utf-8")
        with pytest.raises(FormatError, match="reserved") as caught:
            read_corpus(path)
        assert caught.value.line == 2
    path.write_bytes(b"a\xff\n")
    with pytest.raises(FormatError, match="UTF-8"):
        read_corpus(path)
    path.write_text(" \n", encoding="utf-8")
    with pytest.raises(FormatError):
        read_corpus(path)
    with pytest.raises(FormatError):
        read_corpus(tmp_path / "missing.txt")


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=5), min_size=1, max_size=6),
    st.integers(1, 3),
    st.fractions(min_value=0, max_value=2, max_denominator=5),
    st.booleans(),
)
def test_distributions_sum_to_one(sentences: list[list[str]], order: int, k: Fraction, ends: bool) -> None:
    model = model_from_sentences(sentences, order, add_k=k, ends=ends)
    assert all(sum(model.vector(context)) == 1 for context in model.contexts)
    if ends:
        assert all(model.probability(sentence) > 0 for sentence in sentences)
