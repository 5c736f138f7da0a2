"""Drawings for papers: an automaton, its egg-boxes, a cascade or a network as SVG, PDF, TikZ or DOT."""

from __future__ import annotations

from pathlib import Path

from nerode.algebra.cascades import Cascade
from nerode.core import MARK, Budget, InputError, write_atomically
from nerode.languages import Dfa, Language
from nerode.languages.formats import FORMATS
from nerode.network import Network
from nerode.report.automaton.diagram import Diagram
from nerode.report.automaton.svg import automaton_picture, draw_diagram, is_drawable, too_large_note
from nerode.report.boxes import BoxDiagram, cascade_diagram, egg_box_diagram, network_diagram
from nerode.report.picture import PICTURE_FORMATS
from nerode.study import LanguagePart, language_part

DRAWING_FORMATS = (*PICTURE_FORMATS, ".dot")
"""The ends of file names that a drawing can be written to."""


def draw(
    value: Language | LanguagePart,
    path: str | Path | None = None,
    *,
    what: str = "automaton",
    to: str = "diagonal",
    form: str = "svg",
    name: str = "",
    show_dead: bool = False,
    budget: Budget | None = None,
) -> str | bytes:
    r"""Returns a drawing, and writes it if a path is given.

    The drawing carries its own colours. TikZ needs `\usepackage{tikz}` alone; PDF needs matplotlib.

    Args:
        value: a language, an automaton, egg-boxes, a cascade or a network.
        path: ends in .svg, .pdf, .tikz, .tex or .dot.
        what: for a language: "automaton", "egg-box", "cascade" or "network".
        to: the class or architecture of the network.
        form: the format without a path: "svg", "pdf", "tikz" or "dot".
        name: how the language is called in the title.
        show_dead: whether dead states of an automaton are drawn.
        budget: limits of the computation.

    Raises:
        InputError: if the format is unknown, or the automaton is too large for a picture.
    """
    suffix = Path(path).suffix.lower() if path is not None else f".{form}"
    if suffix not in DRAWING_FORMATS:
        raise InputError(
            f"drawings are written as {', '.join(DRAWING_FORMATS)}; {suffix or path!r} is none of these"
        )
    if isinstance(value, Language):
        name = name or value.name
        value = language_part(value, what, to=to, budget=budget)
    content = _dot(value, name) if suffix == ".dot" else _pictured(value, suffix, name, show_dead)
    if path is not None:
        write_atomically(Path(path), content)
    return content


def _diagram(part: tuple[object, ...] | Cascade | Network, name: str) -> BoxDiagram:
    if isinstance(part, Network):
        return network_diagram(part)
    if isinstance(part, Cascade):
        return cascade_diagram(part, name=name)
    return egg_box_diagram(part, name=name)  # type: ignore[arg-type]


def _dot(part: LanguagePart, name: str) -> str:
    if isinstance(part, Dfa):
        return FORMATS["dot"].write(part)
    return f"// {MARK}\n{_diagram(part, name).dot()}"


def _pictured(part: LanguagePart, suffix: str, name: str, show_dead: bool) -> str | bytes:
    if isinstance(part, Dfa):
        diagram = Diagram.of(part, show_dead=show_dead)
        if not is_drawable(diagram):
            raise InputError(f"{too_large_note(diagram)} Write .dot and let graphviz draw it")
        return PICTURE_FORMATS[suffix](automaton_picture(draw_diagram(diagram), name=name))
    return PICTURE_FORMATS[suffix](_diagram(part, name).picture())
