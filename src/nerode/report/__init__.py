"""Pages for people: drawings, egg-boxes and HTML files that work without a network."""

from nerode.report.analysis_pages import analysis_page
from nerode.report.analysis_views import analysis_view
from nerode.report.atlas import atlas_page
from nerode.report.atlas_entry import AtlasEntry, entry_from_json, entry_of
from nerode.report.automaton_svg import automaton_figure
from nerode.report.bibliography import Bibliography
from nerode.report.claims import claim_line, language_line, polished_lines
from nerode.report.claims_pages import claims_page
from nerode.report.diagram import Diagram
from nerode.report.explain import explain_page
from nerode.report.extraction import extraction_lines, standing_table
from nerode.report.highlights import read_highlights
from nerode.report.language_view import view_language
from nerode.report.notation import group_name, plural, sentence, visible
from nerode.report.pages import environment
from nerode.report.paper_figures import Record, save_figure
from nerode.report.report_pages import report_page
from nerode.report.reproductions import left_text, reproduction_table, table_markdown
from nerode.report.run_lists import LIST_HEADINGS, RESULT_KEYS, list_row, name_run, plain_columns, run_item
from nerode.report.run_report import RunReport, make_report, report_json
from nerode.report.run_tables import to_csv, to_latex, to_markdown
from nerode.report.terminal import check_view, make_console, name_table, quote
from nerode.report.training_runs import RunRow, axes_table, live_table, results_table
from nerode.report.verdict_rows import families, family_title, sense_title

__all__ = [
    "LIST_HEADINGS",
    "RESULT_KEYS",
    "AtlasEntry",
    "Bibliography",
    "Diagram",
    "Record",
    "RunReport",
    "RunRow",
    "analysis_page",
    "analysis_view",
    "atlas_page",
    "automaton_figure",
    "axes_table",
    "check_view",
    "claim_line",
    "claims_page",
    "entry_from_json",
    "entry_of",
    "environment",
    "explain_page",
    "extraction_lines",
    "families",
    "family_title",
    "group_name",
    "language_line",
    "left_text",
    "list_row",
    "live_table",
    "make_console",
    "make_report",
    "name_run",
    "name_table",
    "plain_columns",
    "plural",
    "polished_lines",
    "quote",
    "read_highlights",
    "report_json",
    "report_page",
    "reproduction_table",
    "results_table",
    "run_item",
    "save_figure",
    "sense_title",
    "sentence",
    "standing_table",
    "table_markdown",
    "to_csv",
    "to_latex",
    "to_markdown",
    "view_language",
    "visible",
]
