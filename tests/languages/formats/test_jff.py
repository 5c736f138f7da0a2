from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from nerode.core import Budget, BudgetExceeded, FormatError
from nerode.languages.dfa import Dfa
from nerode.languages.formats import read_automaton, read_language
from nerode.languages.formats.jff import dfa_to_jff
from tests.languages.formats import parse

DATA = Path(__file__).parent / "data"
FILE = Path("x.jff")
START = '<state id="0"><initial/></state>'


def read(body: str, **options: object) -> Dfa:
    """Reads an automaton whose elements stand on line 3."""
    text = f"<structure><type>fa</type>\n<automaton>\n{body}</automaton></structure>"
    return parse("jff", text, path=FILE, **options)  # type: ignore[arg-type]


def transition(source: object, target: object, label: str) -> str:
    return f"<transition><from>{source}</from><to>{target}</to><read>{label}</read></transition>"


def test_what_jflap_writes() -> None:
    dfa = read_automaton(DATA / "jflap.jff")
    assert dfa.alphabet.symbols == ("<", "a")
    for word in ("", "a", "<", "a<", "<a", "a<<", "<<a<", "aa"):
        assert dfa.accepts(word) is ("a" in word[-2:]), word


def test_labels_of_several_characters_are_read_letter_by_letter_unless_a_note_has_them() -> None:
    with pytest.warns(UserWarning, match="'ab' is read as JFLAP reads it, one letter after the other"):
        dfa = read_automaton(DATA / "jflap4.jff")
    assert dfa.alphabet.symbols == ("a", "b")
    assert [dfa.accepts(word) for word in ("", "ab", "a", "abab", "ba")] == [True, True, False, True, False]
    noted = read(START + transition(0, 0, "ab") + "<note><text>alphabet: ab</text></note>")
    assert noted.alphabet.symbols == ("ab",)


@pytest.mark.parametrize(
    ("expression", "accepted", "refused"),
    [("a*b+!", ["", "b", "aab"], ["a", "ba"]), ("(a+b)*.", [".", "ab."], ["", "a"]), ("a|b", ["a|b"], ["a"])],
)
def test_regular_expressions(expression: str, accepted: list[str], refused: list[str]) -> None:
    text = f"<structure><type>re</type><expression>{expression}</expression></structure>"
    dfa = parse("jff", text, path=FILE)
    assert all(map(dfa.accepts, accepted))
    alphabet = dfa.alphabet.symbols
    assert not any(dfa.accepts(word) for word in refused if set(word) <= set(alphabet))


def test_a_regular_expression_that_is_none() -> None:
    for expression, message in (("", "missing or empty"), ("(a", r"the expression '\(a'")):
        text = f"<structure><type>re</type><expression>{expression}</expression></structure>"
        with pytest.raises(FormatError, match=message):
            parse("jff", text, path=FILE)


def test_machines_with_outputs() -> None:
    def machine(kind: str, *parts: str) -> Dfa:
        text = f"<structure><type>{kind}</type><automaton>{''.join(parts)}</automaton></structure>"
        return parse("jff", text, path=FILE)

    states = '<state id="0"><initial/><output>x</output></state><state id="1"><output>y</output></state>'
    moves = [transition(0, 1, "a"), transition(1, 0, "a")]
    moore = machine("moore", states, *moves)
    assert moore.alphabet.symbols == ("a", "/x", "/y")
    assert [moore.accepts(word) for word in (["/x"], ["a", "/y"], ["a", "/x"])] == [True, True, False]
    plain = '<state id="0"><initial/></state><state id="1"/>'
    out = [
        move.replace("</transition>", f"<transout>{o}</transout></transition>")
        for move, o in zip(moves, "yx", strict=True)
    ]
    mealy = machine("mealy", plain, *out)
    assert [mealy.accepts(word) for word in (["/x"], ["a", "/y"], ["a", "a", "/x"])] == [False, True, True]
    with pytest.raises(FormatError, match="no <transout>"):
        machine("mealy", plain, *moves)
    with pytest.raises(FormatError, match="no <output>"):
        machine("moore", plain, *moves)


def test_states_keep_the_order_of_the_file_and_ids_are_only_names() -> None:
    dfa = read('<state id="z"/><state id="7"><final/><initial/></state>' + transition("z", "7", "a"))
    assert dfa.transitions.tolist() == [[1], [2], [2]]
    assert (dfa.start, dfa.accepting.tolist()) == (1, [False, True, False])


def test_a_note_gives_the_alphabet() -> None:
    dfa = read(START + transition(0, 0, "a") + "<note><text>alphabet: b a</text></note><note/>")
    assert dfa.alphabet.symbols == ("b", "a")
    assert dfa.transitions.tolist() == [[1, 0], [1, 1]]


