"""Pictures as numbers (circles, curves, boxes, texts), and their SVG, TikZ and PDF.

A picture is drawn once and written in any of these. Coordinates are pixels of a page, y downwards. On pages
the colours come from the style sheet by class names; a file of its own carries them (`styled`).
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nerode.core import MARK, load_extra
from nerode.report.notation import TEX_CHARACTERS, visible

Point = tuple[float, float]

_POINTS = 0.75
"""PostScript points per pixel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """Colours and lines of a shape in files of their own.

    Attributes:
        fill: colour of the area, empty for none.
        stroke: colour of the line, empty for none.
        width: of the line, in pixels.
        dashed: whether the line is dashed.
        halo: whether a text has a white border, so that lines behind it do not disturb.
        bold: whether a text is bold.
        mono: whether a text has letters of one width.
    """

    fill: str = ""
    stroke: str = ""
    width: float = 1.4
    dashed: bool = False
    halo: bool = False
    bold: bool = False
    mono: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """A circle around (x, y)."""

    x: float
    y: float
    r: float
    ink: Ink
    css: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A chain of straight lines, or of cubics with 3m+1 control points."""

    points: tuple[Point, ...]
    ink: Ink
    css: str = ""
    cubic: bool = False
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rectangle:
    """A rectangle with (x, y) as its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    ink: Ink
    css: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A line of text on the base line y.

    Attributes:
        anchor: which part of the text is at x: "start" or "middle".
        title: shown where somebody points at it.
    """

    x: float
    y: float
    text: str
    ink: Ink
    css: str = ""
    size: float = 13.0
    anchor: str = "middle"
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Shapes that belong together, perhaps faint."""

    items: tuple[Shape, ...]
    css: str = ""
    title: str = ""
    faint: bool = False


