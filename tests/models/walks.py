"""Random words, and what a language says along them as a table."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import torch
from torch import Tensor

from nerode.compiler import NgramOptions, Options, compile_language, compile_program
from nerode.core import Budget
from nerode.languages import Language
from nerode.languages.bestiary import find_language
from nerode.models import Model
from nerode.models.lower import lower
from nerode.network import Network
from nerode.verdict import Facts, VerdictTask, collect_facts


@functools.cache
def facts_of(name: str) -> Facts:
    """What the algebra says about a named language.

    The clock of a budget goes on while other tests run, so this one has time enough for all of them.
    """
    budget = Budget(seconds=36_000)
    return collect_facts(find_language(name, budget), task=VerdictTask.RECOGNISE, budget=budget)


@functools.cache
def network_for(
    name: str, target: str, *, exclusive_scan: bool = True, normaliser: str = "softmax"
) -> Network:
    """The network of a named language."""
    options = Options(
        exclusive_scan=exclusive_scan,
        ngrams=NgramOptions(normaliser=normaliser),
        budget=Budget(seconds=36_000),
    )
    return compile_language(facts_of(name).language, target, options, facts=facts_of(name))


def published_model(language: Language, target: str, *, dtype: torch.dtype = torch.float32) -> Model:
    """The whole published model of a star-free language."""
    program = compile_program(language, target, Options(construction="star-free"))
    return lower(program, block="published", dtype=dtype).model


def random_words(letters: int, *, batch: int, length: int, seed: int = 0) -> Tensor:
    """Words with all letters equally likely."""
    return torch.from_numpy(np.random.default_rng(seed).integers(0, letters, (batch, length)))


def lawful_word(language: Language, length: int, *, seed: int = 0) -> list[int]:
    """A word each prefix of which can be continued as the language says; shorter if it has to end."""
    random = np.random.default_rng(seed)
    word: list[int] = []
    configuration = language.initial()
    while len(word) < length:
        choices = sorted(language.legal(configuration).symbols)
        if not choices:
            break
        word.append(int(random.choice(choices)))
        configuration = language.advance(configuration, word[-1])
    return word


def legal_table(language: Language, words: Tensor) -> Tensor:
    """What may follow each non-empty prefix: (batch, time, letters + 1), the end last."""
    letters = range(len(language.alphabet))

    @functools.cache
    def row(configuration: object) -> tuple[bool, ...]:
        legal = language.legal(configuration)
        return (*(i in legal.symbols for i in letters), legal.end)

    rows = []
    for word in words.tolist():
        visited = itertools.accumulate(word, language.advance, initial=language.initial())
        rows.append([row(configuration) for configuration in visited][1:])
    return torch.tensor(rows)


def covering_words(language: Language, *, after: int = 12, seed: int = 0) -> Tensor:
    """Words that take every transition of the minimal automaton, each followed by random letters."""
    dfa = language.dfa()
    access = [list(dfa.access_word(state)) for state in range(dfa.num_states)]
    random = np.random.default_rng(seed)
    length = max(map(len, access)) + 1 + after
    words = random.integers(0, dfa.num_letters, (len(access) * dfa.num_letters, length))
    taken = [[*word, letter] for word in access for letter in range(dfa.num_letters)]
    for row, word in zip(words, taken, strict=True):
        row[: len(word)] = word
    return torch.from_numpy(words)
