"""Drawings for papers: what is in the files, and that they stand alone."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from nerode.core import InputError
from nerode.languages import Dfa
from nerode.languages.bestiary import find_language
from nerode.languages.formats import read_automaton
from nerode.report import draw
from nerode.study import PARTS

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
