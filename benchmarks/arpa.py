"""ARPA models trained on Python's manual: read, compiled and verified, with the distance that is proved.

The last model has more than ten thousand n-grams. Each row is a process of its own. The independent
evaluation is in decimals, on the prefixes of some sentences.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks._arpa_training import RECIPES, DecimalOracle, manual, train
from nerode.compiler import compile_language
from nerode.core import Budget
from nerode.languages import describe_language
from nerode.languages.ngrams import NgramLanguage, read_ngram_language
from nerode.models.streaming import NextWordScorer, score_text
from nerode.network import Network, network_to_json
from nerode.proofs import Certificate, certificate_to_json, check
from nerode.proofs.certification import certify_ngrams

BUDGET = Budget(seconds=600)
EPS = Fraction(1, 1000)
TARGET_SECONDS = 60.0
TARGET_GIB = 2.0
TARGETS = ("ssm", "elman-relu")
SENTENCES = 30

COLUMNS = (
    "n-grams",
    "contexts",
    "state",
    "train",
    "compile",
    "prove",
    "verify",
    "GiB",
    "MB",
    "proved",
    "sampled",
    "perplexity",
    "of file",
)


def measure(name: str, target: str) -> dict[str, float]:
    """Returns CPU seconds for each step, the peak memory of this process, and distances."""
    sentences = manual()
    begun = time.process_time()
    text = train(RECIPES[name], sentences)
    trained = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.arpa"
        path.write_text(text, encoding="utf-8")
        language = read_ngram_language(path)
    network = compile_language(language, target)
    compiled = time.process_time()
    certificate = certify_ngrams(network, language, budget=BUDGET.start())
    proved = time.process_time()
    if not isinstance(certificate, Certificate):
        raise AssertionError(certificate)
    parts = (network_to_json(network), describe_language(language), certificate_to_json(certificate))
    written = [json.dumps(part) for part in parts]
    started = time.process_time()
    result = check(*map(json.loads, written), budget=BUDGET.start())
    verified = time.process_time()
    if not result.ok:
        raise AssertionError(result.failure)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    score = score_text(network, language.model, [" ".join(s) for s in sentences[:SENTENCES]])
    perplexity, expected = score.perplexities()
    return {
        "n-grams": sum(language.model.num_ngrams),  # type: ignore[attr-defined]
        "contexts": language.model.num_contexts,
        "state": network.state_size,
        "train": trained - begun,
        "compile": compiled - trained,
        "prove": proved - compiled,
        "verify": verified - started,
        "GiB": peak,
        "MB": sum(map(len, written)) / 1e6,
        "proved": float(certificate.claims[0].eps or 0),
        "sampled": sampled(network, language, DecimalOracle(text), sentences[:SENTENCES]),
        "perplexity": perplexity,
        "of file": expected,
    }


def sampled(
    network: Network, language: NgramLanguage, oracle: DecimalOracle, sentences: Iterable[list[str]]
) -> float:
    """The largest L1 distance to the decimal evaluation, over the prefixes of some sentences."""
    scorer, names = NextWordScorer(network), (*language.alphabet.symbols, "</s>")
    worst = 0.0
    for sentence in sentences:
        words = language.model.encode(sentence[:6])
        for length, logs in enumerate(scorer.logs(words)):
            wanted = oracle.distribution([names[w] for w in words[:length]])
            found = np.exp(logs)
            worst = max(worst, sum(abs(found[i] - float(wanted[name])) for i, name in enumerate(names)))
    return worst


def in_own_process(name: str, target: str) -> dict[str, float]:
    program = f"from benchmarks.arpa import *; print(json.dumps(measure({name!r}, {target!r})))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def main() -> None:
    num_words = sum(map(len, manual()))
    print(f"text: {num_words:,} words of pydoc_data.topics, Python {sys.version.split()[0]}")
    limits = f"{TARGET_SECONDS:.0f} CPU s and {TARGET_GIB:.0f} GiB"
    print(f"targets: eps = {float(EPS)}, compile and verify below {limits} each")
    print(f"{'model':<26}" + "".join(f"{name:>11}" for name in COLUMNS))
    for name in RECIPES:
        for target in TARGETS:
            found = in_own_process(name, target)
            kept = (
                found["proved"] < EPS
                and found["sampled"] < EPS
                and max(found["compile"] + found["prove"], found["verify"]) < TARGET_SECONDS
                and found["GiB"] < TARGET_GIB
            )
            shown = "".join(
                f"{found[c]:>11,.0f}" if c in ("n-grams", "contexts", "state") else f"{found[c]:>11.4g}"
                for c in COLUMNS
            )
            print(f"{name + ', ' + target:<26}{shown}  {'ok' if kept else 'MISSED'}")
