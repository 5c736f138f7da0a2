"""How verdicts look in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from nerode.algebra.records import Profile
from nerode.languages.language import Language
from nerode.report.notation import visible
from nerode.verdict.records import Sense, Status, Task, Verdict, VerdictTable

_MARKS = {Status.YES: ("✓", "green"), Status.NO: ("✗", "red"), Status.OPEN: ("?", "yellow")}


def check_view(
    language: Language,
    profile: Profile,
    table: VerdictTable,
    *,
    sense: Sense = Sense.FINITE_PRECISION,
    details: bool = False,
    asked: str | None = None,
) -> RenderableType:
    """Returns the page that `nerode check` prints for one language.

    Args:
        language: the language.
        profile: its algebra.
        table: its verdicts.
        sense: the sense whose reasons and sizes are shown.
        details: whether to list references and assumptions below the table.
        asked: how the user named the language, as words for a shell; its name by default.
    """
    parts: list[RenderableType] = [_headline(language), *_algebra_lines(language, profile), Text("")]
    parts.append(_verdict_table(table, sense))
    parts.append(Text(""))
    if details:
        parts.extend(_detail_lines(table, sense))
    if profile.incomplete:
        for what, why in profile.incomplete.items():
            parts.append(Text(f"not computed: {what} ({why})", style="dim"))
    parts.append(_next_line(asked or quote(visible(language.name))))
    return Group(*parts)


def _headline(language: Language) -> Text:
    line = Text()
    line.append("language  ")
    line.append(visible(language.name), style="bold")
    line.append(f"   over {{{language.alphabet.describe()}}}")
    line.append(f"   {language.kind}", style="dim")
    return line


def _algebra_lines(language: Language, profile: Profile) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(visible(language.convention), style="italic")]
    if not profile.regular:
        lines.append(Text("not regular", style="red"))
        return lines
    line = Text("minimal DFA ")
    line.append(_count(profile.num_states), style="cyan")
    line.append(" states")
    if profile.monoid_size is not None:
        line.append(" · monoid ")
        line.append(f"{profile.monoid_size:,}", style="cyan")
        line.append(" elements")
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
    if held:
        lines.append(Text("also " + ", ".join(held), style="dim"))
    if profile.counter is not None:
        lines.append(Text("witness  " + profile.counter.describe(language.alphabet), style="dim"))
    return lines


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _verdict_table(table: VerdictTable, sense: Sense) -> Table:
    view = Table(box=None, header_style="bold", pad_edge=False, expand=False, padding=(0, 1))
    view.add_column("architecture", overflow="fold", ratio=None, max_width=34)
    headings = {
        Sense.EXACT: "exact",
        Sense.FINITE_PRECISION: "finite",
        Sense.IEEE: table.dtype,
        Sense.ROBUST: "robust",
    }
    for column in Sense:
        view.add_column(headings[column], justify="center", no_wrap=True)
    view.add_column(f"because ({headings[sense]})", overflow="fold")
    view.add_column("smallest known", overflow="fold")
    for names, row in _grouped(table, sense):
        main = row[sense]
        cells: list[RenderableType] = [Text(" · ".join(names))]
        for column in Sense:
            mark, colour = _MARKS[row[column].status]
            cells.append(Text(mark, style=colour))
        because = Text(main.reason)
        if main.reference is not None:
            because.append(f"  ({main.reference})", style="dim")
        cells.append(because)
        cells.append(Text(str(main.size) if main.size is not None else "–"))
        view.add_row(*cells)
    return view


def _grouped(table: VerdictTable, sense: Sense) -> Iterable[tuple[list[str], Mapping[Sense, Verdict]]]:
    """Joins architectures that have the same marks, reason and size, in order of first appearance."""
    groups: dict[tuple[object, ...], tuple[list[str], Mapping[Sense, Verdict]]] = {}
    for name in table.architectures():
        row = {s: table[name, s] for s in Sense}
        main = row[sense]
        key = (*(row[s].status for s in Sense), main.reason, str(main.reference), str(main.size))
        groups.setdefault(key, ([], row))[0].append(name)
    return groups.values()


def _detail_lines(table: VerdictTable, sense: Sense) -> Iterable[RenderableType]:
    seen: set[str] = set()
    for verdict in table:
        if verdict.sense is not sense or not verdict.theorem or verdict.theorem in seen:
            continue
        seen.add(verdict.theorem)
        known = f", {verdict.provenance.value}" if verdict.provenance is not None else ""
        yield Text(f"{verdict.theorem}  {verdict.reference}{known}", style="bold")
        for assumption in verdict.assumptions:
            yield Text(f"  assumes: {assumption}")
    yield Text("")


def _next_line(asked: str) -> Text:
    line = Text("Next: ")
    line.append(f"nerode explain {asked} -o page.html", style="cyan")
    return line


def quote(name: str) -> str:
    """A language name as one shell word; in double quotes, unless a shell reads something inside them."""
    if name and all(c.isalnum() or c in "-_./:" for c in name):
        return name
    if any(c in name for c in "$`!"):
        return shlex.quote(name)
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def name_table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    """Returns a plain table whose first column is a name."""
    view = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for i, heading in enumerate(headings):
        view.add_column(heading, style="cyan" if i == 0 else "", no_wrap=i == 0, overflow="fold")
    for row in rows:
        # As Text, because a plain string would be read as markup: [ab] is no style.
        view.add_row(*map(Text, row))
    return view


def task_sentence(task: Task) -> str:
    """What the marks answer, in words."""
    if task is Task.PREDICT:
        return "can it predict exactly what may follow every valid prefix, at every length?"
    return "can it tell members from non-members, at every length?"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves it to the caller; rich would end the program as if the answer were negative."""
        raise BrokenPipeError


def make_console(*, stderr: bool = False) -> Console:
    """Returns a console that is plain where there is no terminal, wide enough to be parsed by eye."""
    console = _Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = _Console(stderr=stderr, highlight=False, width=120, no_color=True)
    return console
