"""Networks of the compiler, one for each kind of proof."""

from __future__ import annotations

import pytest

from nerode.compiler import Options, compile_language
from nerode.kernel import PREDICT
from nerode.languages import Language
from nerode.languages.bestiary import find_language
from nerode.languages.brackets import dyck
from tests.proofs.test_certification import certified


def language_of(name: str) -> Language:
    return dyck(4, 6) if name == "dyck-4-6" else find_language(name)


@pytest.mark.parametrize(
    ("name", "target", "method"),
    [
        ("tomita-4", "diagonal", "joint-closure"),
        ("aabbccddee", "diagonal", "joint-closure"),
        ("s3", "diagonal-complex", "joint-closure"),
        ("q8", "householder", "joint-closure"),
        ("t3", "permutation-diagonal", "joint-closure"),
        ("boolean-3", "diagonal", "counter-invariant"),
        ("anbncn", "diagonal", "counter-invariant"),
        ("majority", "dense", "counter-invariant"),
        ("d-4", "diagonal", "counter-invariant"),
        ("dyck-4-6", "diagonal", "stack-invariant"),
        ("dyck-4-6", "householder", "stack-invariant"),
    ],
)
def test_compiled_networks_are_proved_and_checked(name: str, target: str, method: str) -> None:
    language = language_of(name)
    certificate = certified(compile_language(language, target), language)
    assert certificate.claims[0].method == method
    assert certificate.claims[0].task == PREDICT


@pytest.mark.parametrize("name", ["tomita-4", "ab-star", "aab-star"])
def test_retentive_overwrites_are_proved_by_intervals(name: str) -> None:
    language = find_language(name)
    network = compile_language(language, "diagonal", Options(exclusive_scan=False))
    certificate = certified(network, language)
    assert certificate.claims[0].method == "interval-closure"
