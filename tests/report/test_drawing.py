"""Drawings for papers: what is in the files, and that they stand alone."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from nerode.algebra.cascades import decompose_general
from nerode.compiler import compile_language
from nerode.core import InputError
from nerode.languages import Dfa
from nerode.languages.bestiary import find_language
from nerode.languages.formats import read_automaton
from nerode.report import draw
from nerode.study import PARTS, language_part

LANGUAGE = find_language("tomita-3")
TIKZ_LINE = re.compile(
    r"  \\(definecolor\{nerode[A-Z]\}\{HTML\}\{[0-9A-F]{6}\}"
    r"|path\[[^\]]*\] \([-0-9.,]+\)( circle\[radius=[0-9.]+bp\]| rectangle \([-0-9.,]+\)"
    r"|( \.\. controls \([-0-9.,]+\) and \([-0-9.,]+\) \.\. \([-0-9.,]+\)| -- (\([-0-9.,]+\)|cycle))*);"
    r"|node\[[^\]]*\] at \([-0-9.,]+\) \{.*\};)"
)


@pytest.mark.parametrize("what", PARTS)
def test_svg_stands_alone(what: str, tmp_path: Path) -> None:
    path = tmp_path / "x.svg"
    text = draw(LANGUAGE, path, what=what, to="diagonal-signed")
    assert path.read_text() == text
    svg = ET.fromstring(str(text))
    for shape in svg.iter():
        kind = shape.tag.split("}")[1]
        if kind in ("circle", "path", "rect", "text"):
            assert "fill" in shape.attrib, kind


@pytest.mark.parametrize("what", PARTS)
def test_tikz_is_lines_that_tikz_reads(what: str) -> None:
    first, begin, *lines = str(draw(LANGUAGE, what=what, to="diagonal-signed", form="tikz")).splitlines()
    assert first.startswith("% ")
    assert begin.startswith(r"\begin{tikzpicture}[")
    assert lines.pop() == r"\end{tikzpicture}"
    colours = {line[15:22] for line in lines if "definecolor" in line}
    for line in lines:
        assert TIKZ_LINE.fullmatch(line) or "definecolor" in line, line
        assert line.count("{") - line.count(r"\{") == line.count("}") - line.count(r"\}"), line
    assert {c for line in lines for c in re.findall(r"=(nerode[A-Z])", line)} <= colours


def test_letters_cannot_become_commands_of_tex() -> None:
    letters = [r"\input{x}", "a_b", "50%"]
    dfa = Dfa.build(letters, lambda q, c: (q + letters.index(c)) % 3, start=0, accept=[1])
    text = str(draw(dfa, form="tikz"))
    assert r"\input" not in text
    assert r"\textbackslash{}input\{x\}" in text
    assert r"a\_b" in text
    assert r"50\%" in text


@pytest.mark.parametrize("what", PARTS)
def test_pdf_gives_the_same_bytes(what: str) -> None:
    first, second = (draw(LANGUAGE, what=what, to="diagonal-signed", form="pdf") for _ in range(2))
    assert first == second
    assert bytes(first).startswith(b"%PDF")


def test_dot_is_read_again(tmp_path: Path) -> None:
    draw(LANGUAGE, tmp_path / "x.dot")
    assert read_automaton(tmp_path / "x.dot") == LANGUAGE.dfa()
    assert "b0 -> b1" in str(draw(LANGUAGE, what="cascade", form="dot"))


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InputError, match="choose one of automaton, egg-box"):
        draw(LANGUAGE, what="picture")
    with pytest.raises(InputError, match="let graphviz draw it"):
        draw(find_language("s5"))
    with pytest.raises(InputError, match="none of these"):
        draw(LANGUAGE, form="png")


def _arrows(text: str) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in re.findall(r"b(\d+) -> b(\d+);", text)}


def test_a_network_is_drawn_with_who_reads_whom() -> None:
    language = find_language("flip-flop")
    network = compile_language(language, "diagonal")
    giver = dict.fromkeys(network.embedding.directions, 0)
    wanted = set()
    for number, layer in enumerate(network.layers, start=1):
        wanted |= {(giver[name], number) for name in layer.reads}
        giver |= dict.fromkeys(layer.outputs, number)
    wanted |= {(giver[name], network.depth + 1) for name in network.decoder.reads}
    assert _arrows(str(draw(network, form="dot"))) == wanted
    svg = str(draw(network))
    assert all(name in svg for layer in network.layers for name in layer.state)
    assert svg.count("<path") == 2 * len(wanted)  # a line and a head for each
    assert "h[" not in svg  # no program text


def test_a_cascade_is_drawn_with_its_labels_and_readers() -> None:
    cascade = decompose_general(LANGUAGE.dfa())
    labels = [level.num_labels for level in cascade.levels]
    circles = [e for e in ET.fromstring(str(draw(cascade))).iter() if e.tag.endswith("circle")]
    assert len(circles) == sum(labels) + cascade.num_states
    told = {(parent + 1, n + 1) for n in range(len(labels)) for parent in cascade.parents(n)}
    told |= {(0, n + 1) for n in range(len(labels))}
    told |= {(n + 1, len(labels) + 1) for n in cascade.read_by_state}
    assert _arrows(str(draw(cascade, form="dot"))) == told
    assert {"set 0", "set 1", "add 1"} <= set(re.findall(r">([a-z]+ \d)<", str(draw(cascade))))


def test_the_order_of_the_egg_boxes_is_drawn() -> None:
    boxes = language_part(LANGUAGE, "egg-box")
    assert _arrows(str(draw(boxes, form="dot"))) == {(i, j) for j, box in enumerate(boxes) for i in box.above}
