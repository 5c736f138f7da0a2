"""Verdicts in a terminal."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nerode.algebra import Profile
from nerode.core import Reference
from nerode.languages import Language
from nerode.report.notation import visible
from nerode.report.tables.verdicts import (
    Family,
    FamilyPart,
    VerdictRow,
    VerdictText,
    families,
    family_parts,
)
from nerode.verdict import ARCHITECTURES, Sense, Status, Verdict, VerdictTable

_COLOURS = {"yes": "green", "no": "red", "open": "yellow"}

_LEGEND = "° on a condition   † no network is compiled   · not read in its source   – not defined"

_MEANINGS: Mapping[Sense, tuple[str, ...]] = {
    Sense.EXACT: ("exact: real numbers, gates that the layer has (no limits), tame maps between layers.",),
    Sense.FINITE_PRECISION: (
        "finite: states are not rounded, gates may be limits; what a layer passes on takes finitely many",
        "values, read with a margin.",
    ),
    Sense.IEEE: (
        "float: bit for bit, to nearest with ties to even, gradual underflow, no fused operations.",
    ),
    Sense.ROBUST: ("robust: η-finite, right under every disturbance below some eps > 0 at every step.",),
}
"""The senses in a line or two; docs/theory/senses.md defines them."""

FEW = 8
"""Architectures up to which each has a row of its own without being asked for."""

_KNOWN = ("mamba", "mamba-signed", "lstm", "transformer", "ssm", "deltanet", "deltaproduct-signed", "gla")
"""Architectures that most readers know: they stand for their families, the first that can is suggested."""

_ROOM = 90
"""Characters from which on columns of text are read with ease."""

_WHOLE = 10_000
"""Characters that no table of ours needs."""


def check_view(
    language: Language,
    profile: Profile,
    table: VerdictTable,
    *,
    sense: Sense = Sense.FINITE_PRECISION,
    details: bool = False,
    whole: bool = False,
    asked: str | None = None,
) -> RenderableType:
    """Returns the page that `nerode check` prints for one language.

    It has about ten lines: the language, its algebra, who can, who cannot, what is open, and why. With
    `whole`, with `details`, or for few architectures, each architecture has its marks and its reason.

    Args:
        language: the language.
        profile: its algebra.
        table: its verdicts.
        sense: the sense whose reasons and sizes are shown.
        details: whether to list references and assumptions below the table.
        whole: whether to show all rows.
        asked: how the user named the language, as words for a shell; its name by default.
    """
    whole = whole or details or len(table.architectures()) <= FEW
    told = families(table, sense=sense, dtype=table.dtype)
    parts: list[RenderableType] = [_headline(language), *_algebra_lines(language, profile, whole=whole)]
    parts.append(Text(""))
    if whole:
        rows = [row for family in told for row in family.rows]
        parts += [*_summary_lines(told, table, sense), Text("")]
        wide, narrow = _verdict_table(rows, table, sense), _narrow_verdicts(rows, table, sense)
        parts.append(Fitting(wide=wide, narrow=narrow))
        if any(verdict.mark not in "✓✗?" for verdict in table):
            parts.append(Text(_LEGEND, style="dim"))
        parts.extend(_horizon_lines(table))
        parts.extend(_layer_lines(table, sense))
        parts.append(Text(""))
    else:
        parts += _short_lines(told, table, sense)
    if details:
        parts.extend(_detail_lines(table, sense))
    if profile.incomplete:
        for what, why in profile.incomplete.items():
            parts.append(Text(f"not computed: {what} ({why})", style="dim"))
    parts.extend(_next_lines(asked or quote(visible(language.name)), table, sense))
    return Group(*parts)


class Fitting:
    """Two forms of one view: with columns of text where there is room, and without."""

    def __init__(self, *, wide: RenderableType, narrow: RenderableType) -> None:
        self.wide, self.narrow = wide, narrow

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields what fits: as it is, or with cells of several lines that are still read with ease."""
        whole = Measurement.get(console, options.update(max_width=_WHOLE), self.wide).maximum
        yield self.wide if options.max_width >= min(_ROOM, whole) else self.narrow


