"""The page of one language: what it is, why it is so, and which architecture can express it."""

from __future__ import annotations

from nerode.report.bibliography import Bibliography
from nerode.report.language_view import view_language
from nerode.report.pages import render
from nerode.report.verdict_rows import families, sense_title
from nerode.study import Study, shorten
from nerode.verdict import Sense


def explain_page(
    study: Study,
    *,
    sense: Sense = Sense.FINITE_PRECISION,
    definition: str = "",
    command: str = "",
) -> str:
    """Returns one HTML file about a language; it needs neither a network nor a script.

    Args:
        study: what is known about the language.
        sense: the arithmetic whose verdicts are shown first.
        definition: how the language was given ("regex", "file words.att" …).
        command: the command line that made the page.
    """
    bibliography = Bibliography()
    language, table = study.language, study.table
    view = view_language(study, bibliography)
    return render(
        "explain.html.j2",
        title=f"{shorten(language.name, 80)} · nerode",
        view=view,
        language=language,
        profile=study.profile,
        networks=study.networks,
        definition=definition,
        families=families(table, bibliography, sense=sense, dtype=table.dtype),
        task=table.task.value if len(table) else "",
        sense=sense_title(sense, table.dtype),
        bibliography=bibliography,
        command=command,
    )
