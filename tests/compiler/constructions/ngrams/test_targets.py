from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from nerode.compiler.construction import Options
from nerode.compiler.constructions.ngrams.targets import UNKNOWN, Targets, make_scores, make_targets
from nerode.core import InputError, NotCompilable
from nerode.languages import Alphabet
from nerode.languages.ngrams import NgramLanguage, NgramModel, ngram_language
from tests.compiler.constructions.ngrams.models import distance, exact_model, from_text, seed

NUM_OUTPUTS = 9


@st.composite
def distributions(draw: st.DrawFn) -> dict[int, Fraction]:
    shares = draw(st.dictionaries(st.integers(0, NUM_OUTPUTS - 1), st.integers(1, 1000), min_size=1))
    total = sum(shares.values())
    return {v: Fraction(share, total) for v, share in shares.items()}


def softmax(scores: dict[int, Fraction]) -> dict[int, Fraction]:
    """The distribution of scores given by their exponentials; outputs without a score have exp 0 = 1."""
    total = sum(scores.values()) + NUM_OUTPUTS - len(scores)
    return {v: scores.get(v, Fraction(1)) / total for v in range(NUM_OUTPUTS)}


@given(distributions(), st.fractions(Fraction(1, 10**9), Fraction(199, 100)))
def test_smoothing(distribution: dict[int, Fraction], eps: Fraction) -> None:
    scores = dict(make_scores(distribution, NUM_OUTPUTS, "softmax", eps))
    assert scores.keys() == distribution.keys()
    assert all(score >= 2 for score in scores.values()), "what may follow is more likely than what may not"
    got = distance(softmax(scores), distribution)
    if len(distribution) == NUM_OUTPUTS:
        assert got == 0
    elif eps <= min(distribution.values()):
        assert got == eps / 2
    else:
        assert got <= eps / 2


@given(distributions())
def test_without_a_softmax_scores_are_probabilities(distribution: dict[int, Fraction]) -> None:
    assert make_scores(distribution, NUM_OUTPUTS, "sparsemax", Fraction(0)) == distribution


@pytest.mark.parametrize("eps", [Fraction(0), Fraction(-1, 10), Fraction(2), Fraction(3)])
def test_eps_has_bounds(eps: Fraction) -> None:
    with pytest.raises(InputError, match="eps"):
        Options(eps=eps)
    assert Options(eps=eps, normaliser="sparsemax").eps == eps


def test_the_seed_model() -> None:
    targets = make_targets(seed(), exact_model(seed()), Options(), target="ssm")
    assert len(targets.contexts) == 145
    assert targets.num_outputs == 80
    assert targets.length == 3
    assert targets.unknown is None


def test_a_hardmax_needs_equal_shares() -> None:
    language = from_text(2, "a b", "a b", "a c")
    with pytest.raises(NotCompilable, match=r"f\(a\) is not uniform"):
        make_targets(language, exact_model(language), Options(normaliser="hardmax"), target="ssm")
    uniform = from_text(2, "a b", "a c")
    make_targets(uniform, exact_model(uniform), Options(normaliser="hardmax"), target="ssm")


def test_order_one_and_short_sentences() -> None:
    for language, reason in ((from_text(1, "a b"), "order 1"), (from_text(4, "a b"), "the 3 words")):
        with pytest.raises(NotCompilable, match=reason):
            make_targets(language, exact_model(language), Options(), target="ssm")


def passing() -> NgramLanguage:
    """a leads to b, which has no row."""
    model = NgramModel.from_table(
        order=2, vocabulary=Alphabet(("a", "b")), table={(0,): {0: Fraction(1, 2), 1: Fraction(1, 2)}}
    )
    return ngram_language(model, name="passing")


def test_windows_that_sentences_pass_through_are_contexts() -> None:
    language = passing()
    targets = make_targets(language, exact_model(language), Options(normaliser="sparsemax"), target="ssm")
    assert targets.contexts == ((0,), (1,))
    assert targets.scores[1] == {2: 1}


def test_unknown_contexts_have_the_scores_of_the_model() -> None:
    language = from_text(2, "a b")
    options = Options(normaliser="sparsemax", unknown_contexts=True)
    assert make_targets(language, exact_model(language), options, target="ssm").unknown == {2: 1}


def small(normaliser: str) -> Targets:
    return Targets(
        contexts=((0,), (1,)),
        scores=({0: Fraction(6), 1: Fraction(2)}, {1: Fraction(4)}),
        unknown={2: Fraction(5)},
        normaliser=normaliser,
        num_outputs=3,
    )


def test_columns_of_a_softmax_are_logarithms() -> None:
    half, one = Fraction(1, 2), Fraction(1)
    targets = small("softmax")
    assert targets.column({0: one, 1: half}) == {
        0: ((one, Fraction(6)),),
        1: ((one, Fraction(2)), (half, Fraction(4))),
    }
    merged = targets.column({0: Fraction(2), 1: -one, UNKNOWN: half}, merged=True)
    assert merged == {0: ((one, Fraction(36)),), 2: ((half, Fraction(5)),)}


def test_other_columns_are_numbers() -> None:
    found = small("sparsemax").column({0: Fraction(1, 2), 1: Fraction(-1, 4)}, merged=True)
    assert found == {0: ((Fraction(3), Fraction(1)),)}


def test_detectors_take_off_what_is_always_there() -> None:
    weight = {0: Fraction(2), 1: Fraction(-1)}
    assert small("softmax").beyond_unknown(weight) == {**weight, UNKNOWN: -1}


@pytest.mark.parametrize(
    "contexts",
    [(), ((),), ((1,), (0,)), ((0,), (0,)), ((0,), (0, 1))],
    ids=["none", "empty", "order", "twice", "long"],
)
def test_contexts_are_checked(contexts: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(InputError, match="contexts"):
        Targets(
            contexts=contexts, scores=({},) * len(contexts), unknown=None, normaliser="softmax", num_outputs=2
        )
