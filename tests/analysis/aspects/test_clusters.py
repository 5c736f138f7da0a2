from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from nerode.analysis.aspects.clusters import (
    clusters,
    hidden_states,
    ngram_labels,
    principal_plane,
    silhouette,
    state_labels,
    target_labels,
)
from nerode.core import InputError
from nerode.languages import resolve_language
from tests.analysis.networks import model_of, random_probe, ssm_with, subject_of


def slow_silhouette(points, codes) -> float:
    """By the definition, one point after the other."""
    values = []
    for i in range(len(points)):
        own = [j for j in range(len(points)) if codes[j] == codes[i] and j != i]
        if not own:
            values.append(0.0)
            continue
        near = np.mean([np.linalg.norm(points[i] - points[j]) for j in own])
        far = min(
            np.mean([np.linalg.norm(points[i] - points[j]) for j in range(len(points)) if codes[j] == c])
            for c in set(codes) - {codes[i]}
        )
        values.append(0.0 if max(near, far) == 0 else (far - near) / max(near, far))
    return float(np.mean(values))


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_the_silhouette_is_the_one_of_the_definition(seed, labels):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(labels), rng.integers(0, labels, 12)])
    points = rng.normal(size=(len(codes), 3)).round(1)
    assert silhouette(points, codes) == pytest.approx(slow_silhouette(points, codes.tolist()))


def test_far_apart_points_have_silhouette_one():
    points = np.array([[0.0], [0.0], [9.0], [9.0]])
    assert silhouette(points, np.array([0, 0, 1, 1])) == 1.0
    assert silhouette(points, np.array([0, 1, 0, 1])) < 0


def test_the_principal_plane_keeps_distances_of_points_in_a_plane():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 6))
    plane, (first, second) = principal_plane(flat)
    assert first >= second
    assert first + second == pytest.approx(1)
    distances = np.linalg.norm(flat[:, None] - flat[None], axis=-1)
    np.testing.assert_allclose(np.linalg.norm(plane[:, None] - plane[None], axis=-1), distances, atol=1e-9)


def test_points_that_coincide_explain_nothing():
    plane, explained = principal_plane(np.ones((4, 3)))
    assert explained == (0.0, 0.0)
    assert not plane.any()


def test_a_memory_of_one_letter_clusters_by_that_letter():
    model = ssm_with(torch.zeros(4, 4))
    probe = random_probe(count=20)
    found = clusters(subject_of(model), [(probe, ngram_labels(probe, 1))], labelled_by="last symbol")
    assert found.labels == 3
    assert found.states == 200
    assert found.trained.silhouette == pytest.approx(1)
    assert found.trained.purity == found.trained.neighbours == 1
    assert found.untrained is None
    pairs = clusters(subject_of(model), [(probe, ngram_labels(probe, 2))], labelled_by="last 2 symbols")
    assert pairs.trained.silhouette < 0.1


def test_labels_of_ngrams_begin_where_there_are_enough_letters():
    probe = random_probe(count=1, length=4)
    (row,) = ngram_labels(probe, 2)
    word = probe.spell(0)
    assert row == [None, *(f"{a} {b}" for a, b in itertools.pairwise(word))]
    with pytest.raises(InputError, match="1 or more"):
        ngram_labels(probe, 0)


def test_labels_of_automaton_states_follow_the_automaton():
    language = resolve_language("parity")
    probe = random_probe(letters=2, count=3, length=6)
    ones = list(language.alphabet).index("1")
    for word, row in zip(probe.inputs.tolist(), state_labels(probe, language), strict=True):
        parities = [sum(letter == ones for letter in word[: t + 1]) % 2 for t in range(6)]
        assert len({(p, label) for p, label in zip(parities, row, strict=True)}) == len(set(parities))


def test_groups_of_words_of_different_lengths():
    model = ssm_with(torch.zeros(4, 4))
    groups = [random_probe(count=10, length=n) for n in (5, 8)]
    found = clusters(subject_of(model), [(p, ngram_labels(p, 1)) for p in groups], labelled_by="last symbol")
    assert found.states == 10 * 13
    assert found.trained.silhouette == pytest.approx(1)


def test_too_few_labels_are_refused():
    model, probe = ssm_with(torch.zeros(4, 4)), random_probe()
    same = [["x"] * 10] * 6
    with pytest.raises(InputError, match="1 labels occur"):
        clusters(subject_of(model), [(probe, same)], labelled_by="nothing")
    with pytest.raises(InputError, match="labels for"):
        clusters(subject_of(model), [(probe, same[:2])], labelled_by="nothing")


def test_a_growing_state_and_missing_answers_are_refused():
    with pytest.raises(InputError, match="no state of fixed size"):
        hidden_states(model_of("transformer", heads=1), [random_probe()])
    with pytest.raises(InputError, match="which Linear lacks"):
        hidden_states(torch.nn.Linear(1, 1), [random_probe()])
    with pytest.raises(InputError, match="one class"):
        target_labels(random_probe())
