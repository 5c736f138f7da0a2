"""Whole models as published: weights for a language with nothing added to what other libraries load."""

from nerode.models.whole.blocks import has_whole_model, whole_model

__all__ = ["has_whole_model", "whole_model"]
