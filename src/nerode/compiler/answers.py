"""Decoders that say what is legal in each state of an automaton."""

from __future__ import annotations

from collections.abc import Sequence

from nerode.compiler.assembly import legal_sets
from nerode.compiler.construction import Request
from nerode.compiler.forms import direction
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.core import Exact, NotCompilable
from nerode.languages import Dfa
from nerode.network import PointDecoder, ScoreDecoder


def automaton_of(request: Request) -> Dfa:
    """Returns the minimal automaton of the language that is to be compiled.

    Raises:
        NotCompilable: if it was too large to build.
    """
    if request.facts.automaton is None:
        raise NotCompilable(request.target.name, ["the automaton has more states than the budget allows"])
    return request.facts.automaton


def one_hot_decoder(dfa: Dfa, names: Sequence[str]) -> ScoreDecoder:
    """Returns the decoder that reads the one-hot vector of the state from these directions."""
    legal = legal_sets(dfa)
    decoder = DecoderBuilder(names, dfa.num_letters)
    for name, answer in zip(names, legal, strict=True):
        decoder.add_legal(answer, direction(name))
    return decoder.build(legal[dfa.start])


def point_decoder(
    dfa: Dfa, reads: Sequence[str], points: Sequence[Sequence[Exact]], states: Sequence[int]
) -> PointDecoder:
    """Returns the decoder that finds the nearest of some points, each standing for a state."""
    legal = legal_sets(dfa)
    return PointDecoder(
        reads=tuple(reads),
        points=tuple(tuple(point) for point in points),
        answers=tuple(legal[q] for q in states),
        empty=legal[dfa.start],
    )
