"""Pages, drawings, tables and terminal texts, made from records; nothing is computed here.

`pages/` writes HTML files that load nothing (templates in `templates/`), `terminal/` what commands print,
`drawing` what `nerode draw` writes, `figures/` charts for pages and papers.
"""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.report.automaton.diagram import Diagram
    from nerode.report.automaton.svg import automaton_figure
    from nerode.report.drawing import DRAWING_FORMATS, draw
    from nerode.report.figures.analysis import spectrum_plots
    from nerode.report.figures.papers import draw_figure
    from nerode.report.figures.plot import Figure, save_figure
    from nerode.report.notation import group_name, sentence, visible
    from nerode.report.pages.answer import answer_page
    from nerode.report.pages.atlas import atlas_page, count_open
    from nerode.report.pages.atlas_entry import AtlasEntry, entry_from_json, entry_of
    from nerode.report.pages.claims import claims_page
    from nerode.report.pages.language import explain_page, view_language
    from nerode.report.pages.render import Bibliography, environment
    from nerode.report.pages.report import analysis_page, report_page
    from nerode.report.reliance import (
        reliance_lines,
        reliance_markdown,
        reliance_objects,
        reliance_rows,
    )
    from nerode.report.tables.reproductions import left_text, reproduction_table, table_markdown
    from nerode.report.tables.run_report import RunReport, make_report, report_json
    from nerode.report.tables.runs import (
        plain_columns,
        to_csv,
        to_latex,
        to_markdown,
        verdicts_csv,
        verdicts_table,
    )
    from nerode.report.tables.verdicts import families, family_title, sense_title
    from nerode.report.terminal.analysis import analysis_view
    from nerode.report.terminal.answers import answer_lines
    from nerode.report.terminal.findings import (
        bits_lines,
        claim_line,
        extraction_lines,
        language_line,
        polished_lines,
        settlement_lines,
        standing_table,
    )
    from nerode.report.terminal.runs import RunRow, axes_table, duration, live_table, results_table
    from nerode.report.terminal.verdicts import check_view, make_console, name_table, quote, suggested_verdict

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.report.automaton.diagram": "Diagram",
        "nerode.report.automaton.svg": "automaton_figure",
        "nerode.report.drawing": "DRAWING_FORMATS draw",
        "nerode.report.figures.analysis": "spectrum_plots",
        "nerode.report.figures.papers": "draw_figure",
        "nerode.report.figures.plot": "Figure save_figure",
        "nerode.report.notation": "group_name sentence visible",
        "nerode.report.pages.answer": "answer_page",
        "nerode.report.pages.atlas": "atlas_page count_open",
        "nerode.report.pages.atlas_entry": "AtlasEntry entry_from_json entry_of",
        "nerode.report.pages.claims": "claims_page",
        "nerode.report.pages.language": "explain_page view_language",
        "nerode.report.pages.render": "Bibliography environment",
        "nerode.report.pages.report": "analysis_page report_page",
        "nerode.report.reliance": "reliance_lines reliance_markdown reliance_objects reliance_rows",
        "nerode.report.tables.reproductions": "left_text reproduction_table table_markdown",
        "nerode.report.tables.run_report": "RunReport make_report report_json",
        "nerode.report.tables.runs": "plain_columns to_csv to_latex to_markdown verdicts_csv verdicts_table",
        "nerode.report.tables.verdicts": "families family_title sense_title",
        "nerode.report.terminal.analysis": "analysis_view",
        "nerode.report.terminal.answers": "answer_lines",
        "nerode.report.terminal.findings": (
            "bits_lines claim_line extraction_lines language_line polished_lines settlement_lines "
            "standing_table"
        ),
        "nerode.report.terminal.runs": "RunRow axes_table duration live_table results_table",
        "nerode.report.terminal.verdicts": "check_view make_console name_table quote suggested_verdict",
    },
)
