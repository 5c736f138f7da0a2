"""A kind of recurrence that only this file knows runs everywhere: its record says all that others need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import onnxruntime
import pytest
import torch

from nerode.core import NotCompilable, Reference
from nerode.explorer.networks import layer_matrices
from nerode.languages import Alphabet, Legal
from nerode.models.exports import network_to_onnx
from nerode.models.lower.stream import plan_move
from nerode.models.network_module.model import load_model
from nerode.network import (
    Affine,
    Embedding,
    Interpreter,
    Layer,
    NamedMap,
    Network,
    Origin,
    Recurrence,
    ScoreDecoder,
    describe_network,
    json_form,
    network_from_json,
    network_hash,
    network_to_json,
    zero_map,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded(Recurrence):
    """h = clip(gate ∘ h + write): a counter that stops at 0 and 1."""

    kind: ClassVar[str] = "bounded"
    linear: ClassVar[bool] = False

    gate: Affine
    write: Affine

    def check(self, *, width, num_inputs):
        for given in self.maps():
            assert (given.num_outputs, given.num_inputs) == (width, num_inputs)

    def maps(self):
        return self.gate, self.write

    def with_maps(self, change):
        return replace(self, gate=change(self.gate), write=change(self.write))

    def step(self, numbers):
        return _BoundedStep(self, numbers)

    def lines(self, names):
        return [f"{name} ← clip(gate·{name} + write)" for name in names.marked_state]

    def tables(self, names):
        return [NamedMap.of("write", self.write, names.state, names.inputs)]


class _BoundedStep:
    def __init__(self, record, numbers):
        self.numbers = numbers
        self.gate = numbers.map(record.gate, "gate")
        self.write = numbers.map(record.write, "write")

    def drive(self, seen, letter):
        return self.gate(seen), self.write(seen)

    def advance(self, drive, state):
        gate, write = drive
        return self.numbers.apply("clip", self.numbers.gated(gate, state, write))

    def shown(self, drive, state):
        return {"gate": drive[0], "write": drive[1]}


@pytest.fixture
def network():
    """The letter a fills a counter, b empties it; a word may end where it is full."""
    layer = Layer(
        name="counter",
        reads=("x=a", "x=b"),
        state=("h",),
        start=(0,),
        units=zero_map(2),
        recurrence=Bounded(
            gate=Affine(num_inputs=2, bias=(1,), rows=(((1, -1),),)),
            write=Affine(num_inputs=2, bias=(0,), rows=(((0, 1),),)),
        ),
        readout_units=zero_map(3),
        outputs=("full",),
        readout=Affine(num_inputs=3, bias=(0,), rows=(((2, 1),),)),
    )
    return Network(
        alphabet=Alphabet(("a", "b")),
        target="test",
        embedding=Embedding.one_hot(Alphabet(("a", "b"))),
        layers=(layer,),
        decoder=ScoreDecoder(
            reads=("full",),
            units=zero_map(1),
            scores=Affine(num_inputs=1, bias=(1, 1, 0), rows=((), (), ((0, 1),))),
            empty=Legal(frozenset({0, 1}), end=False),
        ),
        origin=Origin(
            language="l", language_hash="h", construction="c", route="r", reference=Reference("Elman1990")
        ),
    )


WORDS = [[0, 0, 1, 0, 1, 1, 0, 0], [1, 1, 0, 0, 0, 1, 0, 1]]


def test_exact_torch_and_onnx_agree(network):
    exact = [
        [answer.legal.end for answer in Interpreter(network).run(["ab"[i] for i in w])[1:]] for w in WORDS
    ]
    model, letters = load_model(network), torch.tensor(WORDS)
    state, stepped = model.initial_state(2), []
    for time in range(letters.shape[1]):
        scores, state = model.step(letters[:, time], state)
        stepped.append(scores)
    scanned = model(letters)[0]
    torch.testing.assert_close(torch.stack(stepped, dim=1), scanned, rtol=0, atol=0)
    assert model.legal(scanned)[..., -1].tolist() == exact
    session = onnxruntime.InferenceSession(network_to_onnx(network).SerializeToString())
    (scores,) = session.run(["scores"], {"letters": np.array(WORDS)})
    assert (scores[..., -1] > 0.5).tolist() == exact


def test_text_and_tables_come_from_the_record(network):
    assert "h[h] ← clip(gate·h[h] + write)" in describe_network(network)
    titles = [table.title for table in layer_matrices(network.layers[0], network.alphabet)]
    assert titles == ["write", "readout"]


def test_a_file_needs_one_row_in_the_table_of_kinds(network, monkeypatch):
    monkeypatch.setitem(json_form._KINDS, "bounded", (Bounded, ("gate", "write"), ()))
    again = network_from_json(network_to_json(network))
    assert again == network
    assert network_hash(again) == network_hash(network)


def test_without_a_plan_it_is_refused_for_real_architectures(network):
    with pytest.raises(NotCompilable, match="no architecture here carries the recurrence"):
        plan_move(network.layers[0].recurrence, [], [], [])
