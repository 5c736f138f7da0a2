"""Mathematical names in plain Unicode, and text that can be shown safely."""

from __future__ import annotations

import re

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_GROUP_PART = re.compile(r"([A-Za-z]+)(\d+)")

# Symbols of user files may be anything but white space. Control characters are shown by their pictures,
# characters that reorder text or that no document may contain by their numbers.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]"
)


STATUS_MARKS = {"yes": "✓", "no": "✗", "open": "?"}
"""The verdicts as signs."""

STATUS_WORDS = {"yes": "possible", "no": "impossible", "open": "open"}
"""The verdicts in a word."""

TEX_CHARACTERS = {
    **{character: f"\\{character}" for character in "{}$&#%_"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "×": r"$\times$",
    "·": r"$\cdot$",
}
"""Characters that LaTeX takes for commands, or has in formulas only."""


def group_name(name: str) -> str:
    """Returns a group's name with subscripts: "Z2xZ4" becomes "Z₂×Z₄"."""
    if " " in name:
        return name
    parts = re.split(r"x(?=[A-Z(])", name)
    return "×".join(_GROUP_PART.sub(lambda m: m[1] + m[2].translate(_SUBSCRIPTS), part) for part in parts)


_EXPRESSION = re.compile(r"(?:the words )?(\S*[*ⁿ]\S*?)(?::| with )")
_BOUNDED = re.compile(r"dyck-(\d+)-(\d+)")
_GROUPS = re.compile(r"([A-Z]\d+(?:X[A-Z]\d+)*)([-:]GENERATORS)?")
_NUMBERED = re.compile(r"(tomita|dyck|shuffle|boolean|d)-(\d+)")
_FAMILIES = {
    "tomita": "Tomita {}",
    "dyck": "Dyck-{}",
    "shuffle": "Shuffle-{}",
    "boolean": "Boolean-{}",
    "d": "Dyck-1, depth {}",
}
_TITLES = {"parity": "Parity", "majority": "Majority", "cyclic-monoid-2-3": "C(2,3)"}


def language_title(name: str, convention: str = "") -> str:
    """Returns a named language as people write it: "{0,1,2}*02*" for 012-star-02-star, "Z₂×Z₂" for z2xz2.

    Args:
        name: of the bestiary, or any other, which stays as it is.
        convention: its sentence there; an expression at its beginning is the title.
    """
    if name in _TITLES:
        return _TITLES[name]
    if convention:
        if found := _BOUNDED.fullmatch(name):
            return f"Dyck-{found[1]}, depth {found[2]}"
        if (found := _GROUPS.fullmatch(name.upper())) and "words over the " in convention:
            return group_name(found[1].replace("X", "x")) + (" by generators" if found[2] else "")
        if found := _NUMBERED.fullmatch(name):
            return _FAMILIES[found[1]].format(found[2])
        if found := _EXPRESSION.match(convention):
            return found[1]
    return name


def visible(text: str) -> str:
    """Returns the text with control characters and the like replaced by something that can be seen."""
    return _UNSAFE.sub(_stand_in, text)


def _stand_in(match: re.Match[str]) -> str:
    number = ord(match[0])
    if number < 0x20:
        return chr(0x2400 + number)
    return "␡" if number == 0x7F else f"⟨U+{number:04X}⟩"


def percent(value: float) -> str:
    """Returns a share in percent that is 100 only if it is exactly 1, and 0 only if it is exactly 0."""
    if value in (0, 1):
        return str(int(100 * value))
    if abs(value) < 0.005:
        return "0.1" if value > 0 else "-0.1"
    return "99.9" if 0.995 <= value < 1 else f"{100 * value:.0f}"


def sentence(text: str) -> str:
    """Returns the text with a capital letter in front and a full stop at the end."""
    text = text.strip()
    if not text:
        return ""
    # A first word that is a letter of the alphabet or a name stays as it is.
    first = text.split(maxsplit=1)[0]
    start = text[0].upper() if len(first) > 1 and first.islower() and first.isalpha() else text[0]
    return start + text[1:] + ("" if text[-1] in ".!?…" else ".")


def author_list(authors: str) -> str:
    """Returns "A. Lee, B. Kim & C. Roe" from a BibTeX author field; a long list ends in "et al."."""
    names = []
    for author in authors.split(" and "):
        family, _, given = (part.strip() for part in author.partition(","))
        initials = " ".join(f"{part[0]}." for part in given.replace("-", " ").split())
        names.append(f"{initials} {family}".strip())
    if names[-1] == "others" or len(names) > 6:
        return f"{', '.join(names[: min(5, len(names) - 1)])} et al."
    return " & ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])


LEAST_SEEDS = 3
"""A median of fewer seeds would be a curve that no run has."""


def seeds_text(middle: float, low: float, high: float, seeds: int) -> str:
    """Returns the scores of all seeds in %: the median with its range, or both values where there are two."""
    if seeds < LEAST_SEEDS:
        return percent(low) if low == high else f"{percent(low)}, {percent(high)}"
    return f"{percent(middle)} [{percent(low)}–{percent(high)}]"
