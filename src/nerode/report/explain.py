"""The page of one language: what it is, why it is so, and which architecture can express it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nerode.algebra import Profile
from nerode.languages import Dfa, Language
from nerode.report.bibliography import Bibliography
from nerode.report.eggbox import Box
from nerode.report.language_view import view_language
from nerode.report.lettering import shorten
from nerode.report.networks import NetworkStudy
from nerode.report.pages import render
from nerode.report.verdict_rows import families, sense_title
from nerode.verdict import Sense, Verdict, VerdictTable


def explain_page(
    *,
    language: Language,
    profile: Profile,
    verdicts: VerdictTable | Iterable[Verdict],
    dfa: Dfa | None = None,
    eggboxes: Sequence[Box] = (),
    sense: Sense = Sense.FINITE_PRECISION,
    networks: Sequence[NetworkStudy] = (),
    definition: str = "",
    command: str = "",
) -> str:
    """Returns one HTML file about a language; it needs neither a network nor a script.

    Args:
        language: the language.
        profile: what the algebra found.
        verdicts: for one task, any number of senses; a table also says which float format is meant.
        dfa: the minimal automaton, None if there is none or it was too large to build.
        eggboxes: the D-classes of the syntactic monoid, none if it was not enumerated.
        sense: the arithmetic whose verdicts are shown first.
        networks: compiled networks with their certificates.
        definition: how the language was given ("regex", "file words.att" …).
        command: the command line that made the page.
    """
    bibliography = Bibliography()
    dtype = verdicts.dtype if isinstance(verdicts, VerdictTable) else ""
    rows = list(verdicts)
    view = view_language(language, profile, bibliography, dfa=dfa, eggboxes=eggboxes)
    return render(
        "explain.html.j2",
        title=f"{shorten(language.name, 80)} · nerode",
        view=view,
        language=language,
        profile=profile,
        networks=networks,
        definition=definition,
        families=families(rows, bibliography, sense=sense, dtype=dtype),
        task=rows[0].task.value if rows else "",
        sense=sense_title(sense, dtype),
        bibliography=bibliography,
        command=command,
    )
