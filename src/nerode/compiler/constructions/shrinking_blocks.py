"""Any group with one factor of RWKV-7 per letter: the letters of a block act during the block after it.

The letters permute n points. As in `blocks`, a clock of signs cuts the word into blocks, and registers hold
the permutation of a block. Every factor diag(w) - (a ∘ κ) κᵀ shrinks the state, so a swap of two points takes
two of them: the first swaps, and shrinks the difference of both coordinates more than all else, the second
shrinks all else. Together they are the swap times 45/128. Letters without a factor shrink all coordinates,
and take from a last one that is always 0.

A vector of n different numbers is thus permuted, one block late, and shrinks. Only its order is read: signs
of differences, of the vector as it will be at the end of the block. The letters of the current block permute
the differences, and the decoder finds the order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from nerode.algebra import IDENTITY
from nerode.compiler.construction import Construction, Request
from nerode.compiler.constructions.blocks import add_block_clock
from nerode.compiler.forms import DirectionForm, conjunction, direction, total
from nerode.compiler.layer_builder import LayerBuilder, Selection
from nerode.compiler.network_builder import LayerStack, point_decoder
from nerode.compiler.rotations import LanguageGroup
from nerode.core import BudgetExceeded, NotCompilable, Reference, charge
from nerode.network import Network, Row
from nerode.verdict import above_minus_half, group_language, householder, linear

_MOST_UNITS = 50_000
"""Units of all layers together, about."""

_FADES = Fraction(1, 4)
"""A gate of registers and clocks, with either sign."""

_DECAY = Fraction(3, 5)
_SWAPPED = (Fraction(9, 80), Fraction(39, 80))
"""The two coordinates: w - a/2 and a/2 with w = 3/5 and a = 39/40."""

_LATER = Fraction(75, 128)
_EVENED = (Fraction(195, 256), Fraction(-45, 256))
"""w - a/2 and -a/2 with w = 15/16 and a = 45/128; the decay of all other coordinates is 75/128."""

Pair = tuple[int, int]
Moves = list[tuple[str, Pair]]
Difference = tuple[int, ...]


class _ShrinkingBlocks:
    """Permutations of few points for the elements of a group, and the length of the blocks.

    Attributes:
        n: number of points.
        images: for each element where it takes the points.
        labels: the elements that a block of letters makes, and the identity, which is before the first.
        moves: the factors of each label; "swap" and then "even" of two points.
        length: number of letters of a block, a power of two.
    """

    def __init__(self, group: LanguageGroup) -> None:
        actions = (group.table.cosets(subgroup) for subgroup in group.table.subgroup_classes)
        action = min((a for a in actions if a.kernel.sum() == 1), key=lambda a: a.degree)
        self.n = action.degree
        self.images: list[tuple[int, ...]] = [tuple(column) for column in action.images.T.tolist()]
        self.letters: list[int] = group.letters.tolist()
        self._group = group
        self.length, products = 0, {IDENTITY}
        while not self._is_whole(products):
            charge()
            self.length += 1
            products = {y for x in products for y in group.after(x)}
        self.labels = sorted(products | {IDENTITY})
        self.moves = {x: moves_of(self.images[x]) for x in self.labels}

    def _is_whole(self, products: set[int]) -> bool:
        power = self.length > 1 and self.length & (self.length - 1) == 0
        return power and all(len(moves_of(self.images[x])) <= self.length for x in products)

    @property
    def num_units(self) -> int:
        """About the number of units: for registers, factors and differences."""
        return self.length * (self.n**3 + len(self.labels)) + self.n**4

    def orders(self) -> dict[int, tuple[int, ...]]:
        """Returns for each element the signs of the differences of what it makes of the vector."""
        found = self._group.reach(
            tuple(range(self.n)), lambda order, letter: moved(order, self.images[self.letters[letter]])
        )
        return {x: tuple(1 if v[a] < v[b] else -1 for a, b in self.pairs) for x, v in found.items()}

    @property
    def pairs(self) -> list[Pair]:
        """All pairs of points, the smaller one first."""
        return list(itertools.combinations(range(self.n), 2))


def moved(vector: Sequence[int], images: Sequence[int]) -> tuple[int, ...]:
    """Returns a vector whose entries are taken to the images of their places."""
    found = list(vector)
    for j, i in enumerate(images):
        found[i] = vector[j]
    return tuple(found)


def moves_of(images: Sequence[int]) -> Moves:
    """Returns the factors of a multiple of a permutation, two for each of its swaps."""
    at, found = list(range(len(images))), Moves()
    for i in range(len(at)):
        j = at.index(list(images).index(i))
        if i != j:
            found += [("swap", (i, j)), ("even", (i, j))]
            at[i], at[j] = at[j], at[i]
    return found


def factor(kind: str, pair: Pair, n: int) -> tuple[Row, ...]:
    """Returns a factor by rows: "swap", "even", or anything else for a letter that only shrinks."""
    decay = _LATER if kind == "even" else _DECAY
    own, other = _EVENED if kind == "even" else _SWAPPED
    rows: list[Row] = [((i, decay),) for i in range(n + 1)]
    if kind in ("swap", "even"):
        for i, j in (pair, pair[::-1]):
            rows[i] = tuple(sorted(((i, own), (j, other))))
    else:
        rows[n] = ((n, decay - Fraction(1, 2)),)
    return tuple(rows)


def compile_shrinking_blocks(request: Request) -> Network:
    """Returns layers with one factor of RWKV-7 per letter for a group language; correct in exact arithmetic.

    Implements: [NerodeTheory]

    Raises:
        NotCompilable: if the group has too many elements, or acts on too many points.
    """
    try:
        group = LanguageGroup(request.automaton)
        blocks = request.once("shrinking blocks", lambda: _ShrinkingBlocks(group))
    except BudgetExceeded as stop:
        if hasattr(request.options.budget, stop.resource):
            raise
        raise NotCompilable(request.target.name, ["the group has too many elements"]) from None
    if blocks.num_units > _MOST_UNITS:
        reason = (
            f"blocks of {blocks.length} letters on {blocks.n} points have more than {_MOST_UNITS:,} units"
        )
        raise NotCompilable(request.target.name, [reason])
    if not request.options.exclusive_scan:
        raise NotCompilable(request.target.name, ["the products before the letter need an exclusive scan"])
    stack = LayerStack(request)
    clock = add_block_clock(stack, blocks.length, fades=_FADES)
    for number in range(1, blocks.length + 1):
        _add_permutation(stack, blocks, number, clock)
    signs = _add_vector(stack, blocks, clock)
    _add_differences(stack, blocks, clock, signs)
    names = _add_whole(stack, blocks)
    orders = blocks.orders()
    states = [group.table.permutation(x)[request.automaton.start] for x in orders]
    return stack.network(
        point_decoder(request.automaton, names, list(orders.values()), states),
        route=f"blocks of {blocks.length} letters: registers for their permutation of {blocks.n} points, "
        "whose swaps act during the next block, two factors each; the state shrinks and signs are read: "
        "correct in exact arithmetic",
        reference=Reference("NerodeTheory"),
    )


def _bit(number: int, k: int, j: int, when: str = "") -> DirectionForm:
    """1 where the first letters of a block, as many as the number, have just taken the point k to j."""
    return direction(f"{k}->{j} by {number}{when}")


def _last(k: int, j: int) -> DirectionForm:
    """1 where the block before took the point k to j, the current letter not yet read."""
    return direction(f"{k}->{j} by the last block")


def _add_permutation(
    stack: LayerStack, blocks: _ShrinkingBlocks, number: int, clock: Sequence[DirectionForm]
) -> None:
    """Adds the permutation of the first letters of a block, as many as the number; the last one is held."""
    builder = stack.layer(f"permutation of {number}", exposes_previous=True, fades=_FADES)
    points, here = range(blocks.n), clock[number - 1]
    letters: dict[Pair, list[DirectionForm]] = {}
    for letter, x in enumerate(blocks.letters):
        for j in points:
            letters.setdefault((j, blocks.images[x][j]), []).append(stack.letter(letter))
    for k in points:
        for i in points:
            before = [k] if number == 1 else points
            write = total(
                conjunction(
                    [*([_bit(number - 1, k, j, "'")] if number > 1 else []), total(letters[j, i]), here],
                    builder.relu,
                )
                for j in before
                if (j, i) in letters
            )
            name = f"{k}->{i} by {number}"
            builder.output(name, builder.coordinate(name, gate=0, write=write))
            if number < blocks.length:
                builder.output(f"{name}'", builder.previous(name))
            else:
                name = f"{k}->{i} by the last block"
                builder.coordinate(name, gate=1 - here, write=write, start=int(k == i))
                builder.output(name, builder.previous(name))
    stack.add(builder)


def _at(
    blocks: _ShrinkingBlocks, x: int, place: int, clock: Sequence[DirectionForm], builder: LayerBuilder
) -> DirectionForm:
    """1 where the last block was this element, and the current letter has this place in its block."""
    return conjunction([clock[place], *(_last(k, i) for k, i in enumerate(blocks.images[x]))], builder.relu)


def _differences(blocks: _ShrinkingBlocks, x: int, place: int) -> list[tuple[Difference, int]]:
    """For each difference at the end of a block, up to its size, a form of the vector and a sign."""
    n, rest = blocks.n, blocks.moves[x][place + 1 :]
    rows = [tuple(int(i == j) for j in range(n)) for i in range(n)]
    if rest and rest[0][0] == "even":
        own, other, alone = (int(256 * value) for value in (*_EVENED, _LATER))
        rows = [tuple(alone * v for v in row) for row in rows]
        for i, j in (rest[0][1], rest[0][1][::-1]):
            rows[i] = tuple({i: own, j: other}.get(k, 0) for k in range(n))
    for kind, (i, j) in rest:
        if kind == "swap":
            rows[i], rows[j] = rows[j], rows[i]
    found = []
    for a, b in blocks.pairs:
        form = [v - u for u, v in zip(rows[a], rows[b], strict=True)]
        size = math.gcd(*form) * (1 if next(filter(None, form)) > 0 else -1)
        found.append((tuple(v // size for v in form), 1 if size > 0 else -1))
    return found


def _add_vector(
    stack: LayerStack, blocks: _ShrinkingBlocks, clock: Sequence[DirectionForm]
) -> dict[Difference, DirectionForm]:
    """Adds the vector that the factors of the last block move, and shows the signs of its differences."""
    n, builder = blocks.n, stack.layer("swaps")
    vector = [direction(f"state h{i + 1}") for i in range(n)]
    for i in range(n + 1):
        builder.coordinate(f"h{i + 1}", gate=0, write=0, start=i + 1 if i < n else 0)
    choices: dict[tuple[str, Pair], list[DirectionForm]] = {}
    signs: dict[Difference, DirectionForm] = {}
    for x in blocks.labels:
        for place in range(blocks.length):
            if place < len(blocks.moves[x]):
                here = _at(blocks, x, place, clock, builder)
                choices.setdefault(blocks.moves[x][place], []).append(here)
            for form, _ in _differences(blocks, x, place):
                if form not in signs:
                    value = builder.readout_sign(total(v * c for v, c in zip(vector, form, strict=True) if c))
                    signs[form] = builder.output(f"sign {len(signs)}", value)
    moves = [total(forms) for forms in choices.values()]
    matrices = [factor("idle", (0, 0), n), *(factor(*move, n) for move in choices)]
    selection = Selection(
        matrices=matrices, writes=((0,) * (n + 1),) * len(matrices), choices=[1 - total(moves), *moves]
    )
    stack.append(builder.build(selection=selection), builder.stream)
    return signs


def _add_differences(
    stack: LayerStack,
    blocks: _ShrinkingBlocks,
    clock: Sequence[DirectionForm],
    signs: dict[Difference, DirectionForm],
) -> None:
    """Adds the signs of the differences of the vector as it will be at the end of the block."""
    builder = stack.layer("differences")
    # The forms that are wanted after the last factor of a block are wanted unless another one is.
    wanted: dict[tuple[int, Difference, int], list[DirectionForm]] = {}
    usual = _differences(blocks, IDENTITY, blocks.length)
    for x in blocks.labels:
        for place in range(blocks.length):
            for number, (form, sign) in enumerate(_differences(blocks, x, place)):
                if (form, sign) != usual[number]:
                    here = _at(blocks, x, place, clock, builder)
                    wanted.setdefault((number, form, sign), []).append(here)
    uses: list[list[tuple[DirectionForm, DirectionForm]]] = [[] for _ in usual]
    for (number, form, sign), forms in wanted.items():
        name = f"difference {number} by {len(uses[number])}"
        uses[number].append((signs[form] * sign, builder.coordinate(name, gate=0, write=total(forms))))
    for number, (form, sign) in enumerate(usual):
        otherwise = 1 - total(used for _, used in uses[number])
        terms = [*uses[number], (signs[form] * sign, otherwise)]
        parts = [_chosen(value, used, builder) for value, used in terms]
        builder.output(f"difference {number}", total(parts))
    stack.add(builder)


def _chosen(sign: DirectionForm, used: DirectionForm, builder: LayerBuilder) -> DirectionForm:
    """A sign where `used` is 1, and 0 where it is 0."""
    return builder.readout_relu(sign + 2 * used - 1) - used


def _add_whole(stack: LayerStack, blocks: _ShrinkingBlocks) -> list[str]:
    """Adds the signs of the differences after the letters of the current block."""
    builder = stack.layer("block so far")
    so_far = {
        (k, i): total(_bit(number, k, i) for number in range(1, blocks.length + 1))
        for k in range(blocks.n)
        for i in range(blocks.n)
    }
    found: list[list[DirectionForm]] = [[] for _ in blocks.pairs]
    for number, (k, j) in enumerate(blocks.pairs):
        for target, (a, b) in enumerate(blocks.pairs):
            for sign, (first, second) in ((1, (a, b)), (-1, (b, a))):
                both = conjunction([so_far[k, first], so_far[j, second]], builder.relu)
                used = builder.coordinate(f"{k},{j}->{first},{second}", gate=0, write=both)
                found[target].append(_chosen(direction(f"difference {number}") * sign, used, builder))
    names = [f"order {number}" for number in range(len(found))]
    for name, parts in zip(names, found, strict=True):
        builder.output(name, total(parts))
    stack.add(builder)
    return names


SHRINKING_BLOCKS = Construction(
    name="shrinking-blocks",
    title="swaps by factors that shrink, a block later",
    theorem="exact-blocks-one-factor",
    language=group_language,
    architecture=linear & householder & above_minus_half,
    build=compile_shrinking_blocks,
)
