"""How wide text is, and how a set of letters is written on an arrow."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection

from nerode.languages import Alphabet
from nerode.study import shorten

FONT_SIZE = 13.0
LINE_HEIGHT = 16.0

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


def letters_label(alphabet: Alphabet, letters: Collection[int], *, limit: int = 14) -> str:
    """Returns a short text for a set of letters: "a, b", "all but c", "Σ" or a cut list.

    "Σ" stands for the whole alphabet when it has more than three letters; the caller explains it. Where Σ
    is itself a letter, the text is "all".

    Args:
        alphabet: the whole alphabet.
        letters: numbers of the letters on the arrow.
        limit: how many characters the text may take.
    """
    chosen = sorted(letters)
    listed = ", ".join(alphabet.symbols[a] for a in chosen)
    if len(chosen) == len(alphabet) and len(chosen) > 3:
        return "all" if "Σ" in alphabet else "Σ"
    missing = [alphabet.symbols[a] for a in range(len(alphabet)) if a not in set(chosen)]
    if len(chosen) > 3 and 0 < len(missing) <= 2:
        text = "all but " + ", ".join(missing)
        if len(text) <= limit + 8 and len(text) < len(listed):
            return text
    if len(listed) <= limit:
        return listed
    if len(chosen) == 1:
        return shorten(listed, limit)
    kept: list[str] = []
    for a in chosen:
        symbol = alphabet.symbols[a]
        if len(", ".join([*kept, symbol])) > limit - 4:
            break
        kept.append(symbol)
    kept = kept or [shorten(alphabet.symbols[chosen[0]], limit - 4)]
    return f"{', '.join(kept)}, … +{len(chosen) - len(kept)}"
