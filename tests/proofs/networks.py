"""Small networks made by hand, and what can be done to them."""

from __future__ import annotations

from fractions import Fraction

from nerode.core import Exact, Reference, root_of_unity
from nerode.languages import Alphabet, CounterLanguage, Dfa, Dyck, Language, Legal
from nerode.network import (
    Affine,
    AffineBuilder,
    ByChoice,
    Embedding,
    Fixed,
    Gated,
    Layer,
    Network,
    Origin,
    PointDecoder,
    ScoreDecoder,
    zero_map,
)

Terms = dict[str, Exact]


def origin(language: Language) -> Origin:
    return Origin(
        language=language.name,
        language_hash="",
        construction="by-hand",
        route="made for a test",
        reference=Reference("Sarrof2024", ""),
    )


def affine(inputs: list[str], rows: list[tuple[Terms, Exact]]) -> Affine:
    builder = AffineBuilder(inputs)
    for i, (terms, bias) in enumerate(rows):
        builder.row(str(i), terms, bias)
    return builder.build()


def letters(alphabet: Alphabet) -> list[str]:
    return [f"x={symbol}" for symbol in alphabet]


def one_hot_network(language: Language, dfa: Dfa) -> Network:
    """h = onehot of the state, one 0/1 matrix a letter."""
    n = dfa.num_states
    matrices = []
    for letter in range(dfa.num_letters):
        rows: list[list[tuple[int, Exact]]] = [[] for _ in range(n)]
        for q in range(n):
            rows[int(dfa.transitions[q, letter])].append((q, 1))
        matrices.append(tuple(tuple(row) for row in rows))
    state = tuple(f"q={q}" for q in range(n))
    names = letters(dfa.alphabet)
    layer = Layer(
        name="state",
        reads=(),
        state=state,
        start=tuple(int(q == dfa.start) for q in range(n)),
        units=zero_map(0),
        recurrence=ByChoice.from_rows(matrices=tuple(matrices), writes=((0,) * n,) * dfa.num_letters),
        readout_units=zero_map(n),
        outputs=tuple(f"now {name}" for name in state),
        readout=affine(list(state), [({name: 1}, 0) for name in state]),
    )
    reads = layer.outputs
    scores = [({reads[q]: 1 for q in range(n) if dfa.legal[q, a]}, 0) for a in range(dfa.num_letters)]
    scores.append(({reads[q]: 1 for q in range(n) if dfa.accepting[q]}, 0))
    return Network(
        alphabet=dfa.alphabet,
        target="dense",
        embedding=Embedding(
            directions=tuple(names),
            vectors=tuple(tuple(int(i == j) for j in range(len(names))) for i in range(len(names))),
        ),
        layers=(layer,),
        decoder=ScoreDecoder(
            reads=reads,
            units=zero_map(n),
            scores=affine(list(reads), scores),
            empty=language.legal(language.initial()),
        ),
        origin=origin(language),
    )


def parity_network(language: Language) -> Network:
    """One scalar, multiplied by -1 for each 1; the word may end where it is positive."""
    names = letters(language.alphabet)
    layer = Layer(
        name="sign",
        reads=tuple(names),
        state=("sign",),
        start=(1,),
        units=zero_map(2),
        recurrence=Gated(gate=affine(names, [({"x=0": 1, "x=1": -1}, 0)]), write=zero_map(2, 1)),
        readout_units=zero_map(3),
        outputs=("s",),
        readout=affine([*names, "sign"], [({"sign": 1}, 0)]),
    )
    return Network(
        alphabet=language.alphabet,
        target="diagonal-signed",
        embedding=Embedding.one_hot(language.alphabet),
        layers=(layer,),
        decoder=ScoreDecoder(
            reads=("s",),
            units=zero_map(1),
            scores=affine(["s"], [({}, 1), ({}, 1), ({"s": 1}, 0)]),
            empty=Legal(frozenset({0, 1}), True),
        ),
        origin=origin(language),
    )


