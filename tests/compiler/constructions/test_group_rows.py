"""The rows of the table that are about groups, against the theorems they make true."""

import pytest

from nerode.compiler.table import CONSTRUCTIONS
from nerode.verdict import ARCHITECTURES, Sense, Status
from nerode.verdict.theorems import THEOREMS
from tests.compiler.agreement import request_for

ROWS = [
    "parity-sign",
    "clock-rotation",
    "clock-shift",
    "offset-counting",
    "reflection-product",
    "two-group-cascade",
    "solvable-cascade",
    "clocked-star-free",
    "householder-cascade",
    "mirror-cascade",
    "blocks",
    "permutation-diagonal",
    "dense-one-hot",
]
"""Cheaper ones first among those that share a target."""

LANGUAGES = [
    "parity",
    "aaaa-star",
    "tomita-3",
    "tomita-6",
    "s3",
    "q8",
    "t3",
    "abab-star",
    "offset-counting-10",
]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_not_broader_than_its_theorem(name):
    row = CONSTRUCTIONS[name]
    theorem = THEOREMS[row.theorem]
    assert theorem.conclusion is Status.YES
    assert (
        Sense.EXACT in theorem.senses
        or Sense.FINITE_PRECISION in theorem.senses
        or Sense.IEEE in theorem.senses
    )
    for architecture in ARCHITECTURES.values():
        # A hybrid takes the theorem of the part whose layers are used.
        if row.architecture(architecture.properties) and not architecture.properties.parts:
            assert theorem.architecture(architecture.properties), architecture.name


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ROWS)
def test_a_language_of_a_row_is_one_of_its_theorem(name, language):
    row = CONSTRUCTIONS[name]
    facts = request_for(language, "householder").facts
    if row.language(facts):
        assert THEOREMS[row.theorem].language(facts)


def test_the_rows_stand_in_the_table_in_this_order():
    assert [name for name in CONSTRUCTIONS if name in ROWS] == ROWS
