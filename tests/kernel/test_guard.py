"""The guard: faults planted in the kernel itself are refused, at the first cells that they touch."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest

from benchmarks.forgeries import hold_coordinate
from nerode import kernel
from nerode.kernel.check import read_problem
from nerode.kernel.claims import Derivation
from nerode.kernel.domains.coordinates import CellStep
from nerode.kernel.domains.forms import FormRegion
from nerode.kernel.domains.spans import SpanRows
from nerode.kernel.domains.unknowns import UnknownsCell, UnknownsDomain
from nerode.kernel.domains.words import WordUnits
from nerode.kernel.guard import PlainStep, PointGuard
from nerode.kernel.numbers import Irrational
from nerode.kernel.step import ColumnRows, ExactArithmetic
from nerode.kernel.work import WorkBudget, WorkCount
from tests.kernel.cases import affine, compiled
from tests.kernel.test_covers import DOMAINS, STACK, found

Json = Any

WALKED = [method for method in DOMAINS if not method.startswith("n-gram")]


@pytest.fixture(autouse=True)
def every_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells are looked at, however long that takes."""
    monkeypatch.setattr("nerode.kernel.guard._SHARE", 1e9)


def _shown(network: Json, language: Json, method: str, description: Json) -> str:
    """Why a proof is refused; "" if it is not."""
    failure = kernel.prove(network, language, method, description).failure
    return "" if failure is None else failure.what


def held_stack() -> tuple[Json, Json, str, Json]:
    """A coordinate that holds 1, and a cover that says it holds 2; the last slot starts at 1/2."""
    network, language = compiled("dyck-2-10", "diagonal")
    assert hold_coordinate(network, "2")
    network["layers"][1]["start"][9] = "1/2"
    slots = [[f"2:depth {depth} kind.0"] for depth in range(1, 11)]
    counter = {**STACK["counters"][0], "points": [0, 10]}
    description = {
        **STACK,
        "counters": [counter],
        "affine": {**STACK["affine"], "1:x": [2, [0]]},
        "slots": slots,
    }
    return network, language, "stack-invariant", description


def _scaled_start(self: UnknownsDomain) -> UnknownsCell:
    """The start as it was compared before: functions of counters times the start of the last slot."""
    scale = self._stepper.network.layers[1].start[9]
    counters = self._known.counters
    step = CellStep(FormRegion({}), moved=[scale * v for v in (1, *(c.start for c in counters))])
    classes = tuple(c.class_of(c.start) for c in counters)
    return UnknownsCell(self._side.start(), classes, self._fold(self._stepper.start(), step), 1)


def test_a_start_that_is_compared_with_another_scale_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    network, language, method, description = held_stack()
    assert "the network says" in _shown(network, language, method, description)
    # Nobody looks for a word: a longer one would not be found.
    monkeypatch.setattr("nerode.kernel.covers.find_failing_word", lambda *_, **__: None)
    monkeypatch.setattr(UnknownsDomain, "start", _scaled_start)
    assert "contradicts itself: the start" in _shown(network, language, method, description)
    monkeypatch.setattr(PointGuard, "at_start", lambda *_: None)
    assert _shown(network, language, method, description) == "", "the fault itself accepts the network"


def turned_counter() -> tuple[Json, Json, str, Json]:
    """A counter n of letters, turned by i: a word may go on while 4 - n + Re(i·n) is above 1/2.

    So nothing may follow four letters. Whoever takes i·n for n reads 4 for ever; up to three letters the
    counter is a number in the cover, and beyond it an unknown.
    """
    network, language = compiled("parity", "diagonal-signed")
    language["definition"] = {
        "form": "dfa",
        "alphabet": ["a"],
        "start": 0,
        "accepting": [0],
        "transitions": [[0]],
    }
    layer = {
        **network["layers"][0],
        "reads": ["a"],
        "state": ["n"],
        "start": ["0"],
        "units": affine(1, [], []),
        "recurrence": {
            "kind": "diagonal",
            "gate": affine(1, [[]], ["1"]),
            "write": affine(1, [[[0, "1"]]], ["0"]),
        },
        "readout_units": affine(2, [], []),
        "outputs": ["n", "turned"],
        "readout": affine(2, [[[1, "1"]], [[1, "e(1/4)"]]], ["0", "0"]),
        "exposes_previous": False,
        "complex_state": False,
    }
    network |= {
        "alphabet": ["a"],
        "embedding": {"directions": ["a"], "vectors": [["1"]]},
        "layers": [layer],
        "decoder": {
            "kind": "points",
            "reads": ["a", "n", "turned"],
            "points": [["4", "-1", "1"], ["1/2", "0", "0"]],
            "answers": [["a", "$"], []],
            "empty": ["a", "$"],
        },
    }
    counter = {"start": 0, "increments": [1], "points": [0, 2]}
    description = {"task": "predict", "counters": [counter], "affine": {"1:n": [0, [1]]}}
    return network, language, "counter-invariant", description


def test_complex_multiples_that_are_taken_for_real_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What let a network pass that is wrong on every word, for a method that is still there."""
    network, language, method, description = turned_counter()
    assert "after aaaa the network says {}" in _shown(network, language, method, description)
    monkeypatch.setattr("nerode.kernel.covers.find_failing_word", lambda *_, **__: None)
    assert "meets an unknown value" in _shown(network, language, method, description)
    monkeypatch.setattr(
        "nerode.kernel.domains.forms.known_rational", lambda v: 1 if isinstance(v, Irrational) else v
    )
    assert "contradicts itself: at a point" in _shown(network, language, method, description)
    monkeypatch.setattr(PointGuard, "_look", lambda *_: None)
    assert _shown(network, language, method, description) == "", "the fault itself accepts the network"


@pytest.mark.parametrize("method", WALKED)
def test_points_are_drawn_of_every_domain(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is right is not refused."""
    network, language, method, description = found(method)
    seen: list[Any] = []
    look = PointGuard._look

    def counted(self: PointGuard, *given: Any) -> Any:
        seen.append(look(self, *given))
        return seen[-1]

    monkeypatch.setattr(PointGuard, "_look", counted)
    assert _shown(network, language, method, description) == ""
    assert len(seen) > 1
    assert not any(seen)


