"""The page of one language; the view of a language and the lines of trained models that other pages share."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nerode.algebra import CounterWitness, Membership, Profile
from nerode.algebra.classes import CLASSES
from nerode.core import Reference
from nerode.languages import Alphabet, Dfa, Language, RegularLanguage
from nerode.records import MARKS
from nerode.report.automaton.svg import AutomatonFigure, automaton_figure, automaton_svg
from nerode.report.drawing import egg_box_diagram
from nerode.report.figures.plot import sparkline
from nerode.report.notation import sentence
from nerode.report.pages.render import Bibliography, render
from nerode.report.picture import to_svg
from nerode.report.tables.verdicts import families, family_parts, sense_title
from nerode.study import (
    Box,
    LengthCount,
    Study,
    TrainingOutcome,
    count_by_length,
    find_disagreements,
    first_words,
    shorten,
)
from nerode.verdict import ARCHITECTURES, Sense

_MAX_TABLE_STATES = 16
_MAX_SYMBOLS = 24
_MAX_WORD = 40

_CLASS_TITLES = {
    "star-free": "star-free",
    "r-trivial": "ℛ-trivial",
    "l-trivial": "ℒ-trivial",
    "j-trivial": "𝒥-trivial",
    "da": "DA",
    "dot-depth-one": "dot-depth one",
    "quasi-aperiodic": "quasi-aperiodic",
    "locally-r-trivial": "locally ℛ-trivial",
    "c-rasp": "C-RASP",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipView:
    """One class of languages as a chip."""

    title: str
    about: str
    status: str
    parameter: int | None
    identity: str
    method: str
    witness: str
    explanation: str
    reference: Reference | None

    @property
    def summary(self) -> str:
        """One line for the mouse."""
        told = f"{self.title}: {self.status}"
        told = f"{told} — {self.about}" if self.about else told
        return f"{told} ({self.witness})" if self.witness else told


@dataclass(frozen=True, slots=True, kw_only=True)
class PulseWord:
    """The n-th word of a witness family."""

    n: int
    word: str
    inside: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRow:
    """The letters that may follow in one state."""

    state: int
    reached_by: str
    symbols: tuple[str, ...]
    more: int
    end: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageView:
    """A language with its profile, as text and pictures.

    Attributes:
        eggboxes: by level of the J-order, the identity's class first.
        figure: the drawing of the automaton, None for a language without one.
        pulse: the first words of the family that shows a "no" to star-free.
    """

    language: Language
    profile: Profile
    figure: AutomatonFigure | None
    memberships: tuple[MembershipView, ...]
    eggboxes: tuple[tuple[Box, ...], ...]
    pulse: tuple[PulseWord, ...]
    witness: dict[str, str]
    next_rows: tuple[NextRow, ...]
    counts: tuple[LengthCount, ...]
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]

    @property
    def egg_width(self) -> float:
        """About how wide the widest level of egg-boxes is, in pixels."""
        return max((sum(box.width for box in level) for level in self.eggboxes), default=0.0)

    @property
    def boxes_left_out(self) -> int:
        """The number of D-classes without a box."""
        if self.profile.d_classes is None:
            return 0
        return self.profile.d_classes - sum(map(len, self.eggboxes))

    @property
    def alphabet_text(self) -> str:
        """The alphabet, cut when it is long."""
        return shorten(self.language.alphabet.describe(), 120)


def view_language(
    study: Study,
    bibliography: Bibliography,
    *,
    compact: bool = False,
) -> LanguageView:
    """Returns what a page shows about a language.

    Args:
        study: what is known about the language.
        bibliography: notes what is cited.
        compact: whether to leave out the next-symbol table and all but the first words.
    """
    language, profile, dfa, eggboxes = study.language, study.profile, study.automaton, study.eggboxes
    levels = sorted({box.level for box in eggboxes})
    accepted = first_words(language, accepted=True, number=5 if compact else 10)
    rejected = first_words(language, accepted=False, number=5 if compact else 10)
    return LanguageView(
        language=language,
        profile=profile,
        figure=None
        if dfa is None
        else automaton_figure(dfa, name=language.name, names=_state_names(language)),
        memberships=tuple(_membership(language.alphabet, m, bibliography) for m in profile.classes.values()),
        eggboxes=tuple(tuple(box for box in eggboxes if box.level == level) for level in levels),
        pulse=_pulse(language, profile.counter),
        witness=_witness(language.alphabet, profile.counter),
        next_rows=() if dfa is None or compact else _next_rows(dfa),
        counts=tuple(count_by_length(language, up_to=8 if compact else 12)),
        accepted=tuple(_word(language.alphabet, word) for word in accepted),
        rejected=tuple(_word(language.alphabet, word) for word in rejected),
    )


def _state_names(language: Language) -> tuple[str, ...]:
    """The names that a file gives to the states; none for other languages."""
    return language.state_names if isinstance(language, RegularLanguage) else ()


def _word(alphabet: Alphabet, word: Sequence[int]) -> str:
    return shorten(alphabet.decode(word), _MAX_WORD)


def _membership(alphabet: Alphabet, m: Membership, bibliography: Bibliography) -> MembershipView:
    words = ", ".join(f"{role} = {_word(alphabet, word)}" for role, word in m.witness.items())
    return MembershipView(
        title=class_title(m.name),
        about=CLASSES[m.name].about if m.name in CLASSES else "",
        status="open" if m.holds is None else "yes" if m.holds else "no",
        parameter=m.parameter,
        identity=m.identity,
        method=m.method,
        witness=words,
        explanation=m.explanation,
        reference=bibliography.cite(m.reference),
    )


def class_title(name: str) -> str:
    """Returns how a class of languages is written: "r-trivial" becomes "ℛ-trivial"."""
    return _CLASS_TITLES.get(name, name.replace("-", " "))


def _pulse(language: Language, counter: CounterWitness | None) -> tuple[PulseWord, ...]:
    if counter is None:
        return ()
    steps = []
    for n in range(min(2 * counter.period + 1, 9)):
        word = counter.word(n)
        steps.append(PulseWord(n=n, word=_word(language.alphabet, word), inside=language.accepts(word)))
    return tuple(steps)


def _witness(alphabet: Alphabet, counter: CounterWitness | None) -> dict[str, str]:
    if counter is None:
        return {}
    parts = {"u": counter.prefix, "v": counter.loop, "x": counter.suffix}
    return {role: _word(alphabet, word) for role, word in parts.items()}


def _next_rows(dfa: Dfa) -> tuple[NextRow, ...]:
    live = [q for q in range(dfa.num_states) if dfa.live[q]]
    if len(live) > _MAX_TABLE_STATES:
        return ()
    rows = []
    for q in live:
        symbols = [symbol for symbol, legal in zip(dfa.alphabet, dfa.legal[q], strict=True) if legal]
        rows.append(
            NextRow(
                state=q,
                reached_by=_word(dfa.alphabet, dfa.access_word(q)),
                symbols=tuple(symbols[:_MAX_SYMBOLS]),
                more=max(0, len(symbols) - _MAX_SYMBOLS),
                end=bool(dfa.accepting[q]),
            )
        )
    return tuple(rows)


FINDINGS = {
    "beyond": "passes its tests, though impossible",
    "forgets": "fails on some words",
    "unlearned": "not learned",
    "proved": "proved at every length",
    "holds": "passes its tests",
    "fails": "fails, as theory says",
    "open": "fails",
}
"""What a line says; the first three are the kinds of `Disagreement`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeLine:
    """A trained model as a page shows it.

    Attributes:
        language: its title.
        architecture: its title.
        verdict: "yes", "no" or "open".
        trained: what was found.
        kind: a key of `FINDINGS`.
        line: accuracy by length as a small drawing.
    """

    language: str
    architecture: str
    verdict: str
    trained: TrainingOutcome
    kind: str
    line: Markup

    @property
    def finding(self) -> str:
        """The finding in a few words: of the median seed, or how many are proved where that is not."""
        proved = sum(status.startswith(MARKS["proved"]) for status in self.trained.statuses)
        if proved and self.kind in ("forgets", "unlearned"):
            return f"{proved} of {self.trained.seeds} seeds proved"
        return FINDINGS[self.kind]

    @property
    def mark(self) -> str:
        """Proved, refuted or tested, as a sign."""
        return MARKS[self.trained.status]