def _headline(language: Language) -> Text:
    line = Text()
    line.append("language  ")
    line.append(visible(language.name), style="bold")
    line.append(f"   over {{{language.alphabet.describe()}}}")
    line.append(f"   {language.kind}", style="dim")
    return line


def _algebra_lines(language: Language, profile: Profile, *, whole: bool) -> list[RenderableType]:
    meaning = visible(language.convention)
    repeated = meaning == f"words that match {visible(language.name)}"
    lines: list[RenderableType] = [] if repeated else [Text(meaning, style="italic")]
    if not profile.regular:
        lines.append(Text("not regular", style="red"))
        return lines
    line = Text("minimal DFA ")
    line.append(_count(profile.num_states), style="cyan")
    line.append(" state" if profile.num_states == 1 else " states")
    if profile.monoid_size is not None:
        line.append(" · monoid ")
        line.append(f"{profile.monoid_size:,}", style="cyan")
        line.append(" element" if profile.monoid_size == 1 else " elements")
    line.append(" · ")
    if profile.star_free is None:
        line.append("star-free: not decided", style="yellow")
    elif profile.star_free:
        line.append("star-free", style="green")
    else:
        line.append("not star-free", style="red")
        names = ", ".join(g.structure.name for g in profile.groups)
        if names:
            line.append(f" (contains {names})")
    lines.append(line)
    held = [
        name if m.parameter is None else f"{name} (k = {m.parameter})"
        for name, m in profile.classes.items()
        if m.holds and name != "star-free"
    ]
    if held and whole:
        lines.append(Text("also " + ", ".join(held), style="dim"))
    if profile.counter is not None:
        lines.append(Text("witness  " + profile.counter.describe(language.alphabet), style="dim"))
    return lines


def _summary_lines(told: Sequence[Family], table: VerdictTable, sense: Sense) -> list[RenderableType]:
    """The answer in at most three lines: which architectures can, cannot, and are open."""
    view = _answers()
    for status, parts in _by_status(told).items():
        names = ", ".join(a.name for part in parts for a in part.architectures)
        view.add_row(Text(_ANSWERS[status], style=_COLOURS[status]), Text(names))
    return [Text(f"At every length, {_meant(table, sense)}:", style="bold"), view]


def _short_lines(told: Sequence[Family], table: VerdictTable, sense: Sense) -> list[RenderableType]:
    """The answer with one architecture per family, and with the commonest reason."""
    view = _answers()
    for status, parts in _by_status(told).items():
        rows = [row for part in parts for row in part.rows]
        found = [a.name for row in rows for a in row.architectures]
        shown = [_known_one([a.name for a in part.architectures]) for part in parts]
        shown = shown[:FEW] if len(found) > FEW else found
        text = f"{len(found)}: {', '.join(shown)}{' …' if len(found) > len(shown) else ''}"
        conditions = sum(len(row.architectures) for row in rows if row.answer.conditional_on)
        if conditions and status != "open":
            text += f" ({conditions} on a condition)"
        shortened = Text(text, no_wrap=True, overflow="ellipsis")
        view.add_row(Text(_ANSWERS[status], style=_COLOURS[status]), shortened)
        suggested = suggested_verdict(table, sense) if status == "yes" else None
        if suggested is not None:
            view.add_row("", Text(f"{suggested.architecture}: ").append_text(_because(suggested)))
        else:
            reasons: Counter[tuple[str, Reference | None]] = Counter()
            for row in rows:
                reasons[row.answer.reason, row.answer.reference] += len(row.architectures)
            (reason, _), *_ = reasons.most_common(1)
            view.add_row("", _because(next(row.answer for row in rows if row.answer.reason == reason[0])))
    hint = Text(f"At every length, {_meant(table, sense)}, by family ", style="bold")
    return [hint.append("(--all: each; --arch A,B: these)", style="dim"), view]


def _known_one(names: Sequence[str]) -> str:
    """The architecture that stands for its family: one that readers know, if there is one."""
    return next((name for name in _KNOWN if name in names), names[0])


