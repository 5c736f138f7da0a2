"""Tomita 1 to 7 from compiled networks: the exact automaton by every method."""

from __future__ import annotations

import pytest

import nerode as nr
from nerode.analysis.extraction.extraction import close_network, extract
from nerode.analysis.extraction.learning import HypothesisTest
from nerode.analysis.extraction.oracle import Machine, subject_about
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, BudgetExceeded, InputError
from nerode.languages import answer_text
from nerode.models.network_module import load_model

LANGUAGES = [f"tomita-{i}" for i in range(1, 8)]
METHODS = [("exact", False), ("cluster", False), ("lstar", False), ("lstar", True)]
SHORT = HypothesisTest(words=60, longest=30)


def compiled(name: str, target: str) -> LoadedNetwork:
    language = nr.language(name)
    network = nr.compile_language(language, to=target)
    return LoadedNetwork(name=name, model=load_model(network).eval(), language=language, network=network)


@pytest.mark.parametrize("name", LANGUAGES)
def test_all_methods_give_the_automaton(name: str) -> None:
    subject = compiled(name, "lstm" if name in ("tomita-3", "tomita-6") else "permutation-diagonal")
    wanted = nr.language(name).dfa()
    for method, black_box in METHODS:
        found = extract(subject, method=method, black_box=black_box, probe=SHORT, held_out=SHORT)  # type: ignore[arg-type]
        assert found.acceptor() == wanted, found.method
        assert found.equal
        assert found.consistent
        assert found.fails_on is None
        assert found.theory is not None
        assert found.theory.status == "yes"
        asked = found.queries
        assert (asked.words > 0) == (method != "exact")
        assert (asked.states > 0) == (not black_box and found.method != "all states, exact arithmetic")


def test_one_changed_weight_gives_the_word_on_which_it_fails() -> None:
    subject = compiled("tomita-4", "lstm")
    weights = [p for p in subject.model.parameters() if p.numel() and p.is_floating_point()]
    weights[-1].data.neg_()
    found = extract(
        LoadedNetwork(name="broken", model=subject.model, language=subject.language),
        method="cluster",
        probe=SHORT,
    )
    assert found.difference is not None
    language, word = nr.language("tomita-4"), found.difference.word
    (said,) = Machine(subject_about("broken", subject.model, language)).traces(
        [language.alphabet.encode(word)]
    )
    right = [" ".join(legal.names(language.alphabet)) or "∅" for legal in language.legal_along(word)]
    assert said[-1] == answer_text(found.difference.got)
    assert right[-1] == answer_text(found.difference.expected)
    assert list(said[:-1]) == right[:-1]


def test_a_network_with_unbounded_states_ends_with_the_budget() -> None:
    network = nr.compile_language(nr.language("dyck-1"), to="diagonal")
    with pytest.raises(BudgetExceeded, match="states"):
        close_network(network, Budget(states=50))


def test_exact_extraction_of_a_trained_network_is_refused() -> None:
    subject = compiled("tomita-1", "lstm")
    trained = LoadedNetwork(name="net", model=subject.model, language=subject.language)
    with pytest.raises(InputError, match="compiled networks"):
        extract(trained, method="exact")
    with pytest.raises(InputError, match="black-box"):
        extract(subject, method="exact", black_box=True)
