"""What a terminal shows."""

from __future__ import annotations

import io
import itertools
import re
from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from nerode.algebra import Profile, profile
from nerode.languages import resolve_language
from nerode.languages.bestiary import find_language
from nerode.report.terminal.verdicts import check_view, make_console, name_table, quote
from nerode.verdict import Sense, Status, VerdictTable, VerdictTask, decide
from tests.report.cases import PARITY, PARITY_PROFILE, verdict


def show(view: RenderableType, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, no_color=True, highlight=False)
    console.print(view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def table(*rows: tuple[str, str, str]) -> VerdictTable:
    """Verdicts (architecture, status, reason), the same in every sense."""
    return VerdictTable(
        language="parity",
        task=VerdictTask.PREDICT,
        dtype="bfloat16",
        verdicts=tuple(verdict(*row, sense=sense) for row in rows for sense in Sense),
    )


SMALL = table(
    ("mamba", "no", "contains Z2"), ("lstm", "yes", "one unit a state"), ("elman-tanh", "open", "nothing")
)


def lines_of(view: RenderableType) -> list[str]:
    return [line.rstrip() for line in show(view).splitlines()]


def test_the_head_says_what_the_language_is() -> None:
    shown = lines_of(check_view(PARITY, PARITY_PROFILE, SMALL))
    assert shown[0] == "language  parity   over {0, 1}   regular"
    assert shown[1] == PARITY.convention
    assert shown[2] == "minimal DFA 2 states · monoid 2 elements · not star-free (contains Z2)"
    assert shown[3] == "also commutative"
    assert shown[4] == "witness  u = ε, v = 1, x = ε: u vⁿ x is in L periodically in n with period 2"
    assert shown[-2] == "Next: nerode explain parity -o page.html"


def test_each_architecture_has_a_mark_in_each_sense() -> None:
    shown = lines_of(check_view(PARITY, PARITY_PROFILE, SMALL))
    (head,) = (line for line in shown if line.startswith("architecture"))
    assert head.split() == [
        *"architecture exact finite bfloat16 robust because (finite) smallest known".split()
    ]
    marks = {
        line.split()[0]: line.split()[1:5] for line in shown if line.startswith(("mamba", "lstm", "elman"))
    }
    assert marks == {"mamba": ["✗"] * 4, "lstm": ["✓"] * 4, "elman-tanh": ["?"] * 4}
    row = next(line for line in shown if line.startswith("lstm"))
    assert "one unit a state  (Sarrof et al. 2024)" in row
    assert row.endswith("1 layer, 1 state")


def test_marks_stand_below_their_sense() -> None:
    verdicts = tuple(
        verdict("lstm", status, "because", sense=sense)
        for sense, status in zip(Sense, ("yes", "no", "open", "yes"), strict=True)
    )
    mixed = replace(SMALL, verdicts=verdicts)
    shown = lines_of(check_view(PARITY, PARITY_PROFILE, mixed))
    head = next(line for line in shown if line.startswith("architecture"))
    row = next(line for line in shown if line.startswith("lstm"))
    for name, mark in zip(("exact", "finite", "bfloat16", "robust"), "✓✗?✓", strict=True):
        start = head.index(name)
        assert row[start : start + len(name)].strip() == mark


def test_reasons_are_those_of_the_sense_that_was_asked_for() -> None:
    verdicts = tuple(verdict("lstm", "yes", f"reason of {sense}", sense=sense) for sense in Sense)
    for sense, heading in zip(Sense, ("exact", "finite", "bfloat16", "robust"), strict=True):
        shown = show(check_view(PARITY, PARITY_PROFILE, replace(SMALL, verdicts=verdicts), sense=sense))
        assert f"because ({heading})" in shown
        assert f"reason of {sense}" in shown
        assert shown.count("reason of") == 1


def test_architectures_with_the_same_answers_share_a_line() -> None:
    rows = [("mamba", "no", "contains Z2"), ("lstm", "yes", "a unit"), ("gla", "no", "contains Z2")]
    shown = lines_of(check_view(PARITY, PARITY_PROFILE, table(*rows)))
    assert any(line.startswith("mamba · gla ") for line in shown)
    rows[2] = ("gla", "no", "another reason")
    shown = lines_of(check_view(PARITY, PARITY_PROFILE, table(*rows)))
    assert not any(line.startswith("mamba · gla") for line in shown)


@pytest.mark.parametrize("name", ["parity", "flip-flop", "S3", "anbn", "dyck-8-10", "tomita-3"])
def test_every_architecture_is_once_in_the_summary_and_once_in_the_table(name: str) -> None:
    language = find_language(name)
    found = profile(language)
    verdicts = decide(language, profile=found)
    summary, below = show(check_view(language, found, verdicts, whole=True)).split("\narchitecture ")
    listed = summary.split("At every length")[1].replace(",", " ").split()
    column = " ".join(line[:36] for line in below.split("Next:")[0].splitlines()).split()
    for architecture in verdicts.architectures():
        assert listed.count(architecture) == 1, architecture
        assert column.count(architecture) == 1, architecture


@pytest.mark.parametrize("name", ["(aa)*", "parity", "flip-flop", "S3", "anbn", "dyck-2", "tomita-3"])
def test_without_asking_for_more_the_answer_has_ten_lines(name: str) -> None:
    language = resolve_language(name)
    found = profile(language)
    decided = decide(language, profile=found)
    lines = lines_of(check_view(language, found, decided))
    assert len(lines) <= 15
    start = next(i for i, line in enumerate(lines) if line.startswith("At every length"))
    counted = {
        status: sum(v.status is status for v in decided if v.sense is Sense.FINITE_PRECISION)
        for status in Status
    }
    for status, word in ((Status.YES, "can"), (Status.NO, "cannot"), (Status.OPEN, "open")):
        row = [line for line in lines[start:] if line.startswith(f"{word} ")]
        assert len(row) == bool(counted[status])
        assert not row or f"{word} {counted[status]}:" in " ".join(row[0].split())


def test_the_short_answer_names_families_reasons_and_a_known_architecture() -> None:
    language = resolve_language("(aa)*")
    found = profile(language)
    lines = lines_of(check_view(language, found, decide(language, profile=found)))
    assert len(lines) <= 14
    text = "\n".join(lines)
    assert "mamba-signed: one sign that flips  (Sarrof et al. 2024)" in text
    assert "needs a star-free language; the monoid contains Z2" in text
    assert re.search("cannot .*mamba,", text)
    assert "mamba-2" not in text
    assert lines[-1].endswith("--to mamba-signed -o network/")
    flip_flop = find_language("flip-flop")
    shown = lines_of(check_view(flip_flop, profile(flip_flop), decide(flip_flop)))
    assert shown[-1].endswith("--to mamba -o network/")


def test_details_list_each_theorem_once_with_its_assumptions() -> None:
    language = find_language("parity")
    found = profile(language)
    verdicts = decide(language, profile=found)
    shown = show(check_view(language, found, verdicts, details=True), width=400).splitlines()
    used = {v.theorem: v for v in verdicts if v.sense is Sense.FINITE_PRECISION and v.theorem}
    assert used
    for theorem, cited in used.items():
        heads = [i for i, line in enumerate(shown) if line.startswith(f"{theorem}  ")]
        assert len(heads) == 1
        assert cited.provenance is not None
        assert shown[heads[0]].rstrip().endswith(cited.provenance.value)
        below = list(itertools.takewhile(lambda line: line.startswith("  "), shown[heads[0] + 1 :]))
        assert below[0].strip() == f"stated for: {cited.model}"
        conditions = [line for line in below if line.startswith("  on the condition: ")]
        assert len(conditions) == bool(cited.conditional_on)
        assumed = [line.strip() for line in below if line.startswith("  assumes: ")]
        assert [line.removeprefix("assumes: ") for line in assumed] == list(cited.assumptions)
    assert "assumes:" not in show(check_view(language, found, verdicts))


def test_the_end_names_the_page_and_the_smallest_network() -> None:
    decided = decide(PARITY, architectures=["mamba", "lstm", "mamba-signed"])
    lines = show(check_view(PARITY, PARITY_PROFILE, decided)).splitlines()
    assert lines[-2:] == [
        "Next: nerode explain parity -o page.html",
        "      nerode compile parity --to mamba-signed -o network/",
    ]
    only = decide(PARITY, architectures=["mamba"])
    assert "nerode compile" not in show(check_view(PARITY, PARITY_PROFILE, only))


def test_languages_that_are_not_regular_say_so() -> None:
    language = find_language("anbn")
    shown = lines_of(check_view(language, profile(language), SMALL))
    assert shown[2] == "not regular"
    assert not any("minimal DFA" in line for line in shown)


def test_what_was_not_computed_is_told() -> None:
    incomplete = Profile(regular=True, incomplete={"monoid": "too many elements"})
    shown = lines_of(check_view(PARITY, incomplete, SMALL))
    assert "minimal DFA ? states · star-free: not decided" in shown
    assert "not computed: monoid (too many elements)" in shown


def test_classes_show_their_parameter() -> None:
    language = find_language("tomita-4")
    shown = show(check_view(language, profile(language), SMALL), width=400)
    # No 000: windows of three letters decide.
    assert "strictly-local (k = 3)" in shown
    assert "star-free," not in shown


def test_large_numbers_have_separators() -> None:
    language = find_language("dyck-8-10")
    assert "1,227,133,514 states" in show(check_view(language, profile(language), SMALL))


def test_text_that_looks_like_markup_stays_text() -> None:
    evil = "[bold]loud[/bold] [/] [ab]*"
    language = replace(PARITY, name=evil, convention=evil)
    shown = show(check_view(language, PARITY_PROFILE, table(("mamba", "no", evil))), width=400)
    # Name, convention, reason, and the command that comes next.
    assert shown.count(evil) == 4
    rows = [("[bold]x[/bold]", "[/]", "words over [ab] and ["), ("b", "c", "d")]
    listed = show(name_table(("name", "x", "y"), rows))
    assert "[bold]x[/bold]" in listed
    assert "words over [ab] and [" in listed


def test_characters_that_steer_a_terminal_are_shown_and_not_sent() -> None:
    language = replace(PARITY, name="a\x1b[2Jb", convention="rings \x07")
    shown = show(check_view(language, PARITY_PROFILE, SMALL))
    assert "\x1b" not in shown
    assert "a␛[2Jb" in shown
    assert "rings ␇" in shown


@pytest.mark.parametrize("width", [80, 100, 120])
def test_narrow_terminals_lose_nothing(width: int) -> None:
    shown = show(check_view(PARITY, PARITY_PROFILE, SMALL), width=width)
    assert all(len(line) <= width for line in shown.splitlines())
    assert (shown.count("✓"), shown.count("✗")) == (4, 4)
    for word in "one unit a state contains Z2 nothing 1 layer Sarrof et al.".split():
        assert word in shown


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("parity", "parity"),
        ("S5:generators", "S5:generators"),
        ("dir/file.att", "dir/file.att"),
        ("(aa)*", '"(aa)*"'),
        ("", '""'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("a b", '"a b"'),
        ("a$(b)", "'a$(b)'"),
        ("!a", "'!a'"),
    ],
)
def test_names_are_quoted_for_a_shell(name: str, word: str) -> None:
    assert quote(name) == word