@pytest.mark.parametrize(
    "method", ["joint-closure", "saturating-closure", "counter-invariant", "interval-closure"]
)
def test_a_cover_that_forgets_where_a_letter_leads_is_refused(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state stays where it is, whatever is read: the walk closes at once."""
    settle = ExactArithmetic.settle
    starts: dict[int, Any] = {}

    def stays(self: ExactArithmetic, layer: int, values: Any) -> Any:
        return starts.setdefault(layer, settle(self, layer, values))

    network, language, method, description = found(method)
    monkeypatch.setattr(ExactArithmetic, "settle", stays)
    # The answers are believed as well, so that only the images can be wrong.
    monkeypatch.setattr("nerode.kernel.walk.agrees", lambda *_: True)
    what = _shown(network, language, method, description)
    assert "contradicts itself" in what or "is not the stated" in what or "leaves" in what


def test_an_answer_that_was_never_looked_at_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    network, language = compiled("parity", "diagonal-signed")
    definition = language["definition"]
    definition["accepting"] = [1 - state for state in definition["accepting"]]
    assert "the network says" in _shown(network, language, "joint-closure", {"task": "predict"})
    monkeypatch.setattr("nerode.kernel.walk.agrees", lambda *_: True)
    assert "the answer is not that" in _shown(network, language, "joint-closure", {"task": "predict"})


def test_boxes_whose_sums_lose_a_sign_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    network, language, method, description = found("boxes")
    rows = SpanRows.all_values

    def folded(self: SpanRows, table: Any, state: Any = ()) -> Any:
        return [(max(low, -high), max(high, -low)) for low, high in rows(self, table, state)]

    monkeypatch.setattr(SpanRows, "all_values", folded)
    monkeypatch.setattr("nerode.kernel.walk.agrees", lambda *_: True)
    what = _shown(network, language, method, description)
    assert what
    assert "contradicts itself" in what or "is in no interval" in what


def test_the_draws_depend_on_the_content_alone() -> None:
    network, language, method, description = found("stack-invariant")
    drawn: list[list[Any]] = []
    draw = UnknownsDomain.draw

    for _ in range(2):
        mine: list[Any] = []

        def kept(self: Any, cell: Any, choose: Random, mine: list[Any] = mine) -> Any:
            mine.append(draw(self, cell, choose))
            return mine[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(UnknownsDomain, "draw", kept)
            kernel.prove(copy.deepcopy(network), language, method, description)
        drawn.append(mine)
    assert drawn[0] == drawn[1] != []


def test_the_guard_takes_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look of a walk is always taken; `python -m benchmarks guard` measures the share."""
    monkeypatch.setattr("nerode.kernel.guard._SHARE", 0.0)
    network, language = compiled("flip-flop", "householder")
    looks: list[int] = []
    look = PointGuard._look

    def counted(self: PointGuard, *given: Any) -> Any:
        looks.append(1)
        return look(self, *given)

    monkeypatch.setattr(PointGuard, "_look", counted)
    assert _shown(network, language, "joint-closure", {"task": "predict"}) == ""
    assert len(looks) == 1


def test_sparse_columns_that_lose_a_term_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is wrong, and a kernel that does not see the term by which it is."""
    network, language = compiled("tomita-3", "dense")
    relus = ColumnRows._touched

    def first_only(self: ColumnRows, table: Any, state: Any) -> Any:
        sums = relus(self, table, state)
        return {i: v for i, v in sums.items() if i < 1}

    monkeypatch.setattr(ColumnRows, "_touched", first_only)
    monkeypatch.setattr("nerode.kernel.walk.agrees", lambda *_: True)
    assert "contradicts itself" in _shown(network, language, "joint-closure", {"task": "predict"})


@pytest.mark.parametrize("method", [method for method in DOMAINS if method.startswith("n-gram")])
def test_units_that_are_not_those_of_the_layer_are_refused(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coefficients of the newest word are forgotten, in the units and so in all that follows."""
    network, language, method, description = found(method)
    assert _shown(network, language, method, description) == ""
    unrolled = WordUnits._unrolled

    def forgetful(self: WordUnits, *given: Any) -> Any:
        blocks, starts = unrolled(self, *given)
        return [[{} for _ in blocks[0]], *blocks[1:]], starts

    monkeypatch.setattr(WordUnits, "_unrolled", forgetful)
    monkeypatch.setattr("nerode.kernel.domains.ngrams.ModelComparison.derive", lambda *_: Derivation())
    assert "contradicts itself: what stands" in _shown(network, language, method, description)


def test_points_are_read_in_floats_as_in_exact_numbers() -> None:
    """A cell that is trained on classes has points for a decoder, and boxes in floats."""
    network, language = compiled("s3", "householder")
    problem = read_problem(network, language, WorkCount(WorkBudget(seconds=10)), ("network", "language"))
    exact, floats = (PlainStep(problem.network, floats=floats) for floats in (False, True))
    states = exact.start(), floats.start()
    for letter in (0, 1, 3, 5, 2, 4, 4):
        (left, said), (right, got) = (
            step.run(state, letter % len(problem.network.embedding))
            for step, state in zip((exact, floats), states, strict=True)
        )
        states = left, right
        assert said == got
        assert got is not None
