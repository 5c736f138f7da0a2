from __future__ import annotations

from dataclasses import replace

from nerode.report.pages.render import Bibliography
from nerode.report.tables.verdicts import (
    FAMILY_ORDER,
    SENSE_TITLES,
    families,
    family_parts,
    family_title,
    sense_title,
    witness_text,
)
from nerode.verdict import ARCHITECTURES, Sense
from tests.report.cases import parity_verdicts, verdict


def test_every_architecture_has_a_family() -> None:
    assert {family_title(a) for a in ARCHITECTURES.values()} == set(FAMILY_ORDER)


def test_some_architectures_stand_where_readers_look_for_them() -> None:
    expected = {
        "mamba": "Diagonal, gates in [0, 1]",
        "mamba-signed": "Diagonal, gates in [−1, 1]",
        "s4d": "Time-invariant linear",
        "deltanet": "Householder products",
        "pd-ssm": "Permutation × diagonal",
        "lstm": "Nonlinear recurrence",
        "transformer": "Attention",
        "mamba-attention": "Hybrids",
    }
    assert {name: family_title(ARCHITECTURES[name]) for name in expected} == expected


def test_every_sense_has_a_title() -> None:
    assert set(SENSE_TITLES) == set(Sense)
    assert sense_title(Sense.IEEE, "bfloat16") == "IEEE bfloat16"
    assert sense_title(Sense.ROBUST, "bfloat16") == "under noise"


def test_the_float_format_is_named() -> None:
    (family,) = families([verdict("mamba", "no", "r", sense=Sense.IEEE)], dtype="float16")
    assert family.rows[0].answer.sense == "IEEE float16"


def test_architectures_with_equal_answers_share_a_row() -> None:
    found = families(parity_verdicts())
    assert [f.title for f in found] == [
        "Diagonal, gates in [0, 1]",
        "Diagonal, gates in [−1, 1]",
        "Nonlinear recurrence",
        "Attention",
    ]
    (row,) = found[0].rows
    assert [a.name for a in row.architectures] == ["mamba", "gla"]
    assert row.answer.status == "no"
    assert row.answer.witness == "v = 1, period = 2"
    assert [(other.sense, other.status) for other in row.others] == [("under noise", "open")]


def test_a_difference_in_another_sense_splits_the_row() -> None:
    verdicts = [
        verdict("mamba", "no", "r"),
        verdict("gla", "no", "r"),
        verdict("mamba", "no", "r", sense=Sense.ROBUST),
        verdict("gla", "open", "s", sense=Sense.ROBUST),
    ]
    (family,) = families(verdicts)
    assert len(family.rows) == 2


def test_the_order_in_which_senses_come_does_not_matter() -> None:
    one = [verdict("mamba", "no", "r", sense=s) for s in Sense]
    two = [verdict("gla", "no", "r", sense=s) for s in reversed(Sense)]
    (family,) = families([*one, *two])
    assert len(family.rows) == 1


def test_a_chosen_sense_comes_first() -> None:
    (family, *_) = families(parity_verdicts(), sense=Sense.ROBUST)
    assert family.rows[0].answer.sense == "under noise"


def test_works_are_numbered_as_they_are_cited() -> None:
    bibliography = Bibliography()
    assert not bibliography
    families(parity_verdicts(), bibliography=bibliography)
    assert [(n, work.key) for n, work in bibliography] == [(1, "Sarrof2024")]


def test_witnesses_are_written_flat() -> None:
    assert witness_text(None) == ""
    assert (
        witness_text({"word": "ab", "list": [1, 2], "in": {"a": 1}}) == "word = ab, list = 1, 2, in = (a = 1)"
    )


def test_rows_join_what_was_tried() -> None:
    one = replace(verdict("mamba", "open", "r"), tried=("a", "b"))
    two = replace(verdict("gla", "open", "r"), tried=("b", "c"))
    (family,) = families([one, two])
    (row,) = family.rows
    assert row.answer.tried == ("a", "b", "c")


def test_a_family_is_folded_to_one_row_per_status() -> None:
    verdicts = [
        verdict("mamba", "no", "r"),
        verdict("gla", "no", "s"),
        verdict("hgrn2", "no", "s", sense=Sense.FINITE_PRECISION),
        verdict("mingru", "yes", "t"),
        verdict("gla", "open", "u", sense=Sense.ROBUST),
    ]
    (family,) = families(verdicts)
    no, yes = family.parts
    assert [a.name for a in no.architectures] == ["mamba", "gla", "hgrn2"]
    assert [(text.reason, len(names)) for text, names in no.reasons] == [("r", 1), ("s", 2)]
    assert no.otherwise == ["under noise: open"]
    assert (no.title, yes.title) == ("Diagonal, gates in [0, 1] (3 of 4)", "minGRU")
    assert [part.status for part in family_parts([family])] == ["yes", "no"]
    noise = [
        verdict("mamba", "yes", "v", sense=Sense.ROBUST),
        verdict("gla", "open", "v", sense=Sense.ROBUST),
    ]
    (divided,) = families([*verdicts[:2], *noise])
    assert divided.parts[0].otherwise == ["under noise: open or yes"]
