"""Notebook displays of languages, automata, verdicts, networks, certificates and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup, escape

from nerode.algebra import Profile
from nerode.core import Budget, Shown, plural
from nerode.languages import Dfa, Language
from nerode.network import Network, network_parts
from nerode.proofs import Certificate
from nerode.records import RunRecord
from nerode.report.automaton.svg import automaton_figure, automaton_svg
from nerode.report.drawing import egg_box_diagram
from nerode.report.notation import STATUS_MARKS, group_name
from nerode.report.pages.language import class_title
from nerode.report.pages.render import environment
from nerode.report.picture import to_svg
from nerode.report.tables.verdicts import SENSE_TITLES, families
from nerode.report.terminal.answers import answer_lines
from nerode.report.terminal.findings import claim_line
from nerode.report.terminal.runs import share
from nerode.study import Runs, TheoryOfRuns, conclude_task, draw_eggboxes, group_runs, profile_language
from nerode.verdict import Verdict, VerdictTable

_SECONDS = 2.0
"""A cell of a notebook does not wait longer for the algebra of a language."""

_MOST_ELEMENTS = 60
"""Larger monoids have egg-boxes that a notebook need not show by itself."""

_STYLE = Markup("""<style>
.nerode { --ink: #0f172a; --line: #cbd5e1; --edge: #64748b; --outline: #334155; --card: #fff; --soft: #f1f5f9;
  --yes-ink: #15803d; --yes-bg: #dcfce7; --no-ink: #b91c1c; --no-bg: #fee2e2; --open-ink: #a1490b;
  --open-bg: #fef3c7; --muted: #5b6b82; color: var(--ink); background: var(--card); padding: .6em; }
.nerode .yes { color: var(--yes-ink); } .nerode .no { color: var(--no-ink); }
.nerode .open { color: var(--open-ink); }
.nerode td, .nerode th { text-align: left; vertical-align: top; padding: .15em .8em .15em 0; }
.nerode pre { background: var(--soft); padding: .4em .6em; }
.nerode .muted { color: var(--muted); } .nerode svg { max-width: 100%; height: auto; }
</style>""")


def text_of(value: Shown) -> str:
    """Returns the lines of an answer, as the terminal has them."""
    lines = value.shown()[0]
    return "\n".join(answer_lines(lines) if isinstance(lines, Mapping) else lines)


def html_of(value: object) -> str | None:
    """Returns a value as HTML for a notebook, None if it has no such display."""
    for kind, display in _KINDS:
        if isinstance(value, kind):
            return str(Markup('<div class="nerode">{}{}</div>').format(_STYLE, display(value)))
    lines, picture = value.shown() if isinstance(value, Shown) else ((), None)
    if not lines and picture is None:
        return None
    texts = answer_lines(lines) if isinstance(lines, Mapping) else lines
    said = Markup("<br>").join(escape(text) for text in texts if text)
    drawn = Markup("") if (dfa := _automaton_of(picture)) is None else _dfa(dfa)
    return str(Markup('<div class="nerode">{}<p>{}</p>{}</div>').format(_STYLE, said, drawn))


def svg_of(value: object) -> str | None:
    """Returns the picture of an automaton or of the automaton of a language, None for other values."""
    dfa = _automaton_of(value)
    if dfa is None and isinstance(value, Shown):
        dfa = _automaton_of(value.shown()[1])
    return None if dfa is None else automaton_svg(dfa) or None


def _automaton_of(value: object) -> Dfa | None:
    """The automaton that is drawn for a value."""
    if isinstance(value, Language) and value.regular:
        return value.dfa(Budget(seconds=_SECONDS))
    return value if isinstance(value, Dfa) else None


def _dfa(dfa: Dfa) -> Markup:
    return automaton_figure(dfa, styled=True).markup


def _language(language: Language) -> Markup:
    known = profile_language(language, budget=Budget(seconds=_SECONDS))
    found = known.profile
    facts = [language.kind]
    if found.num_states is not None:
        facts.append(plural(found.num_states, "state"))
    if found.monoid_size is not None:
        facts.append(f"monoid of {plural(found.monoid_size, 'element')}")
    if found.regular and found.star_free is not None:
        facts.append("star-free" if found.star_free else "not star-free")
    figure = Markup("") if known.automaton is None else _dfa(known.automaton)
    if known.automaton is not None and found.monoid_size is not None and found.monoid_size <= _MOST_ELEMENTS:
        boxes = draw_eggboxes(known.automaton, Budget(seconds=_SECONDS))
        figure += to_svg(egg_box_diagram(boxes, name=language.name).picture())
    return Markup("<b>{}</b> <span class='muted'>{}</span><p>{}</p>{}").format(
        language.name, " · ".join(facts), language.convention, figure
    )


def _profile(found: Profile) -> Markup:
    facts = [] if found.num_states is None else [plural(found.num_states, "state")]
    if found.monoid_size is not None:
        facts.append(f"monoid of {plural(found.monoid_size, 'element')}")
    if found.d_classes is not None:
        facts.append(f"{found.d_classes:,} D-classes" if found.d_classes != 1 else "1 D-class")
    if found.groups:
        names = ", ".join(group_name(group.structure.name) for group in found.groups[:6])
        facts.append(f"groups inside: {names}")
    kind = "not regular"
    if found.regular:
        kind = "whether star-free is not decided"
        if found.star_free is not None:
            kind = "star-free" if found.star_free else "not star-free"
    rows = Markup("").join(
        Markup('<tr><td>{}</td><td class="{}">{}</td><td>{}</td></tr>').format(
            class_title(item.name), status, STATUS_MARKS[status], item.explanation
        )
        for item in found.classes.values()
        for status in [_MEMBERSHIP[item.holds]]
    )
    table = Markup("<table>{}</table>").format(rows) if rows else Markup("")
    return Markup("<b>{}</b> <span class='muted'>{}</span>{}").format(kind, " · ".join(facts), table)


_MEMBERSHIP = {True: "yes", False: "no", None: "open"}


def _runs(found: Runs) -> Markup:
    rows = Markup("").join(
        Markup("<tr><td>{}</td><td>{}</td></tr>").format(
            task.title, " ".join(conclude_task(task, TheoryOfRuns(task)))
        )
        for task in group_runs(found.files)
    )
    return Markup("<b>{}</b><table>{}</table>").format(plural(len(found), "run"), rows)


def _table(table: VerdictTable) -> Markup:
    rows = []
    for family in families(table, dtype=table.dtype):
        for row in family.rows:
            cells = Markup("").join(
                Markup('<td class="{}">{}</td>').format(a.status, a.mark) for a in row.answers.values()
            )
            names = ", ".join(a.name for a in row.architectures)
            rows.append(Markup("<tr><td>{}</td>{}<td>{}</td></tr>").format(names, cells, row.answer.reason))
    heads = Markup("").join(Markup("<th>{}</th>").format(title) for title in SENSE_TITLES.values())
    return Markup("<b>{}</b><table><tr><th>architecture</th>{}<th>because</th></tr>{}</table>").format(
        table.language, heads, Markup("").join(rows)
    )


def _verdict(verdict: Verdict) -> Markup:
    return Markup("{} <b class='{}'>{}</b> ({}): {} <span class='muted'>{}</span>").format(
        verdict.architecture,
        verdict.status.value,
        verdict.status.value,
        verdict.sense.value,
        verdict.reason,
        "" if verdict.reference is None else str(verdict.reference),
    )


def _network(network: Network) -> Markup:
    template: Any = environment().get_template("atlas_language.html.j2").module
    return Markup("<b>{} for {}</b>{}").format(
        network.origin.language, network.target, template.network(network_parts(network))
    )


def _certificate(certificate: Certificate) -> Markup:
    return Markup("<br>").join(escape(claim_line(claim)) for claim in certificate.claims)


def _run(record: RunRecord) -> Markup:
    cells = [(f"{s.length:,}", share(s.accuracy(record.measure))) for s in record.evaluations]
    heads = Markup("").join(Markup("<th>{}</th>").format(length) for length, _ in cells)
    values = Markup("").join(Markup("<td>{}</td>").format(value) for _, value in cells)
    return Markup("<b>{}</b> <span class='muted'>seed {}, {:,} steps, {}</span><table>{}{}</table>").format(
        record.title,
        record.complete.run.seed,
        record.steps,
        "diverged" if record.divergence else f"accuracy ({record.measure}) at length",
        Markup("<tr>{}</tr>").format(heads),
        Markup("<tr>{}</tr>").format(values),
    )


_KINDS: tuple[tuple[type, Callable[[Any], Markup]], ...] = (
    (Language, _language),
    (Profile, _profile),
    (Runs, _runs),
    (Dfa, _dfa),
    (VerdictTable, _table),
    (Verdict, _verdict),
    (Network, _network),
    (Certificate, _certificate),
    (RunRecord, _run),
)
