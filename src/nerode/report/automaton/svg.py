"""The picture of a minimal automaton as inline SVG, coloured by the page's CSS variables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from nerode.languages import Dfa
from nerode.report.automaton.diagram import Diagram
from nerode.report.automaton.drawing import Drawing, Label, draw_diagram
from nerode.report.automaton.routing import Floats, Route, start_line
from nerode.report.notation import visible
from nerode.study import shorten

MAX_STATES = 40
MAX_ARROWS = 80

# Drawings below the first width are enlarged a little, those below the second fit half a page, those above
# the third scroll.
_SMALL = 460.0
NARROW = 560.0
_LONG = 1500.0
_LARGEST = 1.35

_ARROW_LENGTH = 10.0
_ARROW_HALF_WIDTH = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomatonFigure:
    """A drawing inside its `<figure>` element, and how wide it wants to be (0 for words only)."""

    markup: Markup
    width: float

    @property
    def is_wide(self) -> bool:
        """Whether half a page is too narrow for it."""
        return self.width > NARROW


def automaton_figure(dfa: Dfa, *, name: str = "", show_dead: bool = False) -> AutomatonFigure:
    """Returns the drawing of an automaton, or a sentence that says why there is none.

    Args:
        dfa: the automaton, usually minimal.
        name: how the language is called, for readers that hear the page.
        show_dead: whether to draw the dead state, faint, instead of mentioning it.
    """
    diagram = Diagram.of(dfa, show_dead=show_dead)
    if not is_drawable(diagram):
        words = Markup('<p class="too-large">{}</p>').format(too_large_note(diagram))
        return AutomatonFigure(
            markup=Markup('<figure class="automaton">{}</figure>').format(words), width=0.0
        )
    drawing = draw_diagram(diagram)
    notes = _notes(drawing)
    caption = Markup("<figcaption>{}</figcaption>").format(" ".join(notes)) if notes else Markup("")
    svg = drawing_svg(drawing, name=name)
    return AutomatonFigure(
        markup=Markup('<figure class="automaton">{}{}</figure>').format(svg, caption), width=drawing.box[2]
    )


def is_drawable(diagram: Diagram) -> bool:
    """Whether a drawing of the diagram can be read."""
    return len(diagram.states) <= MAX_STATES and len(diagram.arrows) <= MAX_ARROWS


def too_large_note(diagram: Diagram) -> str:
    """Returns the sentence that stands in place of a drawing."""
    dfa = diagram.dfa
    accepting = int(dfa.accepting.sum())
    return (
        f"The minimal automaton has {dfa.num_states:,} states ({accepting:,} accepting) over "
        f"{dfa.num_letters:,} letters, {len(diagram.arrows):,} arrows in all. Automata of up to {MAX_STATES} "
        f"states and {MAX_ARROWS} arrows are drawn; this one is too large for a picture to help."
    )


def drawing_svg(drawing: Drawing, *, name: str = "") -> Markup:
    """Returns a drawing as one `<svg>` element."""
    x, y, width, height = drawing.box
    parts = [
        Markup("<title>{}</title>").format(f"Minimal automaton of {name}" if name else "Minimal automaton"),
        Markup("<desc>{}</desc>").format(describe(drawing)),
        _start(drawing),
        *(_arrow(drawing, r) for r in drawing.routes),
        *(_state(drawing, q) for q in drawing.placement.diagram.states),
        *(_label(drawing, label) for label in drawing.labels),
    ]
    reach = "narrow" if width <= NARROW else "long" if width > _LONG else "middle"
    scale = max(1.0, min(_LARGEST, _SMALL / width))
    numbers = [_number(v) for v in (x, y, width, height, width * scale, height * scale)]
    svg = Markup(
        '<svg class="dfa {}" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="{} {} {} {}" '
        'width="{}" height="{}">{}</svg>'
    ).format(reach, *numbers, Markup("").join(parts))
    return Markup(visible(svg))


def describe(drawing: Drawing) -> str:
    """Returns the automaton in words."""
    diagram = drawing.placement.diagram
    dfa = diagram.dfa
    accepting = [str(q) for q in sorted(diagram.states) if dfa.accepting[q]]
    moves = [
        f"{arrow.source} to {arrow.target} on {', '.join(dfa.alphabet.symbols[a] for a in arrow.letters)}"
        for arrow in diagram.arrows[:60]
    ]
    if len(diagram.arrows) > 60:
        moves.append(f"and {len(diagram.arrows) - 60} more")
    return (
        f"{len(diagram.states)} states are drawn; state {dfa.start} is the start; accepting: "
        f"{', '.join(accepting) or 'none'}. Arrows: {'; '.join(moves) or 'none'}."
    )


def _notes(drawing: Drawing) -> list[str]:
    diagram = drawing.placement.diagram
    notes = []
    if diagram.hidden:
        which = ", ".join(map(str, diagram.hidden))
        dead = f"The dead state {which} is" if len(diagram.hidden) == 1 else f"The dead states {which} are"
        notes.append(f"{dead} not drawn: a letter without an arrow leads there.")
    if any(label.text == "Σ" for label in drawing.labels) and "Σ" not in diagram.dfa.alphabet:
        notes.append("Σ stands for any letter.")
    if any("… +" in label.text for label in drawing.labels):
        notes.append("Hover over a cut label to read all its letters.")
    return notes


def _start(drawing: Drawing) -> Markup:
    (x0, y0), (x1, y1) = start_line(drawing.placement)
    return Markup(
        '<g class="edge"><circle class="entry" cx="{}" cy="{}" r="3"/><path d="M{} {}L{} {}"/>{}</g>'
    ).format(*(_number(v) for v in (x0, y0, x0 + 3, y0, x1 - _ARROW_LENGTH + 1, y1)), _head(x1, y1, 0.0))


def _arrow(drawing: Drawing, route: Route) -> Markup:
    controls = route.controls.copy()
    (tip_x, tip_y), (from_x, from_y) = controls[-1], controls[-2]
    angle = math.atan2(tip_y - from_y, tip_x - from_x)
    # The line stops inside the head, so that its end does not show beside the tip.
    controls[-1] -= np.array(_unit(angle)) * (_ARROW_LENGTH - 1)
    if len(controls) == 4 and math.dist(controls[0], route.controls[-1]) < 3 * _ARROW_LENGTH:
        controls[-2] = route.controls[-2]
    faint = not drawing.placement.diagram.dfa.live[route.arrow.target]
    return Markup('<g class="edge{}"><path d="{}"/>{}</g>').format(
        " dead" if faint else "", _path(controls), _head(tip_x, tip_y, angle)
    )


def _state(drawing: Drawing, q: int) -> Markup:
    placement = drawing.placement
    dfa = placement.diagram.dfa
    (x, y), r = placement.centre[q], placement.radius[q]
    accepting, live = bool(dfa.accepting[q]), bool(dfa.live[q])
    ring = (
        Markup('<circle cx="{}" cy="{}" r="{}"/>').format(_number(x), _number(y), _number(r - 4))
        if accepting
        else Markup("")
    )
    word = shorten(dfa.alphabet.decode(dfa.access_word(q)), 60)
    role = "accepting" if accepting else "not accepting" if live else "dead"
    return Markup(
        '<g class="state{}"><title>{}</title><circle cx="{}" cy="{}" r="{}"/>{}'
        '<text x="{}" y="{}">{}</text></g>'
    ).format(
        " accepting" if accepting else "" if live else " dead",
        f"state {q}, {role}, reached by {word}",
        _number(x),
        _number(y),
        _number(r),
        ring,
        _number(x),
        _number(y + 4.6),
        q,
    )


def _label(drawing: Drawing, label: Label) -> Markup:
    alphabet = drawing.placement.diagram.dfa.alphabet
    full = ", ".join(alphabet.symbols[a] for a in label.letters)
    title = Markup("<title>{}</title>").format(full) if full != label.text else Markup("")
    return Markup('<text class="letters" x="{}" y="{}">{}{}</text>').format(
        _number(label.x), _number(label.y + 4.6), title, label.text
    )


def _head(x: float, y: float, angle: float) -> Markup:
    """A filled triangle with its tip at (x, y)."""
    corners = [(x, y)]
    for side in (1, -1):
        turned = angle + math.pi - side * math.atan2(_ARROW_HALF_WIDTH, _ARROW_LENGTH)
        reach = math.hypot(_ARROW_LENGTH, _ARROW_HALF_WIDTH)
        corners.append((x + reach * math.cos(turned), y + reach * math.sin(turned)))
    return Markup('<path class="head" d="M{}Z"/>').format(
        "L".join(f"{_number(px)} {_number(py)}" for px, py in corners)
    )


def _path(controls: Floats) -> str:
    pairs = [f"{_number(px)} {_number(py)}" for px, py in controls.tolist()]
    return f"M{pairs[0]}C{' '.join(pairs[1:])}"


def _unit(angle: float) -> tuple[float, float]:
    return (math.cos(angle), math.sin(angle))


def _number(value: float) -> str:
    """A coordinate with one digit after the point, the same on every machine."""
    text = f"{float(value):.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text
