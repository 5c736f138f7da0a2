"""A static explorer: pages for a course that need no server, and the exercise "guess the automaton".

A page of a language is the frozen page of `nerode explore` with the traces of all short words, so that words
can be typed. The exercise compares a table of moves with the language in the browser, by a breadth-first
search over pairs of states.
"""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from nerode.core import Budget, InputError, claim_folder, write_atomically
from nerode.explorer.jobs import run_job
from nerode.explorer.orders import PageOrder
from nerode.explorer.standalone import embedded, freeze, read_static, style
from nerode.languages import Language, minimise, resolve_language

LANGUAGES = ("parity", "(ab)*", "flip-flop", "tomita-4", "even-pairs", "(ab|c)*d", "tomita-6", "aa*bb*")
"""What a course page shows where no languages are named."""

TARGETS = ("mamba", "mamba-signed", "deltaproduct-signed", "lstm")
"""Architectures in the order in which a page tries them for its network."""

MOST_WORDS = 260
_LONGEST = 12
_EXERCISE_STATES = 12
_EXERCISE_LETTERS = 6


def write_course(
    folder: Path,
    texts: Sequence[str] = LANGUAGES,
    *,
    force: bool = False,
    tell: Callable[[str], None] = print,
) -> Path:
    """Writes the pages of a course into a folder and returns its first page.

    Args:
        folder: to write.
        texts: names, patterns or formulas of languages, each read as `nerode explore` reads it.
        force: whether a folder with other things in it is filled.
        tell: is called with the name of each page that is written.

    Raises:
        InputError: if a language cannot be read, or two have the same name for a file.
    """
    claim_folder(folder, holds=("exercise.html",), form="html", of="a static explorer", force=force)
    names = [_file_name(text) for text in texts]
    if len(set(names)) < len(names):
        raise InputError(f"two of {', '.join(texts)} would have the same file; name one of them")
    languages = [resolve_language(text, budget=Budget(seconds=20)) for text in texts]
    folder.mkdir(parents=True, exist_ok=True)
    cards = []
    for text, name, language in zip(texts, names, languages, strict=True):
        answers, state, words = _answers(text, language)
        order = PageOrder(answers=answers, state=urlencode(state))
        write_atomically(folder / f"{name}.html", freeze(order, words=words))
        about = answers[_key("language", _question(text))]
        cards.append({"file": f"{name}.html", "name": about["name"], "convention": about["convention"]})
        tell(f"{name}.html: words of up to {words} letters, {state['target']}")
    tasks = [task for own in zip(languages, cards, strict=True) if (task := _task(*own)) is not None]
    write_atomically(folder / "exercise.html", _page("exercise.js", {"tasks": tasks}, "Guess the automaton"))
    write_atomically(folder / "index.html", _page("course.js", {"cards": cards}, "Languages and networks"))
    return folder / "index.html"


def _file_name(text: str) -> str:
    """The name of a language as that of a file: letters, digits and hyphens."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()
    # What the hyphens stand for tells patterns apart.
    exact = plain == text.lower()
    return plain if exact else f"{plain or 'language'}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _language(text: str) -> dict[str, Any]:
    return {"text": text, "mode": "auto", "alphabet": ""}


def _question(text: str) -> dict[str, Any]:
    return {"language": _language(text), "task": "predict", "sense": "finite-precision"}


def _key(job: str, payload: dict[str, Any]) -> str:
    """The key of an answer, as the page writes it."""
    return json.dumps([job, payload], ensure_ascii=False, separators=(",", ":"))


def _answers(text: str, language: Language) -> tuple[dict[str, Any], dict[str, str], int]:
    """The answers of a page, its state, and the longest length of which it has all words."""
    answers: dict[str, Any] = {}

    def ask(job: str, payload: dict[str, Any]) -> dict[str, Any]:
        found = run_job(job, payload)
        if "error" in found:
            raise InputError(f"{text}: {found['error']['message']}")
        answers[_key(job, payload)] = found
        return found

    about = ask("language", _question(text))
    possible = {row["name"] for row in about["targets"] if row["status"] == "yes"}
    target = next((name for name in TARGETS if name in possible), next(iter(sorted(possible)), "lstm"))
    network = {"language": _language(text), "target": target}
    ask("network", network)
    ask("proof", network)
    longest = _longest_word(len(language.alphabet))
    separator = " " if about["spaced"] else ""
    words = [separator.join(word) for word in _words(list(language.alphabet), longest)]
    for word in dict.fromkeys((*words, about["example"])):
        ask("trace", {"language": _language(text), "word": word})
        ask("trace", {"language": _language(text), "word": word, "target": target,
                      "arithmetic": "exact", "noise": 0, "seed": 0})  # fmt: skip
    return answers, {"text": text, "target": target, "word": about["example"]}, longest


def _longest_word(letters: int) -> int:
    """The longest length up to which there are few enough words."""
    total, length = 1, 0
    while length < _LONGEST and total + letters ** (length + 1) <= MOST_WORDS:
        length += 1
        total += letters**length
    return max(1, length)


def _words(alphabet: list[str], longest: int) -> Iterator[tuple[str, ...]]:
    for length in range(longest + 1):
        yield from itertools.product(alphabet, repeat=length)


def _task(language: Language, card: dict[str, Any]) -> dict[str, Any] | None:
    """The exercise of a language; None for one that is not regular, or too large for a table."""
    if not language.regular:
        return None
    dfa = minimise(language.dfa(Budget(seconds=10)))
    if dfa.num_states > _EXERCISE_STATES or len(dfa.alphabet) > _EXERCISE_LETTERS:
        return None
    return {
        **card,
        "alphabet": list(dfa.alphabet),
        "start": int(dfa.start),
        "accepting": [state for state, accepts in enumerate(dfa.accepting.tolist()) if accepts],
        "moves": dfa.transitions.tolist(),
    }


def _page(program: str, data: dict[str, Any], title: str) -> bytes:
    """A page with one program and its data inside, which asks nobody."""
    script = read_static(program)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    foot = f"Written by nerode {metadata.version('nerode')}. This page loads nothing from a network."
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">
<title>{title} · nerode</title><link rel="icon" href="data:,">
<style>
{style("page.css")}{style("course.css")}</style>
<script type="application/json" id="data">{embedded(data)}</script>
</head><body><header class="page"><h1>{title}</h1><p class="lead" id="lead"></p></header>
<main id="content"></main>
<footer class="page muted small"><p>{foot}</p></footer>
<script type="module">{script}</script></body></html>
""".encode()
