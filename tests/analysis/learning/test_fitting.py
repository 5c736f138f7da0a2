"""Networks trained on labelled words alone: their automata agree with every word, and are proved or named."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from nerode.analysis.learning.fitting import fit_words, list_states, write_fitted
from nerode.analysis.learning.words import make_samples
from nerode.core import Budget, InputError
from nerode.languages import is_equivalent, resolve_language
from tests.cli.runner import run


def _samples(text: str, longest: int, letters: str = "ab"):
    language = resolve_language(text)
    words = ["".join(w) for n in range(longest + 1) for w in itertools.product(letters, repeat=n)]
    return language, make_samples(words, [language.accepts(word) for word in words])


@pytest.fixture(scope="module")
def fitted():
    language, samples = _samples("(a|b)*ab", 6)
    return language, samples, fit_words(samples, "mamba", empty=False, least=3, seconds=60.0)


def test_the_automaton_of_the_network_agrees_with_every_word(fitted):
    _, samples, found = fitted
    assert found is not None
    for word, answers in zip(samples.words, samples.answers, strict=True):
        assert found.language.accepts(word) == bool(answers[len(word)])
    assert min(found.sizes) == found.language.num_states() >= 3
    assert found.float_states >= found.language.num_states()


def test_the_automaton_is_that_of_the_network_on_longer_words(fitted):
    _, _, found = fitted
    words = np.random.default_rng(0).integers(0, 2, (200, 50))
    with torch.no_grad():
        said = found.model(torch.from_numpy(words))[0].argmax(-1)
    for word, row in zip(words.tolist(), said.tolist(), strict=True):
        assert [found.language.accepts(word[: n + 1]) for n in range(50)] == [bool(a) for a in row]


def test_a_fitted_network_is_proved_and_its_folder_replays(fitted, tmp_path, monkeypatch):
    _, _, found = fitted
    settled = write_fitted(tmp_path / "net", found, origin={}, budget=Budget(seconds=60))
    assert settled.status == "proved"
    assert run("verify", str(tmp_path / "net")).code == 0
    proved = run("prove", str(tmp_path / "net"))
    assert proved.code == 0, proved.err
    # The proof that is kept is replayed: nothing is searched again.
    monkeypatch.setattr("nerode.analysis.asking.answers.settle_about", None)
    asked = run("ask", str(tmp_path / "net"))
    assert asked.code == 0, asked.err
    assert "proved for the language named 'learned' in its file at every length" in asked.out


def test_another_language_is_told_by_a_word(fitted):
    language, _, found = fitted
    other = resolve_language("(a|b)*a")
    word = found.differs(other)
    assert word is not None
    assert other.accepts(other.alphabet.encode(word)) != found.language.accepts(other.alphabet.encode(word))
    said = " ".join(found.sentences(other))
    assert "it is not the learned language" in said
    assert found.to_json(other)["differs"] == list(word)
    if is_equivalent(found.language.dfa(), language.dfa()):
        assert found.differs(found.language) is None
        assert found.sentences(found.language)[-1] == "it is the learned language"


def test_states_are_listed_up_to_a_number(fitted):
    _, _, found = fitted
    asked = {"empty": False, "budget": Budget(seconds=20.0)}
    listed = list_states(found.model, found.language.alphabet, most=10_000, **asked)
    assert listed is not None
    assert listed.num_states == found.float_states
    assert is_equivalent(listed, found.language.dfa())
    assert list_states(found.model, found.language.alphabet, most=1, **asked) is None


def test_labels_of_prefixes_are_trained_on():
    language = resolve_language("(a|b)*ab")
    words = ["abab", "abba", "aab", "ba", "ababab", "abaab", "bbab", "abb"]
    labels = [[language.accepts(word[:n]) for n in range(len(word) + 1)] for word in words]
    found = fit_words(make_samples(words, labels), "mamba", empty=False, least=3, seconds=60.0)
    assert found is not None
    for word, row in zip(words, labels, strict=True):
        assert [found.language.accepts(word[:n]) for n in range(len(word) + 1)] == row


def test_what_cannot_be_trained_on_is_refused():
    _, samples = _samples("(ab)*", 3)
    with pytest.raises(InputError, match="labels of whole words or of prefixes"):
        fit_words(make_samples(["ab", "abab"], None), "mamba", empty=True)
    with pytest.raises(InputError, match="exact gates"):
        fit_words(samples, "s4d", empty=True)
    with pytest.raises(InputError, match="no word has a letter"):
        fit_words(samples.part([0]), "mamba", empty=True)


def test_no_time_is_no_network():
    _, samples = _samples("(ab)*", 5)
    assert fit_words(samples, "mamba", empty=True, seconds=0.0) is None
