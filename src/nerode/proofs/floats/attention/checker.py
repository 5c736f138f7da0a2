"""Proofs about softmax decoders in floats: lemmas for heads, a closure over what heads can have seen.

The checker reads the tensors of a model of the zoo and nothing else. Recurrent blocks before the attention
are run as they are (`streams.py`). Heads are known by their weights (`weights.py`), each with a lemma that
says what softmax returns in a float format (`heads.py`). So a decoder is a finite automaton over the
summaries of its heads. All joint states with the language are visited in nominal values (`closure.py`); a
second pass bounds how far every number of the stream can be from its nominal value (`bounds.py`).

What is taken for granted is in the claim. docs/theory/attention.md has the proofs.
"""

from __future__ import annotations

import torch

from nerode.core import Budget
from nerode.kernel import DTYPES
from nerode.languages import Dfa, Language
from nerode.models import Model
from nerode.proofs.floats.attention.bounds import ErrorBounds
from nerode.proofs.floats.attention.closure import Closure
from nerode.proofs.floats.attention.errors import Rounding
from nerode.proofs.floats.attention.heads import HeadLemmas
from nerode.proofs.floats.attention.records import UNDERFLOW, AttentionProof, HeadFinding, NotProved
from nerode.proofs.floats.attention.sides import side_of
from nerode.proofs.floats.attention.streams import explore_streams
from nerode.proofs.floats.attention.weights import DecoderWeights


def check_decoder(model: Model, language: Language | Dfa, *, budget: Budget | None = None) -> AttentionProof:
    """Returns the proof that a decoder does a language.

    Args:
        model: of the zoo: recurrent blocks or none, then attention without norms, a beginning mark, a linear
            head.
        language: regular (or its complete automaton), or given by a counter machine.
        budget: limits the joint states (`elements`) and the time.

    Raises:
        NotProved: with the place at which a lemma does not apply or an answer is wrong.
        BudgetExceeded: if the joint states are too many.
    """
    budget = budget or Budget()
    letters = language.num_letters if isinstance(language, Dfa) else len(language.alphabet)
    _require(model, letters)
    side = side_of(language)
    streams = explore_streams(model, budget)
    weights = DecoderWeights(model, streams)
    dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    scores = "float64" if dtype == "float64" else "float32"
    lemmas = HeadLemmas(Rounding(DTYPES[dtype].bits), scores, DTYPES[scores].bits)
    closure = Closure(weights, lemmas, side, budget)
    bounds = ErrorBounds(closure, closure.explore())
    bounds.verify()
    heads = tuple(
        HeadFinding(
            layer=head.layer,
            head=head.number,
            kind=head.kind,
            slope=head.slope,
            gap=head.gap if head.gap < float("inf") else None,
            horizon=head.horizon,
        )
        for head in weights.heads()
    )
    horizons = [h.horizon for h in heads if h.horizon is not None] + bounds.horizons
    return AttentionProof(
        dtype=dtype,
        scores=scores,
        heads=heads,
        recurrent=streams.blocks,
        joint_states=closure.joint_states,
        margin=float(bounds.margin),
        rounding=float(bounds.rounding),
        length=min(horizons) if horizons else "all",
    )


def _require(model: Model, letters: int) -> None:
    """Raises NotProved unless the model is a decoder that the lemmas speak about."""
    config = model.config
    if not config.beginning or config.letters != letters:
        raise NotProved("the decoder has no beginning mark, or another number of letters")
    if config.final_norm != "none" or config.head != "linear" or config.positions == "sine":
        raise NotProved("the decoder has a norm, a hidden head or sines as positions")
    if config.outputs != letters + 1:
        raise NotProved("the decoder has not one score for each letter and one for the end")
    for number, layer in enumerate(config.layers):
        around = config.around(number)
        if layer.resolve()[0].name != "transformer":
            continue
        if not around.residual or around.norm != "none" or around.dropout:
            raise NotProved(f"block {number + 1} has a norm, dropout or no residual stream")
        if around.feed_forward not in ("none", "relu"):
            raise NotProved(f"block {number + 1} has another activation than relu")


def audit(model: Model) -> str | None:
    """Returns why exp on this machine does not do what the lemmas take for granted, None if a sample does."""
    dtype = torch.float64 if next(model.parameters()).dtype == torch.float64 else torch.float32
    name = str(dtype).removeprefix("torch.")
    points = -torch.linspace(0, UNDERFLOW[name], 10_001, dtype=dtype)
    found, exact = points.exp(), points.double().exp()
    off = ((found.double() - exact).abs() / exact.clamp(min=torch.finfo(dtype).tiny)).max()
    if found[0] != 1 or torch.tensor(-float(UNDERFLOW[name]), dtype=dtype).exp() != 0:
        return f"exp in {name} is not 1 at 0, or not 0 at -{UNDERFLOW[name]}"
    if dtype == torch.float32 and off > 8 * torch.finfo(dtype).eps:
        return f"exp in {name} is off by {off:.2g}"
    return None
