from __future__ import annotations

from pathlib import Path

import pytest

from nerode.core import Budget, BudgetExceeded, FormatError
from nerode.languages.dfa import Dfa
from nerode.languages.formats import read_automaton
from nerode.languages.formats.dot import dfa_to_dot
from tests.languages.formats import parse

DATA = Path(__file__).parent / "data"
FILE = Path("x.dot")


def read(body: str, **options: object) -> Dfa:
    """Reads the statements after a start edge to the state q."""
    text = "digraph {\n__start0 [shape=none]; __start0 -> q\n" + body + "\n}\n"
    return parse("dot", text, path=FILE, **options)  # type: ignore[arg-type]


def test_what_aalpy_writes() -> None:
    dfa = read_automaton(DATA / "aalpy.dot")
    assert dfa.alphabet.symbols == ("0", "ping")
    assert dfa.transitions.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert dfa.accepting.tolist() == [True, False, True]


def test_what_automata_lib_writes() -> None:
    dfa = read_automaton(DATA / "automata-lib.dot")
    assert dfa.alphabet.symbols == ("0", "1")
    for word, expected in [("", True), ("001", True), ("0111", True), ("10", False), ("000", True)]:
        assert dfa.accepts(word) is expected, word


def test_what_the_graphviz_package_writes() -> None:
    dfa = read_automaton(DATA / "python-graphviz.gv")
    assert dfa.alphabet.symbols == ('"', "\\")
    assert dfa.transitions.tolist() == [[0, 1], [1, 0]]
    assert dfa.accepting.tolist() == [True, False]


@pytest.mark.parametrize(
    "entry",
    [
        "x [shape=point]; x -> q",
        "x [shape=plaintext, label=go]; x -> q",
        'x [style="filled,invis"]; x -> q [label=""]',
        "__start1 -> q",
        '"" -> q',
        "node [shape=plain]; x -> q; node [shape=circle]; q [shape=circle]",
    ],
)
def test_ways_to_point_at_the_start(entry: str) -> None:
    dfa = parse("dot", f"digraph {{ {entry}; q -> r [label=a]; r [shape=doublecircle] }}", path=FILE)
    assert dfa.accepts("a")
    assert not dfa.accepts("")


def test_several_starts_are_determinised() -> None:
    dfa = parse(
        "dot",
        "digraph { node [peripheries=2] __start0 -> p; __start1 -> q; p -> p [label=a]; q -> q [label=b] }",
        path=FILE,
    )
    for word, expected in [("", True), ("aaa", True), ("bb", True), ("ab", False)]:
        assert dfa.accepts(word) is expected, word


def test_a_state_drawn_without_a_shape_stays_a_state() -> None:
    dfa = read("q [shape=none]; q -> r [label=a]; r [shape=none, peripheries=2]")
    assert dfa.accepts("a")


@pytest.mark.parametrize(
    ("label", "letters"),
    [
        ('"a,b"', ("a", "b")),
        ('"a , b"', ("a", "b")),
        (r'"a\nb\l"', ("a", "b")),
        ('"a\nb"', ("a", "b")),
        (r'"\,,b"', (",", "b")),
        (r'"\\"', ("\\",)),
        (r'"\\,n"', ("\\", "n")),
        (r'"\\n"', ("\\n",)),
        (r'"\""', ('"',)),
        (r'"\ε"', ("ε",)),
        ('"<b>"', ("<b>",)),
        ('"&amp;"', ("&amp;",)),
        ("-1.5", ("-1.5",)),
        ("über_1", ("über_1",)),
        ('"lo" + "ng"', ("long",)),
        ('"lo\\\nng"', ("long",)),
    ],
)
def test_letters_of_a_label(label: str, letters: tuple[str, ...]) -> None:
    dfa = read(f"q -> q [label={label}]")
    assert dfa.alphabet.symbols == tuple(sorted(letters))
    assert dfa.num_states == 1


