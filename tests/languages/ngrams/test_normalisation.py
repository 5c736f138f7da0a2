from __future__ import annotations

import math

import pytest
from hypothesis import given

from nerode.core import InputError
from nerode.languages.ngrams import check_normalisation, parse_arpa
from nerode.languages.ngrams.backoff import find_impossible
from tests.languages.ngrams.arpa_texts import GOOD, arpa_texts


def normalised() -> str:
    """p(a) = 1/2, p(b) = 1/4, p(end) = 1/4, after a: b with 2/3 and the rest backed off with 4/9."""
    log = [math.log10(x) for x in (1 / 2, 1 / 4, 1 / 4, 2 / 3, 4 / 9)]
    return "\n".join(
        [
            "\\data\\\nngram 1=3\nngram 2=1\n\\1-grams:",
            f"{log[0]!r} a {log[4]!r}",
            f"{log[1]!r} b",
            f"{log[2]!r} </s>",
            "\\2-grams:",
            f"{log[3]!r} a b",
            "\\end\\",
        ]
    )


def test_a_normalised_model() -> None:
    model = parse_arpa(normalised())
    report = check_normalisation(model, tolerance=1e-12)
    assert report.ok
    assert report.num_contexts == 3
    assert "3 of 3" in report.describe(model)


def test_a_model_that_is_not_normalised() -> None:
    text = normalised().replace(f"{math.log10(4 / 9)!r}", "0.0")
    model = parse_arpa(text)
    report = check_normalisation(model)
    assert not report.ok
    assert report.num_off == 1
    assert model.show(report.worst) == "a"
    # 2/3 for b, and 1/2 + 1/4 for the others.
    assert report.worst_sum == pytest.approx(2 / 3 + 3 / 4)
    assert "after 'a'" in report.describe(model)


def test_a_negative_tolerance() -> None:
    with pytest.raises(InputError, match="tolerance"):
        check_normalisation(parse_arpa(GOOD), tolerance=-1.0)


@given(arpa_texts())
def test_against_summing_the_distributions(text: str) -> None:
    model = parse_arpa(text)
    report = check_normalisation(model)
    contexts = [(), *(c for level in model.levels[:-1] for c in level if model.can_occur(c))]
    sums = {context: sum(model.distribution(context).values()) for context in contexts}
    assert report.num_contexts == len(sums)
    # Backed-off weights up to 100 leave a rounding error of about 1e-13 in the difference of sums.
    assert report.worst_sum == pytest.approx(sums[report.worst], rel=1e-6, abs=1e-9)
    farthest = max(abs(value - 1) for value in sums.values())
    assert abs(report.worst_sum - 1) == pytest.approx(farthest, rel=1e-6, abs=1e-9)


def test_backing_off_cannot_make_a_word_more_than_certain() -> None:
    assert find_impossible(parse_arpa(GOOD)) is None
    model = parse_arpa(GOOD.replace("-0.6\tb\t0.1", "-0.6\tb\t2.0"))
    found = find_impossible(model)
    assert found is not None
    context, word, probability = found
    assert (model.show(context), model.show([word])) == ("b", "b")
    assert probability == pytest.approx(10**1.4)


@given(arpa_texts())
def test_against_looking_at_all_words(text: str) -> None:
    model = parse_arpa(text)
    contexts = [c for level in model.levels[:-1] for c in level if model.can_occur(c)]
    tops = {c: max(model.distribution(c).values(), default=0.0) for c in contexts}
    found = find_impossible(model)
    assert (found is None) == all(top <= 10**0.001 for top in tops.values())
    if found is not None:
        assert found[2] == tops[found[0]]
