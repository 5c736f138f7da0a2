"""ONNX graphs in onnxruntime: the exact answers, at lengths that the graph was not made with."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest

from nerode.compiler import NgramOptions, Options, compile_language
from nerode.core import InputError, NotCompilable
from nerode.languages.bestiary import find_language
from nerode.languages.ngrams import seed_ngram_language
from nerode.models.exports import network_to_onnx, write_onnx
from nerode.network import Interpreter

NAMES = ["parity", "flip-flop", "dyck-1", "dyck-2-5", "s3", "tomita-3", "z6", "t3", "anbn", "ab-star"]
LINEAR = [
    "diagonal",
    "diagonal-signed",
    "diagonal-complex",
    "householder",
    "permutation-diagonal",
    "dense",
    "ssm",
]
NONLINEAR = ["elman-tanh", "elman-relu", "lstm", "gru", "slstm"]
CASES = [*itertools.product(NAMES, LINEAR), *itertools.product(["parity", "flip-flop"], NONLINEAR)]
LENGTHS = (1, 2, 3, 50, 120)


def session(network, **options):
    model = network_to_onnx(network, **options)
    onnx.checker.check_model(model, full_check=True)
    return onnxruntime.InferenceSession(model.SerializeToString())


@functools.cache
def compiled(name, target):
    """The network, None if the target cannot do the language."""
    try:
        return compile_language(find_language(name), target)
    except NotCompilable:
        return None


def test_every_language_and_every_target_is_tried():
    done = [case for case in CASES if compiled(*case) is not None]
    assert {name for name, _ in done} == set(NAMES)
    assert {target for _, target in done} == {*LINEAR, *NONLINEAR}


@pytest.mark.parametrize(("name", "target"), CASES)
def test_answers_at_any_length(name, target):
    language, network = find_language(name), compiled(name, target)
    if network is None:
        return
    run = session(network)
    rng = np.random.default_rng(5)
    # Registers that fade are exact in exact arithmetic alone: float32 loses them after a few letters.
    fades = network.origin.construction.endswith("fading-registers")
    for length in LENGTHS[:1] if fades else LENGTHS:
        words = rng.integers(0, len(language.alphabet), (2, length))
        scores = run.run(["scores"], {"letters": words})[0]
        for word, row in zip(words, scores, strict=True):
            assert_answers(network, word, row)


def assert_answers(network, word, scores):
    for answer, row in zip(Interpreter(network).run(word.tolist())[1:], scores, strict=True):
        legal = {i for i, s in enumerate(row) if s > 0.5}
        expected = set(answer.legal.symbols) | ({len(network.alphabet)} if answer.legal.end else set())
        assert legal == expected


def test_the_state_goes_on():
    network = compile_language(find_language("s3"), "diagonal-complex")
    whole, parts = session(network, dtype="float64"), session(network, dtype="float64", carry_state=True)
    word = np.random.default_rng(1).integers(0, len(network.alphabet), (3, 40))
    start = json.loads(parts.get_modelmeta().custom_metadata_map["start"])
    # The real and the imaginary parts of a complex state are two.
    assert len(start) == sum(1 + layer.complex_state for layer in network.layers)
    states = {
        f"state_{i}": np.tile(np.array(values, dtype=kind), (3, 1)) for i, (values, kind) in enumerate(start)
    }
    found = []
    for piece in np.split(word, [1, 7, 30], axis=1):
        scores, *after = parts.run(
            ["scores", *(f"after_{i}" for i in range(len(start)))], {"letters": piece, **states}
        )
        states = {f"state_{i}": value for i, value in enumerate(after)}
        found.append(scores)
    assert np.array_equal(np.concatenate(found, axis=1), whole.run(["scores"], {"letters": word})[0])


@pytest.mark.parametrize("normaliser", ["softmax", "sparsemax"])
def test_n_gram_models(normaliser):
    language = seed_ngram_language()
    network = compile_language(language, "ssm", Options(ngrams=NgramOptions(normaliser=normaliser)))
    run = session(network, dtype="float64")
    assert run.get_modelmeta().custom_metadata_map["decoder"] == normaliser
    word = sentence(language)
    scores = run.run(["scores"], {"letters": np.array([word])})[0][0]
    for answer, row in list(zip(Interpreter(network).run(word)[1:], scores, strict=True))[2:]:
        assert answer.distribution is not None
        wanted = np.array([float(answer.distribution.get(i, 0)) for i in range(len(row))])
        assert np.abs(normalise(row, normaliser) - wanted).max() < 1e-9


def sentence(language):
    for length in itertools.count(5):
        with contextlib.suppress(InputError):
            return list(language.sample(length, np.random.default_rng(2)))
    return None


def normalise(row, normaliser):
    if normaliser == "softmax":
        grown = np.exp(row - row.max())
        return grown / grown.sum()
    # The scores of a sparsemax are already probabilities.
    return row


def test_files_and_refusals(tmp_path):
    network = compile_language(find_language("parity"), "diagonal-signed")
    size = write_onnx(tmp_path / "parity.onnx", network)
    assert (tmp_path / "parity.onnx").stat().st_size == size
    facts = {p.key: p.value for p in onnx.load(tmp_path / "parity.onnx").metadata_props}
    assert facts["language"] == "parity"
    assert facts["alphabet"].split("\n") == list(network.alphabet)
    with pytest.raises(InputError, match="float32"):
        network_to_onnx(network, dtype="bfloat16")


@pytest.mark.parametrize(("digits", "dtype"), [(40, "float32"), (400, "float32"), (400, "float64")])
def test_weights_beyond_the_type_are_refused(digits, dtype):
    network = compile_language(find_language("parity"), "diagonal-signed")
    vectors = tuple(tuple(10**digits * e for e in vector) for vector in network.embedding.vectors)
    large = replace(network, embedding=replace(network.embedding, vectors=vectors))
    with pytest.raises(InputError, match="beyond the largest float"):
        network_to_onnx(large, dtype=dtype)