def test_defaults_reach_what_comes_after_them_and_stay_in_their_braces() -> None:
    dfa = read(
        """
        edge [label=a]
        subgraph cluster_0 { node [shape=doublecircle]; edge [label=b]; r; q -> s }
        q -> r; t; s -> t; q [shape=circle]
        """
    )
    assert dfa.alphabet.symbols == ("a", "b")
    accepted = [word for word in ("", "a", "b", "ba", "bb") if dfa.accepts(word)]
    assert accepted == ["a", "b"]


def test_comments_ports_chains_keywords_and_semicolons() -> None:
    dfa = parse(
        "dot",
        """# a line of the preprocessor
        STRICT DiGraph "the name" { // to the end of the line
        /* over
           two lines */ GRAPH [rankdir=LR; size="8,5"] [label=<<b>bold</b>>]
        {rank=source; __start0 [label=""]} ;;
        __start0:e -> q:n:w; q -> r -> q [label="a";color=red,weight=2] r [shape="doublecircle"]
        q -> r [style=invis] }
        // after the end
        """,
        path=FILE,
    )
    assert dfa.transitions.tolist() == [[1], [0]]
    assert dfa.accepting.tolist() == [False, True]


def test_the_attribute_alphabet_gives_the_order_and_more_letters() -> None:
    dfa = read('alphabet="c,a,b"; q -> q [label="a,b"]; q [peripheries=2]')
    assert dfa.alphabet.symbols == ("c", "a", "b")
    assert dfa.transitions.tolist() == [[1, 0, 0], [1, 1, 1]]
    assert read('alphabet=""').alphabet.symbols == ()


