"""What follows from the inclusions between classes where a test did not fit the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nerode.algebra.classes.table import INCLUSIONS
from nerode.algebra.records import Membership


def infer(memberships: Mapping[str, Membership]) -> dict[str, Membership]:
    """Returns the same memberships, undecided ones settled where a smaller or larger class settles them."""
    known = dict(memberships)
    changed = True
    while changed:
        changed = False
        for small, large in INCLUSIONS:
            lower, upper = known.get(small), known.get(large)
            if lower is None or upper is None:
                continue
            if lower.holds and upper.holds is None:
                known[large] = replace(
                    upper, holds=True, method="inclusion", explanation=f"every {small} language is {large}"
                )
                changed = True
            if upper.holds is False and lower.holds is None:
                known[small] = replace(
                    lower,
                    holds=False,
                    method="inclusion",
                    identity=upper.identity,
                    witness=upper.witness,
                    explanation=f"every {small} language is {large}, this one is not: {upper.explanation}",
                )
                changed = True
    return known
