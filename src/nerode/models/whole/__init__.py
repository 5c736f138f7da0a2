"""Whole models as published: weights for a language with nothing added to what other libraries load.

The table `WHOLE` has the architectures whose whole published model can be written for a star-free language.
"""

from __future__ import annotations

from typing import Any

import torch

from nerode.core import Budget, NotCompilable
from nerode.languages import Language
from nerode.models.model import Model
from nerode.models.whole.blocks import WholeGriffin, WholeMamba, WholeMamba2
from nerode.models.whole.stream import WholeModel
from nerode.models.zoo import find_member

__all__ = ["has_whole_model", "whole_model"]


WHOLE: dict[str, type[WholeModel[Any]]] = {
    kind.architecture: kind for kind in (WholeMamba, WholeMamba2, WholeGriffin)
}


def has_whole_model(architecture: str) -> bool:
    """Whether there is a construction of the whole published model."""
    return find_member(architecture).name in WHOLE


def whole_model(
    language: Language, architecture: str, *, dtype: torch.dtype = torch.float32, budget: Budget | None = None
) -> Model:
    """Returns the whole published model of an architecture that does a language.

    Its scores are 1024 for a letter that may follow (the end last), and -1024 for one that may not, from the
    beginning mark on: `empty_scores` are those before any letter.

    Raises:
        UnknownName: if the zoo has no such architecture.
        NotCompilable: if there is no construction for it, or the language is not star-free.
        BudgetExceeded: if the cascade of the language takes too long.
    """
    name = find_member(architecture).name
    if name not in WHOLE:
        known = ", ".join(WHOLE)
        raise NotCompilable(name, [f"the whole published model is made for {known}; use --surroundings zoo"])
    return WHOLE[name](language, budget).build(dtype)
