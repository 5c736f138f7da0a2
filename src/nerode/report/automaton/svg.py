"""The picture of a minimal automaton: places, routes and labels as numbers, then shapes and inline SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from nerode.languages import Dfa
from nerode.report.automaton.diagram import Diagram, letters_label
from nerode.report.automaton.placement import Placement, place
from nerode.report.automaton.routing import Floats, Route, route, start_line
from nerode.report.picture import (
    LINE_HEIGHT,
    Circle,
    Curve,
    Group,
    Ink,
    Picture,
    Words,
    text_width,
    to_svg,
)
from nerode.study import shorten

_STRETCHES = (1.0, 1.2, 1.45, 1.8, 2.3)
_PADDING = 6.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawing:
    """The parts of the picture of an automaton.

    Attributes:
        placement: the states and their places.
        routes: the ways of the arrows.
        labels: one for each route.
        box: x, y, width and height of the whole.
    """

    placement: Placement
    routes: tuple[Route, ...]
    labels: tuple[Label, ...]
    box: tuple[float, float, float, float]

    @property
    def clashes(self) -> int:
        """The number of labels that lie on a state or on another label."""
        on_states = sum(bool(states_under(self.placement, label)) for label in self.labels)
        pairs = sum(a.overlaps(b) for i, a in enumerate(self.labels) for b in self.labels[:i])
        return on_states + pairs


def draw(dfa: Dfa, *, show_dead: bool = False) -> Drawing:
    """Returns the drawing of an automaton; the same automaton always gives the same numbers.

    When labels find no room, the whole is drawn again with larger distances.
    """
    return draw_diagram(Diagram.of(dfa, show_dead=show_dead))


def draw_diagram(diagram: Diagram) -> Drawing:
    """Returns the drawing of the chosen part of an automaton."""
    best: Drawing | None = None
    for stretch in _STRETCHES:
        placement = place(diagram, stretch=stretch)
        routes = route(placement)
        labels = place_labels(placement, routes)
        drawing = Drawing(
            placement=placement,
            routes=tuple(routes),
            labels=tuple(labels),
            box=_box(placement, routes, labels),
        )
        if best is None or drawing.clashes < best.clashes:
            best = drawing
        if best.clashes == 0:
            break
    if best is None:
        raise AssertionError("no stretch was tried")
    return best


def _box(placement: Placement, routes: list[Route], labels: list[Label]) -> tuple[float, float, float, float]:
    points = [start_line(placement) - [[4, 0]], *(r.points for r in routes)]
    for q, (x, y) in placement.centre.items():
        r = placement.radius[q]
        points.append(np.array([[x - r, y - r], [x + r, y + r]]))
    for label in labels:
        middle, half = np.array([label.x, label.y]), np.array([label.width, label.height]) / 2
        points.append(np.array([middle - half, middle + half]))
    every = np.vstack(points)
    low = np.floor(every.min(axis=0) - _PADDING)
    high = np.ceil(every.max(axis=0) + _PADDING)
    return float(low[0]), float(low[1]), float(high[0] - low[0]), float(high[1] - low[1])


_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)
_OVERLAP_COST = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The text of one arrow in a box with the centre (x, y)."""

    text: str
    letters: tuple[int, ...]
    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Label) -> bool:
        """Whether two boxes have a point in common."""
        return (
            abs(self.x - other.x) * 2 < self.width + other.width
            and abs(self.y - other.y) * 2 < self.height + other.height
        )

    def gap_to(self, x: float, y: float) -> float:
        """Distance from the box to a point, 0 inside."""
        dx = max(0.0, abs(x - self.x) - self.width / 2)
        dy = max(0.0, abs(y - self.y) - self.height / 2)
        return math.hypot(dx, dy)


def place_labels(placement: Placement, routes: Sequence[Route]) -> list[Label]:
    """Returns a label for every route, in the same order.

    Short arrows have the least choice, so they choose first.
    """
    placed: dict[int, Label] = {}
    order = sorted(range(len(routes)), key=lambda i: (np.ptp(routes[i].points, axis=0).sum().round(3), i))
    lines = [r.points for r in routes]
    begin, tip = start_line(placement)
    entry = np.linspace(begin, tip, 8)
    for i in order:
        others = np.vstack([entry, *(line for j, line in enumerate(lines) if j != i)])
        placed[i] = _best(placement, routes[i], list(placed.values()), others)
    return [placed[i] for i in range(len(routes))]


