from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from nerode.languages import Dfa
from nerode.report.automaton.diagram import Diagram
from nerode.report.automaton.drawing import draw
from nerode.report.automaton.svg import MAX_STATES, automaton_figure, drawing_svg, too_large_note
from tests.report.specimens import SPECIMENS, counter

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
