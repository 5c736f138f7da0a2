"""What must hold for every automaton and every file."""

from __future__ import annotations

import itertools
from html import escape
from pathlib import Path

import numpy as np
import pytest
from automata.fa.nfa import NFA
from hypothesis import given, strategies as st

from nerode.core import Budget, NerodeError
from nerode.languages.alphabet import Alphabet
from nerode.languages.dfa import Dfa
from nerode.languages.formats import FORMATS, read_automaton, write_automaton

DATA = Path(__file__).parent / "data"
SUFFIXES = [row.suffixes[0] for row in FORMATS.values()]
HARD_SYMBOLS = [
    *'"\\,<>&ε0;{}[]=/#|λ',
    *["\\n", "\\,", '\\"', ",,", "->", "ab", "a,b", "10", "-1", "__start0", "<b>", "&lt;", "]]>", "<!--"],
    *["(", ")", "(a", "b)", "'x", "'", "f(x,y)"],
    *["//", "/*", "Infinity", "alphabet:", "digraph", "\\ε", "é", "e\u0301", "😀", "\u200b", "\ufeff"],
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@st.composite
def automata(draw: st.DrawFn) -> Dfa:
    symbols = draw(st.lists(st.sampled_from(HARD_SYMBOLS) | st.sampled_from("abcd"), unique=True, max_size=6))
    n = draw(st.integers(1, 6))
    states = st.integers(0, n - 1)
    table = draw(
        st.lists(st.lists(states, min_size=len(symbols), max_size=len(symbols)), min_size=n, max_size=n)
    )
    return Dfa(
        alphabet=Alphabet(tuple(symbols)),
        transitions=np.array(table, dtype=np.int32).reshape(n, len(symbols)),
        start=draw(states),
        accepting=np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))),
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(dfa=automata())
def test_what_is_written_reads_back_equal(place: Path, suffix: str, dfa: Dfa) -> None:
    path = place / f"equal{suffix}"
    write_automaton(dfa, path)
    assert read_automaton(path) == dfa


Edges = list[tuple[int, str, int]]


def att_text(edges: Edges, start: int, accepting: set[int]) -> str:
    rows = [f"{p} {q} {a or '<eps>'}" for p, a, q in sorted(edges, key=lambda edge: edge[0] != start)]
    first = [] if rows and rows[0].startswith(f"{start} ") else [f"{start} Infinity"]
    if first and start in accepting:
        first = [f"{start}"]
        accepting = accepting - {start}
    return "\n".join([*first, *rows, *map(str, sorted(accepting))]) + "\n"


def dot_text(edges: Edges, start: int, accepting: set[int]) -> str:
    finals = " ".join(f"{q} [shape=doublecircle]" for q in accepting)
    arrows = " ".join(f'{p} -> {q} [label="{a or "ε"}"]' for p, a, q in edges)
    return f"digraph {{ i [shape=point] i -> {start} {finals} {arrows} }}"


def jff_text(edges: Edges, start: int, accepting: set[int]) -> str:
    states = "".join(
        f'<state id="{q}">{"<initial/>" * (q == start)}{"<final/>" * (q in accepting)}</state>'
        for q in range(4)
    )
    arrows = "".join(
        f"<transition><from>{p}</from><to>{q}</to><read>{escape(a)}</read></transition>" for p, a, q in edges
    )
    return f"<structure><type>fa</type><automaton>{states}{arrows}</automaton></structure>"


@given(
    edges=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", ""]), st.integers(0, 3)),
        unique=True,
        max_size=12,
    ),
    start=st.integers(0, 3),
    accepting=st.sets(st.integers(0, 3)),
)
def test_nondeterminism_agrees_with_automata_lib(
    place: Path, edges: Edges, start: int, accepting: set[int]
) -> None:
    transitions: dict[int, dict[str, set[int]]] = {q: {} for q in range(4)}
    for p, a, q in edges:
        transitions[p].setdefault(a, set()).add(q)
    oracle = NFA(
        states=set(range(4)),
        input_symbols={"a", "b"},
        transitions=transitions,
        initial_state=start,
        final_states=accepting,
    )
    for suffix, text in [(".att", att_text), (".dot", dot_text), (".jff", jff_text)]:
        path = place / f"choice{suffix}"
        path.write_text(text(edges, start, accepting), encoding="utf-8")
        dfa = read_automaton(path, alphabet="ab")
        for word in itertools.chain.from_iterable(itertools.product("ab", repeat=n) for n in range(6)):
            assert dfa.accepts(word) == oracle.accepts_input("".join(word)), (suffix, word)


