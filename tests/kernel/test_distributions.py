"""Distributions of decoders, and the units of a linear layer against trying all windows."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from nerode.kernel.domains.ngrams import Distribution, KnownContexts, OutputLayer
from nerode.kernel.domains.roots import Field
from nerode.kernel.domains.words import WordUnits
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
from tests.compiler.constructions.ngrams.models import compiled, exact_model, from_text, texts
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


def output_layer(normaliser: str, rows: Rows, reads: tuple[str, ...] = ("u", "v")) -> OutputLayer:
    return OutputLayer(network(LogitRows(reads, normaliser, rows), len(rows) - 1))


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
        OutputLayer(network(PointTable((), ((),), (EMPTY,)), 1))


VARIANTS = [{}, {"embedding_width": 1}, {"unknown_contexts": True}, {"variant": "conditioned"}]


def word_units(made: Network, language: NgramLanguage) -> WordUnits:
    read = read_network(plain(network_to_json(made)), WorkCount())
    return WordUnits(read, exact_model(language).order - 1, made.layers[0].outputs)


@settings(max_examples=30)
@given(texts(), st.sampled_from(VARIANTS), st.sampled_from(["ssm", "elman-relu"]), st.booleans())
def test_outputs_after_windows_and_contexts_of_units(
    language: NgramLanguage, options: dict[str, object], to: str, wide: bool
) -> None:
    if to == "elman-relu":
        options = {key: value for key, value in options.items() if key != "variant"}
    made = compiled(language, to, **options)
    model = exact_model(language)
    every = itertools.product(range(len(model.vocabulary)), repeat=model.order - 1)
    windows = list(itertools.islice(every, 400))
    names = made.layers[0].outputs
    rows = [dict(zip(names, row, strict=True)) for row in outputs_after(made, windows)]
    units = word_units(made, language)
    if wide:
        # Lanes of more than eight bytes are read in another way.
        units.largest = 1 << 90
    found = dict(units.after(windows))
    for window, row in zip(windows, rows, strict=True):
        assert found[window] == {name: v for name, v in row.items() if v}
    try:
        contexts = list(units.contexts(from_start=False))
    except Undecided:
        return
    for window, row in zip(windows, rows, strict=True):
        total: dict[str, Fraction] = {}
        for j, context, value in contexts:
            if window[len(window) - len(context) :] == context:
                for name, c in units.columns[j]:
                    total[name] = total.get(name, Fraction(0)) + c * value
        assert total == {name: v for name, v in row.items() if v}


def outputs_after(made: Network, windows: list[Window]) -> list[list[Fraction]]:
    """What the layer puts out after each window, by the interpreter, other words before it."""
    interpreter = Interpreter(made)
    rows = []
    for window in windows:
        state = interpreter.start()
        for word in (0, *window[:-1]):
            state, _ = interpreter.step(state, word)
        stream = interpreter.stream(state, window[-1])
        rows.append([stream[name] for name in made.layers[0].outputs])
    return rows


def test_each_cell_of_known_contexts_has_one_window() -> None:
    known = KnownContexts([(0, 1), (1,), (0, 0), (1, 0)], 2)
    # Both words may stand before 0, so only the cell of 1 has windows besides the known ones.
    assert known.cells == [(), (0,), (1,), (0, 0), (0, 1), (1, 0)]
    assert sorted(known.windows(2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    three = KnownContexts([(0, 1)], 3)
    assert sorted(three.windows(2)) == [(0, 0), (0, 1), (1, 1)]


def test_start_states_do_not_matter() -> None:
    """The interpreter agrees with the map of the window although it starts elsewhere."""
    language = from_text(3, "a b a b", "b b a")
    made = compiled(language)
    names = made.layers[0].outputs
    interpreter = Interpreter(made)
    for window, active in word_units(made, language).after(language.windows):
        state = interpreter.start()
        for word in (1, 0, 0, 1, *window[:-1]):
            state, _ = interpreter.step(state, word)
        stream = interpreter.stream(state, window[-1])
        assert {name: stream[name] for name in names if stream[name]} == active


def test_lanes_hold_coefficients_of_words_that_are_all_zero() -> None:
    made = plain(network_to_json(compiled(from_text(2, "a b b"))))
    made["embedding"]["vectors"] = [["0" for _ in row] for row in made["embedding"]["vectors"]]
    for layer in made["layers"]:
        for key in ("units", "readout_units"):
            for row in layer[key]["rows"]:
                for entry in row:
                    entry[1] = str(1 << 200)
    units = WordUnits(read_network(made, WorkCount()), 1, made["layers"][0]["outputs"])
    assert list(units.after([(0,), (1,)]))