def _best(placement: Placement, route: Route, placed: Sequence[Label], others: Floats) -> Label:
    best: Label | None = None
    best_cost = math.inf
    for label, effort in _candidates(placement, route):
        cost = effort + _OVERLAP_COST * sum(label.overlaps(other) for other in placed)
        cost += _OVERLAP_COST * len(states_under(placement, label))
        cost += 6.0 * _points_inside(label, others) + 9.0 * _points_inside(label, route.points)
        # A label that is nearly as close to a foreign arrow as to its own is read wrongly.
        cost += 1.5 * _points_inside(label, others, margin=5.0)
        if cost < best_cost:
            best, best_cost = label, cost
    if best is None:
        raise AssertionError(f"no candidate place for the label of {route.arrow}")
    return best


def _candidates(placement: Placement, route: Route) -> list[tuple[Label, float]]:
    alphabet = placement.diagram.dfa.alphabet
    text = letters_label(alphabet, route.arrow.letters)
    width, height = text_width(text) + 4, LINE_HEIGHT
    points = route.points
    found = []
    for part in _PLACES:
        i = min(max(1, round(part * (len(points) - 1))), len(points) - 2)
        direction = points[i + 1] - points[i - 1]
        normal = np.array([direction[1], -direction[0]]) / max(1e-9, float(np.hypot(*direction)))
        reach = (abs(normal[0]) * width + abs(normal[1]) * height) / 2
        for side in (1.0, -1.0):
            for distance in (2.0, 7.0):
                x, y = points[i] + side * (reach + distance) * normal
                label = Label(
                    text=text, letters=route.arrow.letters, x=float(x), y=float(y), width=width, height=height
                )
                below = 1.5 if side * normal[1] > 0 else 0.0
                found.append((label, 12 * abs(part - 0.5) + (distance - 2) + below))
    return found


def states_under(placement: Placement, label: Label) -> list[int]:
    """Returns the states whose circle, with a margin, meets the label's box."""
    return [q for q, (x, y) in placement.centre.items() if label.gap_to(x, y) < placement.radius[q] + 2]


def _points_inside(label: Label, points: Floats, *, margin: float = 0.0) -> int:
    inside = (np.abs(points[:, 0] - label.x) < label.width / 2 + 1 + margin) & (
        np.abs(points[:, 1] - label.y) < label.height / 2 - 1 + margin
    )
    return int(inside.sum())


MAX_STATES = 40
MAX_ARROWS = 80

# Drawings below the first width are enlarged a little, those below the second fit half a page, those above
# the third scroll.
_SMALL = 460.0
NARROW = 560.0
_LONG = 1500.0
_LARGEST = 1.35

_STATE = Ink(fill="card", stroke="outline", width=1.6)
_DEAD = Ink(fill="card", stroke="outline", width=1.6, dashed=True)
_ACCEPTING = Ink(fill="yes-bg", stroke="outline", width=1.6)
_EDGE = Ink(stroke="edge")
_HEAD = Ink(fill="edge")
_NAME = Ink(fill="ink")
_LETTERS = Ink(fill="ink", halo=True)

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


def automaton_figure(
    dfa: Dfa, *, name: str = "", show_dead: bool = False, styled: bool = False, names: Sequence[str] = ()
) -> AutomatonFigure:
    """Returns the drawing of an automaton, or a sentence that says why there is none.

    Args:
        dfa: the automaton, usually minimal.
        name: how the language is called, for readers that hear the page.
        show_dead: whether to draw the dead state, faint, instead of mentioning it.
        styled: whether it carries its colours, for a place without the style sheet of our pages.
        names: of the states, instead of their numbers.
    """
    diagram = Diagram.of(dfa, show_dead=show_dead, names=names)
    if not is_drawable(diagram):
        words = Markup('<p class="too-large">{}</p>').format(too_large_note(diagram))
        return AutomatonFigure(
            markup=Markup('<figure class="automaton">{}</figure>').format(words), width=0.0
        )
    drawing = draw_diagram(diagram)
    notes = _notes(drawing)
    caption = Markup("<figcaption>{}</figcaption>").format(" ".join(notes)) if notes else Markup("")
    svg = drawing_svg(drawing, name=name, styled=styled)
    return AutomatonFigure(
        markup=Markup('<figure class="automaton">{}{}</figure>').format(svg, caption), width=drawing.box[2]
    )


def automaton_svg(dfa: Dfa, *, name: str = "", names: Sequence[str] = ()) -> str:
    """Returns the drawing of an automaton with its colours, empty if it is too large for one."""
    diagram = Diagram.of(dfa, names=names)
    return str(drawing_svg(draw_diagram(diagram), name=name, styled=True)) if is_drawable(diagram) else ""


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