def outcome_line(trained: TrainingOutcome, *, verdict: str, language: str = "") -> OutcomeLine:
    """Returns the line of a trained model.

    Args:
        trained: what was found.
        verdict: what theory says: "yes", "no" or "open".
        language: how the language is called.
    """
    odd = find_disagreements([trained], {(trained.language, trained.architecture): verdict})
    if odd:
        kind = odd[0].kind
    elif trained.status == "refuted":
        kind = "fails" if verdict == "no" else "open"
    else:
        kind = "proved" if trained.status == "proved" else "holds"
    return OutcomeLine(
        language=language or trained.language,
        architecture=ARCHITECTURES[trained.architecture].title,
        verdict=verdict,
        trained=trained,
        kind=kind,
        line=sparkline([(point.low, point.median, point.high) for point in trained.points]),
    )


def explain_page(
    study: Study,
    *,
    sense: Sense = Sense.FINITE_PRECISION,
    definition: str = "",
    command: str = "",
    trained: Sequence[TrainingOutcome] = (),
) -> str:
    """Returns one HTML file about a language; it needs neither a network nor a script.

    Args:
        study: what is known about the language.
        sense: the arithmetic whose verdicts are shown first.
        definition: how the language was given ("regex", "file words.att" …).
        command: the command line that made the page.
        trained: what training found about this language and others.
    """
    bibliography = Bibliography()
    language, table = study.language, study.table
    view = view_language(study, bibliography)
    told = families(table, sense=sense, dtype=table.dtype, bibliography=bibliography)
    verdicts = {verdict.architecture: verdict.status.value for verdict in table if verdict.sense is sense}
    own = [item for item in trained if item.language == language.name.lower()]
    dfa = study.automaton
    return render(
        "explain.html.j2",
        title=f"{shorten(language.name, 80)} · nerode",
        view=view,
        language=language,
        profile=study.profile,
        networks=study.networks,
        definition=definition,
        families=told,
        strip=family_parts(told),
        conclusion=conclude_verdicts(verdicts, task=table.task.value) if len(table) else "",
        trained=[
            outcome_line(item, verdict=verdicts.get(item.architecture, "open"), language=language.name)
            for item in own
        ],
        automaton_svg=""
        if dfa is None
        else _svg_address(automaton_svg(dfa, name=language.name, names=_state_names(language))),
        eggs_svg=_svg_address(str(to_svg(egg_box_diagram(study.eggboxes, name=language.name).picture())))
        if study.eggboxes
        else "",
        task=table.task.value if len(table) else "",
        sense=sense_title(sense, table.dtype),
        bibliography=bibliography,
        command=command,
    )


