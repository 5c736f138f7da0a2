"""Group languages by reflections: products of them in one layer, or one per letter.

With one reflection per letter the letters of a block act during the block after it.

A clock of signs cuts the word into blocks of m letters, m a power of two. Registers hold the product of the
letters of the block so far, and at its end that of the whole block, which is a product of at most m
reflections of some space. During the next block a vector is reflected by them, one per letter. What the
vector still lacks, the reflections that are left and then the letters of the current block, is known, and the
layers after it apply both in their readouts, piece by piece: of all matrices the one that is wanted is chosen
by ReLU units. So the stream has the vector of the whole word, and the decoder finds its point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from nerode.algebra import IDENTITY
from nerode.compiler.construction import Construction, Request
from nerode.compiler.forms import DirectionForm, conjunction, direction, total
from nerode.compiler.group_representations import Representation, fewest_reflections, whole_reflections
from nerode.compiler.layer_builder import LayerBuilder, Selection
from nerode.compiler.level_codings import MOST_FACTORS
from nerode.compiler.network_builder import LayerStack, one_layer_network, point_decoder, state_layer
from nerode.compiler.rotations import LanguageGroup, Matrix, identity, multiply, reflection_factors
from nerode.core import BudgetExceeded, Exact, NotCompilable, Reference, charge
from nerode.network import ByChoice, Factor, Network, multiplied
from nerode.verdict import (
    group_language,
    has_minus_one,
    householder,
    linear,
    many_factors,
    one_factor,
)


def compile_product(request: Request) -> Network:
    """Returns the network whose letters are products of reflections, with as few factors as were found.

    The matrices are permutations of a few points (at most k - 1 reflections for k moved points), signed
    permutations (S4 as the rotations of a cube), rotations of the plane or of the icosahedron (A5), or sums
    of these. The start vector has a different image for every element of the group, and nothing is written.
    Where floats are to be exact, whole numbers are preferred: swaps of coordinates and changes of sign.

    Implements: [Grazzi2025, Theorem 3], [Siems2025]

    Raises:
        NotCompilable: if the target has fewer factors than a letter needs.
    """
    dfa = request.automaton
    found = fewest_reflections(dfa)
    most = request.target.properties.max_factors
    if request.options.exact_floats and (whole := whole_reflections(dfa)).num_factors <= (
        most or MOST_FACTORS
    ):
        found = whole
    if most is not None and found.num_factors > most:
        raise NotCompilable(
            request.target.name,
            [f"{found.title}: {found.num_factors} reflections per letter, the target has {most} in a layer"],
        )
    names = [f"q={q}" if found.on_states else f"h{q + 1}" for q in range(found.dimension)]
    layer = state_layer(
        "reflections",
        names,
        start=found.points[0],
        recurrence=ByChoice.from_factors(
            factors=tuple(reflection_factors(matrix) for matrix in found.matrices),
            writes=((0,) * found.dimension,) * dfa.num_letters,
        ),
    )
    return one_layer_network(
        request,
        layer,
        point_decoder(dfa, names, found.points, found.states),
        route=f"every letter permutes the states; one layer with {found.title}, n_h = {found.num_factors}",
        reference=_reference(found),
    )


def _reference(found: Representation) -> Reference:
    if "icosahedron" in found.title or "plane" in found.title:
        return Reference("Siems2025")
    return Reference("Grazzi2025", "Theorem 3")


REFLECTION_PRODUCT = Construction(
    name="reflection-product",
    title="products of reflections",
    theorem="group-by-reflections",
    language=group_language,
    architecture=linear & householder & has_minus_one & many_factors,
    build=compile_product,
)


_MOST_PRODUCTS = 10_000
"""Pairs of a product of letters and one more letter, for all registers together."""

_VECTOR = "h"


class _Blocks:
    """The group with a matrix and reflections for each element, and the length of the blocks.

    Attributes:
        found: the representation.
        products: for each number of letters up to a block's the elements that so many letters make.
        factors: the reflections of each element, the first factor first.
        matrices: the matrix of each element.
    """

    def __init__(self, group: LanguageGroup, found: Representation) -> None:
        self.group, self.found = group, found
        self.matrices: dict[int, Matrix] = group.reach(
            identity(found.dimension), lambda matrix, letter: multiply(found.matrices[letter], matrix)
        )
        self.factors = {x: reflection_factors(matrix) for x, matrix in self.matrices.items()}
        self.products: list[list[int]] = [[IDENTITY]]
        while not self._is_whole(len(self.products) - 1):
            charge()
            self.products.append(list(dict.fromkeys(y for x in self.products[-1] for y in group.after(x))))

    def _is_whole(self, length: int) -> bool:
        power = length > 0 and length & (length - 1) == 0
        return power and all(len(self.factors[x]) <= length for x in self.products[length])

    @property
    def length(self) -> int:
        """Number of letters of a block."""
        return len(self.products) - 1

    @property
    def num_products(self) -> int:
        """Number of pairs of a product of letters and one more letter."""
        return sum(map(len, self.products[:-1])) * len(self.found.matrices)


def compile_blocks(request: Request) -> Network:
    """Returns layers with one factor per letter for a group language.

    Implements: [Siems2025], [NerodeTheory]

    Raises:
        NotCompilable: if the group or its products are too many.
    """
    dfa = request.automaton
    blocks = request.once(f"blocks {request.options.exact_floats}", lambda: _shortest(request))
    if blocks.num_products > _MOST_PRODUCTS:
        raise NotCompilable(
            request.target.name,
            [f"blocks of {blocks.length} letters have more than {_MOST_PRODUCTS:,} products of letters"],
        )
    if not request.options.exclusive_scan:
        raise NotCompilable(request.target.name, ["the products before the letter need an exclusive scan"])
    stack = LayerStack(request)
    clock = add_block_clock(stack, blocks.length)
    for number in range(1, blocks.length + 1):
        _add_product(stack, blocks, number, clock)
    _add_reflections(stack, blocks, clock)
    names = _add_rest(stack, blocks, clock)
    return stack.network(
        point_decoder(dfa, names, blocks.found.points, blocks.found.states),
        route=f"blocks of {blocks.length} letters: registers for their product, whose reflections "
        f"({blocks.found.title}) act one per letter during the next block",
        reference=Reference("Siems2025"),
    )


def _shortest(request: Request) -> _Blocks:
    """The representation with the shortest blocks; with whole numbers where floats are to be exact."""
    dfa = request.automaton
    try:
        group = LanguageGroup(dfa)
    except BudgetExceeded:
        raise NotCompilable(request.target.name, ["the group has too many elements"]) from None
    whole = _Blocks(group, whole_reflections(dfa))
    if request.options.exact_floats:
        return whole
    return min((_Blocks(group, fewest_reflections(dfa)), whole), key=lambda b: b.length)


def add_block_clock(stack: LayerStack, m: int) -> list[DirectionForm]:
    """Adds the position inside its block as signs, one for each binary digit, and returns its indicators.

    Args:
        stack: gets the layers.
        m: number of letters of a block, a power of two.
    """
    bits: list[DirectionForm] = []
    for number in range((m - 1).bit_length()):
        builder = stack.layer(f"position bit {number}")
        # A digit flips where all lower ones have just become 0.
        flips = conjunction([1 - bit for bit in bits], builder.relu)
        sign = builder.coordinate(f"sign {number}", gate=1 - 2 * flips, write=0, start=-1)
        bits.append(builder.output(f"bit {number}", (1 - sign) * Fraction(1, 2)))
        stack.add(builder)
    if len(bits) == 1:
        return [1 - bits[0], bits[0]]
    builder = stack.layer("position")
    for place in range(m):
        digits = [bit if place >> i & 1 else 1 - bit for i, bit in enumerate(bits)]
        written = conjunction(digits, builder.relu)
        builder.output(f"place={place}", builder.coordinate(f"place={place}", gate=0, write=written))
    stack.add(builder)
    return [direction(f"place={place}") for place in range(m)]


def _product(number: int, x: int, when: str = "") -> DirectionForm:
    return direction(f"p{number}={x}{when}")


def _add_product(stack: LayerStack, blocks: _Blocks, number: int, clock: Sequence[DirectionForm]) -> None:
    """Adds the register of the product of the first letters of a block, as many as its number."""
    builder = stack.layer(f"product of {number}", exposes_previous=True)
    writes: dict[int, list[DirectionForm]] = {x: [] for x in blocks.products[number]}
    for x in blocks.products[number - 1]:
        letters: dict[int, list[DirectionForm]] = {}
        for letter, y in enumerate(blocks.group.after(x)):
            letters.setdefault(y, []).append(stack.letter(letter))
        before = [_product(number - 1, x, "'")] if number > 1 else []
        for y, read in letters.items():
            now = conjunction([*before, total(read), clock[number - 1]], builder.relu)
            writes[y].append(now)
    last = number == blocks.length
    starts = dict.fromkeys([*writes, IDENTITY], 0) if last else dict.fromkeys(writes, 0)
    if last:
        starts[IDENTITY] = 1
    for x, start in starts.items():
        name = f"p{number}={x}"
        write = total(writes.get(x, ()))
        builder.output(name, builder.coordinate(name, gate=1 - clock[number - 1], write=write, start=start))
        builder.output(f"{name}'", builder.previous(name))
    stack.add(builder)


def _labels(blocks: _Blocks) -> list[int]:
    """The elements that the product of a block may be, the identity included: nothing before the first."""
    return list(dict.fromkeys([*blocks.products[-1], IDENTITY]))


def _add_reflections(stack: LayerStack, blocks: _Blocks, clock: Sequence[DirectionForm]) -> None:
    """Adds the vector that the reflections of the last block move, and shows it with those that are left."""
    m, found = blocks.length, blocks.found
    builder = stack.layer("reflections")
    names = [f"{_VECTOR}{i + 1}" for i in range(found.dimension)]
    states = [
        builder.coordinate(name, gate=1, write=0, start=value)
        for name, value in zip(names, found.points[0], strict=True)
    ]
    factors: list[tuple[Factor, ...]] = [()]
    choices: list[DirectionForm] = []
    wanted: list[tuple[Matrix, list[DirectionForm]]] = []
    for x in _labels(blocks):
        for place in range(m):
            here = [_product(m, x, "'"), clock[place]]
            if place < len(blocks.factors[x]):
                factors.append((blocks.factors[x][place],))
                choices.append(conjunction(here, builder.relu))
            rest = multiplied(blocks.factors[x][place + 1 :], found.dimension)
            wanted.append((_dense(rest), here))
    _show(builder, "rest of ", states, found, wanted)
    selection = Selection(
        factors=factors, writes=((0,) * len(names),) * len(factors), choices=[1 - total(choices), *choices]
    )
    stack.append(builder.build(selection=selection), builder.stream)


def _add_rest(stack: LayerStack, blocks: _Blocks, clock: Sequence[DirectionForm]) -> list[str]:
    """Adds the product of the letters of the current block, and shows the vector moved by it."""
    m, found = blocks.length, blocks.found
    builder = stack.layer("block so far")
    pieces: dict[int, list[DirectionForm]] = {}
    for place in range(m):
        for x in blocks.products[place + 1]:
            here = conjunction([_product(place + 1, x), clock[place]], builder.relu)
            pieces.setdefault(x, []).append(here)
    wanted = [
        (blocks.matrices[x], [builder.coordinate(f"so far={x}", gate=0, write=total(forms))])
        for x, forms in pieces.items()
    ]
    vector = [direction(f"rest of {_VECTOR}{i + 1}") for i in range(found.dimension)]
    names = _show(builder, "all of ", vector, found, wanted)
    stack.add(builder)
    return names


def _show(
    builder: LayerBuilder,
    prefix: str,
    vector: Sequence[DirectionForm],
    found: Representation,
    wanted: Iterable[tuple[Matrix, Sequence[DirectionForm]]],
) -> list[str]:
    """Shows a vector, moved by the one matrix whose literals are all 1."""
    bound = _bound(found)
    images: list[list[DirectionForm]] = [[] for _ in vector]
    for matrix, literals in wanted:
        # Each coordinate where the matrix is wanted, and 0 elsewhere: its size is at most the bound.
        near = total(literals) - (len(literals) - 1)
        chosen = conjunction(literals, builder.readout_relu)
        parts = [builder.readout_relu(v + 2 * bound * near - bound) - bound * chosen for v in vector]
        for image, row in zip(images, matrix, strict=True):
            image.append(total(part * c for part, c in zip(parts, row, strict=True) if c != 0))
    names = [f"{prefix}{_VECTOR}{i + 1}" for i in range(len(vector))]
    for name, image in zip(names, images, strict=True):
        builder.output(name, total(image))
    return names


def _bound(found: Representation) -> int:
    """A whole number of at least the length of the vector."""
    square: Exact = 0
    for value in found.points[0]:
        square = square + value * value
    bound = 1
    while square > bound * bound:
        bound += 1
    return bound


def _dense(rows: Iterable[Sequence[tuple[int, Exact]]]) -> Matrix:
    kept = [dict(row) for row in rows]
    return tuple(tuple(row.get(j, 0) for j in range(len(kept))) for row in kept)


BLOCKS = Construction(
    name="blocks",
    title="one reflection per letter, a block later",
    theorem="regular-by-single-reflections",
    language=group_language,
    architecture=linear & householder & has_minus_one & one_factor,
    build=compile_blocks,
)
