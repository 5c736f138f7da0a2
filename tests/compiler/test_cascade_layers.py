import pytest

from nerode.algebra.cascades import decompose, decompose_solvable
from nerode.compiler.cascade_layers import CascadeLayers
from nerode.compiler.network_builder import LayerStack
from nerode.core import InputError
from tests.compiler.agreement import named, request_for


def test_levels_of_one_depth_share_a_layer_and_a_label_takes_its_bits():
    request = request_for("aabbccddee", "diagonal")
    cascade = decompose(named("aabbccddee").dfa())
    stack = LayerStack(request)
    CascadeLayers(stack, cascade, stack.letter)
    assert len(stack.layers) == cascade.depth
    widths = [sum(cascade.levels[i].bits for i in levels) for levels in cascade.layers]
    assert [layer.width for layer in stack.layers] == widths


def test_counting_levels_are_refused():
    parity = decompose_solvable(named("parity").dfa())
    stack = LayerStack(request_for("parity", "diagonal"))
    with pytest.raises(InputError, match="set-reset"):
        CascadeLayers(stack, parity, stack.letter)
