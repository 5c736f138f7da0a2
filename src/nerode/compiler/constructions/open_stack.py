"""Brackets of any depth with gates strictly between 0 and 1: the stack as the digits of one number.

A first layer holds cᵗ. In the second the number h is cᵗ times the code of the stack, which is the digit of
the innermost bracket and the code of the rest divided by the base B:

    opening kind k    h ← (c/B) h + k u         u = cᵗ
    closing kind k    h ← B c h - B k u

With digits 1 … K and B = 2K, at least 4, the codes with the innermost bracket k lie between k and k + 2/3.
After a bracket that does not fit, the code is below -1 or at least B, which a third layer adds up.
"""

from __future__ import annotations

from fractions import Fraction

from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.counters import SCALE
from nerode.compiler.forms import DirectionForm, Relu, is_positive, total
from nerode.compiler.network_builder import DEAD, LayerStack
from nerode.core import NotCompilable, Reference
from nerode.languages import Dyck
from nerode.network import Network
from nerode.verdict import Facts, LanguageCondition, can_fade, input_dependent, linear

_STACK = "stack"
_HALF = Fraction(1, 2)


def compile_open_stack(request: Request) -> Network:
    """Returns three layers: the scale, the digits, and a tally of errors; correct on every word.

    Implements: [NerodeTheory]
    """
    language = request.facts.language
    if not isinstance(language, Dyck) or language.depth is not None:
        raise NotCompilable(request.target.name, ["the language is not that of brackets of any depth"])
    kinds = len(language.pairs)
    base = max(4, 2 * kinds)
    gate = Fraction(1, 2 * base)
    stack = LayerStack(request)
    builder = stack.layer(SCALE)
    one = builder.output(SCALE, builder.coordinate(SCALE, gate=gate, write=0, start=1))
    stack.add(builder)

    builder = stack.layer(_STACK)
    opening = total(stack.letter(2 * k) for k in range(kinds))
    closing = total(stack.letter(2 * k + 1) for k in range(kinds))
    added = total(
        amount * builder.relu(stack.letter(letter) + one - 1)
        for k in range(kinds)
        for letter, amount in ((2 * k, k + 1), (2 * k + 1, -base * (k + 1)))
    )
    gates = gate / base * opening + base * gate * closing
    digits = builder.output(_STACK, builder.coordinate(_STACK, gate=gates, write=added))
    stack.add(builder)

    builder = stack.layer("errors")
    bad = builder.relu(-digits) + builder.relu(digits - (base - 1) * one)
    tally = builder.coordinate(DEAD, gate=gate, write=bad)
    dead = builder.output(DEAD, is_positive(tally, builder.readout_relu, one))
    reached = [_at_least(digits, k + 1, one, builder.readout_relu) for k in range(kinds)]
    innermost = [
        builder.output(f"innermost={k + 1}", total([reached[k], *(-r for r in reached[k + 1 : k + 2])]))
        for k in range(kinds)
    ]
    empty = builder.output("empty", one - reached[0])
    stack.add(builder)

    decoder = stack.decoder()
    for output in range(2 * kinds + 1):
        decoder.add(output, (1 - one) * _HALF)  # half of the scale becomes the threshold 1/2
    for k in range(kinds):
        decoder.add(2 * k, one - dead)
        decoder.add(2 * k + 1, decoder.relu(innermost[k] - dead))
    decoder.add(2 * kinds, decoder.relu(empty - dead))
    return stack.network(
        decoder.build(stack.empty()),
        route=(
            f"the open brackets are the digits of one number in base {base}, in proportion to the number "
            f"{gate}ᵗ of layer 1; gates of {gate / base} and {base * gate}: correct in exact arithmetic; "
            "layer 3 remembers the first error"
        ),
        reference=Reference("NerodeTheory"),
    )


def _at_least(digits: DirectionForm, k: int, one: DirectionForm, relu: Relu) -> DirectionForm:
    """`one` where the innermost bracket is of kind k or later, 0 elsewhere."""
    return relu(3 * digits - (3 * k - 1) * one) - relu(3 * digits - 3 * k * one)


def _is_stack(facts: Facts) -> bool:
    language = facts.language
    return isinstance(language, Dyck) and language.depth is None


brackets_of_any_depth = LanguageCondition("brackets of any depth", _is_stack)

OPEN_STACK = Construction(
    name="open-stack",
    title="brackets as the digits of one number, gates strictly between 0 and 1",
    theorem="exact-stack-open-gates",
    language=brackets_of_any_depth,
    architecture=linear & input_dependent & can_fade,
    build=compile_open_stack,
)
