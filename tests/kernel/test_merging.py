"""First layers whose states are merged: only those that no later layer and no decoder tells apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nerode.kernel.domains import unknowns
from nerode.kernel.domains.knowledge import read_knowledge
from nerode.kernel.domains.unknowns import merge_layers
from nerode.kernel.network import read_network
from nerode.kernel.step import ExactArithmetic, States, Stepper
from nerode.kernel.work import OverBudget, Undecided, Unreadable, WorkBudget, WorkCount
from nerode.languages import Dfa, Legal
from nerode.languages.bestiary import find_language
from nerode.network import Gated, Network, network_to_json, zero_map
from tests.kernel.cases import plain
from tests.proofs import networks
from tests.proofs.test_certification import regular


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
        recurrence=Gated(gate=zero_map(1, 1), write=networks.affine(["even"], [({"even": 1}, 0)])),
        readout_units=zero_map(2),
        outputs=("answer",),
        readout=networks.affine(["even", "last"], [({"last": 1}, 0)]),
    )
    decoder = replace(
        base.decoder,
        reads=("answer",),
        units=zero_map(1),
        scores=networks.affine(["answer"], [({}, 1), ({}, 1), ({"answer": 1}, 0)]),
        empty=Legal(frozenset({0, 1}), True),
    )  # type: ignore[type-var]
    return replace(base, layers=(shown, second), decoder=decoder)


def merged(network: Network, count: int = 1, seconds: float = 60) -> dict[States, States]:
    work = WorkCount(WorkBudget(seconds=seconds))
    read = read_network(plain(network_to_json(network)), work)
    return merge_layers(Stepper(read, ExactArithmetic(read)), count, work)


def test_states_that_no_later_layer_tells_apart_are_merged() -> None:
    found = merged(two_layers())
    assert len(found) == 4
    assert len(set(found.values())) == 2
    assert all(found[kept] == kept for kept in found.values())


def test_states_that_differ_only_later_are_kept_apart() -> None:
    network = two_layers()
    layer = network.layers[0]
    # Only the count 0 is shown: 1 and 2 look alike after one letter, not after two.
    shown = replace(layer, readout=networks.affine(list(layer.state), [({"q=0": 1}, 0)]))
    found = merged(replace(network, layers=(shown, network.layers[1])))
    assert len(set(found.values())) == 4


def test_what_the_decoder_reads_keeps_states_apart() -> None:
    network = two_layers()
    layer = network.layers[0]
    readout = networks.affine(list(layer.state), [({"q=0": 1, "q=2": 1}, 0), ({"q=0": 1}, 0)])
    shown = replace(layer, outputs=("even", "zero"), readout=readout)
    scores = networks.affine(["zero"], [({}, 1), ({}, 1), ({"zero": 1}, 0)])
    decoder = replace(network.decoder, reads=("zero",), units=zero_map(1), scores=scores)  # type: ignore[type-var]
    found = merged(replace(network, layers=(shown, network.layers[1]), decoder=decoder))
    assert len(set(found.values())) == 4


def test_merging_needs_layers_above_and_finitely_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    read = read_network(plain(network_to_json(two_layers())), WorkCount())
    assert read_knowledge({"merged": 1}, read).merged == 1
    for count in (-1, 2, 3, True, "1"):
        with pytest.raises(Unreadable, match="merged"):
            read_knowledge({"merged": count}, read)
    with pytest.raises(Unreadable, match="merged layer"):
        read_knowledge({"merged": 1, "caps": {"1:q=0": 1}}, read)
    counting = networks.counter_network(find_language("dyck-1"))  # type: ignore[arg-type]
    with pytest.raises(OverBudget):
        merged(counting, seconds=0.05)
    monkeypatch.setattr(unknowns, "_MAX_MERGED", 100)
    with pytest.raises(Undecided, match="states"):
        merged(counting)