_ANSWERS = {"yes": "can", "no": "cannot", "open": "open"}


def _answers() -> Table:
    view = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    view.add_column(no_wrap=True)
    view.add_column(overflow="fold")
    return view


def _by_status(told: Sequence[Family]) -> dict[str, list[FamilyPart]]:
    """The parts of families with each answer, those that say yes first."""
    found: dict[str, list[FamilyPart]] = {}
    for part in family_parts(told):
        found.setdefault(part.status, []).append(part)
    return found


def _meant(table: VerdictTable, sense: Sense) -> str:
    return {
        Sense.EXACT: "in exact arithmetic",
        Sense.FINITE_PRECISION: "at finite precision",
        Sense.IEEE: f"bit for bit in {table.dtype}",
        Sense.ROBUST: "under small noise",
    }[sense]


def suggested_verdict(table: VerdictTable, sense: Sense) -> Verdict | None:
    """Returns the verdict of the smallest network, or of a known architecture where it is not one."""
    smallest = table.smallest(sense)
    if smallest is None or smallest.architecture in _KNOWN:
        return smallest
    able = {v.architecture: v for v in table if v.sense is sense and v.mark.rstrip("·") == "✓"}
    return next((able[name] for name in _KNOWN if name in able), smallest)


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _verdict_table(rows: Sequence[VerdictRow], table: VerdictTable, sense: Sense) -> Table:
    view = _marks_table(table)
    view.add_column(f"because ({_heading(sense, table)})", overflow="fold")
    view.add_column("smallest known", overflow="fold")
    for row in rows:
        names = Text(" · ".join(a.name for a in row.architectures))
        view.add_row(names, *_marks(row), _because(row.answer), Text(row.answer.size or "–"))
    return view


def _narrow_verdicts(rows: Sequence[VerdictRow], table: VerdictTable, sense: Sense) -> RenderableType:
    """The marks of each architecture, and below them the reasons that architectures share."""
    view = _marks_table(table)
    lines: list[RenderableType] = [Text(""), Text(f"because ({_heading(sense, table)})", style="bold")]
    for row in rows:
        names = [a.name for a in row.architectures]
        for name in names:
            view.add_row(Text(name), *_marks(row))
        line = Text(" · ".join(names), style="cyan") + Text(": ").append_text(_because(row.answer))
        lines.append(line if not row.answer.size else line.append(f"; {row.answer.size}"))
    return Group(view, *lines)


def _marks_table(table: VerdictTable) -> Table:
    view = Table(box=None, header_style="bold", pad_edge=False, expand=False, padding=(0, 1))
    view.add_column("architecture", overflow="fold", ratio=None, max_width=34)
    for column in Sense:
        view.add_column(_heading(column, table), justify="center", no_wrap=True)
    return view


def _heading(sense: Sense, table: VerdictTable) -> str:
    return {Sense.FINITE_PRECISION: "finite", Sense.IEEE: table.dtype}.get(sense, sense.value)


def _marks(row: VerdictRow) -> list[Text]:
    found = [row.answers[column] for column in Sense]
    return [Text(text.mark, style=_COLOURS[text.status]) for text in found]


def _because(verdict: Verdict | VerdictText) -> Text:
    line = Text(verdict.reason)
    return line if verdict.reference is None else line.append(f"  ({verdict.reference})", style="dim")


def _horizon_lines(table: VerdictTable) -> Iterable[Text]:
    """The lengths that floats reach where the answer at every length is not yes."""
    reached: dict[int, list[str]] = {}
    for verdict in table:
        if verdict.horizon is not None and table.dtype in verdict.horizon:
            reached.setdefault(verdict.horizon[table.dtype], []).append(verdict.architecture)
    for length, names in reached.items():
        yield Text(f"in {table.dtype} up to {length:,} letters: {', '.join(names)}", style="dim")


def _layer_lines(table: VerdictTable, sense: Sense) -> Iterable[Text]:
    """The architectures that can do the language and have no layer here."""
    able = [v.architecture for v in table if v.sense is sense and v.status is Status.YES]
    names = [name for name in able if not ARCHITECTURES[name].has_layer and "+" not in name]
    if names:
        yield Text(f"no layer here: {', '.join(names)} (compile writes the exact network alone)", style="dim")


