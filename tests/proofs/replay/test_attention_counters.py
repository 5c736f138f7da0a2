"""Means in floats: counter languages proved to their horizons, and planted errors that are refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from nerode.compiler import compile_language
from nerode.kernel import Certificate, Claim, Failure, Refutation
from nerode.languages.bestiary import find_language
from nerode.models.lower.heads import network_to_decoder
from nerode.proofs.find.heads import certify_decoder, run_decoder
from nerode.proofs.replay.attention.checker import check_decoder, replay_heads
from nerode.proofs.replay.attention.heads import Rounding, Values
from nerode.proofs.replay.attention.records import METHOD, NotProved
from nerode.proofs.replay.listing import fingerprint


def decoder(name, target="transformer-nope", dtype=torch.float32):
    return network_to_decoder(compile_language(find_language(name), target), target, dtype=dtype)


@pytest.mark.parametrize(
    ("name", "target", "length"),
    [
        ("majority", "transformer-nope", 2**24 - 1),
        ("dyck-1", "transformer-nope", 2**24 - 1),
        ("shuffle-2", "transformer-nope", 2**24 - 1),
        ("anbn", "transformer-alibi", 2**24 - 1),
        ("anbncn", "transformer-periodic", 2**24 - 1),
        # A letter adds 2: sums of whole numbers are exact half as far.
        ("boolean-3", "transformer-nope", 2**23 - 1),
    ],
)
def test_counter_languages_are_proved_to_their_horizons(name, target, length):
    model, language = decoder(name, target), find_language(name)
    found = check_decoder(model, language)
    assert found.length == length
    assert "mean" in {head.kind for head in found.heads}
    assert isinstance(run_decoder(model, language, words=2, length=60), Claim)


def test_a_certificate_of_a_counter_is_checked_again():
    language = find_language("dyck-1")
    network = compile_language(language, "transformer-nope")
    model = network_to_decoder(network, "transformer-nope")
    found = certify_decoder(model, network, language)
    assert isinstance(found, Certificate)
    assert found.claims[0].length == 2**24 - 1
    assert "exact below 2^24" in found.claims[0].covers
    assert replay_heads(model, language, network=fingerprint(model), certificate=found) is None
    assert not isinstance(certify_decoder(model, network, find_language("majority")), Certificate)


def test_float64_reaches_further_and_short_formats_are_refused_or_true():
    assert check_decoder(decoder("dyck-1", dtype=torch.float64), find_language("dyck-1")).length > 2**49
    with pytest.raises(NotProved):
        check_decoder(decoder("dyck-1", dtype=torch.bfloat16), find_language("dyck-1"))


def compared(model):
    """The rows of the first units: comparisons with half-integers."""
    return model.blocks[0].feed_forward.up.weight


def change(tensor, place, new):
    tensor[place] = new


def swap_columns(tensor):
    tensor[:, [0, 1]] = tensor[:, [1, 0]]


PLANTED = {
    "a threshold at a whole number": lambda m: change(compared(m), (2, 4), -1.0 * 2**26),
    "a threshold that is one too high": lambda m: change(compared(m), (1, 4), -1.5 * 2**26),
    "a letter that counts twice": lambda m: change(m.layers[0].read.weight, (9, 2), 2.0),
    "two values swapped": lambda m: swap_columns(m.layers[0].write.weight),
    "a mean that a score reads": lambda m: change(m.head.weight, (0, 5), 1e-3),
    "a slope": lambda m: change(m.layers[0].read.weight, (0, 0), 1.0),
}


@pytest.mark.parametrize("what", PLANTED)
def test_planted_errors_are_refused(what):
    model = decoder("dyck-1")
    PLANTED[what](model)
    if what == "a slope":
        change(model.layers[0].read.weight, (4, 0), 1.0)
    with pytest.raises(NotProved):
        check_decoder(model, find_language("dyck-1"))


def test_a_smaller_rate_has_a_shorter_horizon():
    model = decoder("majority")
    compared(model).mul_(2.0**-16)
    found = check_decoder(model, find_language("majority"))
    assert 500 <= found.length <= 512
    # Beyond it the comparison of a count of 1 with 1/2 does not reach 1.
    word = torch.tensor([[1] + [0, 1] * 300])
    answers = model(word)[0][0, :, -1] > 0.5
    expected = [i % 2 == 0 for i in range(word.shape[1])]
    wrong = [i for i, (a, b) in enumerate(zip(answers.tolist(), expected, strict=True)) if a != b]
    assert not wrong or wrong[0] >= found.length


def forged_write(model, value):
    """A weight of a head that averages: in nominal values a mean is 0."""
    model.blocks[1].layer.write.weight.view(-1)[5] = value


def forged_key(model, value):
    """Keys of heads that ask nothing: 0 times infinity is no number."""
    for block in model.blocks:
        layer = block.layer
        query, key, _ = layer.read.weight.split(layer.heads * layer.size)
        key[~query.any(dim=1)] = value


@torch.no_grad()
@pytest.mark.parametrize(
    ("forge", "value"),
    [
        (forged_write, math.nan),
        (forged_write, math.inf),
        (forged_key, math.inf),
        (forged_key, 3e38),
    ],
)
def test_forged_tensors_are_refused_with_the_hash_of_the_forgery(forge, value):
    """In exact arithmetic, and in nominal values, none of them makes a difference."""
    language = find_language("majority")
    network = compile_language(language, "transformer-alibi")
    model = network_to_decoder(network, "transformer-alibi")
    true = certify_decoder(model, network, language)
    forge(model, value)
    evidence = {METHOD: {**true.evidence[METHOD], "module": fingerprint(model)}}
    assert isinstance(run_decoder(model, language), Refutation)
    assert isinstance(
        replay_heads(model, language, network=true.network, certificate=replace(true, evidence=evidence)),
        Failure,
    )


def test_what_underflows_is_an_error():
    """2^-120 · 2^-40 is 0 in float32; weights of 2^100 would make something of it again."""
    stream = Values(np.array([[2.0**-120, 1.0]]), np.zeros((1, 2)))
    rows = np.array([[2.0**-40, 0.0]])
    found = Rounding(24, -126, 127).apply(rows, stream)
    computed = float(np.float32(2.0**-120) * np.float32(2.0**-40))
    assert abs(found.nominal[0, 0] - computed) <= found.error[0, 0]


@torch.no_grad()
def test_random_forgeries_are_refused_or_true():
    language, rng = find_language("dyck-1"), np.random.default_rng(9)
    model = network_to_decoder(compile_language(language, "transformer-alibi"), "transformer-alibi")
    tensors = {name: value.clone() for name, value in model.state_dict().items()}
    values = (math.nan, math.inf, -math.inf, 3e38, -3e38, 2.0**100, 1e-45, 0.0, 1.0, -1.0)
    accepted = 0
    for _ in range(60):
        model.load_state_dict(tensors)
        name = str(rng.choice(sorted(tensors)))
        flat = model.state_dict()[name].view(-1)
        flat[int(rng.integers(len(flat)))] = float(rng.choice(values))
        try:
            check_decoder(model, language)
        except NotProved:
            continue
        accepted += 1
        assert isinstance(run_decoder(model, language, words=3, length=40), Claim), name
    assert accepted