Shape = Circle | Curve | Rectangle | Words | Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A whole picture.

    Attributes:
        box: x, y, width and height.
        title: its name, for readers that hear the page.
        description: the same picture in words.
    """

    items: tuple[Shape, ...]
    box: tuple[float, float, float, float]
    title: str
    description: str = ""


def number(value: float) -> str:
    """Returns a coordinate with one digit after the point, the same on every machine."""
    text = f"{float(value):.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text


def to_svg(picture: Picture, *, css: str = "", scale: float = 1.0, styled: bool = True) -> Markup:
    """Returns a picture as one `<svg>` element.

    Args:
        picture: the picture.
        css: class names of the element.
        scale: by how much it is enlarged.
        styled: whether the shapes carry their colours; without them the page's style sheet decides.
    """
    x, y, width, height = picture.box
    head = Markup("<title>{}</title>").format(picture.title)
    if picture.description:
        head += Markup("<desc>{}</desc>").format(picture.description)
    body = Markup("").join(_svg_shape(item, styled) for item in picture.items)
    named = Markup('class="{}" ').format(css) if css else Markup("")
    numbers = [number(v) for v in (x, y, width, height, width * scale, height * scale)]
    svg = Markup(
        '<svg {}xmlns="http://www.w3.org/2000/svg" role="img" viewBox="{} {} {} {}" '
        'width="{}" height="{}">{}{}</svg>'
    ).format(named, *numbers, head, body)
    return Markup(visible(svg))


def _svg_shape(shape: Shape, styled: bool) -> Markup:
    if isinstance(shape, Group):
        title = Markup("<title>{}</title>").format(shape.title) if shape.title else Markup("")
        inner = Markup("").join(_svg_shape(item, styled) for item in shape.items)
        faint = Markup(' opacity="0.45"') if styled and shape.faint else Markup("")
        return Markup("<g{}{}>{}{}</g>").format(_class(shape.css), faint, title, inner)
    style = _svg_ink(shape) if styled else Markup("")
    if isinstance(shape, Circle):
        places = [number(v) for v in (shape.x, shape.y, shape.r)]
        return Markup('<circle{} cx="{}" cy="{}" r="{}"{}/>').format(_class(shape.css), *places, style)
    if isinstance(shape, Rectangle):
        places = [number(v) for v in (shape.x, shape.y, shape.width, shape.height)]
        return Markup('<rect{} x="{}" y="{}" width="{}" height="{}"{}/>').format(
            _class(shape.css), *places, style
        )
    if isinstance(shape, Curve):
        pairs = [f"{number(px)} {number(py)}" for px, py in shape.points]
        path = f"M{pairs[0]}C{' '.join(pairs[1:])}" if shape.cubic else "M" + "L".join(pairs)
        end = "Z" if shape.closed else ""
        return Markup('<path{} d="{}{}"{}/>').format(_class(shape.css), path, end, style)
    title = Markup("<title>{}</title>").format(shape.title) if shape.title else Markup("")
    return Markup('<text{} x="{}" y="{}"{}>{}{}</text>').format(
        _class(shape.css), number(shape.x), number(shape.y), style, title, shape.text
    )


def _class(css: str) -> Markup:
    return Markup(' class="{}"').format(css) if css else Markup("")


def _svg_ink(shape: Circle | Curve | Rectangle | Words) -> Markup:
    ink = shape.ink
    if isinstance(shape, Words):
        face = "ui-monospace, monospace" if ink.mono else "Helvetica, Arial, sans-serif"
        told = {
            "font-family": face,
            "font-size": number(shape.size),
            "text-anchor": shape.anchor,
            "fill": ink.fill,
        }
        if ink.bold:
            told["font-weight"] = "bold"
        if ink.mono:
            told["xml:space"] = "preserve"
        if ink.halo:
            told |= {
                "stroke": "#ffffff",
                "stroke-width": "4",
                "stroke-linejoin": "round",
                "paint-order": "stroke",
            }
    else:
        told = {"fill": ink.fill or "none", "stroke": ink.stroke or "none"}
        if ink.stroke:
            told["stroke-width"] = number(ink.width)
        if ink.dashed:
            told["stroke-dasharray"] = "3 3"
    return Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in told.items())


_TEX = {
    **TEX_CHARACTERS,
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "-": "{-}",
    "Σ": r"$\Sigma$",
    "ε": r"$\varepsilon$",
    "←": r"$\leftarrow$",
    "→": r"$\rightarrow$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "√": r"$\surd$",
    "π": r"$\pi$",
    "σ": r"$\sigma$",
    "∞": r"$\infty$",
    "−": r"$-$",
    "²": r"$^2$",
    "ⁿ": r"$^n$",
    "ᵗ": r"$^t$",
    "…": r"\dots{}",
    " ": r"\ ",
}
_TEX.update({digit: f"$_{n}$" for n, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")})


def tex_text(text: str) -> str:
    """Returns a text for LaTeX; characters that it takes for commands are escaped."""
    return "".join(_TEX.get(character, character) for character in visible(text))


def to_tikz(picture: Picture) -> str:
    r"""Returns a picture as a `tikzpicture`, which needs `\usepackage{tikz}` and nothing else."""
    colours: dict[str, str] = {}
    body = list(_tikz_lines(picture.items, colours, faint=False))
    defined = [rf"  \definecolor{{{name}}}{{HTML}}{{{value[1:].upper()}}}" for value, name in colours.items()]
    return "\n".join(
        [
            f"% {visible(picture.title)}. {MARK}",
            rf"\begin{{tikzpicture}}[x={_POINTS}bp, y=-{_POINTS}bp, line join=round, line cap=round]",
            *defined,
            *body,
            r"\end{tikzpicture}",
            "",
        ]
    )


def _tikz_lines(items: tuple[Shape, ...], colours: dict[str, str], *, faint: bool) -> Iterator[str]:
    for shape in items:
        if isinstance(shape, Group):
            yield from _tikz_lines(shape.items, colours, faint=faint or shape.faint)
            continue
        options = ", ".join(_tikz_options(shape, colours, faint))
        if isinstance(shape, Circle):
            radius = f"{shape.r * _POINTS:.2f}bp"
            yield rf"  \path[{options}] ({number(shape.x)},{number(shape.y)}) circle[radius={radius}];"
        elif isinstance(shape, Rectangle):
            corner = f"({number(shape.x + shape.width)},{number(shape.y + shape.height)})"
            yield rf"  \path[{options}] ({number(shape.x)},{number(shape.y)}) rectangle {corner};"
        elif isinstance(shape, Curve):
            yield rf"  \path[{options}] {_tikz_path(shape)};"
        else:
            place = f"({number(shape.x)},{number(shape.y)})"
            yield rf"  \node[{options}] at {place} {{{tex_text(shape.text)}}};"


def _tikz_path(curve: Curve) -> str:
    pairs = [f"({number(px)},{number(py)})" for px, py in curve.points]
    if curve.cubic:
        turns = zip(pairs[1::3], pairs[2::3], pairs[3::3], strict=True)
        parts = [f".. controls {first} and {second} .. {end}" for first, second, end in turns]
        return " ".join([pairs[0], *parts]) + (" -- cycle" if curve.closed else "")
    return " -- ".join(pairs) + (" -- cycle" if curve.closed else "")


def _tikz_options(
    shape: Circle | Curve | Rectangle | Words, colours: dict[str, str], faint: bool
) -> Iterator[str]:
    def named(colour: str) -> str:
        return colours.setdefault(colour, f"nerode{chr(ord('A') + len(colours))}")

    ink = shape.ink
    if isinstance(shape, Words):
        yield f"text={named(ink.fill)}"
        yield "anchor=base west" if shape.anchor == "start" else "anchor=base"
        yield "inner sep=0.8bp"
        size = f"{shape.size * _POINTS:.1f}"
        face = (r"\ttfamily" if ink.mono else r"\sffamily") + (r"\bfseries" if ink.bold else "")
        yield rf"font={face}\fontsize{{{size}}}{{{size}}}\selectfont"
        if ink.halo:
            yield "fill=white"
    else:
        if ink.fill:
            yield f"fill={named(ink.fill)}"
        if ink.stroke:
            yield f"draw={named(ink.stroke)}"
            yield f"line width={ink.width * _POINTS:.2f}bp"
        if ink.dashed:
            yield "dashed"
    if faint:
        yield "opacity=0.45"


def to_pdf(picture: Picture) -> bytes:
    """Returns a picture as one page of PDF; the same picture gives the same bytes.

    Raises:
        InputError: if matplotlib is not installed.
    """
    x, y, width, height = picture.box
    with plain_figure((width * _POINTS / 72, height * _POINTS / 72)) as figure:
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(x, x + width)
        axes.set_ylim(y + height, y)
        axes.set_axis_off()
        _plot(axes, picture.items, faint=False, order=iter(range(1_000_000)))
        return figure_bytes(figure, "pdf", {"Title": visible(picture.title)})


@contextlib.contextmanager
def plain_figure(
    size: tuple[float, float], *, style: Mapping[str, Any] | None = None, layout: Any = None
) -> Iterator[Any]:
    """Gives an empty figure of matplotlib, drawn and saved with the library's own defaults.

    The settings of whoever runs it do not change a file.

    Args:
        size: width and height, in inches.
        style: settings other than the defaults.
        layout: of the axes, by the name that matplotlib has for it.

    Raises:
        InputError: if matplotlib is not installed.
    """
    matplotlib = load_extra("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Names are words: a dollar sign in one is no formula.
    words = {"pdf.fonttype": 42, "text.parse_math": False, "text.usetex": False}
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **words, **(style or {}), "backend": "agg"}):
        figure = Figure(figsize=size, layout=layout)
        FigureCanvasAgg(figure)
        yield figure


def figure_bytes(figure: Any, form: str, facts: Mapping[str, str] | None = None) -> bytes:
    """Returns a figure as SVG or PDF, with facts about it, and without the date of today."""
    out = io.BytesIO()
    date = "Date" if form == "svg" else "CreationDate"
    figure.savefig(out, format=form, metadata={date: None, "Creator": MARK, **(facts or {})})
    return out.getvalue()


def _plot(axes: Any, items: tuple[Shape, ...], *, faint: bool, order: Iterator[int]) -> None:
    from matplotlib.patches import Circle as CirclePatch, PathPatch, Rectangle as RectanglePatch
    from matplotlib.path import Path as CurvePath
    from matplotlib.patheffects import withStroke

    for shape in items:
        if isinstance(shape, Group):
            _plot(axes, shape.items, faint=faint or shape.faint, order=order)
            continue
        shared: dict[str, Any] = {"alpha": 0.45 if faint else None, "zorder": next(order)}
        ink = shape.ink
        if isinstance(shape, Words):
            text = axes.text(
                shape.x,
                shape.y,
                visible(shape.text),
                fontsize=shape.size * _POINTS,
                color=ink.fill,
                ha="left" if shape.anchor == "start" else "center",
                va="baseline",
                family="monospace" if ink.mono else "sans-serif",
                weight="bold" if ink.bold else "normal",
                **shared,
            )
            if ink.halo:
                text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
            continue
        shared |= {
            "facecolor": ink.fill or "none",
            "edgecolor": ink.stroke or "none",
            "linewidth": ink.width * _POINTS if ink.stroke else 0.0,
            "linestyle": "--" if ink.dashed else "-",
        }
        if isinstance(shape, Circle):
            axes.add_patch(CirclePatch((shape.x, shape.y), shape.r, **shared))
        elif isinstance(shape, Rectangle):
            axes.add_patch(RectanglePatch((shape.x, shape.y), shape.width, shape.height, **shared))
        else:
            step = CurvePath.CURVE4 if shape.cubic else CurvePath.LINETO
            codes = [CurvePath.MOVETO, *[step] * (len(shape.points) - 1)]
            points = list(shape.points)
            if shape.closed:
                codes, points = [*codes, CurvePath.CLOSEPOLY], [*points, points[0]]
            axes.add_patch(PathPatch(CurvePath(points, codes), **shared))


PICTURE_FORMATS: dict[str, Callable[[Picture], str | bytes]] = {
    ".svg": lambda picture: f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {MARK} -->\n{to_svg(picture)}\n',
    ".pdf": to_pdf,
    ".tikz": to_tikz,
    ".tex": to_tikz,
}
"""The file formats of pictures by the end of the file name."""