def test_output_that_is_no_terminal_is_plain_and_wide(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    console = make_console()
    assert console.width == 120
    console.print(check_view(PARITY, PARITY_PROFILE, SMALL))
    assert "\x1b" not in capsys.readouterr().out


def test_a_pipe_is_as_wide_as_columns_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert make_console().width == 80
    monkeypatch.setenv("COLUMNS", "none")
    assert make_console().width == 120


def shown(view: RenderableType, width: int) -> list[str]:
    return [line.rstrip() for line in show(view, width).splitlines()]


@pytest.mark.parametrize("width", [50, 60, 80])
def test_a_narrow_terminal_breaks_no_name(width: int) -> None:
    language = find_language("parity")
    table = decide(language)
    lines = shown(check_view(language, profile(language), table, whole=True), width)
    assert max(map(len, lines)) <= width
    words = " ".join(lines).replace(":", " ").split()
    for name in table.architectures():
        assert name in words
    assert any(line.split() == ["mamba-signed", "✓", "✓", "✓", "✗"] for line in lines)


def test_a_narrow_list_of_names() -> None:
    rows = [("first-name", "a long text " * 6, "here"), ("second-name", "short", "there")]
    lines = shown(name_table(("name", "about", "where"), rows), 40)
    assert lines[0] == "first-name"
    assert "  where: here" in lines
    assert max(map(len, lines)) <= 40
    # What fits as it is stays a table.
    assert shown(name_table(("name", "where"), [("a", "b")]), 40) == ["name  where", "a     b"]