def read_or_refuse(path: Path) -> None:
    """Reads a file whose content may be anything: a Dfa or a NerodeError, nothing else."""
    try:
        dfa = read_automaton(path, budget=Budget(states=200, seconds=5))
    except NerodeError as error:
        # A message with half a character in it could not be printed.
        str(error).encode()
        return
    for suffix in SUFFIXES:
        try:
            write_automaton(dfa, path.with_name(f"again{suffix}"))
        except NerodeError:
            continue
        assert read_automaton(path.with_name(f"again{suffix}")) == dfa


@pytest.mark.filterwarnings("ignore:.*is read as JFLAP reads it")
@pytest.mark.parametrize("suffix", SUFFIXES)
@given(
    content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore"))
)
def test_random_content_is_refused_with_words(place: Path, suffix: str, content: bytes) -> None:
    path = place / f"random{suffix}"
    path.write_bytes(content)
    read_or_refuse(path)


PIECES = [
    *[
        b"0",
        b"1",
        b"-1",
        b"9" * 400,
        b"\n",
        b"\t",
        b" ",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b'"',
        b"\\",
        b"<",
        b">",
    ],
    *[b"{", b"}", b"[", b"]", b",", b";", b"->", b"--", b"/*", b"#", b"=", b":", b"+", b"&", b"]]>", b"<!--"],
    *[
        b"<eps>",
        b"Infinity",
        b"0.5",
        b"label=",
        b"node",
        b"subgraph",
        b"shape=none",
        b"\xce\xb5",
        b"null",
        b"true",
    ],
    *[
        b"<state id='0'/>",
        b"<initial/>",
        b"<!DOCTYPE x>",
        b"<read/>",
        b"[[[[",
        b"1e999",
        b"NaN",
        b'"start": 0,',
    ],
]


def mutate(data: st.DataObject, content: bytes) -> bytes:
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(content)))
        j = data.draw(st.integers(i, min(len(content), i + 30)))
        kind = data.draw(st.sampled_from(["delete", "repeat", "insert", "replace", "move"]))
        piece = data.draw(st.sampled_from(PIECES))
        if kind == "delete":
            content = content[:i] + content[j:]
        elif kind == "repeat":
            content = content[:j] + content[i:]
        elif kind == "insert":
            content = content[:i] + piece + content[i:]
        elif kind == "replace":
            content = content[:i] + piece + content[j:]
        else:
            content = content[:i] + content[j:] + content[i:j]
    return content


@pytest.mark.parametrize(
    "name",
    [
        "no-aa-no-first-c.att",
        "by-number.fst.txt",
        "aalpy.dot",
        "automata-lib.dot",
        "python-graphviz.gv",
        "jflap.jff",
        "jflap4.jff",
        "odd-b.json",
    ],
)
@pytest.mark.filterwarnings("ignore:.*is read as JFLAP reads it")
@given(data=st.data())
def test_changed_files_are_read_or_refused_with_words(place: Path, name: str, data: st.DataObject) -> None:
    path = place / name
    path.write_bytes(mutate(data, (DATA / name).read_bytes()))
    read_or_refuse(path)


@given(data=st.data())
def test_changed_symbol_tables_are_read_or_refused_with_words(place: Path, data: st.DataObject) -> None:
    path = place / "table.att"
    path.write_bytes((DATA / "by-number.fst.txt").read_bytes())
    path.with_suffix(".syms").write_bytes(mutate(data, (DATA / "by-number.syms").read_bytes()))
    read_or_refuse(path)