def test_entities_of_xml_and_comments_inside_a_label() -> None:
    assert read(
        START
        + transition(0, 0, "&amp;&#x3b5;<!-- c -->&lt;")
        + "<note><text>alphabet: &amp;ε&lt;</text></note>"
    ).alphabet.symbols == ("&ε<",)


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (START + '\n<state id="0"/>', 4, "is that of the state on line 3"),
        (START + '\n<state id="1"><initial/></state>', 4, "second start state; the first is on line 3"),
        (START + '\n<state name="q"/>', 4, "the state has no id"),
        (START + "\n" + transition(0, 1, "a"), 4, "no state with the id '1'"),
        (START + "\n" + transition(7, 0, "a"), 4, "no state with the id '7'"),
        (START + "\n" + transition(0, 0, "a") * 2, 4, "repeats that of line 4"),
        (START + "\n<transition><from>0</from>\n<read/></transition>", 4, "has no <to>"),
        (START + "<transition><from>0</from><to>0</to></transition>", 3, "has no <read>"),
        (START + "<transition><from>0</from><from>0</from></transition>", 3, "a second <from>"),
        (START + transition(0, 0, "a b"), 3, "white space"),
        (START + transition(0, 0, "$"), 3, "'$' cannot be a symbol"),
        (START + transition(0, 0, "a<b/>"), 3, "<b> inside <read>"),
        (START + "\n<block/>", 4, "Turing machine"),
        (START + "<automaton/>", 3, "<automaton> inside <automaton>"),
        (START + "<structure/>", 3, "<structure> inside <automaton>"),
        ('<state id="0"><state id="1"/></state>', 3, "<state> inside <state>"),
        ("<odd><state id='0'/></odd>", 3, "<state> inside <odd>"),
        (START + "<initial/>", 3, "<initial> inside <automaton>"),
        (START + "\n<note><text>alphabet: a</text></note>" * 2, 5, "the note of line 4"),
        (START + "<note><text>alphabet: a a</text></note>", 3, "a symbol twice"),
        (START + "\n<oops>", 4, "this is not XML: mismatched tag at column"),
        (START + "&unknown;", 3, "this is not XML: undefined entity"),
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
        ("<structure><type>pda</type></structure>", "this is a pushdown automaton"),
        ("<structure><type>turing</type></structure>", "this is a Turing machine"),
        ("<structure><type>x</type></structure>", "of the type 'x'"),
        ("<structure><type>fa</type><type>fa</type></structure>", "a second <type> in one <structure>"),
        (f"<structure><automaton>{START}</automaton></structure>", "there is no <type>"),
        ("<structure><type>fa</type><state id='0'/></structure>", "no start state"),
        ("<automaton/>", "begins with <automaton>, not with <structure>"),
        ('<?xml version="1.0" encoding="latin1"?><structure/>', "save it as UTF-8"),
        ("<!DOCTYPE structure><structure/>", "document types and entities are not read"),
        ('<!DOCTYPE s [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><structure>&b;</structure>', "document types"),
        ('<!DOCTYPE s SYSTEM "file:///etc/passwd"><structure/>', "document types"),
    ],
)
def test_files_that_are_no_finite_automata(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse("jff", text, path=FILE)


def test_deep_nesting_is_no_recursion() -> None:
    with pytest.raises(FormatError, match="no start state"):
        read("<x>" * 20_000 + "</x>" * 20_000)


def test_states_count_against_the_budget() -> None:
    body = START + '<state id="1"/><state id="2"/>'
    with pytest.raises(BudgetExceeded, match="states"):
        read(body, budget=Budget(states=2))
    assert read(body, budget=Budget(states=3)).num_states == 3


def test_the_text_is_what_jflap_expects_with_states_on_a_circle() -> None:
    dfa = Dfa.build("ba", lambda q, s: (q + (s == "b")) % 12, start=0, accept=[3])
    root = ElementTree.fromstring(dfa_to_jff(dfa).split("\n", 1)[1])
    assert root.findtext("type") == "fa"
    states = root.findall("automaton/state")
    assert [state.get("id") for state in states] == [str(q) for q in range(12)]
    assert [state.get("id") for state in states if state.find("initial") is not None] == ["0"]
    assert [state.get("id") for state in states if state.find("final") is not None] == ["3"]
    places = [complex(float(s.findtext("x", "")), float(s.findtext("y", ""))) for s in states]
    centre = sum(places) / len(places)
    radius = abs(places[0] - centre)
    assert all(abs(abs(place - centre) - radius) < 0.2 for place in places)
    assert min(abs(p - q) for p in places for q in places if p is not q) > 90
    assert min(min(place.real, place.imag) for place in places) >= 0
    assert len(root.findall("automaton/transition")) == 24
    assert root.findtext("automaton/note/text") == "alphabet: b a"
    sorted_dfa = Dfa.build("ab", lambda q, s: q, start=0, accept=[0])
    assert "note" not in dfa_to_jff(sorted_dfa)


def test_names_of_states_are_kept_and_merged(tmp_path: Path) -> None:
    path = tmp_path / "even.jff"
    states = (("0", "even", "<initial/><final/>"), ("1", "odd", ""), ("2", "even again", "<final/>"))
    moves = ((0, 1), (1, 2), (2, 1))
    body = "".join(f'<state id="{i}" name="{name}">{marks}</state>' for i, name, marks in states)
    body += "".join(f"<transition><from>{q}</from><to>{p}</to><read>a</read></transition>" for q, p in moves)
    path.write_text(f"<structure><type>fa</type><automaton>{body}</automaton></structure>")
    language = read_language(path)
    assert language.num_states() == 2
    assert language.state_names[language.automaton.start] == "even,even again"
    assert sorted(language.state_names) == ["even,even again", "odd"]
    # With a choice the states of the automaton are sets of those of the file.
    choice = "<transition><from>0</from><to>0</to><read>a</read></transition></automaton>"
    path.write_text(path.read_text().replace("</automaton>", choice))
    assert read_language(path).state_names == ()
