"""Distributions of decoders, and the units of a linear layer against trying all windows."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from nerode.kernel.domains.ngrams import Distribution, _LinearWindows, _OutputLayer
from nerode.kernel.domains.roots import Field
from nerode.kernel.letters import LetterNames, NextLetters
from nerode.kernel.network import (
    AffineMove,
    CheckedLayer,
    CheckedNetwork,
    LogitRows,
    PointTable,
    Weight,
    read_network,
)
from nerode.kernel.work import Undecided, WorkCount
from nerode.languages.ngrams import NgramLanguage
from nerode.network import Interpreter, Network, network_to_json
from tests.compiler.constructions.ngrams.models import compiled, exact_model, from_text, hidden_rows, texts
from tests.kernel.cases import plain

Rows = tuple[tuple[tuple[int, Weight], ...], ...]
Window = tuple[int, ...]

ZERO = (Fraction(0), ())
EMPTY = NextLetters(frozenset(), True)
LAYER = CheckedLayer(
    reads=(),
    state=(),
    start=(),
    units=(),
    move=AffineMove(((),), "relu"),
    seen_units=(),
    outputs=(("u", ZERO), ("v", ZERO)),
    complex_state=False,
    exposes_previous=False,
)


def network(decoder: LogitRows | PointTable, num_letters: int) -> CheckedNetwork:
    """A network whose layer puts out u and v; only its decoder matters here."""
    return CheckedNetwork(
        alphabet=LetterNames(tuple("abcdefgh"[:num_letters])),
        embedding=(),
        layers=(LAYER,),
        decoder=decoder,
        empty=EMPTY,
        field=Field(4, WorkCount()),
    )


def output_layer(normaliser: str, rows: Rows, reads: tuple[str, ...] = ("u", "v")) -> _OutputLayer:
    return _OutputLayer(network(LogitRows(reads, normaliser, rows), len(rows) - 1))


def one_unit(normaliser: str, amounts: list[Fraction | None]) -> list[Fraction]:
    """The probabilities where u = 1 adds these scores; None for an output that u does not speak for."""
    rows = tuple(() if a is None else ((0, ((a, Fraction(1)),)),) for a in amounts)
    return values(output_layer(normaliser, rows)({"u": Fraction(1)}), len(rows))


def values(found: Distribution, size: int) -> list[Fraction]:
    return [found.named.get(v, found.floor) for v in range(size)]


amounts = st.lists(st.none() | st.integers(-8, 8).map(lambda i: Fraction(i, 4)), min_size=1, max_size=6)


@given(amounts)
def test_sparsemax_is_the_nearest_point_of_the_simplex(scores: list[Fraction | None]) -> None:
    found = one_unit("sparsemax", scores)
    assert sum(found) == 1
    assert min(found) >= 0
    # The conditions of the nearest point: one shift for all that are above zero, and it lifts no other above.
    given_scores = [Fraction(0) if s is None else s for s in scores]
    shifts = {p - s for p, s in zip(found, given_scores, strict=True) if p > 0}
    assert len(shifts) == 1
    (shift,) = shifts
    assert all(s + shift <= 0 for p, s in zip(found, given_scores, strict=True) if p == 0)


@given(amounts)
def test_hardmax_gives_equal_shares_to_the_best(scores: list[Fraction | None]) -> None:
    found = one_unit("hardmax", scores)
    given_scores = [Fraction(0) if s is None else s for s in scores]
    best = [s == max(given_scores) for s in given_scores]
    assert found == [Fraction(b, sum(best)) for b in best]


def test_softmax_has_whole_powers_of_ratios() -> None:
    half, one = Fraction(1, 2), Fraction(1)
    rows: Rows = (
        ((0, ((half, Fraction(9)),)), (1, ((half, Fraction(9)),))),
        ((1, ((-one, Fraction(3)),)),),
        (),
    )
    decode = output_layer("softmax", rows)
    # exp of the scores: 9, 1/3 and 1.
    assert values(decode({"u": one, "v": one}), 3) == [Fraction(27, 31), Fraction(1, 31), Fraction(3, 31)]
    assert values(decode({}), 3) == [Fraction(1, 3)] * 3
    with pytest.raises(Undecided, match="not whole"):
        decode({"u": one})
    with pytest.raises(Undecided, match="too large"):
        decode({"v": Fraction(10**6)})


def test_distance() -> None:
    third = Fraction(1, 3)
    found = Distribution({0: third, 2: third}, Fraction(1, 9))
    assert found.distance({0: Fraction(1)}, 5) == Fraction(2, 3) + third + 3 * Fraction(1, 9)
    assert found.distance({0: third, 1: Fraction(1, 9), 2: third}, 3) == 0


def test_decoders_that_are_refused() -> None:
    with pytest.raises(Undecided, match="no layer puts out"):
        output_layer("softmax", ((), ()), reads=("u", "e0"))
    with pytest.raises(Undecided, match="not a number"):
        output_layer("sparsemax", (((0, ((Fraction(1), Fraction(2)),)),), ()))
    with pytest.raises(Undecided, match="no distribution"):
        _OutputLayer(network(PointTable((), ((),), (EMPTY,)), 1))


VARIANTS = [{}, {"embedding_width": 1}, {"unknown_contexts": True}, {"variant": "conditioned"}]


def linear_windows(made: Network, language: NgramLanguage) -> _LinearWindows:
    work = WorkCount()
    read = read_network(plain(network_to_json(made)), work)
    return _LinearWindows(read, exact_model(language).order - 1)


@settings(max_examples=30)
@given(texts(), st.sampled_from(VARIANTS), st.booleans())
def test_outputs_and_lone_windows(language: NgramLanguage, options: dict[str, object], wide: bool) -> None:
    made = compiled(language, **options)
    model = exact_model(language)
    every = itertools.product(range(len(model.vocabulary)), repeat=model.order - 1)
    windows = list(itertools.islice(every, 400))
    names = made.layers[0].outputs
    rows = hidden_rows(made, windows)
    linear = linear_windows(made, language)
    if wide:
        # Lanes of more than eight bytes are read in another way.
        linear.units.largest = 1 << 90
    found = dict(linear.outputs_after(windows))
    for window, row in zip(windows, rows, strict=True):
        assert found[window] == {name: v for name, v in zip(names, row, strict=True) if v}
    if len(model.vocabulary) ** (model.order - 1) == len(windows):
        check_lone_windows(linear, windows, rows, names)


def check_lone_windows(
    linear: _LinearWindows, windows: list[Window], rows: list[list[Fraction]], names: tuple[str, ...]
) -> None:
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    constant = {name for name, column in columns.items() if len(set(column)) == 1}
    fires = {
        name: [w for w, v in zip(windows, column, strict=True) if v]
        for name, column in columns.items()
        if name not in constant
    }
    if any(len(where) > 1 for where in fires.values()):
        with pytest.raises(Undecided, match="several windows"):
            linear.lone_windows()
        return
    found, always = linear.lone_windows()
    assert always == {name: columns[name][0] for name in constant if columns[name][0]}
    assert set(found) == {where[0] for where in fires.values() if where}


def test_start_states_do_not_matter() -> None:
    """The interpreter agrees with the map of the window although it starts elsewhere."""
    language = from_text(3, "a b a b", "b b a")
    made = compiled(language)
    names = made.layers[0].outputs
    interpreter = Interpreter(made)
    for window, active in linear_windows(made, language).outputs_after(language.windows):
        state = interpreter.start()
        for word in (1, 0, 0, 1, *window[:-1]):
            state, _ = interpreter.step(state, word)
        stream = interpreter.stream(state, window[-1])
        assert {name: stream[name] for name in names if stream[name]} == active
