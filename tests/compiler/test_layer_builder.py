import pytest

from nerode.compiler.forms import constant, direction
from nerode.compiler.layer_builder import DecoderBuilder, LayerBuilder
from nerode.core import InputError
from nerode.languages import Legal
from nerode.network import Fixed

A, B = direction("a"), direction("b")


def test_a_layer_reads_what_its_forms_mention_in_the_order_of_the_stream():
    builder = LayerBuilder("test", ["a", "b", "c"])
    unit = builder.relu(B + A - 1)
    state = builder.coordinate("q", gate=1 - unit, write=unit)
    builder.output("q", state)
    layer = builder.build()
    assert layer.reads == ("a", "b")
    assert layer.units.rows == (((0, 1), (1, 1)),)
    assert layer.units.bias == (-1,)
    assert layer.recurrence.gate.rows == (((2, -1),),)
    assert builder.stream == ("a", "b", "c", "q")


def test_the_same_relu_is_made_once_and_constants_need_none():
    builder = LayerBuilder("test", ["a", "b"])
    assert builder.relu(A + B) == builder.relu(B + A)
    assert builder.relu(constant(-2)) == constant(0)
    assert builder.relu(constant(3)) == constant(3)
    builder.coordinate("q", gate=1, write=builder.relu(A + B))
    assert builder.build().units.num_outputs == 1


def test_fixed_gates_become_a_matrix():
    builder = LayerBuilder("test", ["a"])
    builder.coordinate("p", gate=0, write=A)
    builder.coordinate("q", gate=1, write=A)
    recurrence = builder.build(time_invariant=True).recurrence
    assert isinstance(recurrence, Fixed)
    assert recurrence.matrix == ((), ((1, 1),))


def test_what_cannot_be_built_is_refused():
    builder = LayerBuilder("test", ["a"])
    builder.coordinate("q", gate=A, write=0)
    builder.output("out", A)
    with pytest.raises(InputError, match="two coordinates called 'q'"):
        builder.coordinate("q", gate=1, write=0)
    with pytest.raises(InputError, match="two outputs called 'out'"):
        builder.output("out", A)
    with pytest.raises(InputError, match="does not expose its state"):
        builder.previous("q")
    with pytest.raises(InputError, match="the gate of 'q' depends on the input"):
        builder.build(time_invariant=True)


def test_a_form_of_an_unknown_direction_is_refused():
    builder = LayerBuilder("test", ["a"])
    builder.coordinate("q", gate=1, write=direction("b"))
    with pytest.raises(InputError, match="no input of this map is called 'b'"):
        builder.build()


def test_a_decoder_adds_up_what_is_legal():
    decoder = DecoderBuilder(["a", "b"], 2)
    decoder.add_legal(Legal(frozenset({1}), True), A)
    decoder.add(0, decoder.relu(A - B))
    built = decoder.build(Legal(frozenset(), False))
    assert built.reads == ("a", "b")
    assert built.scores.rows == (((2, 1),), ((0, 1),), ((0, 1),))