def drawing_svg(drawing: Drawing, *, name: str = "", styled: bool = False) -> Markup:
    """Returns a drawing as one `<svg>` element, coloured by the page or, if `styled`, by itself."""
    width = drawing.box[2]
    reach = "narrow" if width <= NARROW else "long" if width > _LONG else "middle"
    scale = max(1.0, min(_LARGEST, _SMALL / width))
    picture = automaton_picture(drawing, name=name)
    return to_svg(picture, css=f"dfa {reach}", scale=scale, colours="light" if styled else "none")


def automaton_picture(drawing: Drawing, *, name: str = "") -> Picture:
    """Returns the shapes of a drawing."""
    return Picture(
        items=(
            _start(drawing),
            *(_arrow(drawing, r) for r in drawing.routes),
            *(_state(drawing, q) for q in drawing.placement.diagram.states),
            *(_label(drawing, label) for label in drawing.labels),
        ),
        box=drawing.box,
        title=f"Minimal automaton of {name}" if name else "Minimal automaton",
        description=describe(drawing),
    )


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


def _start(drawing: Drawing) -> Group:
    (x0, y0), (x1, y1) = start_line(drawing.placement)
    line = Curve(points=((x0 + 3, y0), (x1 - _ARROW_LENGTH + 1, y1)), ink=_EDGE)
    return Group(
        css="edge", items=(Circle(css="entry", x=x0, y=y0, r=3, ink=_STATE), line, _head(x1, y1, 0.0))
    )


def _arrow(drawing: Drawing, route: Route) -> Group:
    controls = route.controls.copy()
    (tip_x, tip_y), (from_x, from_y) = controls[-1], controls[-2]
    angle = math.atan2(tip_y - from_y, tip_x - from_x)
    # The line stops inside the head, so that its end does not show beside the tip.
    controls[-1] -= np.array(_unit(angle)) * (_ARROW_LENGTH - 1)
    if len(controls) == 4 and math.dist(controls[0], route.controls[-1]) < 3 * _ARROW_LENGTH:
        controls[-2] = route.controls[-2]
    faint = not drawing.placement.diagram.dfa.live[route.arrow.target]
    points = tuple((px, py) for px, py in controls.tolist())
    return Group(
        css="edge dead" if faint else "edge",
        faint=faint,
        items=(Curve(points=points, cubic=True, ink=_EDGE), _head(tip_x, tip_y, angle)),
    )


def _state(drawing: Drawing, q: int) -> Group:
    placement = drawing.placement
    dfa = placement.diagram.dfa
    (x, y), r = placement.centre[q], placement.radius[q]
    accepting, live = bool(dfa.accepting[q]), bool(dfa.live[q])
    circles: tuple[Circle, ...] = (Circle(x=x, y=y, r=r, ink=_STATE if live else _DEAD),)
    if accepting:
        circles = (Circle(x=x, y=y, r=r, ink=_STATE), Circle(x=x, y=y, r=r - 4, ink=_ACCEPTING))
    word = shorten(dfa.alphabet.decode(dfa.access_word(q)), 60)
    names = placement.diagram.names
    name = names[q] if q < len(names) else ""
    role = "accepting" if accepting else "not accepting" if live else "dead"
    return Group(
        css="state accepting" if accepting else "state" if live else "state dead",
        title=f"state {q}{f' ({name})' if name else ''}, {role}, reached by {word}",
        faint=not live,
        items=(*circles, Words(x=x, y=y + 4.6, text=shorten(name, 6) if name else str(q), ink=_NAME)),
    )


def _label(drawing: Drawing, label: Label) -> Words:
    alphabet = drawing.placement.diagram.dfa.alphabet
    full = ", ".join(alphabet.symbols[a] for a in label.letters)
    return Words(
        css="letters",
        x=label.x,
        y=label.y + 4.6,
        text=label.text,
        ink=_LETTERS,
        title=full if full != label.text else "",
    )


def _head(x: float, y: float, angle: float) -> Curve:
    """A filled triangle with its tip at (x, y)."""
    corners = [(x, y)]
    for side in (1, -1):
        turned = angle + math.pi - side * math.atan2(_ARROW_HALF_WIDTH, _ARROW_LENGTH)
        reach = math.hypot(_ARROW_LENGTH, _ARROW_HALF_WIDTH)
        corners.append((x + reach * math.cos(turned), y + reach * math.sin(turned)))
    return Curve(css="head", points=tuple(corners), closed=True, ink=_HEAD)


def _unit(angle: float) -> tuple[float, float]:
    return (math.cos(angle), math.sin(angle))
