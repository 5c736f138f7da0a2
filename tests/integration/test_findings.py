"""Verdicts and networks go together where an attack found that they did not: a certificate is a "yes"."""

from __future__ import annotations

import numpy as np
import pytest

import nerode as nr
from nerode.languages import Alphabet, Dfa, Language, RegularLanguage
from nerode.proofs import EXACT, Certificate, certify
from nerode.verdict import Sense, VerdictTask, collect_facts, find_architecture, verdict_for

S10005 = [[1, 2], [1, 1], [3, 4], [1, 2], [4, 4]]
ACCEPTING = np.arange(5) < 2


def language_of(name: str) -> Language:
    if name != "s10005":
        return nr.language(name)
    dfa = Dfa(alphabet=Alphabet(("a", "b")), transitions=np.array(S10005), start=0, accepting=ACCEPTING)
    return RegularLanguage(name=name, automaton=dfa, convention=name)


@pytest.mark.parametrize(
    ("name", "target", "sense"),
    [
        ("majority", "mamba", Sense.FINITE_PRECISION),
        ("majority", "ssm", Sense.FINITE_PRECISION),
        ("s10005", "ssm", Sense.EXACT),
        ("s10005", "s4d", Sense.EXACT),
        ("anbn", "lstm", Sense.FINITE_PRECISION),
        ("anbn", "elman-relu", Sense.FINITE_PRECISION),
        ("[ab]*a[ab]*a", "rwkv-7", Sense.FINITE_PRECISION),
    ],
)
def test_a_yes_has_a_network_and_a_network_is_a_yes(name: str, target: str, sense: Sense) -> None:
    language = language_of(name)
    facts = collect_facts(language, task=VerdictTask.PREDICT)
    assert verdict_for(facts, find_architecture(target), sense).status.value == "yes"
    certificate = certify(nr.compile_language(language, to=target), language)
    assert isinstance(certificate, Certificate)
    assert any(claim.scope == EXACT and claim.length == "all" for claim in certificate.claims)
