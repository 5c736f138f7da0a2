"""Whole models in the forms that other libraries load."""

from nerode.models.exports.folder import EXPORT_FORMS, NOTE_FILE, NOTE_FORMAT, ExportReport, write_export

__all__ = ["EXPORT_FORMS", "NOTE_FILE", "NOTE_FORMAT", "ExportReport", "write_export"]