_CONCLUDED = ("mamba", "lstm", "transformer")
"""Architectures that a conclusion names first."""


def conclude_verdicts(verdicts: Mapping[str, str], *, task: str) -> str:
    """Returns one sentence about a language: how many architectures can do it, and which cannot.

    Args:
        verdicts: "yes", "no" or "open" by the name of the architecture.
        task: what they are asked to do.
    """
    groups: dict[str, list[str]] = {"yes": [], "no": [], "open": []}
    for name in sorted(verdicts, key=lambda name: name not in _CONCLUDED):
        groups[verdicts[name]].append(ARCHITECTURES[name].title)
    if len(groups["yes"]) == len(verdicts) > 1:
        return f"All {len(verdicts)} architectures can {task} it at every length."
    can = _some_names(groups["yes"]) if groups["yes"] else "No known architecture"
    parts = [f"{can} can {task} it at every length"]
    parts += [f"{_some_names(groups['no'])} cannot"] if groups["no"] else []
    parts += [f"open for {_some_names(groups['open'])}"] if groups["open"] else []
    return sentence("; ".join(parts))


def _some_names(names: Sequence[str]) -> str:
    if len(names) <= 3:
        return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{', '.join(names[:2])} and {len(names) - 2} others"


def _svg_address(svg: str) -> str:
    """A drawing as an address that a browser can save; empty if there is none."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}" if svg else ""
