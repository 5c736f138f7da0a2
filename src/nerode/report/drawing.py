"""Drawings for papers: an automaton, its egg-boxes, a cascade or a network as SVG, PDF, TikZ or DOT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nerode.algebra.cascades import Add, Cascade, Command, Permute, Reset
from nerode.core import MARK, Budget, InputError, plural, write_atomically
from nerode.languages import Dfa, Language
from nerode.languages.formats import FORMATS
from nerode.network import Network
from nerode.report.automaton.diagram import Diagram
from nerode.report.automaton.svg import automaton_picture, draw_diagram, is_drawable, too_large_note
from nerode.report.notation import group_name, visible
from nerode.report.picture import (
    PICTURE_FORMATS,
    Circle,
    Curve,
    Ink,
    Picture,
    Rectangle,
    Shape,
    Words,
    text_width,
)
from nerode.study import Box, LanguagePart, language_part, shorten

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


def _diagram(part: tuple[object, ...] | Cascade | Network, name: str) -> BoxDiagram | FlowDiagram:
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


_SIZE = 12.0
_LINE = 17.0
_PAD = 8.0
_GAP = 26.0
_FRAME = Ink(fill="card", stroke="outline", width=1.2)
_CELL = Ink(fill="card", stroke="edge", width=0.8)
_GROUP = Ink(fill="yes-bg", stroke="edge", width=0.8)
_TEXT = Ink(fill="ink")
_CODE = Ink(fill="ink", mono=True)
_TITLE = Ink(fill="ink", bold=True)
_EDGE = Ink(stroke="edge")
_DOT = Ink(fill="edge")
_LONGEST_NAME = 18
_MOST_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagramCell:
    """One cell of a box: a line of text, perhaps marked (a group of the monoid)."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagramBox:
    """A titled table.

    Attributes:
        row: the row of boxes it stands in, 0 on top.
        cells: row by row; a box with one column has lines instead of a grid.
        above: numbers of the boxes above that lines connect it with.
    """

    title: str
    row: int
    cells: tuple[tuple[DiagramCell, ...], ...]
    above: tuple[int, ...] = ()

    @property
    def is_grid(self) -> bool:
        """Whether borders are drawn between the cells."""
        several = len(self.cells) > 1 and len(self.cells[0]) > 1
        return several or any(cell.marked for row in self.cells for cell in row)

    def columns(self) -> list[float]:
        """Returns the width of each column."""
        return [
            max(text_width(row[i].text, _SIZE) for row in self.cells) + 2 * _PAD
            for i in range(len(self.cells[0]))
        ]

    @property
    def width(self) -> float:
        """The larger of the table's and the title's."""
        return max(sum(self.columns()), text_width(self.title, _SIZE) * 1.08 + 2 * _PAD)

    @property
    def height(self) -> float:
        """With the title."""
        return (len(self.cells) + 1) * _LINE + _PAD


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxDiagram:
    """A diagram."""

    title: str
    boxes: tuple[DiagramBox, ...]

    def picture(self) -> Picture:
        """Returns the boxes in their rows, centred, with lines between those that belong together."""
        places, width, height = self._places()
        shapes: list[Shape] = []
        for number, box in enumerate(self.boxes):
            x, y = places[number]
            for parent in box.above:
                px, py = places[parent]
                top = (px + self.boxes[parent].width / 2, py + self.boxes[parent].height)
                end = (x + box.width / 2, y)
                shapes += [Curve(points=(top, end), ink=_EDGE), Circle(x=end[0], y=end[1], r=2.2, ink=_DOT)]
        for box, place in zip(self.boxes, places, strict=True):
            shapes += _box_shapes(box, *place)
        return Picture(
            items=tuple(shapes),
            box=(-6.0, -6.0, width + 12.0, height + 12.0),
            title=self.title,
            description="; ".join(box.title for box in self.boxes),
        )

    def _places(self) -> tuple[list[tuple[float, float]], float, float]:
        rows = sorted({box.row for box in self.boxes})
        widths = {
            row: sum(b.width for b in self.boxes if b.row == row)
            + _GAP * (sum(b.row == row for b in self.boxes) - 1)
            for row in rows
        }
        whole = max(widths.values(), default=0.0)
        places: dict[int, tuple[float, float]] = {}
        y = 0.0
        for row in rows:
            x = (whole - widths[row]) / 2
            members = [i for i, box in enumerate(self.boxes) if box.row == row]
            for i in members:
                places[i] = (x, y)
                x += self.boxes[i].width + _GAP
            y += max(self.boxes[i].height for i in members) + _GAP
        return [places[i] for i in range(len(self.boxes))], whole, max(0.0, y - _GAP)

    def dot(self) -> str:
        """Returns a DOT graph with one node per box."""
        lines = ["digraph {", '  node [shape=box, fontname="Helvetica"];', "  edge [arrowhead=none];"]
        for number, box in enumerate(self.boxes):
            rows = [" | ".join(cell.text for cell in row) for row in box.cells]
            text = "\\n".join(_dot_text(line) for line in (box.title, *rows))
            lines.append(f'  b{number} [label="{text}"];')
        lines += [
            f"  b{parent} -> b{number};" for number, box in enumerate(self.boxes) for parent in box.above
        ]
        return "\n".join([*lines, "}", ""])


