"""Joint float states that the batched search for a closure lists per CPU second, for one layer of width 16.

The networks are untrained, so that their states never close, and every answer counts as correct: what is
measured is stepping, comparing bits and keeping them. A step reads one letter in one state.
"""

from __future__ import annotations

import time

import torch

from nerode.core import Budget
from nerode.languages import LanguageQuestion, resolve_language
from nerode.models import LayerConfig, ModelConfig, build_model
from nerode.proofs.find.walk import LARGE_BATCH, Walk
from nerode.proofs.runner import make_runner

LIMIT = 100_000
"""Steps per CPU second that a one-layer Mamba of width 16 should reach."""

ARCHITECTURES = ("mamba", "mamba-2", "griffin", "mingru", "deltanet-signed", "gru")
STATES = 2**14 + 16
"""Just above the states of all words of at most 13 letters, so that the search ends with a whole level."""

REPEATS = 3


def main() -> None:
    torch.set_num_threads(1)
    question = LanguageQuestion(resolve_language("(a|b)*"), "next", "all")
    for name in ARCHITECTURES:
        layer = LayerConfig(name=name, settings={"states": 4} if name.startswith("mamba") else {})
        model = build_model(ModelConfig(layers=(layer,), letters=2, outputs=3, width=16), seed=0)
        runner = make_runner(model.eval(), question, decode=lambda scores: scores == scores)
        rates = []
        for _ in range(REPEATS):
            begun = time.process_time()
            found = Walk(runner, question, batch=LARGE_BATCH, most=STATES)
            found.run(Budget(seconds=600).start())
            spent = time.process_time() - begun
            rates.append(int((found.moves >= 0).sum()) / spent)
        best = max(rates)
        mark = "" if name != "mamba" else "  ok" if best >= LIMIT else f"  below {LIMIT:,}"
        print(f"{name:16} {len(found):7,} states  {best:9,.0f} steps per CPU second{mark}")