def cyclic_network(language: Language, order: int) -> Network:
    """The word problem of Z_m: one complex scalar, multiplied by a root of unity for each letter."""
    names = letters(language.alphabet)
    gate = affine(names, [({name: root_of_unity(k, order) for k, name in enumerate(names)}, 0)])
    layer = Layer(
        name="angle",
        reads=tuple(names),
        state=("z",),
        start=(1,),
        units=zero_map(order),
        recurrence=Gated(gate=gate, write=zero_map(order, 1)),
        readout_units=zero_map(order + 2),
        outputs=("re", "im"),
        readout=affine([*names, "re z", "im z"], [({"re z": 1}, 0), ({"im z": 1}, 0)]),
        complex_state=True,
    )
    everything = frozenset(range(order))
    points = []
    for k in range(order):
        root = root_of_unity(k, order)
        half = Fraction(1, 2)
        conjugate = root_of_unity(-k, order)
        points.append(((root + conjugate) * half, (root - conjugate) * half * root_of_unity(-1, 4)))
    return Network(
        alphabet=language.alphabet,
        target="diagonal-complex",
        embedding=Embedding.one_hot(language.alphabet),
        layers=(layer,),
        decoder=PointDecoder(
            reads=("re", "im"),
            points=tuple(points),
            answers=tuple(Legal(everything, k == 0) for k in range(order)),
            empty=Legal(everything, True),
        ),
        origin=origin(language),
    )


def set_reset_network(language: Language, *, overwrite: Fraction | int = 0) -> Network:
    """A bit that letter "1" sets, "0" clears and "i" keeps; words end where it is set.

    With a positive overwrite gate the old bit fades to lower digits instead of vanishing.
    """
    names = letters(language.alphabet)
    keep = f"x={language.alphabet.symbols[2]}"
    low, high = (f"x={symbol}" for symbol in language.alphabet.symbols[:2])
    layer = Layer(
        name="bit",
        reads=tuple(names),
        state=("bit",),
        start=(0,),
        units=zero_map(3),
        recurrence=Gated(
            gate=affine(names, [({keep: 1, low: overwrite, high: overwrite}, 0)]),
            write=affine(names, [({high: 1}, 0)]),
        ),
        readout_units=affine([*names, "bit"], [({"bit": 3}, Fraction(-3, 2)), ({"bit": 3}, Fraction(-5, 2))]),
        outputs=("set",),
        readout=affine([*names, "bit", "a", "b"], [({"a": 1, "b": -1}, 0)]),
    )
    return Network(
        alphabet=language.alphabet,
        target="diagonal",
        embedding=Embedding.one_hot(language.alphabet),
        layers=(layer,),
        decoder=ScoreDecoder(
            reads=("set",),
            units=zero_map(1),
            scores=affine(["set"], [({}, 1), ({}, 1), ({}, 1), ({"set": 1}, 0)]),
            empty=language.legal(language.initial()),
        ),
        origin=origin(language),
    )


