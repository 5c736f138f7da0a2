from __future__ import annotations

from dataclasses import replace

import pytest

from nerode.core import Budget, InputError
from nerode.languages import Dfa
from nerode.languages.bestiary import find_language
from nerode.network import Network, network_to_json, zero_map
from nerode.proofs import checker_quotients
from nerode.proofs.checker_evaluation import Evaluator
from nerode.proofs.checker_forms import Undecided
from nerode.proofs.checker_network import read_network
from nerode.proofs.checker_quotients import merge_layers
from tests.proofs import networks
from tests.proofs.test_exact import regular


def two_layers() -> Network:
    """Counts modulo 4 one-hot, shows only the count modulo 2; a second layer reads that."""
    dfa = Dfa.build("ab", lambda q, s: (q + (s == "a")) % 4, start=0, accept=[0])
    base = networks.one_hot_network(regular(dfa), dfa)
    layer = base.layers[0]
    shown = replace(
        layer,
        outputs=("even",),
        readout=networks.affine(list(layer.state), [({"q=0": 1, "q=2": 1}, 0)]),
    )
    second = replace(
        layer,
        name="copy",
        reads=("even",),
        state=("last",),
        start=(1,),
        units=zero_map(1),
        recurrence=networks.Gated(gate=zero_map(1, 1), write=networks.affine(["even"], [({"even": 1}, 0)])),
        readout_units=zero_map(2),
        outputs=("answer",),
        readout=networks.affine(["even", "last"], [({"last": 1}, 0)]),
    )
    decoder = replace(
        base.decoder,
        reads=("answer",),
        units=zero_map(1),
        scores=networks.affine(["answer"], [({}, 1), ({}, 1), ({"answer": 1}, 0)]),  # type: ignore[arg-type]
        empty=networks.Legal(frozenset({0, 1}), True),
    )
    return replace(base, layers=(shown, second), decoder=decoder)


def test_states_that_no_later_layer_tells_apart_are_merged() -> None:
    evaluator = Evaluator(read_network(network_to_json(two_layers())))
    merged = merge_layers(evaluator, 1, Budget())
    assert len(merged) == 4
    assert len(set(merged.values())) == 2
    assert all(merged[kept] == kept for kept in merged.values())


def test_states_that_differ_only_later_are_kept_apart() -> None:
    network = two_layers()
    layer = network.layers[0]
    # Only the count 0 is shown: 1 and 2 look alike after one letter, not after two.
    shown = replace(layer, readout=networks.affine(list(layer.state), [({"q=0": 1}, 0)]))
    changed = replace(network, layers=(shown, network.layers[1]))
    merged = merge_layers(Evaluator(read_network(network_to_json(changed))), 1, Budget())
    assert len(set(merged.values())) == 4


def test_what_the_decoder_reads_keeps_states_apart() -> None:
    network = two_layers()
    layer = network.layers[0]
    readout = networks.affine(list(layer.state), [({"q=0": 1, "q=2": 1}, 0), ({"q=0": 1}, 0)])
    shown = replace(layer, outputs=("even", "zero"), readout=readout)
    scores = networks.affine(["zero"], [({}, 1), ({}, 1), ({"zero": 1}, 0)])
    decoder = replace(network.decoder, reads=("zero",), units=zero_map(1), scores=scores)  # type: ignore[arg-type]
    changed = replace(network, layers=(shown, network.layers[1]), decoder=decoder)
    merged = merge_layers(Evaluator(read_network(network_to_json(changed))), 1, Budget())
    assert len(set(merged.values())) == 4


def test_merging_needs_layers_above_and_finitely_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker_quotients, "_MAX_STATES", 100)
    evaluator = Evaluator(read_network(network_to_json(two_layers())))
    for count in (0, 2, 3):
        with pytest.raises(InputError):
            merge_layers(evaluator, count, Budget())
    counting = networks.counter_network(find_language("dyck-1"))  # type: ignore[arg-type]
    with pytest.raises(Undecided, match="states"):
        merge_layers(Evaluator(read_network(network_to_json(counting))), 1, Budget())
