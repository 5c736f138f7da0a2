"""Counter programs: texts, what they accept, and errors with their lines."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from nerode.core import FormatError, InputError
from nerode.languages import CounterLanguage, CounterMachine, resolve_language
from nerode.languages.counters import START
from nerode.languages.formats.counter_program import counter_program, counters_from_text
from tests.cli.runner import run

FILE = Path("x.counters")
BLOCKS = """
counters n          # letters a without their b
letter a n+1
letter b n-1
after start: a
after a: a b
after b if n>0: b
after b if n=0: end
"""
BALANCED = """
counters n m
letter a n+1 m-1
letter b n-1 m+1
always: a b
always if n=0 and m=0: end
"""


def counters_to_text(machine: CounterMachine) -> str:
    """Returns the text of a machine."""
    symbols = machine.alphabet.symbols
    names = [f"c{number}" for number in range(machine.num_counters)]
    lines = [
        " ".join(["counters", *(f"{n}={v}" if v else n for n, v in zip(names, machine.start, strict=True))])
    ]
    for symbol, row in zip(symbols, machine.increments, strict=True):
        changes = (f"{name}{amount:+d}" for name, amount in zip(names, row, strict=True) if amount)
        lines.append(" ".join(["letter", symbol, *changes]))
    for rule in machine.rules:
        last = sorted(rule.after or ())
        head = (
            "always"
            if rule.after is None
            else "after " + ",".join("start" if letter == START else symbols[letter] for letter in last)
        )
        conditions = [f"{names[c]}=0" for c in sorted(rule.zero)] + [
            f"{names[c]}>0" for c in sorted(rule.positive)
        ]
        allowed = [symbols[letter] for letter in sorted(rule.symbols)] + (["end"] if rule.end else [])
        lines.append(
            f"{head}{' if ' if conditions else ''}{' and '.join(conditions)}: {' '.join(allowed)}".rstrip()
        )
    return "\n".join([*lines, ""])


def test_programs_accept_their_words() -> None:
    blocks, balanced = (counter_program(text, path=FILE) for text in (BLOCKS, BALANCED))
    for length in range(9):
        for word in map("".join, itertools.product("ab", repeat=length)):
            half = length // 2
            assert blocks.accepts(word) == (length > 0 and word == "a" * half + "b" * half)
            assert balanced.accepts(word) == (word.count("a") == word.count("b"))


@pytest.mark.parametrize("name", ["dyck-1", "anbn", "anbncn", "majority", "boolean-3", "shuffle-2"])
def test_machines_of_the_bestiary_can_be_written_and_read(name: str) -> None:
    language = resolve_language(name)
    machine = getattr(language, "machine", None)
    if machine is None:
        pytest.skip(f"{name} is no counter machine")
    read = counters_from_text(counters_to_text(machine), path=FILE)
    assert (read.alphabet, read.start, read.increments) == (
        machine.alphabet,
        machine.start,
        machine.increments,
    )
    assert set(read.rules) == set(machine.rules)


def test_words_are_drawn_uniformly() -> None:
    rng, balanced = np.random.default_rng(0), counter_program(BALANCED, path=FILE)
    drawn = [balanced.sample(4, rng) for _ in range(600)]
    counts = {word: drawn.count(word) for word in set(drawn)}
    assert len(counts) == 6
    assert all(60 <= count <= 140 for count in counts.values())
    assert balanced.accepts(balanced.sample(300, rng))
    with pytest.raises(InputError, match="no word of length 3"):
        balanced.sample(3, rng)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the program has no letter. Write: letter a"),
        ("counters 1", 1, "a counter is written n or n=3, not '1'"),
        ("counters n n", 1, "the counter 'n' is there already"),
        ("letter a n+1", 1, "there is no counter 'n'"),
        ("counters n\nletter a n1", 2, "a change is written n\\+1 or n-2, not 'n1'"),
        ("letter end", 1, "'end' cannot be a letter here"),
        ("letter a\nletter a", 2, "the letter 'a' is there already"),
        ("letter a\nafter a b", 2, "a rule is written `after a if n>0: b end`"),
        ("letter a\nafter c: a", 2, "there is no letter 'c'"),
        ("letter a\nafter a: start", 2, "start stands before the colon only"),
        ("counters n\nletter a\nalways if n<0: a", 3, "a condition is n=0 or n>0, not 'n<0'"),
        ("state q", 1, "a line begins with counters, letter, after or always, not with 'state'"),
        ("letter $", None, "\\$"),
    ],
)
def test_errors_have_a_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        counters_from_text(text, path=FILE)
    assert caught.value.line == line


def test_a_program_is_a_language_of_all_commands(tmp_path: Path) -> None:
    path = tmp_path / "blocks.counters"
    path.write_text(BLOCKS)
    language = resolve_language(str(path))
    assert isinstance(language, CounterLanguage)
    out = tmp_path / "net"
    outcome = run("compile", str(path), "--to", "ssm", "-o", str(out))
    assert outcome.code == 0, outcome.err
    assert "all lengths in exact arithmetic" in run("verify", str(out)).out
    assert run("run", str(out), "aabb").out.startswith("accept")
    assert run("check", str(path), "--alphabet", "ab").code == 2
