"""Star-free languages: any counter-free automaton, as a cascade of set-reset automata, as diagonal layers."""

from __future__ import annotations

from functools import partial

from nerode.algebra.cascades import Cascade, NotCounterFree, Source, decompose
from nerode.compiler.answers import automaton_of
from nerode.compiler.assembly import Assembly, decode_table, legal_sets
from nerode.compiler.cascade_layers import CascadeLayers
from nerode.compiler.construction import Construction, Request, construction
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.compiler.tables import DecisionTable, decision_table
from nerode.core import Budget, NotCompilable, Reference
from nerode.languages import Dfa, Legal
from nerode.network import Network
from nerode.verdict import can_hold, diagonal, householder, input_dependent, linear, star_free

_FEW_CONFIGURATIONS = 1_000
"""Label combinations up to which a table over the labels is tried where the lookups could be followed."""

_MOST_CONFIGURATIONS = 20_000
"""Label combinations up to which it is tried where they cannot."""


def compile_star_free(request: Request, name: str = "star-free") -> Network:
    """Returns diagonal layers with gates 0 and 1 that run a cascade of set-reset automata.

    Implements: [Sarrof2024], [KrohnRhodes1965]
    """
    dfa = automaton_of(request)
    try:
        cascade = request.once("star-free cascade", lambda: decompose(dfa, request.options.budget))
    except NotCounterFree as refusal:
        raise NotCompilable(request.target.name, [str(refusal)]) from None
    assembly = Assembly(request)
    layers = CascadeLayers(assembly, cascade, assembly.letter)
    decoder = assembly.decoder()
    _decode(decoder, layers, dfa, request)
    labels = sum(level.num_labels for level in cascade.levels)
    retention = request.options.retention
    return assembly.network(
        decoder.build(assembly.empty()),
        construction=name,
        route=f"{cascade.route}: depth {cascade.depth}, labels of {cascade.bits} bits (one-hot: {labels})"
        + (
            ""
            if request.options.exclusive_scan
            else f", labels before the letter kept by gates of {retention}"
        ),
        reference=Reference("Sarrof2024"),
    )


def _decode(decoder: DecoderBuilder, layers: CascadeLayers, dfa: Dfa, request: Request) -> None:
    """Adds the scores: a table over the labels if it is small, otherwise the cascade's own lookups."""
    cascade = layers.cascade
    follows = layers.knows_state
    most = _FEW_CONFIGURATIONS if follows else _MOST_CONFIGURATIONS
    table = _label_table(cascade, dfa, request.options.budget, most)
    if table is not None and (not follows or len(table.rows) <= _state_rows(cascade)):
        decode_table(decoder, table, lambda level, label: layers.literal(Source("new", level), label))
        return
    if not follows:
        reason = f"the labels have more than {_MOST_CONFIGURATIONS:,} combinations, too many for one table"
        raise NotCompilable(request.target.name, [reason])
    legal = legal_sets(dfa)
    for output in range(dfa.num_letters + 1):

        def is_legal(q: int, output: int = output) -> int:
            return int(output in legal[q].symbols or (output == dfa.num_letters and legal[q].end))

        decoder.add(output, layers.weigh(cascade.state, is_legal, decoder.relu))


def _state_rows(cascade: Cascade) -> int:
    """How many rows the lookup that says the state has, with the lookups that only it needs."""
    return sum(
        len(table.rows)
        for number, table in enumerate(cascade.lookups)
        if number == cascade.state or cascade.reads_new(number)
    )


def _label_table(cascade: Cascade, dfa: Dfa, budget: Budget, most: int) -> DecisionTable[Legal] | None:
    """Returns what is legal by the labels after a letter; None if more than `most` are reached."""
    legal = legal_sets(dfa)
    found: dict[tuple[int, ...], Legal] = {}
    pending = [cascade.initial()]
    while pending:
        labels = pending.pop()
        for letter in range(cascade.num_letters):
            following = cascade.step(labels, letter)
            if following not in found:
                found[following] = legal[cascade.state_of(following)]
                pending.append(following)
        if len(found) > most:
            return None
    sizes = [level.num_labels for level in cascade.levels]
    return decision_table(list(found), list(found.values()), sizes, budget)


construction(
    Construction(
        name="star-free",
        title="a cascade of set-reset layers",
        theorem="star-free-selective",
        language=star_free,
        architecture=linear & diagonal & input_dependent & can_hold,
        build=compile_star_free,
    )
)

construction(
    Construction(
        name="star-free-delta-rule",
        title="a cascade of set-reset heads",
        theorem="star-free-delta-rule",
        language=star_free,
        architecture=linear & householder & input_dependent & can_hold,
        build=partial(compile_star_free, name="star-free-delta-rule"),
    )
)
