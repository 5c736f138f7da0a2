from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings

from nerode.languages import Dfa, minimise
from nerode.languages.bestiary import BESTIARY
from nerode.report.automaton.diagram import Diagram
from nerode.report.automaton.drawing import Drawing, Label, draw, states_under
from nerode.report.automaton.routing import sample
from nerode.report.automaton.svg import MAX_STATES, is_drawable
from tests.report.specimens import SPECIMENS
from tests.strategies import dfas

DRAWINGS = {name: draw(dfa) for name, dfa in SPECIMENS.items()}
every_drawing = pytest.mark.parametrize("drawing", DRAWINGS.values(), ids=DRAWINGS.keys())


def assert_states_apart(drawing: Drawing) -> None:
    placement = drawing.placement
    for q, p in itertools.combinations(placement.centre, 2):
        distance = math.dist(placement.centre[q], placement.centre[p])
        assert distance > placement.radius[q] + placement.radius[p] + 4


def assert_inside_box(drawing: Drawing) -> None:
    x, y, width, height = drawing.box
    placement = drawing.placement
    for q, (cx, cy) in placement.centre.items():
        r = placement.radius[q]
        assert x <= cx - r <= cx + r <= x + width
        assert y <= cy - r <= cy + r <= y + height
    for label in drawing.labels:
        assert x <= label.x - label.width / 2 <= label.x + label.width / 2 <= x + width
        assert y <= label.y - label.height / 2 <= label.y + label.height / 2 <= y + height
    for route in drawing.routes:
        assert (route.points >= [x, y]).all()
        assert (route.points <= [x + width, y + height]).all()


def assert_arrows_touch_borders(drawing: Drawing) -> None:
    placement = drawing.placement
    for route in drawing.routes:
        for state, end in ((route.arrow.source, 0), (route.arrow.target, -1)):
            distance = math.dist(placement.centre[state], route.controls[end])
            assert distance == pytest.approx(placement.radius[state])


@every_drawing
def test_states_do_not_overlap(drawing: Drawing) -> None:
    assert_states_apart(drawing)


@every_drawing
def test_everything_is_inside_the_box(drawing: Drawing) -> None:
    assert_inside_box(drawing)


@every_drawing
def test_arrows_go_from_border_to_border(drawing: Drawing) -> None:
    assert_arrows_touch_borders(drawing)


@every_drawing
def test_arrows_keep_off_states(drawing: Drawing) -> None:
    placement = drawing.placement
    for route in drawing.routes:
        points = sample(route.controls)
        for q, centre in placement.centre.items():
            reach = np.hypot(*(points - centre).T)
            if q not in (route.arrow.source, route.arrow.target):
                assert reach.min() > placement.radius[q]
            else:
                assert reach.min() > placement.radius[q] - 0.5


@every_drawing
def test_labels_keep_off_states_and_off_each_other(drawing: Drawing) -> None:
    assert not [label for label in drawing.labels if states_under(drawing.placement, label)]
    assert not [pair for pair in itertools.combinations(drawing.labels, 2) if pair[0].overlaps(pair[1])]
    assert drawing.clashes == 0


@every_drawing
def test_opposite_arrows_are_apart_in_the_middle(drawing: Drawing) -> None:
    ways = {(r.arrow.source, r.arrow.target): r.points for r in drawing.routes if not r.arrow.is_loop}
    for (q, p), points in ways.items():
        if q < p and (p, q) in ways:
            middle = points[len(points) // 2]
            assert np.hypot(*(ways[p, q] - middle).T).min() > 5


def test_every_transition_between_drawn_states_is_on_a_label() -> None:
    for name, drawing in DRAWINGS.items():
        dfa = SPECIMENS[name]
        hidden = set(drawing.placement.diagram.hidden)
        shown = {
            (route.arrow.source, letter): route.arrow.target
            for route, label in zip(drawing.routes, drawing.labels, strict=True)
            for letter in label.letters
        }
        for q in drawing.placement.diagram.states:
            for letter in range(dfa.num_letters):
                target = int(dfa.transitions[q, letter])
                assert shown.get((q, letter), target if target in hidden else None) == target


@settings(max_examples=40)
@given(dfas(max_states=7, max_letters=3))
def test_random_automata_keep_the_geometry(dfa: Dfa) -> None:
    drawing = draw(minimise(dfa), show_dead=True)
    assert_states_apart(drawing)
    assert_inside_box(drawing)
    assert_arrows_touch_borders(drawing)
    assert drawing.clashes == 0


def drawable(name: str) -> Dfa | None:
    """The automaton of a named language if a page draws it."""
    language = BESTIARY[name].language()
    states = language.num_states()
    if not language.regular or (states is not None and states > MAX_STATES):
        return None
    dfa = language.dfa()
    return dfa if is_drawable(Diagram.of(dfa)) else None


@pytest.mark.parametrize("name", list(BESTIARY))
def test_named_languages_are_drawn_without_clashes(name: str) -> None:
    dfa = drawable(name)
    if dfa is None:
        assert name not in ("parity", "tomita-4", "flip-flop", "s3", "dyck-2-3")
        return
    drawing = draw(dfa)
    assert drawing.clashes == 0
    assert_states_apart(drawing)
    assert_inside_box(drawing)


def test_a_label_knows_what_it_meets() -> None:
    def label(x: float, y: float) -> Label:
        return Label(text="a", letters=(0,), x=x, y=y, width=10, height=10)

    assert label(0, 0).overlaps(label(9, 0))
    assert not label(0, 0).overlaps(label(11, 0))
    assert label(0, 0).gap_to(3, 4) == 0
    assert label(0, 0).gap_to(8, 9) == pytest.approx(5)
