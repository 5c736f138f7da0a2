from __future__ import annotations

from fractions import Fraction

from hypothesis import given, strategies as st

from nerode.compiler.constructions.ngrams.sharing import Sharing, combine, no_sharing, share

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
