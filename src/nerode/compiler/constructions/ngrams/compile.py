"""The rows of the construction table for n-gram models."""

from __future__ import annotations

import math

from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.constructions.ngrams.conditioned import conditioned_network
from nerode.compiler.constructions.ngrams.ramps import ramp_network
from nerode.compiler.constructions.ngrams.recurrent import recurrent_network
from nerode.compiler.constructions.ngrams.structural import structural_network
from nerode.compiler.constructions.ngrams.targets import make_targets
from nerode.compiler.network import Network
from nerode.core.errors import NotCompilable
from nerode.languages.language import Legal
from nerode.languages.ngrams import NgramLanguage, NgramModel
from nerode.verdict.classes import dense, linear, nonlinear, relu_state, time_invariant
from nerode.verdict.facts import of_family

_FEW_WORDS = 100
"""Vocabularies up to this size fit on a circle; larger ones get about log2 of their size dimensions."""

ngram_family = of_family({"n-gram"}, "an n-gram model")


def compile_ngram_ssm(request: Request) -> Network:
    """Returns the one-layer SSM of an n-gram model, by the variant that the options ask for."""
    model = _model(request)
    targets = make_targets(
        model, request.options, unknown=request.options.unknown_contexts, target=request.target.name
    )
    width = request.options.embedding_width or _default_width(len(model.vocabulary))
    empty = _starts(request)
    if width == 1:
        return ramp_network(request, targets, empty)
    if request.options.variant == "conditioned":
        return conditioned_network(request, targets, width, empty)
    return structural_network(request, targets, width, empty)


def compile_ngram_rnn(request: Request) -> Network:
    """Returns the one-layer ReLU network of an n-gram model."""
    model = _model(request)
    targets = make_targets(
        model, request.options, unknown=request.options.unknown_contexts, target=request.target.name
    )
    width = request.options.embedding_width or _default_width(len(model.vocabulary))
    return recurrent_network(request, targets, max(2, width), _starts(request))


def _model(request: Request) -> NgramModel:
    language = request.facts.language
    if not isinstance(language, NgramLanguage) or not isinstance(language.model, NgramModel):
        raise NotCompilable(
            request.target.name,
            ["the model has back-off weights in floating point; only exact models have exact networks"],
        )
    if language.model.order < 2:
        raise NotCompilable(request.target.name, ["a model of order 1 has no context to match"])
    return language.model


def _default_width(num_words: int) -> int:
    return 2 if num_words <= _FEW_WORDS else 2 + math.ceil(math.log2(num_words))


def _starts(request: Request) -> Legal:
    language = request.facts.language
    return language.legal(language.initial())


construction(
    Construction(
        name="n-gram-ssm",
        title="one neuron for each context",
        theorem="n-gram-one-layer",
        language=ngram_family,
        architecture=linear & dense & time_invariant,
        build=compile_ngram_ssm,
    )
)

construction(
    Construction(
        name="n-gram-rnn",
        title="one ReLU unit for each context",
        theorem="regular-by-nonlinear-units",
        language=ngram_family,
        architecture=nonlinear & relu_state,
        build=compile_ngram_rnn,
    )
)
