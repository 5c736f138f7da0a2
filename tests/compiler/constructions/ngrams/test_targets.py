from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from nerode.compiler.construction import NgramOptions
from nerode.compiler.constructions.ngrams.targets import (
    UNKNOWN,
    Sharing,
    Targets,
    combine,
    make_scores,
    make_targets,
    no_sharing,
    share,
)
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
        NgramOptions(eps=eps)
    assert NgramOptions(eps=eps, normaliser="sparsemax").eps == eps


def test_the_seed_model() -> None:
    targets = make_targets(seed(), exact_model(seed()), NgramOptions(), target="ssm")
    assert len(targets.contexts) == 145
    assert targets.num_outputs == 80
    assert targets.length == 3
    assert targets.unknown is None


def test_a_hardmax_needs_equal_shares() -> None:
    language = from_text(2, "a b", "a b", "a c")
    with pytest.raises(NotCompilable, match=r"f\(a\) is not uniform"):
        make_targets(language, exact_model(language), NgramOptions(normaliser="hardmax"), target="ssm")
    uniform = from_text(2, "a b", "a c")
    make_targets(uniform, exact_model(uniform), NgramOptions(normaliser="hardmax"), target="ssm")


def test_order_one_and_short_sentences() -> None:
    for language, reason in ((from_text(1, "a b"), "order 1"), (from_text(4, "a b"), "the 3 words")):
        with pytest.raises(NotCompilable, match=reason):
            make_targets(language, exact_model(language), NgramOptions(), target="ssm")


def passing() -> NgramLanguage:
    """a leads to b, which has no row."""
    model = NgramModel.from_table(
        order=2, vocabulary=Alphabet(("a", "b")), table={(0,): {0: Fraction(1, 2), 1: Fraction(1, 2)}}
    )
    return ngram_language(model, name="passing")


def test_windows_that_sentences_pass_through_are_contexts() -> None:
    language = passing()
    targets = make_targets(
        language, exact_model(language), NgramOptions(normaliser="sparsemax"), target="ssm"
    )
    assert targets.contexts == ((0,), (1,))
    assert targets.scores[1] == {2: 1}


def test_unknown_contexts_have_the_scores_of_the_model() -> None:
    language = from_text(2, "a b")
    options = NgramOptions(normaliser="sparsemax", unknown_contexts=True)
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


Function = dict[int, Fraction]


def values_on(
    sharing: Sharing, weights: list[Function], features: list[Function], wanted: list[int]
) -> list[Fraction]:
    """What delay neurons and the detectors that remain add up to on each context.

    `weights` is the inverse of the values of the detectors, so these are solved for.
    """
    size = len(wanted)
    detectors = inverse([[w.get(i, Fraction(0)) for i in range(size)] for w in weights])
    scores = {i: Fraction(w) for i, w in enumerate(wanted)}
    totals = []
    for i in range(size):
        total = sum(
            (features[i].get(d, 0) * amount(w, scores) for d, w in enumerate(sharing.delays)), Fraction(0)
        )
        for k, w in zip(sharing.kept, sharing.own, strict=True):
            total += detectors[i][k] * amount(w, scores)
        totals.append(total)
    return totals


def amount(combination: Function, scores: Function) -> Fraction:
    return sum((c * scores[i] for i, c in combination.items()), Fraction(0))


def inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """By Cramer's rule with sympy, so that nothing of ours is used."""
    from sympy import Matrix, Rational

    found = Matrix([[Rational(v.numerator, v.denominator) for v in row] for row in matrix]).inv()
    return [[Fraction(int(v.p), int(v.q)) for v in found.row(i)] for i in range(len(matrix))]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Function], list[Function], int, list[int]]:
    size = draw(st.integers(1, 5))
    entry = st.integers(-2, 2).map(Fraction)
    # Triangular with ones on the diagonal: any such weights have detectors.
    weights = [{i: Fraction(1) if i == k else draw(entry) for i in range(k + 1)} for k in range(size)]
    num_delays = draw(st.integers(0, size))
    features = [{d: v for d in range(num_delays) if (v := draw(entry))} for _ in range(size)]
    return weights, features, num_delays, [draw(st.integers(-5, 5)) for _ in range(size)]


@given(problems())
def test_the_sum_is_still_right(problem: tuple[list[Function], list[Function], int, list[int]]) -> None:
    weights, features, num_delays, wanted = problem
    sharing = share(weights, features, num_delays)
    if sharing is None:
        from sympy import Matrix

        rows = [[int(f.get(d, 0)) for d in range(num_delays)] for f in features]
        assert Matrix(rows).rank() < num_delays
        return
    assert len(sharing.kept) == len(weights) - num_delays
    assert len(sharing.delays) == num_delays
    assert values_on(sharing, weights, features, wanted) == wanted


def test_a_context_where_a_delay_neuron_fires_alone_is_preferred() -> None:
    one = Fraction(1)
    weights = [{i: one} for i in range(4)]
    features = [{0: one, 1: one}, {1: one}, {}, {0: one}]
    sharing = share(weights, features, 2)
    assert sharing is not None
    assert sharing.kept == (0, 2)
    assert sharing.delays == ({3: one}, {1: one})
    assert sharing.own == ({0: one, 1: -one, 3: -one}, {2: one})


def test_dependent_delay_neurons_cannot_share() -> None:
    one = Fraction(1)
    assert share([{0: one}, {1: one}], [{0: one, 1: one}, {0: one, 1: one}], 2) is None
    assert share([{0: one}], [{}], 1) is None
    assert share([{0: one}], [{0: one, 1: one}], 2) is None


def test_no_sharing() -> None:
    one = Fraction(1)
    assert no_sharing([{0: one}], 2) == Sharing(kept=(0,), delays=({}, {}), own=({0: one},))


def test_combine() -> None:
    half = Fraction(1, 2)
    assert combine([(half, {0: Fraction(2), 1: half}), (Fraction(-1), {0: Fraction(1)})]) == {
        1: Fraction(1, 4)
    }
