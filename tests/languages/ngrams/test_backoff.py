from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nerode.core import InputError
from nerode.languages.alphabet import Alphabet
from nerode.languages.ngrams import BOS, BackoffModel, parse_arpa
from tests.languages.ngrams.arpa_texts import GOOD, Reference, arpa_texts


def test_by_hand() -> None:
    model = parse_arpa(GOOD)
    a, b, end = model.encode("a")[0], model.encode("b")[0], model.end
    assert model.log10_next((BOS, a), b) == -0.05
    assert model.log10_next((a, b), a) == -0.15
    # a b </s> is no trigram: back-off of a b, then the bigram b </s>.
    assert model.log10_next((a, b), end) == pytest.approx(-0.1 - 0.9)
    # <s> b is no bigram: back-off of <s>, then the unigram.
    assert model.log10_next((BOS,), b) == pytest.approx(-0.30103 - 0.6)
    # b b: back-off of b is above one.
    assert model.log10_next((b,), b) == pytest.approx(0.1 - 0.6)
    expected = -0.25 - 0.05 + (-0.1 - 0.9)
    assert model.log_probability("a b") == pytest.approx(expected * math.log(10))
    assert model.perplexity(["a b"]) == pytest.approx(10 ** (-expected / 3))


def test_words_outside_the_vocabulary_become_unknown() -> None:
    model = parse_arpa(GOOD)
    assert model.encode("a zebra") == model.encode(["a", "<unk>"])
    assert model.log_probability("zebra") == model.log_probability("<unk>")
    closed = parse_arpa(GOOD.replace("ngram 1=5", "ngram 1=4").replace("-1.0\t<unk>\n", ""))
    assert closed.unknown is None
    with pytest.raises(InputError, match="zebra"):
        closed.log_probability("a zebra")


def test_the_start_mark_is_never_predicted_and_log_zero_is_zero() -> None:
    model = parse_arpa(GOOD.replace("-0.9\tb </s>", "-99\tb </s>"))
    assert BOS not in model.distribution(())
    assert model.end not in model.distribution(("b",))
    assert model.log_probability("b") == -math.inf
    with pytest.raises(InputError, match="outside"):
        model.log10_next((), BOS)


def test_numbers() -> None:
    model = parse_arpa(GOOD)
    assert model.num_ngrams == (5, 4, 2)
    # (), <s>, a, b, <s> a, a b
    assert model.num_contexts == 6
    assert model.num_windows == 4
    assert model.num_given == 0


def test_contexts_are_cut_to_what_is_stored() -> None:
    model = parse_arpa(GOOD)
    a, b = model.encode("a b")
    assert model.context_after("") == (BOS,)
    assert model.context_after("a b") == (a, b)
    assert model.context_after("b b") == (b,)
    assert model.context_after("a zebra") == (model.unknown,)
    assert parse_arpa(GOOD).distribution((b, b)) == model.distribution((b,))


def test_samples_are_possible_sentences() -> None:
    model = parse_arpa(GOOD)
    rng = np.random.default_rng(2)
    drawn = [model.sample(rng) for _ in range(200)]
    assert all(math.isfinite(model.log_probability(s)) for s in drawn)
    assert len(set(drawn)) > 10


def test_ngrams_across_sentences_are_kept_unused() -> None:
    text = GOOD.replace("ngram 2=4", "ngram 2=5").replace("-0.9\tb </s>\n", "-0.9\tb </s>\n-0.1\t</s> <s>\n")
    model = parse_arpa(text)
    plain = parse_arpa(GOOD)
    assert model.contexts == plain.contexts
    assert model.log_probability("a b a") == plain.log_probability("a b a")


@given(arpa_texts(), st.lists(st.sampled_from(["a", "b", "c", "<unk>"]), max_size=5))
def test_against_the_naive_recursion(text: str, prefix: list[str]) -> None:
    model = parse_arpa(text)
    reference = Reference(text)
    prefix = [word if word in reference.words else "<unk>" for word in prefix]
    distribution = model.next_distribution(prefix)
    context = model.context_after(prefix)
    names = (*model.vocabulary.symbols, "</s>")
    for number, name in enumerate(names):
        expected = reference.p(reference.after(prefix), name)
        assert distribution.get(number, 0.0) == pytest.approx(expected, rel=1e-9, abs=0.0)
        if expected > 0:
            assert model.log_next(context, number) == pytest.approx(math.log(expected), rel=1e-9, abs=1e-12)


def entry(log10: float | str, backoff: float | str) -> tuple[Decimal, Decimal]:
    return Decimal(str(log10)), Decimal(str(backoff))


HALF = entry(-0.5, 0.0)
FIELDS: dict[str, Any] = {
    "order": 2,
    "vocabulary": Alphabet(("a",)),
    "levels": ({(0,): HALF, (1,): HALF}, {(0, 1): entry(-0.1, 0.0)}),
    "unknown_name": None,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": 3}, "levels"),
        ({"order": 0, "levels": ()}, "order 0"),
        ({"vocabulary": Alphabet(("<s>",))}, "reserved"),
        ({"vocabulary": Alphabet(("</s>",))}, "reserved"),
        ({"unknown_name": "<unk>"}, "not in the vocabulary"),
        ({"levels": ({(0,): HALF}, {})}, "'</s>' has no 1-gram"),
        (
            {"levels": ({(0,): HALF, (1,): HALF, (0, 0): entry(-1.0, 0.0)}, {})},
            "level 1",
        ),
        (
            {"levels": ({(0,): HALF, (1,): HALF, (5,): entry(-1.0, 0.0)}, {})},
            "outside",
        ),
        ({"levels": ({(0,): entry(0.5, 0.0), (1,): HALF}, {})}, "log-probability"),
        ({"levels": ({(0,): entry("nan", 0.0), (1,): HALF}, {})}, "log-probability"),
        ({"levels": ({(0,): entry(-0.5, "inf"), (1,): HALF}, {})}, "back-off"),
        ({"levels": ({(0,): entry(-0.5, "nan"), (1,): HALF}, {})}, "back-off"),
        (
            {"levels": ({(0,): HALF, (1,): HALF}, {(0, 1): entry(-0.1, -0.1)})},
            "highest order",
        ),
        (
            {"levels": ({(0,): HALF, (1,): HALF}, {(BOS, 1): entry(-0.1, 0.0)})},
            "no 1-gram",
        ),
    ],
)
def test_each_invariant(changes: dict[str, Any], message: str) -> None:
    BackoffModel(**FIELDS)
    with pytest.raises(InputError, match=message):
        BackoffModel(**(FIELDS | changes))
