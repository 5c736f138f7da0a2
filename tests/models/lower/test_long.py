"""Every named language on every class, and in every real architecture that carries it, on long words."""

from __future__ import annotations

import pytest
import torch

from benchmarks.long_words import survey
from nerode.languages.bestiary import BESTIARY
from nerode.models.lower.assembly import network_to_architecture
from nerode.models.model import Model
from nerode.models.network_module.model import CompiledModel, load_model
from tests.models.walks import facts_of, network_for

DRIFT = {
    ("modular-arithmetic", "deltanet-signed"),
    ("modular-arithmetic", "gated-deltanet-signed"),
    ("modular-arithmetic", "rwkv-7"),
    ("modular-arithmetic-simple", "deltanet-signed"),
    ("modular-arithmetic-simple", "gated-deltanet-signed"),
    ("t3", "deltanet-signed"),
}
"""Networks that mirror a plane over several layers: float32 drifts, and they have a horizon."""

SLOW_PROOFS = {("s5", cell) for cell in ("elman-relu", "elman-tanh", "lstm", "gru", "slstm", "nru")}
"""Cells with 120 letters, whose first step takes longer than the survey gives a proof."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [name for name in BESTIARY if name != "ngram-seed"])
def test_what_theory_allows_is_right_to_length_100_000(name: str) -> None:
    rows = list(survey(name))
    assert {row.target for row in rows if row.wrong_at} <= {t for n, t in DRIFT if n == name}
    # What theory forbids is not compiled, and what is compiled has a proof in float32, as far as it goes.
    assert all(row.form == "none" for row in rows if row.verdict == "no")
    unproved = {(row.language, row.target) for row in rows if row.proved and not row.proved["float32"]}
    assert unproved <= SLOW_PROOFS


@torch.no_grad()
def remembers(model: CompiledModel | Model, ignores: int) -> bool:
    """Whether a written 1 is read right after so many ignores of a 0, streamed in chunks."""
    write, read, ignore, zero, one = (facts_of("flip-flop").language.alphabet.index(s) for s in "wri01")
    state = model(torch.tensor([[write, one]]))[1]
    for _ in range(ignores // 10_000):
        state = model(torch.tensor([[ignore, zero] * 10_000]), state)[1]
    scores = model(torch.tensor([[read]]), state)[0][0, 0]
    return (scores > 0.5).tolist() == [False, False, False, False, True, False]


def test_the_flip_flop_is_right_after_a_million_ignores() -> None:
    assert remembers(load_model(network_for("flip-flop", "diagonal")), 1_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["mamba", "gla", "hgrn2", "griffin"])
def test_real_layers_remember_after_a_million_ignores(target: str) -> None:
    assert remembers(
        network_to_architecture(network_for("flip-flop", target, exclusive_scan=False), target), 1_000_000
    )
