"""Pictures as numbers (circles, curves, boxes, texts), and their SVG, TikZ and PDF.

A picture is drawn once and written in any of these. Coordinates are pixels of a page, y downwards. Colours
have the names of the page's style sheet: a page resolves them, in the light or in the dark, a file of its own
carries the light ones.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from nerode.core import MARK, InputError, load_extra
from nerode.report.notation import TEX_CHARACTERS, visible

Point = tuple[float, float]

_POINTS = 0.75
"""PostScript points per pixel."""

PALETTE = {
    "ink": "#0f172a",
    "muted": "#5b6b82",
    "card": "#ffffff",
    "soft": "#f1f5f9",
    "line": "#e2e8f0",
    "edge": "#64748b",
    "outline": "#334155",
    "yes-ink": "#15803d",
    "yes-bg": "#dcfce7",
    "no-ink": "#b91c1c",
    "no-bg": "#fee2e2",
    "open-ink": "#a1490b",
    "open-bg": "#fef3c7",
    "c1": "#2563eb",
    "c2": "#d9650b",
    "c3": "#0d9488",
    "c4": "#c0267e",
    "c5": "#7c4ddb",
    "c6": "#5f7a0b",
    "c7": "#b42318",
    "c8": "#5b6b82",
}
"""The colours of `page.css` in the light; c1 to c8 are those of series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ink:
    """Colours and lines of a shape.

    Attributes:
        fill: name of the colour of the area, empty for none.
        stroke: name of the colour of the line, empty for none.
        width: of the line, in pixels.
        dashed: whether the line is dashed.
        halo: whether a text has a border of the card's colour, so that lines behind it do not disturb.
        bold: whether a text is bold.
        mono: whether a text has letters of one width.
        opacity: of the whole shape.
    """

    fill: str = ""
    stroke: str = ""
    width: float = 1.4
    dashed: bool = False
    halo: bool = False
    bold: bool = False
    mono: bool = False
    opacity: float = 1.0

    def __post_init__(self) -> None:
        for colour in (self.fill, self.stroke):
            if colour and colour not in PALETTE:
                raise InputError(f"no colour is called {colour!r}; the names are {', '.join(PALETTE)}")


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
        anchor: which part of the text is at x: "start", "middle" or "end".
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
    """Shapes that belong together.

    Attributes:
        items: the shapes.
        css: class names, for scripts and for what a page hides or lights up.
        title: shown where somebody points at it.
        faint: whether it is pale.
    """

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


FONT_SIZE = 13.0
LINE_HEIGHT = 16.0
"""Of texts in the usual size, in pixels."""

