"""The pictures of README and documentation: `python docs/_pictures.py` writes them into docs/_static.

The figure on parity is drawn from the five runs in experiments/parity-lstm, which

    nerode train parity --arch lstm --seeds 5 --out experiments/parity-lstm

has made: their accuracy at each length, and the margin of each answer on the words that refute them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import nerode as nr
from nerode.records import read_settlement

HERE = Path(__file__).parent
STATIC = HERE / "_static"
RUNS = HERE.parent / "experiments" / "parity-lstm"

LENGTHS = (40, 64, 128, 256, 512, 1024)
TRAINED = 40
DRAWINGS = {
    "automaton.svg": ("tomita-4", "automaton"),
    "egg-box.svg": ("(ab)*", "egg-box"),
    "cascade.svg": ("flip-flop", "cascade"),
    "network.svg": ("flip-flop", "network"),
}

_GREEN, _RED, _GREY = "#15803d", "#b91c1c", "#555"
_TOP, _BOTTOM = 126, 322


@dataclass(frozen=True, slots=True)
class Trained:
    """A kept run: its accuracy on whole words, and the margins along the word that refutes it."""

    seed: int
    shares: tuple[float, ...]
    word: str
    margins: tuple[float, ...]


def read_runs() -> list[Trained]:
    """Returns the kept runs by seed. Margins are computed here, from the weights."""
    import torch

    found = []
    for folder in sorted(path.parent for path in RUNS.glob("*/result.json")):
        run, settlement = nr.read_run(folder), read_settlement(folder)
        assert settlement is not None
        word = "".join(settlement.word or ())
        margins: tuple[float, ...] = ()
        if word:
            letters = torch.tensor([[int(letter) for letter in word]])
            with torch.no_grad():
                scores = nr.load_subject(folder).model(letters)[0][0]
            odd = torch.cumsum(letters[0], dim=0)[:, None] % 2
            margins = tuple((scores.gather(1, odd) - scores.gather(1, 1 - odd))[:, 0].tolist())
        shares = tuple(score.accuracy(run.measure) for score in run.evaluations)
        found.append(Trained(run.spec.run.seed, shares, word, margins))
    return sorted(found, key=lambda own: own.seed)


def titles_of(runs: list[Trained]) -> tuple[str, str]:
    """Returns the sentences over the figure; the README has the same numbers."""
    lengths = sorted(len(run.word) for run in runs if run.word)
    passing = sum(min(run.shares) == 1 for run in runs)
    return (
        f"{passing} of {len(runs)} LSTMs pass every test of parity up to length {LENGTHS[-1]:,}.",
        f"{len(lengths)} of them are wrong on words of {lengths[0]} to {lengths[-1]} letters, no longer than "
        f"those of training ({TRAINED}).",
    )


def parity_figure() -> str:
    """Returns accuracy by length beside the margin along the words that refute three of the networks."""
    runs = read_runs()
    first, second = titles_of(runs)
    assert max(len(run.word) for run in runs) <= TRAINED
    parts = [_text(20, 32, first, size=18, bold=True), _text(20, 56, second, size=17, bold=True)]
    parts += _accuracy(runs)
    parts += _margins([run for run in runs if run.word])
    language = nr.language("parity")
    network = nr.compile_language(language, to="lstm")
    claim = next(c for c in nr.certify(network, language).claims if c.length == "all")
    parts.append(
        _text(
            20, 394, f"Compiled instead of trained, the LSTM is proved correct for {claim.scope}.", bold=True
        )
    )
    style = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 410" width="900" style="{style}" '
        'role="img" aria-label="Accuracy of five LSTMs on parity by length, and words that refute them">\n'
        '<rect width="900" height="410" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _accuracy(runs: list[Trained]) -> list[str]:
    left, right = 70, 410

    def x(length: int) -> float:
        return left + math.log(length / 16) / math.log(LENGTHS[-1] / 16) * (right - left - 14)

    def y(share: float) -> float:
        return _BOTTOM - share * (_BOTTOM - _TOP)

    found = [
        _text(left, 94, "What the test says", size=14, bold=True),
        f'<rect x="{left}" y="{_TOP - 12}" width="{x(TRAINED) - left:.0f}" height="{_BOTTOM - _TOP + 12}" '
        'fill="#f1f5f9"/>',
        _text(left + 6, _TOP + 60, "trained", colour=_GREY, size=12),
    ]
    for share in (0.0, 0.5, 1.0):
        found += [
            f'<line x1="{left}" x2="{right}" y1="{y(share):.0f}" y2="{y(share):.0f}" stroke="#ddd"/>',
            _text(left - 8, y(share) + 4, f"{share:.0%}", colour=_GREY, size=12, anchor="end"),
        ]
    for number, run in enumerate(runs):
        shift = 2.5 * (number - (len(runs) - 1) / 2)
        points = [(x(n), y(v) + shift) for n, v in zip(LENGTHS, run.shares, strict=True)]
        line = " ".join(f"{a:.0f},{b:.1f}" for a, b in points)
        found.append(f'<polyline points="{line}" fill="none" stroke="{_GREEN}" stroke-width="1.6"/>')
        found += [f'<circle cx="{a:.0f}" cy="{b:.1f}" r="2.6" fill="{_GREEN}"/>' for a, b in points]
        if run.word:
            found.append(_text(x(len(run.word)), y(0) - 8, "✗", colour=_RED, bold=True, anchor="middle"))
    found += [_text(x(n), _BOTTOM + 18, f"{n:,}", colour=_GREY, size=12, anchor="middle") for n in LENGTHS]
    found += [
        _text((left + right) / 2, _BOTTOM + 36, "length", colour=_GREY, size=12, anchor="middle"),
        _text(x(TRAINED) + 10, y(0) - 9, "words that nerode found", colour=_RED, size=12),
        _text(x(64), y(1) + 28, "256 random words per length: all right", colour=_GREEN, size=12),
    ]
    return found


def _margins(failing: list[Trained]) -> list[str]:
    left, right = 500, 880
    most = max(max(run.margins) for run in failing)
    longest = max(len(run.word) for run in failing)

    def x(place: int) -> float:
        return left + place / longest * (right - left)

    def y(margin: float) -> float:
        return _BOTTOM - 24 - margin / most * (_BOTTOM - 24 - _TOP)

    shown = failing[0]
    found = [
        _text(left, 94, "What nerode shows: the margin, letter by letter", size=14, bold=True),
        f'<line x1="{left}" x2="{right}" y1="{y(0):.0f}" y2="{y(0):.0f}" stroke="#999"/>',
        _text(left - 6, y(0) + 4, "0", colour=_GREY, size=12, anchor="end"),
        _text(left + 4, y(0) + 17, "below 0 the answer is wrong", colour=_RED, size=12),
    ]
    for run in failing:
        line = " ".join(f"{x(k):.0f},{y(margin):.0f}" for k, margin in enumerate(run.margins, start=1))
        width, tone = (2.4, "#334155") if run is shown else (1.3, "#94a3b8")
        found.append(f'<polyline points="{line}" fill="none" stroke="{tone}" stroke-width="{width}"/>')
        end = len(run.word)
        found.append(
            _text(x(end), y(run.margins[-1]) + 4, "✗", colour=_RED, size=13, bold=True, anchor="middle")
        )
    for place, letter in enumerate(shown.word, start=1):
        last = place == len(shown.word)
        colour = _RED if last else _GREY
        found.append(
            _text(x(place), _BOTTOM + 18, letter, colour=colour, size=11, bold=last, anchor="middle")
        )
    ones = shown.word.count("1")
    found.append(
        _text(
            (left + right) / 2,
            _BOTTOM + 36,
            f"seed {shown.seed}: {ones} one and {len(shown.word) - ones} zeros; each zero costs margin",
            colour=_GREY,
            size=12,
            anchor="middle",
        )
    )
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
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{escape(text)}</text>"
    )


def main() -> None:
    """Writes all pictures."""
    (STATIC / "parity.svg").write_text(parity_figure(), encoding="utf-8")
    for name, (language, what) in DRAWINGS.items():
        nr.draw(nr.language(language), STATIC / name, what=what)


if __name__ == "__main__":
    main()