def test_thousands_of_open_braces_are_no_recursion() -> None:
    depth = 5000
    assert read("{" * depth + "q -> q [label=a]" + "}" * depth).num_states == 1


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("q -> r", 3, "'q' -> 'r' has no label"),
        ('\nq -> r [label=""]', 4, "has no label"),
        ("q -> r [label=a]\nq -> r [label=a]", 4, "repeats that of line 3"),
        ('q -> r [label="a,a"]', 3, "repeats that of line 3"),
        ('q -> r [label=","]', 3, "Write a comma as \\,"),
        ('q -> r [label="a,"]', 3, "letter is empty"),
        ("q -> r [label=<a>]", 3, "HTML labels are not read"),
        (r'q -> r [label="\E"]', 3, r"\E stands for no letter"),
        ('q -> r [label="a b"]', 3, "white space"),
        ('q -> r [label="$"]', 3, "'$' cannot be a symbol"),
        ("q -- r", 3, "not '--' at column 3"),
        ("q -> {r s} [label=a]", 3, "subgraphs are not read"),
        ("{r s} -> q [label=a]", 3, "subgraphs are not read"),
        ("q -> ;", 3, "expected a node, not ';' at column 6"),
        ("q [label]", 3, "expected =, not ']' at column 9"),
        ("q [label=]", 3, "expected a value, not ']' at column 10"),
        ("q [label=a", 4, "expected an attribute or ], not '}'"),
        ("q [label=node]", 3, "expected a value, not 'node'"),
        ('q [label="a"+b]', 3, "expected a string after +"),
        ("node = 3", 3, "expected a statement, not '=' at column 6"),
        ('\nq -> "r', 4, "string that begins at column 6 is never closed"),
        ("q /* r", 3, "comment that begins at column 3 is never closed"),
        ("q [label=<<b>", 3, "< at column 10 is never closed"),
        ("q ! r", 3, "unexpected character '!' at column 3"),
        ("q -> 1r [label=a]", 3, "number at column 6 runs into a name"),
        ("} x", 3, "the graph ends before 'x' at column 3"),
        ('alphabet="a,a"', 3, "the alphabet has 'a' twice in it"),
        ('alphabet="ε"', 3, "the alphabet has the empty word in it"),
        ("alphabet=a; q -> q [label=b]", 3, "'b' is not in the alphabet {a}"),
        ('q -> q [label="a/0"] q -> r [label="a/0"]', 3, "one move for each state and letter"),
    ],
)
def test_errors_say_where_and_why(body: str, line: int, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(body)
    assert caught.value.line == line
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "an automaton is a digraph, not a graph"),
        ("q -> r", "expected the word digraph"),
        ("digraph {", "not the end of the file"),
        ("digraph { q }", "no start state"),
        ("digraph { q -> r [label=a] }", "no start state"),
        ('digraph { __start0 -> q; q [label="even"] q -> q [label="b"] }', "no state accepts, and 'q' has"),
    ],
)
def test_texts_that_are_no_automata(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse("dot", text, path=FILE)


def test_nodes_count_against_the_budget() -> None:
    with pytest.raises(BudgetExceeded, match="states"):
        read("q -> r -> s [label=a]", budget=Budget(states=2))
    assert read("q -> r -> s [label=a] s -> s [label=a]", budget=Budget(states=3)).num_states == 3


def test_the_text_is_readable() -> None:
    dfa = Dfa.build(["b", "a", ","], lambda q, s: (q + (s == "b")) % 2, start=0, accept=[1])
    assert dfa_to_dot(dfa) == (
        "// written by nerode\n"
        "digraph automaton {\n"
        "  rankdir=LR;\n"
        '  alphabet="b,a,\\,";\n'
        "  node [shape=circle];\n"
        '  __start0 [shape=none, label=""];\n'
        "  0;\n"
        "  1 [shape=doublecircle];\n"
        "  __start0 -> 0;\n"
        '  0 -> 1 [label="b"];\n'
        '  0 -> 0 [label="a,\\,"];\n'
        '  1 -> 0 [label="b"];\n'
        '  1 -> 1 [label="a,\\,"];\n'
        "}\n"
    )


MOORE = """digraph learned {
  __start0 [shape=none, label=""]; __start0 -> s0;
  s0 [shape=circle, label="s0: even"]; s1 [shape=circle, label="s1: odd"];
  s0 -> s1 [label=a]; s1 -> s0 [label=a];
}"""


def test_the_words_of_a_moore_machine_are_followed_by_its_output() -> None:
    dfa = parse("dot", MOORE, path=FILE)
    assert dfa.alphabet.symbols == ("a", "/even", "/odd")
    for length in range(6):
        word = ["a"] * length
        assert [dfa.accepts([*word, o]) for o in ("/even", "/odd")] == [length % 2 == 0, length % 2 == 1]
        assert not dfa.accepts(word)
    said = MOORE.replace("{\n", '{\n  alphabet="a";\n', 1)
    assert not parse("dot", said, path=FILE).accepting.any()
    for form in ("s0|even", "{s0|even}", "s0/even"):
        other = MOORE.replace("s0: even", form)
        assert parse("dot", other, path=FILE) == dfa


def test_a_mealy_machine_has_an_output_for_each_letter() -> None:
    dfa = read('q -> r [label="a / 0,b/ x"]; r -> q [label="a/1"]; r -> r [label="b / c,d"]')
    assert dfa.alphabet.symbols == ("a", "b", "/0", "/1", "/c,d", "/x")
    words = {("a", "/0"), ("b", "/x"), ("a", "a", "/1"), ("a", "b", "/c,d"), ("b", "b", "b", "a", "/1")}
    assert all(dfa.accepts(word) for word in words)
    assert not any(
        dfa.accepts(word) for word in [(), ("/0",), ("a", "/1"), ("a", "a", "/0"), ("a", "/0", "a")]
    )


@pytest.mark.parametrize(
    ("label", "letters"),
    [
        ("send(x,y)", ["send(x,y)"]),
        ("recv(x,y),a[1,2],{p,q}", ["a[1,2]", "recv(x,y)", "{p,q}"]),
        ("(,)", ["(", ")"]),
        ("(,a,)", ["(", ")", "a"]),
        ("f(g(x,y),z),b", ["b", "f(g(x,y),z)"]),
        ("'a,b',c", ["'a,b'", "c"]),
        ("',b", ["'", "b"]),
        ("(a,b", ["(a", "b"]),
    ],
)
def test_commas_inside_brackets_or_quotes_belong_to_the_letter(label: str, letters: list[str]) -> None:
    assert list(read(f'q -> q [label="{label}"]').alphabet.symbols) == letters
