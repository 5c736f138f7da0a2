"""Weights and the network that explains them: the same answers on all short words, for every lowering."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from nerode.compiler import Options
from nerode.core import Budget, NotCompilable
from nerode.languages.bestiary import BESTIARY, find_language
from nerode.models.lower import Lowered, compare_answers, lowerings, writer_of
from nerode.models.lower.heads import TARGETS
from nerode.models.zoo import all_kinds
from nerode.verdict import ARCHITECTURES


def first(name: str, architecture: str, **options: object) -> Lowered:
    """The first lowering of a language that is not refused."""
    ways = lowerings(find_language(name), architecture, Options(**options))  # type: ignore[arg-type]
    return next(way for way in ways if isinstance(way, Lowered))


@pytest.mark.parametrize(
    ("name", "architecture", "construction"),
    [
        ("tomita-4", "mamba", None),
        ("tomita-7", "mamba-2", None),
        ("tomita-1", "griffin", None),
        ("tomita-4", "gla", None),
        ("last-letter", "mamba", "window"),
        ("flip-flop", "mlstm", "star-free"),
        ("parity", "mamba-signed", None),
        ("z3", "deltanet-signed", None),
        ("s3", "pd-ssm", None),
        ("anbn", "mamba", None),
        ("dyck-1", "gla", None),
        ("tomita-4", "gru", None),
        ("tomita-7", "elman-tanh", None),
        ("tomita-1", "transformer-nope", None),
        ("set-reset", "transformer-alibi", None),
        ("set-reset", "mamba-attention", None),
    ],
)
def test_weights_and_network_answer_alike(name: str, architecture: str, construction: str | None) -> None:
    lowered = first(name, architecture, construction=construction)
    assert construction in (None, lowered.program.network.origin.construction)
    found = compare_answers(lowered, length=6, most=1_000)
    assert found.word is None
    assert found.words >= 64


def test_distributions_are_not_compared() -> None:
    """After prefixes that no sentence has, the rounding of large logits decides what may follow."""
    found = compare_answers(first("ngram-seed", "elman-relu"))
    assert (found.words, found.word, str(found)) == (0, None, "compared on no word")


def test_all_words_to_length_eight_are_read() -> None:
    found = compare_answers(first("tomita-4", "mamba"))
    # The published model answers before the first letter, too.
    assert (found.words, found.length, found.word) == (2**9 - 1, 8, None)
    assert str(found) == "same answers on all words to length 8"
    # The states of a transformer hold the word, so that none of them is met twice.
    cut = compare_answers(first("tomita-1", "transformer-nope"), most=100)
    assert (cut.words, cut.length) == (100, 5)


def test_words_with_the_same_states_are_read_once() -> None:
    """A model with few states is compared on all words of a length without reading them all."""
    found = compare_answers(first("parity", "mamba-signed"), most=200)
    assert (found.words, found.length, found.word) == (2**9 - 2, 8, None)


def test_the_first_word_that_differs_is_named() -> None:
    """Words without 000 against words without an odd block of 1s before an odd block of 0s."""
    lowered = first("tomita-4", "mamba")
    other = dataclasses.replace(lowered, model=first("tomita-7", "mamba").model)
    languages = [find_language(name) for name in ("tomita-4", "tomita-7")]
    words = (word for n in range(9) for word in itertools.product(range(2), repeat=n))
    expected = next(
        word for word in words if len({str(language.legal_along(word)[-1]) for language in languages}) > 1
    )
    assert compare_answers(other).word == expected


def carriers() -> list[str]:
    """The architectures that weights are written into."""
    zoo = [name for name in all_kinds() if name in ARCHITECTURES and writer_of(name) is not None]
    return [*zoo, *TARGETS]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("architecture", carriers())
def test_every_construction_and_carrier_of_the_atlas(architecture: str) -> None:
    """Every way of every named language; one lowering per construction is compared in full."""
    seen: set[tuple[str, str]] = set()
    for name in BESTIARY:
        options = Options(budget=Budget(seconds=20))
        for way in lowerings(find_language(name), architecture, options):
            if isinstance(way, NotCompilable):
                continue
            made = (way.program.network.origin.construction, way.block)
            most = 20_000 if made not in seen else 500
            seen.add(made)
            found = compare_answers(way, most=most, budget=Budget(seconds=10))
            assert found.word is None, f"{name} on {architecture}: {made} differs after {found.word}"
