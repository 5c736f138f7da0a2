"""N-gram models: the rows of the construction table, and the choice among the networks of `ngrams`.

A coordinate that the contexts of a model cannot carry stays zero: a network is made with as many coordinates
of the embedding as its method allows. Where the delay line cannot stand for contexts at all, it gets neurons
of its own beside theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.ngrams.backoff import backoff_rnn, backoff_ssm
from nerode.compiler.constructions.ngrams.layouts import Layout, choose_axes, line_layout, sphere_layout
from nerode.compiler.constructions.ngrams.networks import (
    conditioned_network,
    recurrent_network,
    structural_network,
)
from nerode.compiler.constructions.ngrams.targets import Targets, make_targets
from nerode.core import NotCompilable
from nerode.languages.ngrams import BackoffModel, NextWordModel, NgramLanguage, NgramModel
from nerode.network import Network
from nerode.verdict import dense, linear, nonlinear, of_family, relu_state, time_invariant

_FEW_WORDS = 100
"""Vocabularies up to this size fit on a circle; larger ones get about log2 of their size dimensions."""

ngram_family = of_family({"n-gram"}, "an n-gram model")


def compile_ngram_ssm(request: Request) -> Network:
    """Returns the one-layer SSM of an n-gram model, by the variant that the options ask for."""
    model = _model(request)
    if isinstance(model, BackoffModel):
        return backoff_ssm(request, model)
    targets, width = _targets(request), _width(request)
    conditioned = request.options.ngrams.variant == "conditioned"
    if conditioned or targets.unknown is not None:
        for sphere in _spheres(request, targets, width, ages=targets.length):
            network = conditioned_network(request, targets, sphere, width=width, sparse=not conditioned)
            if network is not None:
                return network
    else:
        axes = choose_axes(targets.contexts, width)
        layout = _sphere(request, targets, len(axes), axes) if len(axes) > 1 else None
        layout = layout or line_layout(targets.contexts, _num_words(request))
        network = structural_network(request, targets, layout, width=width)
        if network is not None:
            return network
    return _beside(structural_network, request, targets, width)


def compile_ngram_rnn(request: Request) -> Network:
    """Returns the one-layer ReLU network of an n-gram model."""
    model = _model(request)
    if isinstance(model, BackoffModel):
        return backoff_rnn(request, model)
    targets, width = _targets(request), _width(request)
    if targets.unknown is None:
        lines = [line_layout(targets.contexts, _num_words(request))]
        for layout in (*_spheres(request, targets, width, ages=targets.length - 1), *lines):
            network = recurrent_network(request, targets, layout, width=width)
            if network is not None:
                return network
    return _beside(recurrent_network, request, targets, width)


class _BuildNetwork(Protocol):
    def __call__(
        self, request: Request, targets: Targets, layout: Layout, *, width: int, shared: bool
    ) -> Network | None: ...


def _beside(build: _BuildNetwork, request: Request, targets: Targets, width: int) -> Network:
    """Returns the network whose delay line has neurons of its own."""
    layout = _sphere(request, targets, width) if width > 1 else None
    if layout is None and targets.unknown is not None:
        raise NotCompilable(
            request.target.name,
            ["on a line detectors do not vanish on unknown contexts; give a larger embedding width"],
        )
    layout = layout or line_layout(targets.contexts, _num_words(request))
    network = build(request, targets, layout, width=width, shared=False)
    assert network is not None
    return network


def _spheres(request: Request, targets: Targets, width: int, *, ages: int) -> Iterator[Layout]:
    """Yields words on spheres of fewer and fewer dimensions, as far as the contexts can span all ages."""
    most = len(targets.contexts) // max(ages, 1)
    for reach in range(min(width, most), 1, -1):
        layout = _sphere(request, targets, reach)
        if layout is not None:
            yield layout


def _sphere(request: Request, targets: Targets, reach: int, axes: tuple[int, ...] = ()) -> Layout | None:
    return sphere_layout(targets.contexts, _num_words(request), reach, axes)


def _model(request: Request) -> NextWordModel:
    language = request.facts.language
    if not isinstance(language, NgramLanguage):
        raise NotCompilable(request.target.name, [f"{language.name} has no n-gram model"])
    return language.model


def _targets(request: Request) -> Targets:
    language, model = request.facts.language, _model(request)
    assert isinstance(language, NgramLanguage)
    assert isinstance(model, NgramModel)
    return make_targets(language, model, request.options.ngrams, target=request.target.name)


def _num_words(request: Request) -> int:
    return len(request.facts.language.alphabet)


def _width(request: Request) -> int:
    num_words = _num_words(request)
    default = 2 if num_words <= _FEW_WORDS else 2 + math.ceil(math.log2(num_words))
    return request.options.ngrams.embedding_width or default


NGRAM_SSM = Construction(
    name="n-gram-ssm",
    title="one neuron for each context",
    theorem="n-gram-one-layer",
    language=ngram_family,
    architecture=linear & dense & time_invariant,
    build=compile_ngram_ssm,
    distributions=True,
)

NGRAM_RNN = Construction(
    name="n-gram-rnn",
    title="one ReLU unit for each context",
    theorem="regular-by-nonlinear-units",
    language=ngram_family,
    architecture=nonlinear & relu_state,
    build=compile_ngram_rnn,
    distributions=True,
)
