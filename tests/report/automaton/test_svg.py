from __future__ import annotations

import functools
import itertools
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given

from nerode.languages import Dfa, minimise
from nerode.languages.bestiary import BESTIARY
from nerode.report.automaton.diagram import Diagram
from nerode.report.automaton.routing import sample
from nerode.report.automaton.svg import (
    MAX_STATES,
    Drawing,
    Label,
    automaton_figure,
    draw,
    drawing_svg,
    is_drawable,
    states_under,
    too_large_note,
)
from tests.report.specimens import SPECIMENS, counter
from tests.strategies import dfas

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ["<script>alert(1)</script>", '"><img/onerror=x>', "'&amp;", "]]>", "\u202eabc"]


def parse(dfa: Dfa, **options: bool) -> ET.Element:
    return ET.fromstring(str(automaton_figure(dfa, name="a <b> & c", **options).markup))


@pytest.mark.parametrize("dfa", SPECIMENS.values(), ids=SPECIMENS.keys())
def test_the_figure_is_well_formed_and_complete(dfa: Dfa) -> None:
    svg = parse(dfa).find(f"{SVG}svg")
    assert svg is not None
    diagram = Diagram.of(dfa)
    states = [g for g in svg.findall(f"{SVG}g") if "state" in g.attrib["class"].split()]
    assert [g.find(f"{SVG}text").text for g in states] == [str(q) for q in diagram.states]
    accepting = [g for g in states if "accepting" in g.attrib["class"]]
    assert len(accepting) == sum(bool(dfa.accepting[q]) for q in diagram.states)
    assert all(len(g.findall(f"{SVG}circle")) == 2 for g in accepting)
    labels = [t for t in svg.findall(f"{SVG}text") if t.attrib["class"] == "letters"]
    assert len(labels) == len(diagram.arrows)


def test_colours_come_from_the_page_only() -> None:
    markup = str(automaton_figure(SPECIMENS["parity"]).markup)
    for word in ("fill=", "stroke=", "style=", "#"):
        assert word not in markup


def test_readers_that_hear_the_page_get_a_title_and_a_description() -> None:
    svg = parse(SPECIMENS["parity"]).find(f"{SVG}svg")
    assert svg.find(f"{SVG}title").text == "Minimal automaton of a <b> & c"
    description = svg.find(f"{SVG}desc").text
    assert "state 0 is the start; accepting: 0." in description
    assert "0 to 1 on 1; 1 to 0 on 1" in description


def test_symbols_and_names_cannot_become_markup() -> None:
    dfa = Dfa.build(HOSTILE, lambda q, c: (q + HOSTILE.index(c)) % 3, start=0, accept=[1])
    markup = str(automaton_figure(dfa, name="</title><script>x</script>\x01\x7f").markup)
    assert "<script" not in markup
    assert "<img" not in markup
    assert "\x01" not in markup
    assert "\u202e" not in markup
    figure = ET.fromstring(markup)
    texts = "".join(figure.itertext())
    assert "<script>alert" in texts
    assert "␁␡" in texts
    assert "⟨U+202E⟩abc" in texts


def test_the_same_automaton_gives_the_same_bytes() -> None:
    for dfa in (SPECIMENS["S4"], SPECIMENS["contains abcabcd"], SPECIMENS["S3, all letters"]):
        again = Dfa(
            alphabet=dfa.alphabet, transitions=dfa.transitions, start=dfa.start, accepting=dfa.accepting
        )
        assert automaton_figure(dfa).markup == automaton_figure(again).markup


def test_the_dead_state_is_mentioned_or_drawn_faint() -> None:
    dfa = SPECIMENS["(ab)*"]
    hidden = parse(dfa)
    assert "dead state 2 is not drawn" in hidden.find("figcaption").text
    assert not hidden.findall(f".//{SVG}g[@class='state dead']")
    shown = parse(dfa, show_dead=True)
    assert shown.find("figcaption") is None
    assert len(shown.findall(f".//{SVG}g[@class='state dead']")) == 1


def test_a_dead_start_is_drawn() -> None:
    assert len(parse(SPECIMENS["no word"]).findall(f".//{SVG}g[@class='state dead']")) == 1


def test_unreachable_states_are_left_out() -> None:
    dfa = Dfa(alphabet=counter(3).alphabet, transitions=[[0, 0], [0, 0]], start=0, accepting=[True, False])
    assert Diagram.of(dfa).states == (0,)
    assert Diagram.of(dfa).hidden == ()


def test_large_automata_are_told_in_words() -> None:
    dfa = counter(MAX_STATES + 1)
    figure = automaton_figure(dfa)
    assert figure.width == 0
    assert "<svg" not in figure.markup
    assert "has 41 states (1 accepting) over 2 letters, 82 arrows" in figure.markup
    assert too_large_note(Diagram.of(dfa)) in figure.markup
    assert "<svg" in automaton_figure(counter(MAX_STATES)).markup


def test_dense_automata_are_told_in_words() -> None:
    symbols = [f"x{i}" for i in range(13)]
    dfa = Dfa.build(symbols, lambda q, c: (q + symbols.index(c)) % 13, start=0, accept=[0])
    assert "169 arrows" in automaton_figure(dfa).markup


def test_sigma_is_explained_where_it_occurs() -> None:
    dfa = SPECIMENS["contains abcabcd"]
    assert "Σ stands for any letter." in automaton_figure(dfa).markup
    assert "Σ" not in automaton_figure(SPECIMENS["parity"]).markup


def test_small_drawings_are_enlarged_a_little() -> None:
    svg = ET.fromstring(str(drawing_svg(draw(SPECIMENS["parity"]))))
    scale = float(svg.attrib["width"]) / float(svg.attrib["viewBox"].split()[2])
    assert scale == pytest.approx(1.35, abs=0.01)


every_drawing = pytest.mark.parametrize("drawing", SPECIMENS, indirect=True)


@functools.cache
def drawn(name: str) -> Drawing:
    return draw(SPECIMENS[name])


@pytest.fixture
def drawing(request: pytest.FixtureRequest) -> Drawing:
    return drawn(request.param)


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
    for name, dfa in SPECIMENS.items():
        drawing = drawn(name)
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
