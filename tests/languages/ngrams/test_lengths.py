from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from nerode.core import BudgetExceeded, InputError
from nerode.languages.ngrams import NgramLanguage, ngram_language, parse_arpa, parse_rules
from nerode.languages.ngrams.language import LengthSampler
from tests.languages.ngrams.arpa_texts import GOOD

RULES = """
<s> -> a : 3/4
<s> -> b : 1/4
a -> a : 1/2
a -> b : 1/4
a -> $ : 1/4
b -> a : 1/3
b -> $ : 2/3
"""


def language() -> NgramLanguage:
    return ngram_language(parse_rules(RULES), name="toy")


def sampler(found: NgramLanguage) -> LengthSampler:
    return LengthSampler(found.model, found.graph)


def test_the_probability_of_a_length_by_listing() -> None:
    found = language()
    model = parse_rules(RULES)
    for length in range(6):
        total = sum(model.probability(w) for w in itertools.product(range(2), repeat=length))
        log = sampler(found).log_probability_of(length)
        assert log == pytest.approx(math.log(total), rel=1e-12) if total else log == -math.inf


def test_samples_follow_the_model_given_the_length() -> None:
    found = language()
    model = parse_rules(RULES)
    weights = {w: float(model.probability(w)) for w in itertools.product(range(2), repeat=3)}
    weights = {w: p / sum(weights.values()) for w, p in weights.items() if p}
    rng = np.random.default_rng(11)
    draws = 4000
    seen = Counter(found.sample(3, rng) for _ in range(draws))
    assert set(seen) <= set(weights)
    for word, p in weights.items():
        assert abs(seen[word] - draws * p) < 6 * math.sqrt(draws * p) + 6


def test_rare_long_sentences_do_not_underflow() -> None:
    # The start leads only to c, which continues with probability 10^-3; a and b would be far likelier.
    rules = RULES + "c -> c : 1/1000\nc -> $ : 999/1000\n"
    rules = rules.replace("<s> -> a : 3/4\n<s> -> b : 1/4", "<s> -> c : 1")
    found = ngram_language(parse_rules(rules), name="toy")
    word = found.sample(1000, np.random.default_rng(0))
    assert word == (2,) * 1000
    assert sampler(found).log_probability_of(1000) == pytest.approx(-999 * math.log(1000), rel=1e-3)


def test_lengths_that_no_sentence_has() -> None:
    found = ngram_language(parse_rules("<s> -> a\na -> b\nb -> a : 1/2\nb -> $ : 1/2"), name="even")
    rng = np.random.default_rng(0)
    assert found.sample(4, rng) == (0, 1, 0, 1)
    with pytest.raises(InputError, match="no sentence of 5 words; the nearest below it is 4"):
        found.sample(5, rng)
    for length in (0, -1):
        with pytest.raises(InputError, match="no sentence"):
            found.sample(length, rng)


def test_a_length_beyond_memory() -> None:
    with pytest.raises(BudgetExceeded, match="bytes"):
        language().sample(10**9, np.random.default_rng(0))


def test_back_off_models_are_drawn_with_their_contexts() -> None:
    """Every word may follow every other, so one state is enough to say what is legal, but not to draw."""
    model = parse_arpa(GOOD)
    found = NgramLanguage(name="arpa", model=model, convention="of a test")
    assert sum(map(len, found.graph.moves)) == len(model.vocabulary)
    assert found.dfa().num_states == 1
    rng, count = np.random.default_rng(5), 3000
    drawn = Counter(found.sample(2, rng) for _ in range(count))
    weights = {w: math.exp(model.log_probability(w)) for w in itertools.product(range(model.end), repeat=2)}
    total = sum(weights.values())
    for word, weight in weights.items():
        share = weight / total
        assert abs(drawn[word] - count * share) < 5 * math.sqrt(count * share) + 5
