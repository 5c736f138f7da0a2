"""The pictures of README and documentation: `python docs/_pictures.py` writes them into docs/_static.

The numbers of the figure on parity are those of experiments/presets/results.json. Its verdicts and its
certificate are computed here.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.sax.saxutils import escape

import nerode as nr

HERE = Path(__file__).parent
STATIC = HERE / "_static"
RESULTS = HERE.parent / "experiments" / "presets" / "results.json"

MODELS = (
    ("parity-mamba-pos", "mamba", "Mamba", "#b91c1c"),
    ("parity-mamba-neg", "mamba-signed", "Mamba, gates in [−1, 1]", "#b45309"),
    ("parity-lstm", "lstm", "LSTM", "#15803d"),
)
LENGTHS = (40, 256, 1024)
DRAWINGS = {
    "automaton.svg": ("tomita-4", "automaton"),
    "egg-box.svg": ("(ab)*", "egg-box"),
    "cascade.svg": ("flip-flop", "cascade"),
    "network.svg": ("flip-flop", "network"),
}

_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 560, 150, 350


def parity_figure() -> str:
    """Returns accuracy by length for three models on parity, with theory above and a certificate below."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    language = nr.language("parity")
    verdicts = nr.decide(language, task="recognise")
    parts = [
        _text(20, 32, "Parity: which models are still correct on longer words?", size=19, bold=True),
        _text(20, 54, "Trained on words of up to 40 letters, three seeds each", colour="#555"),
    ]
    parts += _axes()
    for row, (preset, architecture, title, colour) in enumerate(MODELS):
        possible = verdicts[architecture].status == "yes"
        y = 72 + 22 * row
        said = "theory: possible at every length" if possible else "theory: impossible"
        fill = "#dcfce7" if possible else "#fee2e2"
        parts += [
            f'<rect x="{_LEFT}" y="{y}" width="{_RIGHT - _LEFT}" height="18" rx="3" fill="{fill}"/>',
            _text(_LEFT + 8, y + 13, f"{title} – {said}", size=12, colour=colour, bold=True),
        ]
        curves = [[run["scores"][f"final@{n}"] for n in LENGTHS] for run in results[preset]]
        parts += [_curve(values, colour) for values in curves]
    parts += _labels(results)
    network = nr.compile_language(language, to="mamba-signed")
    claim = next(c for c in nr.certify(network, language).claims if c.length == "all")
    parts.append(
        _text(
            20,
            414,
            f"Compiled instead of trained, Mamba with gates in [−1, 1]: proved for {claim.scope}.",
            bold=True,
        )
    )
    style = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 432" width="860" style="{style}" '
        'role="img" aria-label="Accuracy by length on parity for Mamba, signed Mamba and LSTM">\n'
        '<rect width="860" height="432" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _x(length: int) -> float:
    share = math.log(length / LENGTHS[0]) / math.log(LENGTHS[-1] / LENGTHS[0])
    return _LEFT + 20 + share * (_RIGHT - _LEFT - 40)


def _y(accuracy: float) -> float:
    return _BOTTOM - (accuracy - 0.4) / 0.6 * (_BOTTOM - _TOP)


def _curve(values: list[float], colour: str) -> str:
    points = [(_x(n), _y(v)) for n, v in zip(LENGTHS, values, strict=True)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points)
    return f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>{dots}'


def _axes() -> list[str]:
    found = []
    for accuracy in (0.5, 0.75, 1.0):
        y = _y(accuracy)
        found += [
            f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>',
            _text(_LEFT - 8, y + 4, f"{accuracy:.0%}", colour="#555", size=12, anchor="end"),
        ]
    found += [_text(_x(n), _BOTTOM + 18, f"{n:,}", colour="#555", size=12, anchor="middle") for n in LENGTHS]
    middle = (_LEFT + _RIGHT) / 2
    found.append(_text(middle, _BOTTOM + 36, "length of the word", colour="#555", size=12, anchor="middle"))
    found.append(_text(_RIGHT - 4, _y(0.5) + 16, "a coin", colour="#777", size=11, anchor="end"))
    return found


def _labels(results: dict[str, list[dict[str, dict[str, float]]]]) -> list[str]:
    """What each model did, at the right side of the figure."""
    found, y = [], 168.0
    for preset, _, title, colour in reversed(MODELS):
        last = [run["scores"][f"final@{LENGTHS[-1]}"] for run in results[preset]]
        first = [run["scores"][f"final@{LENGTHS[0]}"] for run in results[preset]]
        learned, kept = sum(v > 0.99 for v in first), sum(v > 0.99 for v in last)
        lines = (
            title,
            f"{learned} of {len(first)} seeds learn length {LENGTHS[0]}",
            f"{kept} are correct at {LENGTHS[-1]:,}",
        )
        for number, line in enumerate(lines):
            found.append(_text(_RIGHT + 24, y + 19 * number, line, colour=colour, bold=number == 0))
        y += 70
    return found


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 14,
    colour: str = "#222",
    bold: bool = False,
    anchor: str = "start",
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{escape(text)}</text>"
    )


def main() -> None:
    """Writes all pictures."""
    (STATIC / "parity.svg").write_text(parity_figure(), encoding="utf-8")
    for name, (language, what) in DRAWINGS.items():
        nr.draw(nr.language(language), STATIC / name, what=what)


if __name__ == "__main__":
    main()
