"""Models that are right at both ends of a box and wrong inside it: no replay accepts them.

One Mamba layer, the language (a|b)*: every letter and the end may follow, always. Two numbers h_a and h_b of
the state count a and b, each up to twice what a letter writes, and a number on the way to the scores is a
multiple of h_a - h_b. It is 0 at the smallest and at the largest state, but not after aa or bb.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from nerode.kernel import PREDICT, Certificate, Failure
from nerode.languages import language_hash, resolve_language
from nerode.models import LayerConfig, Model, ModelConfig, Surroundings
from nerode.proofs.replay import replay_fading
from nerode.proofs.replay.fading import FADING, fading_claim
from nerode.proofs.replay.listing import describe_arithmetic, fingerprint
from nerode.proofs.runner import layout_of, to_rows

LANGUAGE = resolve_language("(a|b)*")
A, B, ONE, SINK = range(4)


@torch.no_grad()
def model(written: float, *, final_norm: str, states: int = 1, skip: bool = False) -> Model:
    """A layer with gates 1/2 and delta 1: each letter writes `written` into its own channel.

    With two states, the channel of the constant has one of them for each letter. All scores are 1.
    """
    settings = {
        "channels": 4,
        "states": states,
        "rank": 1,
        "convolution": 0,
        "activation": False,
        "gate": False,
        "skip": skip,
    }
    config = ModelConfig(
        layers=(LayerConfig(name="mamba", settings=settings),),
        letters=2,
        outputs=3,
        width=4,
        surroundings=Surroundings(norm="none", residual=True, feed_forward="none"),
        final_norm=final_norm,
    )
    made = Model(config).eval()
    layer = made.layers[0]
    for parameter in made.parameters():
        parameter.zero_()
    made.embedding.weight[0, [A, ONE]] = 1.0
    made.embedding.weight[1, [B, ONE]] = 1.0
    layer.in_proj.weight[[A, B, ONE], [A, B, ONE]] = 1.0
    layer.dt_proj.bias.fill_(math.log(math.e - 1))
    layer.A_log.fill_(math.log(math.log(2)))
    if states == 1:
        layer.x_proj.weight[1, ONE] = written
        layer.x_proj.weight[2, ONE] = 1.0
        layer.in_proj.weight[ONE, ONE] = 1.0
    else:
        layer.x_proj.weight[1, A] = layer.x_proj.weight[2, B] = written
        layer.x_proj.weight[3, ONE], layer.x_proj.weight[4, ONE] = 1.0, -1.0
    if made.final_norm is not None and final_norm == "rms":
        made.final_norm.weight.fill_(1.0)
    made.head.weight[:, ONE] = 1.0
    return made


@torch.no_grad()
def squares(size: float) -> Model:
    """The squares inside the last norm are infinite."""
    made = model(1.5e19 * size, final_norm="rms")
    made.layers[0].out_proj.weight[SINK, [A, B]] = torch.tensor([1.0, -1.0])
    return made


@torch.no_grad()
def stream(size: float) -> Model:
    """h_a - h_b + 2·10^38 on the stream is infinite, and 0 times it is no number."""
    made = model(1e38 * size, final_norm="none")
    made.embedding.weight[:, SINK] = 2e38 * size
    made.layers[0].out_proj.weight[SINK, [A, B]] = torch.tensor([1.0, -1.0])
    return made


@torch.no_grad()
def inner_sum(size: float) -> Model:
    """The same inside the layer, before a weight that makes it small."""
    made = model(1e38 * size, final_norm="none", states=2, skip=True)
    made.layers[0].D[ONE] = 2e38 * size
    made.layers[0].out_proj.weight[SINK, ONE] = 2.0**-120
    return made


@torch.no_grad()
def score(size: float) -> Model:
    """A score is infinite, which is no answer."""
    made = model(1e18 * size, final_norm="none")
    made.layers[0].out_proj.weight[SINK, [A, B]] = torch.tensor([1.0, -1.0])
    made.head.weight[:, SINK] = 1e20
    made.head.bias.fill_(2.5e38 * size)
    return made


@torch.no_grad()
def underflow(size: float) -> Model:
    """A product of 1.55 of the smallest float32 is rounded to 2, which large weights behind it make visible.

    With h_a and h_b between 0 and 1, a score is (1.6 + 1.55·(h_a - h_b))·2^-22. It is positive, but after
    many b it comes out as 1.6 - 2.
    """
    made = model(2.0**-80, final_norm="none", states=2)
    weights = made.layers[0].x_proj.weight
    weights[3, ONE], weights[4, ONE] = 1.55 * 2.0**-70 * size, -1.55 * 2.0**-70 * size
    made.layers[0].out_proj.weight[SINK, ONE] = 2.0**127 / max(size, 1)
    made.head.weight[:, ONE] = 1.6 * 2.0**-22
    made.head.weight[:, SINK] = 1.0
    return made


@torch.no_grad()
def certificate(made: Model) -> Certificate:
    """One node, whose box is all that the states of words ever are."""
    low, high = made.initial_state(1), made.initial_state(1)
    name = made.reading(torch.zeros(1, dtype=torch.int64), low).state
    for _ in range(400):
        for letter, end in itertools.product((0, 1), (low, high)):
            after = made.step(torch.tensor([letter]), end)[1][name]
            low[name], high[name] = torch.minimum(low[name], after), torch.maximum(high[name], after)
    sha = fingerprint(made)
    ends = [[row.tobytes().hex() for row in np.asarray(to_rows(end, 1))] for end in (low, high)]
    evidence = {
        "task": PREDICT,
        "dtype": "float32",
        "module": sha,
        "arithmetic": describe_arithmetic(),
        "layout": [[part.name, list(part.shape), part.dtype] for part in layout_of(low)],
        "low": ends[0],
        "high": ends[1],
        "moves": [[0, 0]],
    }
    return Certificate(
        network=sha,
        language=language_hash(LANGUAGE),
        claims=(fading_claim(PREDICT),),
        evidence={FADING: evidence},
    )


@torch.no_grad()
def wrong_words(made: Model) -> list[str]:
    """The words up to length 5 after which a score is not a positive finite number."""
    found = []
    for length in range(1, 6):
        for word in itertools.product((0, 1), repeat=length):
            state = made.initial_state(1)
            for letter in word:
                scores, state = made.step(torch.tensor([letter]), state)
            if not bool(((scores > 0) & scores.isfinite()).all()):
                found.append("".join("ab"[letter] for letter in word))
    return found


FORGERIES = {
    squares: 1e-3,
    stream: 1e-3,
    inner_sum: 1e-3,
    score: 1e-3,
    underflow: 2.0**40,
}
"""For each forgery the size with which the same model is right, and proved."""


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_model_that_is_wrong_inside_the_box_is_refused(forge):
    made = forge(1.0)
    assert wrong_words(made)
    failure = replay_fading(made, LANGUAGE, certificate(made))
    assert isinstance(failure, Failure)


@pytest.mark.parametrize("forge", FORGERIES)
def test_the_same_model_with_other_sizes_is_proved(forge):
    made = forge(FORGERIES[forge])
    assert not wrong_words(made)
    assert replay_fading(made, LANGUAGE, certificate(made)) is None
