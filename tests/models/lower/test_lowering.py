"""A quick look finds a model that errs, and models of architectures are looked at."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from nerode.compiler import Options, compile_language
from nerode.core import NotCompilable
from nerode.models.lower.assembly import network_to_architecture
from nerode.models.lower.heads import TARGETS
from nerode.models.lower.lowering import first_error
from nerode.models.zoo import all_kinds
from nerode.proofs.floats import make_architecture
from nerode.verdict import ARCHITECTURES, find_architecture
from tests.models.walks import facts_of, legal_table, random_words


def test_roundings_of_deep_overwrites_are_found_and_avoided() -> None:
    language = facts_of("last-but-8").language
    steep = Options(exclusive_scan=False, retention=Fraction(1, 2**11))
    network = compile_language(language, "hgrn2", steep, facts=facts_of("last-but-8"))
    assert first_error(network_to_architecture(network, "hgrn2"), language) is not None
    model = make_architecture(language, "hgrn2", facts=facts_of("last-but-8"), seconds=0).model
    words = random_words(2, batch=4, length=2000)
    assert torch.equal(model(words)[0] > 0.5, legal_table(language, words))


def test_the_wrong_language_is_found() -> None:
    model = make_architecture(facts_of("tomita-1").language, "gla", seconds=0).model
    assert first_error(model, facts_of("tomita-1").language) is None
    assert len(first_error(model, facts_of("tomita-2").language) or ()) == 1


def test_a_format_that_is_too_coarse_is_refused() -> None:
    with pytest.raises(NotCompilable, match=r"roundings in bfloat16 give a wrong answer after \d+"):
        make_architecture(facts_of("last-but-8").language, "mlstm", dtype=torch.bfloat16, seconds=0)


def test_a_language_without_long_words() -> None:
    language = facts_of("aabbccddee").language
    assert first_error(make_architecture(language, "mamba", seconds=0).model, language) is None


@pytest.mark.parametrize("name", ["tomita-3", "abab-star"])
def test_signs_that_are_also_overwritten_are_split_for_gates_of_two_values(name: str) -> None:
    language = facts_of(name).language
    model = make_architecture(language, "mamba-signed", facts=facts_of(name), seconds=0).model
    words = random_words(len(language.alphabet), batch=4, length=2000)
    assert torch.equal(model(words)[0] > 0.5, legal_table(language, words))


def test_the_table_of_architectures_says_which_have_a_layer() -> None:
    named = [row for row in ARCHITECTURES.values() if not row.is_class]
    built = {row.name for row in named if row.name in all_kinds() or row.name in TARGETS}
    assert {row.name for row in named if row.has_layer} == built
    assert not find_architecture("mamba-3").has_layer