def counter_network(language: CounterLanguage, *, dead_flag: bool = True) -> Network:
    """Shuffle-Dyck (and Dyck-1): a counter a kind, clipped; a second layer remembers a bracket too many."""
    names = letters(language.alphabet)
    kinds = len(names) // 2
    state = [f"c{k}" for k in range(kinds)]
    opens, closes = names[0::2], names[1::2]
    before = [f"old {c}" for c in state]
    seen = [*names, *state, *before]
    units: list[tuple[Terms, Exact]] = []
    for c in (*state, *before):
        units += [({c: 1}, 0), ({c: 1}, -1)]
    unit_names = [f"u{i}" for i in range(len(units))]
    outputs = [*(f"positive{k}" for k in range(kinds)), *(f"was{k}" for k in range(kinds))]
    counting = Layer(
        name="count",
        reads=tuple(names),
        state=tuple(state),
        start=(0,) * kinds,
        units=zero_map(len(names)),
        recurrence=Gated(
            gate=affine(names, [({}, 1)] * kinds),
            write=affine(names, [({opens[k]: 1, closes[k]: -1}, 0) for k in range(kinds)]),
        ),
        exposes_previous=True,
        readout_units=affine(seen, units),
        outputs=tuple(outputs),
        readout=affine(
            [*seen, *unit_names],
            [({unit_names[2 * i]: 1, unit_names[2 * i + 1]: -1}, 0) for i in range(2 * kinds)],
        ),
    )
    layers = [counting]
    reads = outputs[:kinds]
    if dead_flag:
        inputs = [*names, *outputs[kinds:]]
        violated = [f"v{k}" for k in range(kinds)]
        layers.append(
            Layer(
                name="dead",
                reads=tuple(inputs),
                state=("dead",),
                start=(0,),
                units=affine(inputs, [({closes[k]: 1, f"was{k}": -1}, 0) for k in range(kinds)]),
                recurrence=Gated(
                    gate=affine([*inputs, *violated], [(dict.fromkeys(violated, -1), 1)]),
                    write=affine([*inputs, *violated], [(dict.fromkeys(violated, 1), 0)]),
                ),
                readout_units=zero_map(len(inputs) + 1),
                outputs=("gone",),
                readout=affine([*inputs, "dead"], [({"dead": 1}, 0)]),
            )
        )
        reads = [*reads, "gone"]
    gone: Terms = {"gone": -1} if dead_flag else {}
    scores: list[tuple[Terms, Exact]] = []
    for k in range(kinds):
        scores += [(gone, 1), ({f"positive{k}": 1, **gone}, 0)]
    scores.append(({**{f"positive{k}": -1 for k in range(kinds)}, **gone}, 1))
    return Network(
        alphabet=language.alphabet,
        target="diagonal",
        embedding=Embedding.one_hot(language.alphabet),
        layers=tuple(layers),
        decoder=ScoreDecoder(
            reads=tuple(reads),
            units=zero_map(len(reads)),
            scores=affine(list(reads), scores),
            empty=language.legal(language.initial()),
        ),
        origin=origin(language),
    )


def tent(value: str, at: int, first: int) -> list[tuple[Terms, Exact]]:
    """Three ReLU units whose combination 1, -2, 1 is 1 at `at` and 0 at every other integer."""
    return [({value: 1}, 1 - at), ({value: 1}, -at), ({value: 1}, -1 - at)]


