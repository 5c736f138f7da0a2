"""Verdicts in a terminal."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nerode.algebra import Profile
from nerode.languages import Language
from nerode.report.notation import visible
from nerode.verdict import ARCHITECTURES, MemoryKind, Sense, Status, Transition, Verdict, VerdictTable

_COLOURS = {Status.YES: "green", Status.NO: "red", Status.OPEN: "yellow"}

_LEGEND = "° on a condition   † no network is compiled   · derived here or recalled   – not defined"

_MEANINGS: Mapping[Sense, tuple[str, ...]] = {
    Sense.EXACT: ("exact: real numbers, gates that the layer has (no limits), tame maps between layers.",),
    Sense.FINITE_PRECISION: (
        "finite: states are not rounded, gates may be limits; what a layer hands on takes finitely many",
        "values, read with a margin.",
    ),
    Sense.IEEE: (
        "float: bit for bit, to nearest with ties to even, gradual underflow, no fused operations.",
    ),
    Sense.ROBUST: ("robust: under every disturbance below some eps > 0 at every step.",),
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
    parts: list[RenderableType] = [_headline(language), *_algebra_lines(language, profile, whole=whole)]
    parts.append(Text(""))
    if whole:
        parts += [*_summary_lines(table, sense), Text("")]
        parts.append(Fitting(wide=_verdict_table(table, sense), narrow=_narrow_verdicts(table, sense)))
        if any(verdict.mark not in "✓✗?" for verdict in table):
            parts.append(Text(_LEGEND, style="dim"))
        parts.extend(_horizon_lines(table))
        parts.extend(_layer_lines(table, sense))
        parts.append(Text(""))
    else:
        parts += _short_lines(table, sense)
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
    lines: list[RenderableType] = [Text(visible(language.convention), style="italic")]
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


def _summary_lines(table: VerdictTable, sense: Sense) -> list[RenderableType]:
    """The answer in at most three lines: which architectures can, cannot, and are open."""
    view = _answers()
    for status, found in _by_status(table, sense).items():
        names = ", ".join(verdict.architecture for verdict in found)
        view.add_row(Text(_ANSWERS[status], style=_COLOURS[status]), Text(names))
    return [Text(f"At every length, {_meant(table, sense)}:", style="bold"), view]


def _short_lines(table: VerdictTable, sense: Sense) -> list[RenderableType]:
    """The answer with one architecture per family, and with the commonest reason."""
    view = _answers()
    for status, found in _by_status(table, sense).items():
        families: dict[object, list[str]] = {}
        for verdict in found:
            own = ARCHITECTURES[verdict.architecture].properties
            moves = own.recurrence is MemoryKind.LINEAR and own.input_dependent
            family = (own.recurrence, moves and (own.transition, own.transition is _BY_GATE and own.gates))
            families.setdefault(family, []).append(verdict.architecture)
        # One architecture that readers know stands for its family.
        shown = [next((name for name in _KNOWN if name in names), names[0]) for names in families.values()]
        shown = shown[:FEW] if len(found) > FEW else [verdict.architecture for verdict in found]
        text = f"{len(found)}: {', '.join(shown)}{' …' if len(found) > len(shown) else ''}"
        conditions = sum(bool(verdict.conditional_on) for verdict in found)
        if conditions and status is not Status.OPEN:
            text += f" ({conditions} on a condition)"
        view.add_row(Text(_ANSWERS[status], style=_COLOURS[status]), Text(text))
        suggested = _suggested(table, sense) if status is Status.YES else None
        if suggested is not None:
            view.add_row("", Text(f"{suggested.architecture}: ").append_text(_because(suggested)))
        else:
            (reason, _), *_ = Counter((v.reason, v.reference) for v in found).most_common(1)
            view.add_row("", _because(next(v for v in found if v.reason == reason[0])))
    hint = f"At every length, {_meant(table, sense)}, one per family"
    return [Text(hint, style="bold").append(" (--all for all rows, --arch for some):", style="dim"), view]


_BY_GATE = Transition.DIAGONAL
_ANSWERS = {Status.YES: "can", Status.NO: "cannot", Status.OPEN: "open"}


def _answers() -> Table:
    view = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    view.add_column(no_wrap=True)
    view.add_column(overflow="fold")
    return view


def _by_status(table: VerdictTable, sense: Sense) -> dict[Status, list[Verdict]]:
    """The verdicts in a sense, those that say yes first."""
    own = [verdict for verdict in table if verdict.sense is sense]
    found = {status: [verdict for verdict in own if verdict.status is status] for status in _ANSWERS}
    return {status: verdicts for status, verdicts in found.items() if verdicts}


def _meant(table: VerdictTable, sense: Sense) -> str:
    return {
        Sense.EXACT: "in exact arithmetic",
        Sense.FINITE_PRECISION: "at finite precision",
        Sense.IEEE: f"bit for bit in {table.dtype}",
        Sense.ROBUST: "under small noise",
    }[sense]


def _suggested(table: VerdictTable, sense: Sense) -> Verdict | None:
    """The verdict of the smallest network, or of an architecture that readers know where it is not one."""
    smallest = table.smallest(sense)
    if smallest is None or smallest.architecture in _KNOWN:
        return smallest
    able = {v.architecture: v for v in table if v.sense is sense and v.mark.rstrip("·") == "✓"}
    return next((able[name] for name in _KNOWN if name in able), smallest)


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _verdict_table(table: VerdictTable, sense: Sense) -> Table:
    view = _marks_table(table)
    view.add_column(f"because ({_heading(sense, table)})", overflow="fold")
    view.add_column("smallest known", overflow="fold")
    for names, row in _grouped(table, sense):
        main = row[sense]
        size = Text(str(main.size) if main.size is not None else "–")
        view.add_row(Text(" · ".join(names)), *_marks(row), _because(main), size)
    return view


def _narrow_verdicts(table: VerdictTable, sense: Sense) -> RenderableType:
    """The marks of each architecture, and below them the reasons that architectures share."""
    view = _marks_table(table)
    lines: list[RenderableType] = [Text(""), Text(f"because ({_heading(sense, table)})", style="bold")]
    for names, row in _grouped(table, sense):
        for name in names:
            view.add_row(Text(name), *_marks(row))
        main = row[sense]
        line = Text(" · ".join(names), style="cyan") + Text(": ").append_text(_because(main))
        lines.append(line if main.size is None else line.append(f"; {main.size}"))
    return Group(view, *lines)


def _marks_table(table: VerdictTable) -> Table:
    view = Table(box=None, header_style="bold", pad_edge=False, expand=False, padding=(0, 1))
    view.add_column("architecture", overflow="fold", ratio=None, max_width=34)
    for column in Sense:
        view.add_column(_heading(column, table), justify="center", no_wrap=True)
    return view


def _heading(sense: Sense, table: VerdictTable) -> str:
    return {Sense.FINITE_PRECISION: "finite", Sense.IEEE: table.dtype}.get(sense, sense.value)


def _marks(row: Mapping[Sense, Verdict]) -> list[Text]:
    return [Text(row[column].mark, style=_COLOURS[row[column].status]) for column in Sense]


def _because(verdict: Verdict) -> Text:
    line = Text(verdict.reason)
    return line if verdict.reference is None else line.append(f"  ({verdict.reference})", style="dim")


def _grouped(table: VerdictTable, sense: Sense) -> Iterable[tuple[list[str], Mapping[Sense, Verdict]]]:
    """Joins architectures that have the same marks, reason and size, in order of first appearance."""
    groups: dict[tuple[object, ...], tuple[list[str], Mapping[Sense, Verdict]]] = {}
    for name in table.architectures():
        row = {s: table[name, s] for s in Sense}
        main = row[sense]
        key = (*(row[s].mark for s in Sense), main.reason, str(main.reference), str(main.size))
        groups.setdefault(key, ([], row))[0].append(name)
    return groups.values()


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
    names = [name for name in able if not ARCHITECTURES[name].has_layer]
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
    for meaning in _MEANINGS[sense]:
        yield Text(meaning, style="dim")
    yield Text("")


def _next_lines(asked: str, table: VerdictTable, sense: Sense) -> list[Text]:
    """The commands that go on: the page, and a network that can be compiled."""
    commands = [f"nerode explain {asked} -o page.html"]
    suggested = _suggested(table, sense)
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
