"""Whole models as published: weights for a language with nothing added to what other libraries load."""

from nerode.models.whole.table import has_whole_model, whole_model

__all__ = ["has_whole_model", "whole_model"]