def bounded_dyck_network(language: Dyck) -> Network:
    """Depth counter, one one-hot slot of kinds for each depth, dead flag: three layers."""
    assert language.depth is not None
    names = letters(language.alphabet)
    kinds, depth = len(language.pairs), language.depth
    opens, closes = names[0::2], names[1::2]
    seen = [*names, "d", "old d"]
    units: list[tuple[Terms, Exact]] = []
    outputs: list[tuple[str, Terms]] = []
    unit_names: list[str] = []
    for source, label, values in (("d", "at", range(depth + 1)), ("old d", "was", range(depth + 1))):
        for j in values:
            first = len(unit_names)
            units += tent(source, j, first)
            unit_names += [f"u{first + i}" for i in range(3)]
            weights = zip(unit_names[first:], (1, -2, 1), strict=True)
            outputs.append((f"{label}{j}", dict(weights)))
    counting = Layer(
        name="depth",
        reads=tuple(names),
        state=("d",),
        start=(0,),
        units=zero_map(len(names)),
        recurrence=Gated(
            gate=affine(names, [({}, 1)]),
            write=affine(names, [({**dict.fromkeys(opens, 1), **dict.fromkeys(closes, -1)}, 0)]),
        ),
        exposes_previous=True,
        readout_units=affine(seen, units),
        outputs=tuple(name for name, _ in outputs),
        readout=affine([*seen, *unit_names], [(terms, 0) for _, terms in outputs]),
    )
    levels = range(1, depth + 1)
    slots = [(j, k) for j in levels for k in range(kinds)]
    at = [f"at{j}" for j in range(depth + 1)]
    was = [f"was{j}" for j in range(depth + 1)]
    inputs = [*names, *at, *was]
    write_units = [({opens[k]: 1, f"at{j}": 1}, -1) for j, k in slots]
    writes = [f"w{j},{k}" for j, k in slots]
    gates: list[tuple[Terms, Exact]] = [({f"w{j},{i}": -1 for i in range(kinds)}, 1) for j, k in slots]
    state = [f"s{j},{k}" for j, k in slots]
    old = [f"old {name}" for name in state]
    inside = [*inputs, *state, *old]
    top_units: list[tuple[Terms, Exact]] = [({f"at{j}": 1, f"s{j},{k}": 1}, -1) for j, k in slots]
    top_units += [({f"was{j}": 1, f"old s{j},{k}": 1}, -1) for j, k in slots]
    names_of = [f"t{j},{k}" for j, k in slots] + [f"o{j},{k}" for j, k in slots]
    tops = [f"top{k}" for k in range(kinds)] + [f"wastop{k}" for k in range(kinds)]
    memory = Layer(
        name="kinds",
        reads=tuple(inputs),
        state=tuple(state),
        start=(0,) * len(state),
        units=affine(inputs, write_units),
        recurrence=Gated(
            gate=affine([*inputs, *writes], gates),
            write=affine([*inputs, *writes], [({name: 1}, 0) for name in writes]),
        ),
        exposes_previous=True,
        readout_units=affine(inside, top_units),
        outputs=tuple(tops),
        readout=affine(
            [*inside, *names_of],
            [({f"t{j},{k}": 1 for j in levels}, 0) for k in range(kinds)]
            + [({f"o{j},{k}": 1 for j in levels}, 0) for k in range(kinds)],
        ),
    )
    seen_now = [*names, *tops, f"was{depth}"]
    errors: list[tuple[Terms, Exact]] = [({closes[k]: 1, f"wastop{k}": -1}, 0) for k in range(kinds)]
    errors.append(({**dict.fromkeys(opens, 1), f"was{depth}": 1}, -1))
    error_names = [f"e{i}" for i in range(len(errors))]
    dead = Layer(
        name="dead",
        reads=tuple(seen_now),
        state=("dead",),
        start=(0,),
        units=affine(seen_now, errors),
        recurrence=Gated(
            gate=affine([*seen_now, *error_names], [(dict.fromkeys(error_names, -1), 1)]),
            write=affine([*seen_now, *error_names], [(dict.fromkeys(error_names, 1), 0)]),
        ),
        readout_units=zero_map(len(seen_now) + 1),
        outputs=("gone",),
        readout=affine([*seen_now, "dead"], [({"dead": 1}, 0)]),
    )
    reads = [*tops[:kinds], "gone", "at0", f"at{depth}"]
    scores: list[tuple[Terms, Exact]] = []
    for k in range(kinds):
        scores += [({f"at{depth}": -1, "gone": -1}, 1), ({f"top{k}": 1, "gone": -1}, 0)]
    scores.append(({"at0": 1, "gone": -1}, 0))
    return Network(
        alphabet=language.alphabet,
        target="diagonal",
        embedding=Embedding.one_hot(language.alphabet),
        layers=(counting, memory, dead),
        decoder=ScoreDecoder(
            reads=tuple(reads),
            units=zero_map(len(reads)),
            scores=affine(reads, scores),
            empty=language.legal(language.initial()),
        ),
        origin=origin(language),
    )


def delay_network(language: Language, steps: int) -> Network:
    """Remembers whether the letter `steps` before the last was the second letter; words may end if it was."""
    names = letters(language.alphabet)
    state = tuple(f"d{i}" for i in range(steps + 1))
    matrix = tuple(((i - 1, 1),) if i else () for i in range(steps + 1))
    layer = Layer(
        name="delay",
        reads=tuple(names),
        state=state,
        start=(0,) * (steps + 1),
        units=zero_map(len(names)),
        recurrence=Fixed(matrix=matrix, write=affine(names, [({names[1]: 1}, 0)] + [({}, 0)] * steps)),
        readout_units=zero_map(len(names) + steps + 1),
        outputs=("old",),
        readout=affine([*names, *state], [({state[-1]: 1}, 0)]),
    )
    return Network(
        alphabet=language.alphabet,
        target="ssm",
        embedding=Embedding.one_hot(language.alphabet),
        layers=(layer,),
        decoder=ScoreDecoder(
            reads=("old",),
            units=zero_map(1),
            scores=affine(["old"], [*([({}, 1)] * len(names)), ({"old": 1}, 0)]),
            empty=language.legal(language.initial()),
        ),
        origin=origin(language),
    )
