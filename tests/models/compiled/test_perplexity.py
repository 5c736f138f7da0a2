"""Float64 vectors against the exact interpreter, and texts that cannot be scored."""

from __future__ import annotations

import numpy as np
import pytest

from nerode.compiler import compile_language
from nerode.core import InputError
from nerode.languages import resolve_language
from nerode.languages.ngrams import seed_ngram_model
from nerode.models.compiled import score_text
from nerode.models.compiled.perplexity import FloatVectors, NextWordScorer
from nerode.network import Interpreter, NetworkStep

CASES = [
    ("flip-flop", "diagonal"),
    ("(ab)*", "ssm"),
    ("s3", "deltaproduct-signed"),
    ("tomita-3", "permutation-diagonal"),
    ("tomita-1", "dense"),
    ("parity", "elman-relu"),
    ("parity", "elman-tanh"),
    ("parity", "gru"),
    ("parity", "lstm"),
    ("parity", "slstm"),
]


@pytest.mark.parametrize(("name", "target"), CASES)
def test_floats_step_as_the_interpreter_does(name: str, target: str) -> None:
    network = compile_language(resolve_language(name), target)
    exact, floats = Interpreter(network), NetworkStep(network, FloatVectors())
    states = exact.start()
    found = [np.array([float(v) for v in state]) for state in states]
    for letter in np.random.default_rng(3).integers(0, len(network.alphabet), 20).tolist():
        wanted = list(exact.stream(states, letter).values())
        states, _ = exact.step(states, letter)
        found, stream = floats.step(found, letter)
        assert stream == pytest.approx([float(v) for v in wanted], abs=1e-9)


def test_networks_without_a_softmax_are_refused() -> None:
    for name, target in (("parity", "elman-relu"), ("z3", "diagonal-complex")):
        with pytest.raises(InputError, match="no softmax"):
            NextWordScorer(compile_language(resolve_language(name), target))


def test_the_paper_s_language_has_the_costs_of_its_model() -> None:
    """Its network is correct from three words on; the model is asked with start marks there."""
    language = resolve_language("ngram-seed")
    network = compile_language(language, "ssm")
    scorer, model = NextWordScorer(network), seed_ngram_model()
    words = model.encode("Harry woke at one o'clock and was too excited to go back to sleep".split())
    states, logs = scorer.start
    for i, word in enumerate((*words, model.end)):
        if i >= 3:
            assert float(logs[word]) == pytest.approx(model.log_next(words[i - 3 : i], word), abs=1e-3)
        if i < len(words):
            states, logs = scorer.step(states, word)


def test_no_sentence() -> None:
    language = resolve_language("ngram-seed")
    with pytest.raises(InputError, match="no sentence"):
        score_text(compile_language(language, "ssm"), language.model, ["", "  "])  # type: ignore[attr-defined]
