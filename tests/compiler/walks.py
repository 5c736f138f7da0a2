"""Long words of three kinds: valid prefixes, near misses, and any letters at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nerode.languages import Language
from nerode.network import Network
from nerode.network.step import Interpreter


def walk(language: Language, length: int, errors: int, seed: int) -> Iterator[int]:
    """Letters that keep a word of the language possible, except at `errors` places where any letter comes."""
    rng = np.random.default_rng(seed)
    wrong = set(rng.integers(length // 2, length, errors).tolist())
    configuration = language.initial()
    for position in range(length):
        legal = sorted(language.legal(configuration).symbols)
        free = position in wrong or not legal
        letter = int(rng.integers(len(language.alphabet))) if free else int(rng.choice(legal))
        yield letter
        configuration = language.advance(configuration, letter)


def assert_follows(network: Network, language: Language, letters: Iterator[int]) -> None:
    """Asserts that a network agrees with its language after each letter."""
    interpreter = Interpreter(network)
    state, configuration = interpreter.start(), language.initial()
    read = []
    for letter in letters:
        read.append(letter)
        state, answer = interpreter.step(state, letter)
        configuration = language.advance(configuration, letter)
        assert answer.legal == language.legal(configuration), (len(read), read[-20:])


def assert_follows_long_words(network: Network, language: Language, length: int = 10_000) -> None:
    """Asserts agreement on a valid prefix, and on near misses and random letters of a tenth of its length."""
    short = max(40, length // 10)
    assert_follows(network, language, walk(language, length, 0, 0))
    for seed, errors in ((1, 1), (2, 1), (3, 2)):
        assert_follows(network, language, walk(language, short, errors, seed))
    rng = np.random.default_rng(7)
    assert_follows(network, language, iter(rng.integers(0, len(language.alphabet), short).tolist()))


def assert_predicts(network: Network, language: Language, length: int = 10_000) -> None:
    """Asserts agreement on prefixes of words of the language, shorter where a word cannot go on."""
    for seed in range(3):
        letters = list(walk(language, length, 0, seed))
        legal = language.legal_along(letters)
        end = next((n for n, answer in enumerate(legal) if not answer.symbols), length)
        assert_follows(network, language, iter(letters[:end]))