def _detail_lines(table: VerdictTable, sense: Sense) -> Iterable[RenderableType]:
    seen: set[str] = set()
    for verdict in table:
        if verdict.sense is not sense or not verdict.theorem or verdict.theorem in seen:
            continue
        seen.add(verdict.theorem)
        known = f", {verdict.provenance.value}" if verdict.provenance is not None else ""
        yield Text(f"{verdict.theorem}  {verdict.reference}{known}", style="bold")
        yield Text(f"  stated for: {verdict.model}")
        if verdict.conditional_on:
            yield Text(f"  on the condition: {verdict.conditional_on}")
        for assumption in verdict.assumptions:
            yield Text(f"  assumes: {assumption}")
    without: dict[str, list[str]] = {}
    for verdict in table:
        if verdict.sense is sense and verdict.no_network:
            without.setdefault(verdict.no_network, []).append(verdict.architecture)
    for why, names in without.items():
        yield Text(f"no network for {', '.join(names)}: {why}")
    yield from _bits_lines(table)
    for meaning in _MEANINGS[sense]:
        yield Text(meaning, style="dim")
    yield Text("")


def _bits_lines(table: VerdictTable) -> Iterable[Text]:
    """The bits of a number behind each "yes", in the senses in which numbers have no format."""
    for sense in (Sense.EXACT, Sense.FINITE_PRECISION):
        able: dict[str, list[str]] = {}
        for verdict in table:
            if verdict.sense is sense and verdict.bits is not None:
                able.setdefault(verdict.bits.value, []).append(verdict.architecture)
        for bits, names in able.items():
            yield Text(f"{sense.value} ✓, {bits} of a number after n letters: {', '.join(names)}")


def _next_lines(asked: str, table: VerdictTable, sense: Sense) -> list[Text]:
    """The commands that go on: the page, and a network that can be compiled."""
    commands = [f"nerode explain {asked} -o page.html"]
    suggested = suggested_verdict(table, sense)
    if suggested is not None:
        commands.append(f"nerode compile {asked} --to {suggested.architecture} -o network/")
    return [
        Text("Next: " if number == 0 else "      ").append(command, style="cyan")
        for number, command in enumerate(commands)
    ]


def quote(name: str) -> str:
    """A language name as one shell word; in double quotes, unless a shell reads something inside them."""
    if name and all(c.isalnum() or c in "-_./:" for c in name):
        return name
    if any(c in name for c in "$`!"):
        return shlex.quote(name)
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def name_table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> RenderableType:
    """Returns a plain table whose first column is a name; where it does not fit, one name after the other."""
    kept = list(rows)
    return Fitting(wide=_plain_table(headings, kept), narrow=_name_list(headings, kept))


def _name_list(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> RenderableType:
    lines: list[RenderableType] = []
    for name, *others in rows:
        lines.append(Text(name, style="cyan"))
        for heading, value in zip(headings[1:], others, strict=True):
            lines.append(
                Padding(Text(f"{heading}: ", style="dim").append(value, style="default"), (0, 0, 0, 2))
            )
    return Group(*lines)


def _plain_table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    view = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for i, heading in enumerate(headings):
        view.add_column(heading, style="cyan" if i == 0 else "", no_wrap=i == 0, overflow="fold")
    for row in rows:
        # As Text, because a plain string would be read as markup: [ab] is no style.
        view.add_row(*map(Text, row))
    return view


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves it to the caller; rich would end the program as if the answer were negative."""
        raise BrokenPipeError


def make_console(*, stderr: bool = False) -> Console:
    """Returns a console that is plain where there is no terminal: as wide as COLUMNS says, or 120 columns."""
    console = _Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not console.is_terminal:
        asked = os.environ.get("COLUMNS", "")
        width = max(40, int(asked)) if asked.isdecimal() and int(asked) else 120
        console = _Console(stderr=stderr, highlight=False, width=width, no_color=True)
    return console
