"""Brackets of any depth: the stack as one number, or as two integers under dense matrices.

With gates strictly between 0 and 1 a first layer holds cᵗ. In the second the number h is cᵗ times the code of
the stack, which is the digit of the innermost bracket and the code of the rest divided by the base B:

    opening kind k    h ← (c/B) h + k u         u = cᵗ
    closing kind k    h ← B c h - B k u

With digits 1 … K and B = 2K, at least 4, the codes with the innermost bracket k lie between k and k + 2/3.
After a bracket that does not fit, the code is below -1 or at least B, which a third layer adds up.

Two integers start as (x, y) = (1, 1). The brackets of the first kind add x to y and take it away, those of
the second add y to x. The pair walks in the Stern-Brocot tree: the larger one shows the innermost bracket,
equal ones an empty stack, and a bracket that does not fit leaves a number of 0 or less.

In ReLU units the stack is the digits of a number q in [0,1), base B = 2K for K kinds, digits 1, 3, 5, …:
opening kind k makes (q + d)/B of it, closing it makes B q - d. Each letter has a unit of its own, which is
the new q where the letter is read and 0 elsewhere.

With gates of 1 and powers in the readout the stack is a sum of 3·kind·Bⁿ over the open brackets, n the depth,
B a power of four: signs tell the innermost bracket, whose share of the sum is the largest. In quotients any
fixed gate does the same.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.counters import SCALE
from nerode.compiler.constructions.nonlinear_cells import additive
from nerode.compiler.forms import DirectionForm, Relu, conjunction, constant, direction, is_positive, total
from nerode.compiler.layer_builder import DecoderBuilder
from nerode.compiler.network_builder import DEAD, LayerStack, one_layer_network, state_layer
from nerode.compiler.thresholds import affine_rows
from nerode.core import NotCompilable, Reference
from nerode.languages import Dyck
from nerode.network import ByChoice, Network, Squashed
from nerode.verdict import (
    Facts,
    LanguageCondition,
    can_fade,
    dense,
    exact_gates,
    input_dependent,
    linear,
    nonlinear,
    plain_state,
    relu_state,
    squashed,
    time_invariant,
    unit_gates,
)

_BAD = "does not fit"
_STACK = "stack"
_HALF = Fraction(1, 2)


def _is_stack(facts: Facts) -> bool:
    language = facts.language
    return isinstance(language, Dyck) and language.depth is None


brackets_of_any_depth = LanguageCondition("brackets of any depth", _is_stack)


def _num_kinds(request: Request) -> int:
    language = request.facts.language
    if not isinstance(language, Dyck) or language.depth is not None:
        raise NotCompilable(request.target.name, ["the language is not that of brackets of any depth"])
    return len(language.pairs)


def compile_open_stack(request: Request) -> Network:
    """Returns three layers: the scale, the digits, and a tally of errors; correct on every word.

    Implements: [NerodeTheory]
    """
    kinds = _num_kinds(request)
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
    innermost = [builder.output(f"innermost={k + 1}", form) for k, form in enumerate(_differences(reached))]
    empty = builder.output("empty", one - reached[0])
    stack.add(builder)

    decoder = stack.decoder()
    decoder.compare_with(one)
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


def _differences(reached: list[DirectionForm]) -> list[DirectionForm]:
    """Each form less the one after it: the innermost bracket is of this kind, and not of a later one."""
    return [total([form, *(-above for above in reached[k + 1 : k + 2])]) for k, form in enumerate(reached)]


def compile_integer_stack(request: Request) -> Network:
    """Returns a layer of two integers and one that remembers the first error; correct on every word.

    Implements: [NerodeTheory]
    """
    if _num_kinds(request) != 2:
        raise NotCompilable(request.target.name, ["two integers are a stack of two kinds of brackets"])
    stack = LayerStack(request)
    builder = stack.layer("stack")
    relu = builder.readout_relu
    x, y = (builder.coordinate(name, gate=1, write=0, start=1) for name in "xy")
    innermost = [
        builder.output(f"innermost={k + 1}", is_positive(above, relu))
        for k, above in enumerate((y - x, x - y))
    ]
    bad = builder.output(_BAD, is_positive(1 - x, relu) + is_positive(1 - y, relu))
    hold_x, hold_y = ((0, 1),), ((1, 1),)
    moves = (
        (hold_x, ((0, 1), (1, 1))),
        (hold_x, ((0, -1), (1, 1))),
        (((0, 1), (1, 1)), hold_y),
        (((0, 1), (1, -1)), hold_y),
    )
    recurrence = ByChoice.from_rows(matrices=moves, writes=((0, 0),) * 4)
    stack.append(builder.build(recurrence=recurrence), builder.stream)
    stack.add_dead_flag(stack.layer("errors"), bad)
    decoder = stack.decoder()
    _decode(decoder, innermost, 1 - direction(DEAD), decoder.relu)
    return stack.network(
        decoder.build(stack.empty()),
        route="two integers, each added to the other by one kind of brackets; the larger one shows the "
        "innermost bracket; layer 2 remembers the first error",
        reference=Reference("NerodeTheory"),
    )


def _decode(
    decoder: DecoderBuilder,
    innermost: list[DirectionForm],
    alive: DirectionForm,
    relu: Relu,
    empty: DirectionForm | None = None,
) -> None:
    for k, form in enumerate(innermost):
        decoder.add(2 * k, alive)
        decoder.add(2 * k + 1, conjunction([form, alive], relu))
    decoder.add(2 * len(innermost), conjunction([empty or 1 - total(innermost), alive], relu))


def compile_power_stack(request: Request) -> Network:
    """Returns layers with gates of 1 for the depth, the sum of weighted brackets and the first error.

    Implements: [NerodeTheory]
    """
    return _power_stack(request, "")


def compile_quotient_stack(request: Request) -> Network:
    """Returns the same in quotients, for layers with any fixed gate.

    Implements: [NerodeTheory]
    """
    return _power_stack(
        request, ", in quotients by a unit that fades alike, for any fixed gate", quotients=True
    )


def _power_stack(request: Request, how: str, *, quotients: bool = False) -> Network:
    kinds = _num_kinds(request)
    height = next(m for m in itertools.count(1) if 4**m >= kinds + 2)
    base = 4**height
    # The innermost bracket of kind k has a share from k to k + kinds/(base - 1); between two kinds is room.
    room = (1 - Fraction(kinds, base - 1)) * _HALF
    stack = LayerStack(request, quotients=quotients)
    opens, closes = ([stack.letter(2 * k + side) for k in range(kinds)] for side in (0, 1))
    builder = stack.layer("depth")
    depth = builder.coordinate("depth", gate=1, write=height * (total(opens) - total(closes)))
    power = builder.readout_power
    weight = builder.output("weight", power(depth))
    added = builder.output(
        "brackets",
        total(
            (k + 1) * (power(at + letter) - power(at)) * sign
            for letters, at, sign in ((opens, depth, 1), (closes, depth + height, -1))
            for k, letter in enumerate(letters)
        ),
    )
    stack.add(builder)

    builder = stack.layer("stack")
    held = builder.coordinate("stack", gate=1, write=added)

    def above(share: Fraction) -> DirectionForm:
        return (builder.readout_sign(held - 3 * share * weight) + 1) * _HALF

    reached = [builder.output(f"reached={k}", above(k - room)) for k in range(1, kinds + 2)]
    below = builder.output(_BAD, 1 - above(-_HALF))
    stack.add(builder)

    stack.add_dead_flag(stack.layer("errors"), below + reached[kinds])
    decoder = stack.decoder()
    innermost = [reached[k] - reached[k + 1] for k in range(kinds)]
    _decode(decoder, innermost, 1 - direction(DEAD), decoder.relu, 1 - reached[0])
    return stack.network(
        decoder.build(stack.empty()),
        route=f"each open bracket weighs {base} to the power of its depth; the share of their sum shows the "
        f"innermost one{how}: correct in exact arithmetic; layer 3 remembers the first error",
        reference=Reference("NerodeTheory"),
    )


def compile_relu_stack(request: Request) -> Network:
    """Returns one layer of ReLU units with feedback; correct on every word in exact arithmetic.

    Implements: [SiegelmannSontag1995]
    """
    kinds = _num_kinds(request)
    base = 2 * kinds
    alphabet = request.facts.language.alphabet
    reads = [f"x={symbol}" for symbol in alphabet]
    letters = [direction(name) for name in reads]
    names = [f"q {'closed' if i % 2 else 'opened'} {i // 2 + 1}" for i in range(2 * kinds)]
    q = total(map(direction, names))
    rows: dict[str, DirectionForm] = {}
    errors: dict[str, DirectionForm] = {}
    kinds_of_errors = [f"no {k + 1}, {side}" for k in range(kinds) for side in ("less", "more")]
    tally = direction(DEAD) + total(map(direction, kinds_of_errors))
    for k in range(kinds):
        digit, closing = 2 * k + 1, base * (letters[2 * k + 1] - 1)
        rows[names[2 * k]] = (q + digit) * Fraction(1, base) + letters[2 * k] - 1
        rows[names[2 * k + 1]] = base * q - digit + closing
        # The code below or above those with this innermost bracket, by 1 at least.
        errors[f"no {k + 1}, less"] = digit - base * q + closing
        errors[f"no {k + 1}, more"] = base * q - digit - 1 + closing
    # After an error everything but the tally is 0.
    rows = {name: form - 2 * base**3 * tally for name, form in {**rows, **errors}.items()}
    rows[DEAD] = tally
    layer = state_layer(
        "stack",
        list(rows),
        start=[0] * len(rows),
        recurrence=Squashed(activation="relu", update=affine_rows([*reads, *rows], rows.values())),
        reads=reads,
    )
    decoder = DecoderBuilder(list(rows), len(alphabet))
    reached = [is_positive(base * q - 2 * k, decoder.relu) for k in range(kinds)]
    innermost = _differences(reached)
    alive = decoder.relu(constant(1) - tally)
    # Reached and alive are units already: of errors, which are 1 at least, nothing is left of `alive`.
    for k, form in enumerate(innermost):
        decoder.add(2 * k, alive)
        decoder.add(2 * k + 1, form + alive - 1)
    decoder.add(2 * kinds, alive - reached[0])
    language = request.facts.language
    return one_layer_network(
        request,
        layer,
        decoder.build(language.legal(language.initial())),
        route=f"the open brackets are the digits of one number in base {base}, held by one ReLU unit per "
        "letter; units that find an error are added up: correct in exact arithmetic",
        reference=Reference("SiegelmannSontag1995"),
    )


OPEN_STACK = Construction(
    name="open-stack",
    title="brackets as the digits of one number, gates strictly between 0 and 1",
    theorem="exact-stack-open-gates",
    language=brackets_of_any_depth,
    architecture=linear & input_dependent & can_fade,
    build=compile_open_stack,
)

INTEGER_STACK = Construction(
    name="integer-stack",
    title="two kinds of brackets as two integers",
    theorem="stack-of-two-integers",
    language=brackets_of_any_depth,
    architecture=linear & dense & input_dependent & can_fade,
    build=compile_integer_stack,
)

POWER_STACK = Construction(
    name="power-stack",
    title="brackets that weigh powers of their depth",
    theorem="exact-stack-growing-weights",
    language=brackets_of_any_depth,
    architecture=linear & plain_state & unit_gates,
    build=compile_power_stack,
)

QUOTIENT_STACK = Construction(
    name="quotient-stack",
    title="brackets that weigh powers of their depth, as quotients of states that fade alike",
    theorem="exact-stack-growing-weights",
    language=brackets_of_any_depth,
    architecture=(linear & plain_state & time_invariant) | (nonlinear & (squashed | ~exact_gates)),
    build=compile_quotient_stack,
)

RELU_STACK = Construction(
    name="relu-stack",
    title="brackets as the digits of a number in ReLU units",
    theorem="rational-networks-compute-anything",
    language=brackets_of_any_depth,
    architecture=nonlinear & (relu_state | additive),
    build=compile_relu_stack,
)