_NARROW = frozenset("iljI.,:;'|!()[]{}tfr 1")
_WIDE = frozenset("mwMWΣ@%…∖—")


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Returns an upper estimate of the width of a text in a usual sans-serif face, in pixels.

    The page ships no font, so this errs on the side of too wide: a label that is narrower than its box
    does no harm.
    """
    width = 0.0
    for character in text:
        if unicodedata.combining(character):
            continue
        if unicodedata.east_asian_width(character) in ("W", "F"):
            width += 1.05
        elif character in _NARROW:
            width += 0.48
        elif character in _WIDE or not character.isascii():
            width += 1.0
        else:
            width += 0.68
    return width * size


def number(value: float) -> str:
    """Returns a coordinate with one digit after the point, the same on every machine."""
    text = f"{float(value):.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text


Colours = Literal["light", "page", "none"]
"""Where an SVG has its colours from: itself, the variables of a page, or the classes of its style sheet."""


def to_svg(picture: Picture, *, css: str = "", scale: float = 1.0, colours: Colours = "light") -> Markup:
    """Returns a picture as one `<svg>` element.

    Args:
        picture: the picture.
        css: class names of the element.
        scale: by how much it is enlarged.
        colours: where they come from.
    """
    x, y, width, height = picture.box
    head = Markup("<title>{}</title>").format(picture.title) if picture.title else Markup("")
    if picture.description:
        head += Markup("<desc>{}</desc>").format(picture.description)
    body = Markup("").join(_svg_shape(item, colours) for item in picture.items)
    named = Markup('class="{}" ').format(css) if css else Markup("")
    numbers = [number(v) for v in (x, y, width, height, width * scale, height * scale)]
    svg = Markup(
        '<svg {}xmlns="http://www.w3.org/2000/svg" role="img" viewBox="{} {} {} {}" '
        'width="{}" height="{}">{}{}</svg>'
    ).format(named, *numbers, head, body)
    return Markup(visible(svg))


def _svg_shape(shape: Shape, colours: Colours) -> Markup:
    css = {"class": shape.css}
    if isinstance(shape, Group):
        inner = Markup("").join(_svg_shape(item, colours) for item in shape.items)
        return _element(
            "g",
            css | {"opacity": str(_FAINT) if shape.faint and colours != "none" else ""},
            shape.title,
            inner,
        )
    style = {} if colours == "none" else _svg_ink(shape, colours == "light")
    if isinstance(shape, Circle):
        return _element("circle", css | _places(cx=shape.x, cy=shape.y, r=shape.r) | style)
    if isinstance(shape, Rectangle):
        places = _places(x=shape.x, y=shape.y, width=shape.width, height=shape.height)
        return _element("rect", css | places | style)
    if isinstance(shape, Curve):
        pairs = [f"{number(px)} {number(py)}" for px, py in shape.points]
        path = f"M{pairs[0]}C{' '.join(pairs[1:])}" if shape.cubic else "M" + "L".join(pairs)
        return _element("path", css | {"d": path + ("Z" if shape.closed else "")} | style)
    return _element("text", css | _places(x=shape.x, y=shape.y) | style, shape.title, shape.text)


def _places(**values: float) -> dict[str, str]:
    return {name: number(value) for name, value in values.items()}


def _element(name: str, attributes: dict[str, str], title: str = "", inner: str | Markup = "") -> Markup:
    told = Markup("").join(
        Markup(' {}="{}"').format(key, value) for key, value in attributes.items() if value
    )
    if title:
        inner = Markup("<title>{}</title>{}").format(title, inner)
    if not inner:
        return Markup("<{}{}/>").format(name, told)
    return Markup("<{}{}>{}</{}>").format(name, told, inner, name)


def _svg_ink(shape: Circle | Curve | Rectangle | Words, styled: bool) -> dict[str, str]:
    ink = shape.ink

    def colour(name: str) -> str:
        return "none" if not name else PALETTE[name] if styled else f"var(--{name})"

    told = {"fill": colour(ink.fill), "opacity": "" if ink.opacity == 1 else f"{ink.opacity:.3g}"}
    if isinstance(shape, Words):
        told |= {"font-size": number(shape.size), "text-anchor": shape.anchor}
        if styled or ink.mono:
            face = "ui-monospace, monospace" if ink.mono else "Helvetica, Arial, sans-serif"
            told["font-family"] = face if styled else "var(--mono)"
        if ink.bold:
            told["font-weight"] = "bold"
        if ink.mono:
            told["xml:space"] = "preserve"
        if ink.halo:
            told |= {
                "stroke": colour("card"),
                "stroke-width": "4",
                "stroke-linejoin": "round",
                "paint-order": "stroke",
            }
    elif ink.stroke:
        told |= {"stroke": colour(ink.stroke), "stroke-width": number(ink.width)}
        if ink.dashed:
            told["stroke-dasharray"] = "3 3"
    return told


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
        return colours.setdefault(PALETTE[colour], f"nerode{chr(ord('A') + len(colours))}")

    ink = shape.ink
    if isinstance(shape, Words):
        yield f"text={named(ink.fill)}"
        yield f"anchor={_TIKZ_ANCHORS[shape.anchor]}"
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
    if (opacity := ink.opacity * (_FAINT if faint else 1)) != 1:
        yield f"opacity={opacity:.3g}"


_TIKZ_ANCHORS = {"start": "base west", "middle": "base", "end": "base east"}
_PLOT_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
_FAINT = 0.45
"""Opacity of a faint group."""


def to_pdf(picture: Picture) -> bytes:
    """Returns a picture as one page of PDF; the same picture gives the same bytes.

    Raises:
        InputError: if matplotlib is not installed.
    """
    matplotlib = load_extra("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    x, y, width, height = picture.box
    # The settings of whoever runs it do not change a file; a dollar sign in a name is no formula.
    own = {"pdf.fonttype": 42, "text.parse_math": False, "text.usetex": False, "backend": "agg"}
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **own}):
        figure = Figure(figsize=(width * _POINTS / 72, height * _POINTS / 72))
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(x, x + width)
        axes.set_ylim(y + height, y)
        axes.set_axis_off()
        _plot(axes, picture.items, faint=False, order=iter(range(1_000_000)))
        out = io.BytesIO()
        facts = {"CreationDate": None, "Creator": MARK, "Title": visible(picture.title)}
        figure.savefig(out, format="pdf", metadata=facts)
        return out.getvalue()


def _plot(axes: Any, items: tuple[Shape, ...], *, faint: bool, order: Iterator[int]) -> None:
    from matplotlib.patches import Circle as CirclePatch, PathPatch, Rectangle as RectanglePatch
    from matplotlib.path import Path as CurvePath
    from matplotlib.patheffects import withStroke

    for shape in items:
        if isinstance(shape, Group):
            _plot(axes, shape.items, faint=faint or shape.faint, order=order)
            continue
        ink = shape.ink
        shared: dict[str, Any] = {
            "alpha": ink.opacity * (_FAINT if faint else 1),
            "zorder": next(order),
            "clip_on": False,
        }
        if isinstance(shape, Words):
            text = axes.text(
                shape.x,
                shape.y,
                visible(shape.text),
                fontsize=shape.size * _POINTS,
                color=PALETTE[ink.fill],
                ha=_PLOT_ANCHORS[shape.anchor],
                va="baseline",
                family="monospace" if ink.mono else "sans-serif",
                weight="bold" if ink.bold else "normal",
                **shared,
            )
            if ink.halo:
                text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
            continue
        shared |= {
            "facecolor": PALETTE.get(ink.fill, "none"),
            "edgecolor": PALETTE.get(ink.stroke, "none"),
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
