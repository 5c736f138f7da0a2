"""Counter languages by attention: heads that average count, heads that say what has happened keep errors.

The network is that of the recurrent counters, with each register read as a head: a counter is a sum of which
softmax gives the mean, the flag of the first error is a bit that has ever been 1, a register that is
overwritten at every letter is looked up one position back. Bounded Dyck languages with more stacks than an
automaton can list have registers besides, one per depth: heads that find the latest bracket opened there.
"""

from __future__ import annotations

from dataclasses import replace

from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.bounded_dyck import bounded_dyck, compile_bounded_dyck
from nerode.compiler.constructions.counters import compile_counters, given_by_counters
from nerode.compiler.network_builder import DEAD
from nerode.core import NotCompilable
from nerode.network import AttentionHeads, Layer, Network
from nerode.verdict import ClassCondition, LanguageCondition, Positions, averaging_heads, sloped_heads

registers_and_heads = ClassCondition(
    "diagonal layers and softmax attention",
    lambda c: (
        len(c.parts) == 2 and c.parts[0] in ("diagonal", "mamba") and c.parts[1].startswith("transformer")
    ),
)
_many_stacks = LanguageCondition("of too many stacks for an automaton", lambda f: f.automaton is None)


def compile_attention_counters(request: Request) -> Network:
    """Returns the network of recurrent counters with heads in place of registers.

    Implements: [YangChiang2024]
    """
    network = compile_counters(request)
    layers = tuple(_with_heads(layer, request) for layer in network.layers)
    return replace(network, layers=layers)


def compile_attention_brackets(request: Request) -> Network:
    """Returns the network of a depth counter and registers by depth, with heads in place of both.

    Implements: [Sarrof2024]
    """
    network = compile_bounded_dyck(request)
    return replace(network, layers=tuple(_with_heads(layer, request) for layer in network.layers))


def _with_heads(layer: Layer, request: Request) -> Layer:
    """A diagonal layer whose registers are heads.

    Raises:
        NotCompilable: if a register is no head that the target has.
    """
    gated = layer.recurrence.as_gated()
    if gated is None:
        raise NotCompilable(request.target.name, [f"layer {layer.name} has registers that are no heads"])
    kinds = []
    hold_bias, hold_rows = list(gated.gate.bias), list(gated.gate.rows)
    for i in range(layer.width):
        bias, row = gated.gate.bias[i], gated.gate.rows[i]
        if not row and bias in (0, 1):
            kinds.append("mean" if bias else "previous")
        elif layer.state[i] == DEAD:
            kinds.append("once")
            # A flag is held where nothing is written; its gate may say so in other words.
            hold_bias[i] = 1 - gated.write.bias[i]
            hold_rows[i] = tuple((j, -c) for j, c in gated.write.rows[i])
        elif sloped_heads(request.target.properties):
            kinds.append("last")
        else:
            reason = f"the register {layer.state[i]} of layer {layer.name} is no head without a horizon"
            raise NotCompilable(request.target.name, [reason])
    if "previous" in kinds and request.target.properties.positions is Positions.NONE:
        raise NotCompilable(request.target.name, ["the letter before is read, which needs positions"])
    hold = replace(gated.gate, bias=tuple(hold_bias), rows=tuple(hold_rows))
    heads = AttentionHeads(heads=tuple(kinds), hold=hold, values=gated.write)
    return replace(layer, recurrence=heads)


COUNTER_HEADS = Construction(
    name="counter-heads",
    title="heads that count",
    theorem="attention-counts",
    language=given_by_counters,
    architecture=averaging_heads | registers_and_heads,
    build=compile_attention_counters,
)

BRACKET_HEADS = Construction(
    name="bracket-heads",
    title="heads that count the depth and find the latest bracket of each depth",
    theorem="soft-counts-regular",
    language=bounded_dyck & _many_stacks,
    architecture=sloped_heads,
    build=compile_attention_brackets,
)
