"""The flip-flop language: the instruction before a bit, the bit that was written last, an error flag.

Layer 1 (width 3) holds the instruction of the current step and shows the one before; layer 2 (width 2) holds
the stored bit, one-hot, and is overwritten when the instruction before was w. These two layers predict, on
prefixes of words of the language. A third layer of width 1 remembers the first error, so that the network is
correct on every word.
"""

from __future__ import annotations

from nerode.compiler.construction import Construction, Request
from nerode.compiler.forms import DirectionForm, Relu, conjunction, constant, direction, total
from nerode.compiler.network_builder import DEAD, LayerStack
from nerode.core import NotCompilable, Reference
from nerode.network import Network
from nerode.verdict import can_fade, can_hold, diagonal, input_dependent, linear, of_family

INSTRUCTIONS = ("w", "r", "i")
BITS = ("0", "1")

_flip_flop = of_family({"flip-flop"}, "the flip-flop language")


def compile_flip_flop(request: Request) -> Network:
    """Returns the network of three layers that is correct on every word.

    Implements: [Sarrof2024]
    """
    stack = _two_layers(request)
    builder = stack.layer("errors")
    stack.add_dead_flag(builder, _error(builder.relu))
    return _finish(
        stack,
        alive=1 - direction(DEAD),
        route="layer 1 holds the instruction, layer 2 the written bit, layer 3 whether an error occurred",
    )


def compile_flip_flop_predictor(request: Request) -> Network:
    """Returns the network of two layers, of width 3 and 2, that predicts on prefixes of valid words.

    Implements: [Sarrof2024]
    """
    return _finish(
        _two_layers(request),
        alive=constant(1),
        route="layer 1 holds the instruction, layer 2 the written bit; only for prefixes of valid words",
    )


def _two_layers(request: Request) -> LayerStack:
    stack = LayerStack(request)
    if frozenset(stack.alphabet) != {*INSTRUCTIONS, *BITS}:
        raise NotCompilable(
            request.target.name, ["the letters of the flip-flop language are w, r, i, 0 and 1"]
        )
    builder = stack.layer("instruction", exposes_previous=request.options.exclusive_scan)
    for name in INSTRUCTIONS:
        _, before = builder.delayed(name, direction(f"x={name}"), request.options.retention)
        builder.output(f"after {name}", before)
    stack.add(builder)
    builder = stack.layer("bit")
    written = [conjunction([direction("after w"), direction(f"x={bit}")], builder.relu) for bit in BITS]
    for bit, write in zip(BITS, written, strict=True):
        stored = builder.coordinate(f"stored {bit}", gate=1 - total(written), write=write)
        builder.output(f"stored {bit}", stored)
    stack.add(builder)
    return stack


def _error(relu: Relu) -> DirectionForm:
    """Returns 1 where the letter is an error and none came before, 0 or 1 elsewhere.

    A bit needs an instruction just before it, and after r it must be the stored one. An instruction must not
    follow an instruction, and r and i need a stored bit. What the second layer stores is the same before and
    after every letter that is looked at here.
    """
    after = total(direction(f"after {name}") for name in INSTRUCTIONS)
    stored = total(direction(f"stored {bit}") for bit in BITS)
    is_bit = total(direction(f"x={bit}") for bit in BITS)
    is_instruction = total(direction(f"x={name}") for name in INSTRUCTIONS)
    wrong = [
        conjunction([direction("after r"), direction(f"x={bit}"), 1 - direction(f"stored {bit}")], relu)
        for bit in BITS
    ]
    needs = direction("x=r") + direction("x=i")
    return total(
        (
            conjunction([is_bit, 1 - after], relu),
            *wrong,
            conjunction([is_instruction, after], relu),
            conjunction([needs, 1 - after, 1 - stored], relu),
        )
    )


def _finish(stack: LayerStack, *, alive: DirectionForm, route: str) -> Network:
    decoder = stack.decoder()
    letter = stack.alphabet.index
    is_bit = total(direction(f"x={bit}") for bit in BITS)
    between = conjunction([is_bit, alive], decoder.relu)
    for name in INSTRUCTIONS:
        decoder.add(letter(name), between)
    decoder.add(len(stack.alphabet), between)
    free = conjunction([direction("x=w") + direction("x=i"), alive], decoder.relu)
    for bit in BITS:
        read = conjunction([direction("x=r"), direction(f"stored {bit}"), alive], decoder.relu)
        decoder.add(letter(bit), free + read)
    return stack.network(
        decoder.build(stack.empty()),
        route=route,
        reference=Reference("Sarrof2024"),
    )


FLIP_FLOP = Construction(
    name="flip-flop",
    title="instruction, bit and error flag",
    theorem="flip-flop-two-layers",
    language=_flip_flop,
    architecture=linear & diagonal & input_dependent & can_hold & can_fade,
    build=compile_flip_flop,
)

FLIP_FLOP_PREDICTOR = Construction(
    name="flip-flop-predictor",
    title="instruction and bit, on valid prefixes",
    theorem="flip-flop-two-layers",
    language=_flip_flop,
    architecture=linear & diagonal & input_dependent & can_hold & can_fade,
    build=compile_flip_flop_predictor,
    predicts_only=True,
)
