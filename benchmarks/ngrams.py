"""N-gram models: 10,000 contexts compiled and verified, and how well conditioned the networks are."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

from nerode.compiler import NgramOptions, Options, compile_language
from nerode.core import Budget
from nerode.languages import describe_language
from nerode.languages.ngrams import NgramLanguage, ngram_language, seed_ngram_language
from nerode.network import Interpreter, Network, network_to_json
from nerode.proofs import Certificate, certificate_to_json, check
from nerode.proofs.certification import certify_ngrams
from tests.languages.ngrams.counted import model_from_sentences

BUDGET = Budget(seconds=600)
CONTEXTS = 10_000
TARGET_SECONDS = 60.0
TARGET_GIB = 2.0

MODELS = {"trigrams": 3, "four-grams": 4}
"""The order of each model."""

VARIANTS: dict[str, dict[str, object]] = {
    "structural": {},
    "with unknown contexts": {"unknown_contexts": True},
    "sparsemax": {"normaliser": "sparsemax"},
}

CONDITIONS: list[tuple[str, str, dict[str, object]]] = [
    ("structural e=1", "ssm", {"embedding_width": 1}),
    ("structural e=2", "ssm", {"embedding_width": 2}),
    ("structural e=3", "ssm", {"embedding_width": 3}),
    ("structural e=10", "ssm", {"embedding_width": 10}),
    ("conditioned e=2", "ssm", {"embedding_width": 2, "variant": "conditioned"}),
    ("conditioned e=10", "ssm", {"embedding_width": 10, "variant": "conditioned"}),
    ("recurrent e=2", "elman-relu", {"embedding_width": 2}),
    ("recurrent e=10", "elman-relu", {"embedding_width": 10}),
]


def synthetic(order: int) -> NgramLanguage:
    """A model with at least 10,000 contexts of 4,000 words, each word followed by four others."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(4000)]
    following = rng.integers(0, len(words), (len(words), 4))
    sentences: list[list[str]] = []
    contexts: set[tuple[int, ...]] = set()
    while len(contexts) < CONTEXTS:
        path = [int(rng.integers(len(words)))]
        for _ in range(int(rng.integers(5, 12))):
            path.append(int(following[path[-1], rng.integers(4)]))
        contexts.update(tuple(path[i : i + order - 1]) for i in range(len(path) - order + 2))
        sentences.append([words[i] for i in path])
    return ngram_language(model_from_sentences(sentences, order), name="synthetic")


def compile_and_verify(model: str, variant: str) -> dict[str, float]:
    """Returns seconds for each step and the peak memory of this process."""
    language = synthetic(MODELS[model])
    started = time.perf_counter()
    network = compile_language(
        language, "ssm", Options(budget=BUDGET.start(), ngrams=NgramOptions(**VARIANTS[variant]))
    )
    compiled = time.perf_counter()
    certificate = certify_ngrams(network, language, budget=BUDGET.start())
    certified = time.perf_counter()
    if not isinstance(certificate, Certificate):
        raise AssertionError(certificate)
    parts = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
    written = [json.dumps(part) for part in parts]
    begun = time.perf_counter()
    result = check(*map(json.loads, written), budget=BUDGET.start())
    if not result.ok:
        raise AssertionError(result.failure)
    return {
        "contexts": len(language.windows),
        "neurons": network.state_size,
        "compile": compiled - started,
        "certify": certified - compiled,
        "verify": time.perf_counter() - begun,
        "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "network MB": len(written[0]) / 1e6,
        "certificate bytes": len(written[2]),
    }


def in_own_process(model: str, variant: str) -> dict[str, float]:
    program = (
        f"from benchmarks.ngrams import *; print(json.dumps(compile_and_verify({model!r}, {variant!r})))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def condition(network: Network, language: NgramLanguage) -> float:
    """The condition number of the hidden matrix: what the layer puts out after each context."""
    interpreter = Interpreter(network)
    rows = []
    for window in language.windows:
        state = interpreter.start()
        for word in window[:-1]:
            state, _ = interpreter.step(state, word)
        stream = interpreter.stream(state, window[-1])
        rows.append([float(stream[name]) for name in network.layers[0].outputs])
    return float(np.linalg.cond(np.array(rows)))


def main() -> None:
    header = ("contexts", "neurons", "compile", "certify", "verify", "GiB", "network MB", "certificate bytes")
    print(f"targets: compile and verify below {TARGET_SECONDS:.0f} s and {TARGET_GIB:.0f} GiB")
    print(f"{'model':<34}" + "".join(f"{name:>12.11}" for name in header))
    for model in MODELS:
        for variant in VARIANTS:
            found = in_own_process(model, variant)
            shown = "".join(
                f"{found[name]:>12,.2f}"
                if name in ("compile", "certify", "verify", "GiB", "network MB")
                else f"{found[name]:>12,.0f}"
                for name in header
            )
            kept = found["compile"] + found["verify"] < TARGET_SECONDS and found["GiB"] < TARGET_GIB
            print(f"{model + ', ' + variant:<34}{shown}  {'ok' if kept else 'MISSED'}")
    language = seed_ngram_language()
    print("condition number of the hidden matrix, the paper's language (spec: 119, 161, 477 for e=2, 3, 10):")
    for name, to, options in CONDITIONS:
        network = compile_language(language, to, Options(ngrams=NgramOptions(**options)))
        print(f"  {name:<18} {condition(network, language):.4g}")
