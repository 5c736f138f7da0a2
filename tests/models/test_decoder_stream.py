"""Decoders with a cache that forgets: the answers of the whole cache, in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.compiler import Options, compile_language
from nerode.core import InputError
from nerode.languages.bestiary import find_language
from nerode.models import DecoderStream, LayerConfig, ModelConfig, build_model
from nerode.models.lower.heads import network_to_decoder

CASES = [
    ("flip-flop", "transformer-alibi"),
    ("flip-flop", "transformer-periodic"),
    ("tomita-4", "transformer-alibi"),
    ("tomita-7", "transformer-nope"),
    ("dyck-1", "transformer-nope"),
    ("abab-star", "transformer-periodic"),
]


def decoder(name, target):
    return network_to_decoder(compile_language(find_language(name), target, Options()), target)


def legal_word(language, length, seed=0):
    """A word of mostly legal letters, with what may follow each prefix."""
    rng = np.random.default_rng(seed)
    word, expected, place = [], [], language.initial()
    for _ in range(length):
        choices = sorted(language.legal(place).symbols) or list(range(len(language.alphabet)))
        word.append(int(rng.choice(choices)))
        place = language.advance(place, word[-1])
        legal = language.legal(place)
        expected.append([*(a in legal.symbols for a in range(len(language.alphabet))), legal.end])
    return word, expected


@pytest.mark.parametrize(("name", "target"), CASES)
def test_answers_are_those_of_the_language_in_constant_memory(name, target):
    model, language = decoder(name, target), find_language(name)
    word, expected = legal_word(language, 300)
    stream = DecoderStream(model)
    kept = []
    for letter, right in zip(word, expected, strict=True):
        assert (stream.read(letter) > 0.5).tolist() == right
        kept.append((stream.kept, stream.num_bytes))
    for numbers in zip(*kept, strict=True):
        assert 0 < max(numbers[150:]) <= max(numbers[:150])
    whole = model(torch.tensor([word]))[0][0]
    assert torch.equal(whole > 0.5, torch.tensor(expected))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target"), [CASES[0], CASES[3], CASES[4]])
def test_memory_stays_the_same_over_a_hundred_thousand_letters(name, target):
    language = find_language(name)
    stream = DecoderStream(decoder(name, target))
    word, expected = legal_word(language, 100_000, seed=5)
    most = 0
    for place, (letter, right) in enumerate(zip(word, expected, strict=True)):
        assert (stream.read(letter) > 0.5).tolist() == right
        if place < 1_000:
            most = max(most, stream.num_bytes)
        assert stream.num_bytes <= most


def test_a_register_that_is_held_keeps_one_position():
    model = decoder("012-star-02-star", "transformer-alibi")
    stream = DecoderStream(model)
    for letter in [0] + [2] * 500:
        scores = stream.read(letter)
        assert stream.kept <= 2
    assert bool(scores[-1] > 0.5)


@pytest.mark.parametrize(
    ("layer", "settings", "what"),
    [
        ("transformer", {}, "rotations"),
        ("transformer-alibi", {}, "published slopes"),
        ("transformer-nope", {}, "a norm"),
    ],
)
def test_other_decoders_are_refused(layer, settings, what):
    config = ModelConfig(layers=(LayerConfig(name=layer, settings=settings),), letters=2, outputs=3, width=8)
    with pytest.raises(InputError, match=what):
        DecoderStream(build_model(config, seed=0))