def _dot_text(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')


def _box_shapes(box: DiagramBox, x: float, y: float) -> list[Shape]:
    shapes: list[Shape] = [
        Rectangle(x=x, y=y, width=box.width, height=box.height, ink=_FRAME),
        Words(x=x + box.width / 2, y=y + _LINE - 4, text=box.title, ink=_TITLE, size=_SIZE),
    ]
    widths = box.columns()
    left = x + (box.width - sum(widths)) / 2
    for number, row in enumerate(box.cells):
        top, at = y + _LINE * (number + 1) + 2, left
        for cell, width in zip(row, widths, strict=True):
            if box.is_grid:
                shapes.append(
                    Rectangle(x=at, y=top, width=width, height=_LINE, ink=_GROUP if cell.marked else _CELL)
                )
                shapes.append(Words(x=at + width / 2, y=top + 12.5, text=cell.text, ink=_TEXT, size=_SIZE))
            else:
                shapes.append(
                    Words(x=x + _PAD, y=top + 12.5, text=cell.text, ink=_TEXT, size=_SIZE, anchor="start")
                )
            at += width
    return shapes


def egg_box_diagram(boxes: Sequence[Box], *, name: str = "") -> BoxDiagram:
    """Returns the D-classes of a monoid, each joined to those directly above; idempotents have a star."""
    found = []
    for box in boxes:
        title = plural(box.num_elements, "element") + (f" · {group_name(box.group)}" if box.group else "")
        cells = tuple(
            tuple(
                DiagramCell(
                    text=", ".join(
                        word + ("*" if i == cell.idempotent else "") for i, word in enumerate(cell.words)
                    )
                    + (f" … +{cell.left_out}" if cell.left_out else ""),
                    marked=cell.idempotent is not None,
                )
                for cell in row
            )
            for row in box.cells
        )
        found.append(DiagramBox(title=title, row=box.level, cells=cells, above=box.above))
    return BoxDiagram(title=f"Egg-boxes of {name}" if name else "Egg-boxes", boxes=tuple(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowBox:
    """One stage of what a letter passes through.

    Attributes:
        note: a line below the title.
        lines: the names in the box.
        labels: the number of labels, drawn as circles.
        start: the label before the first letter.
        reads: the numbers of the boxes that it reads.
    """

    title: str
    note: str
    lines: tuple[str, ...]
    labels: int = 0
    start: int = 0
    reads: tuple[int, ...] = ()

    @property
    def circles(self) -> int:
        """The number of circles: the first labels, if there are many."""
        return min(self.labels, _MOST_CIRCLES)

    @property
    def shown(self) -> tuple[str, ...]:
        """The first lines, and how many more there are."""
        if len(self.lines) <= _MOST_LINES:
            return self.lines
        return (*self.lines[: _MOST_LINES - 1], f"… and {len(self.lines) - _MOST_LINES + 1} more")

    @property
    def width(self) -> float:
        """That of the widest line."""
        texts = [text_width(line, _SIZE) * 1.15 for line in self.shown]
        texts += [text_width(self.title, _SIZE) * 1.15, text_width(self.note, _SIZE)]
        return max(*texts, 4 * _CIRCLE, 72.0) + 2 * _PAD

    @property
    def height(self) -> float:
        """With title and note."""
        rows = -(-self.circles // 4)
        return 40.0 + rows * _CIRCLE + len(self.shown) * (_LINE + 3) + _PAD


_CIRCLE = 27.0
_MOST_CIRCLES = 12
_BETWEEN = 46.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowDiagram:
    """Boxes from left to right; an arrow says which box reads which."""

    title: str
    boxes: tuple[FlowBox, ...]

    def picture(self) -> Picture:
        """Returns the boxes with straight arrows to neighbours, and arcs to boxes further on."""
        lefts = [0.0]
        for box in self.boxes:
            lefts.append(lefts[-1] + box.width + _BETWEEN)
        reach = max((i - j for i, box in enumerate(self.boxes) for j in box.reads), default=1)
        top = 12.0 * min(reach, 6) if reach > 1 else 0.0
        shapes: list[Shape] = []
        for number, box in enumerate(self.boxes):
            for source in box.reads:
                begin = lefts[source] + self.boxes[source].width
                shapes += _arrow(begin, lefts[number], top, number - source)
        for box, left in zip(self.boxes, lefts, strict=False):
            shapes += _flow_shapes(box, left, top)
        return Picture(
            items=tuple(shapes),
            box=(-6.0, -6.0, lefts[-1] - _BETWEEN + 12.0, top + max(b.height for b in self.boxes) + 12.0),
            title=self.title,
            description="; ".join(f"{box.title}, {box.note}: {', '.join(box.shown)}" for box in self.boxes),
        )

    def dot(self) -> str:
        """Returns a DOT graph with one node per box."""
        lines = ["digraph {", "  rankdir=LR;", '  node [shape=box, fontname="Helvetica"];']
        for number, box in enumerate(self.boxes):
            text = "\\n".join(_dot_text(line) for line in (box.title, box.note, *box.shown))
            lines.append(f'  b{number} [label="{text}"];')
        lines += [f"  b{j} -> b{i};" for i, box in enumerate(self.boxes) for j in box.reads]
        return "\n".join([*lines, "}", ""])


def _arrow(begin: float, end: float, top: float, steps: int) -> list[Shape]:
    """An arrow between boxes: straight to the next one, an arc over those between."""
    if steps == 1:
        y = top + 22.0
        line = Curve(points=((begin, y), (end - 6, y)), ink=_EDGE)
    else:
        y, lift = top + 12.0, top + 4.0 - 15.0 * min(steps, 6)
        points = ((begin, y), (begin + 24, lift), (end - 24, lift), (end - 6, y))
        line = Curve(points=points, ink=_EDGE, cubic=True)
    return [line, Curve(points=((end, y), (end - 8, y - 4), (end - 8, y + 4)), ink=_DOT, closed=True)]


def _flow_shapes(box: FlowBox, x: float, y: float) -> list[Shape]:
    shapes: list[Shape] = [
        Rectangle(x=x, y=y, width=box.width, height=box.height, ink=_FRAME),
        Words(x=x + _PAD, y=y + 16, text=box.title, ink=_TITLE, size=_SIZE, anchor="start"),
        Words(x=x + _PAD, y=y + 31, text=box.note, ink=_MUTED, size=_SIZE - 1, anchor="start"),
    ]
    for label in range(box.circles):
        row, column = divmod(label, 4)
        at = (x + _PAD + (column + 0.5) * _CIRCLE, y + 40 + (row + 0.5) * _CIRCLE)
        shapes.append(Circle(x=at[0], y=at[1], r=10, ink=_FIRST if label == box.start else _LABEL))
        last = label == box.circles - 1 and box.labels > box.circles
        text = "…" if last else str(label)
        shapes.append(Words(x=at[0], y=at[1] + 4, text=text, ink=_TEXT, size=_SIZE - 1))
    under = y + 40 + -(-box.circles // 4) * _CIRCLE
    for number, line in enumerate(box.shown):
        top = under + number * (_LINE + 3)
        shapes.append(Rectangle(x=x + 5, y=top, width=box.width - 10, height=_LINE, ink=_LINE_INK))
        shapes.append(Words(x=x + _PAD, y=top + 12.5, text=line, ink=_CODE, size=_SIZE - 1, anchor="start"))
    return shapes


_MUTED = Ink(fill="muted")
_LABEL = Ink(fill="card", stroke="outline", width=1.2)
_FIRST = Ink(fill="yes-bg", stroke="outline", width=2.0)
_LINE_INK = Ink(fill="soft")


def cascade_diagram(cascade: Cascade, *, name: str = "") -> FlowDiagram:
    """Returns the levels of a cascade with their labels, the start tinted, and what a step does to them."""
    boxes = [FlowBox(title="letter", note=plural(cascade.num_letters, "letter"), lines=())]
    for number, level in enumerate(cascade.levels):
        kind = {"reset": "set-reset", "cyclic": f"counter mod {level.num_labels}"}.get(level.kind, level.kind)
        reads = [parent + 1 for parent in sorted(cascade.parents(number))]
        lines = dict.fromkeys(map(_command_text, level.commands))
        boxes.append(
            FlowBox(
                title=f"level {number + 1}",
                note=kind,
                lines=tuple(sorted(lines)),
                labels=level.num_labels,
                start=level.start,
                reads=(0, *reads),
            )
        )
    boxes.append(
        FlowBox(
            title="state",
            note="of the automaton",
            lines=(),
            labels=cascade.num_states,
            start=-1,
            reads=tuple(number + 1 for number in cascade.read_by_state),
        )
    )
    return FlowDiagram(title=f"Cascade of {name}" if name else "Cascade", boxes=tuple(boxes))


def _command_text(command: Command) -> str:
    """A command on the label, in a word or two."""
    match command:
        case Reset(label):
            return f"set {label}"
        case Add(amount):
            return f"add {amount}"
        case Permute(images):
            return "to " + " ".join(map(str, images))
        case _:
            return "hold"


def network_diagram(network: Network) -> FlowDiagram:
    """Returns the letter, the layers with their state, and the answer, as the explorer draws them."""
    directions = network.embedding.directions
    title = plural(len(directions), "direction")
    boxes = [FlowBox(title="letter", note=title, lines=tuple(shorten(d, _LONGEST_NAME) for d in directions))]
    giver = dict.fromkeys(directions, 0)
    for number, layer in enumerate(network.layers, start=1):
        boxes.append(
            FlowBox(
                title=f"layer {number}",
                note=layer.recurrence.kind,
                lines=tuple(shorten(name, _LONGEST_NAME) for name in layer.state),
                reads=tuple(sorted({giver[name] for name in layer.reads})),
            )
        )
        giver |= dict.fromkeys(layer.outputs, number)
    boxes.append(
        FlowBox(
            title="answer",
            note="what may follow",
            lines=(*network.alphabet, "end"),
            reads=tuple(sorted({giver[name] for name in network.decoder.reads})),
        )
    )
    return FlowDiagram(title=f"{network.origin.language} for {network.target}", boxes=tuple(boxes))
