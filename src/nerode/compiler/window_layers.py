"""Layers that hold the last letters.

One layer where the transition may move values between coordinates (a nilpotent shift); one layer for each
letter back where it is diagonal, each layer showing the next one what it held before the current letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nerode.compiler.assembly import Assembly
from nerode.compiler.forms import Form, direction
from nerode.compiler.piecewise import second_digit
from nerode.network import ByChoice, Recurrence, Row
from nerode.verdict import Transition

Chains = Mapping[int, int]
"""For each letter that is looked for, how many positions back from the current one (0), that one included."""


def chains_of(literals: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Returns what a window must hold for literals (position, letter)."""
    longest: dict[int, int] = {}
    for position, letter in literals:
        longest[letter] = max(longest.get(letter, 0), position + 1)
    return dict(sorted(longest.items()))


class Window:
    """The last letters of the word, on the stream.

    The letter with the number `len(alphabet)` stands for "the word begins later". A window of the current
    letter alone takes no layer, unless nothing else does (`alone`): the letter is on the stream already.

    Attributes:
        num_layers: how many layers hold it.
    """

    def __init__(self, assembly: Assembly, chains: Chains, *, alone: bool) -> None:
        self._assembly = assembly
        self._nothing = len(assembly.alphabet)
        self._current_on_stream = False
        before = len(assembly.layers)
        transition = assembly.request.target.properties.transition
        longest = max(chains.values(), default=1)
        if longest == 1 and not alone:
            pass
        elif transition in (Transition.DENSE, Transition.PERMUTATION_DIAGONAL):
            self._add_shift(chains, permutation=transition is Transition.PERMUTATION_DIAGONAL)
        else:
            self._add_delays(chains)
        self.num_layers = len(assembly.layers) - before

    def literal(self, position: int, letter: int) -> tuple[Form, ...]:
        """Returns 1 where the letter so many positions back is this one."""
        if position == 0 and not self._current_on_stream:
            return (self._assembly.letter(letter),)
        return (direction(self._name(position, letter)),)

    def _name(self, position: int, letter: int) -> str:
        symbols = self._assembly.alphabet.symbols
        return f"x-{position}={symbols[letter]}" if letter < self._nothing else f"begins after x-{position}"

    def _add_shift(self, chains: Chains, *, permutation: bool) -> None:
        """One layer in which each letter's coordinates pass their values on; h has A^k = 0."""
        chains = chains or {0: 1}
        builder = self._assembly.layer("window")
        matrix: list[Row] = []
        images: list[int] = []
        for letter, length in chains.items():
            first = len(matrix)
            for position in range(length):
                name = self._name(position, letter)
                enters = position == 0 and letter < self._nothing
                write: Form | int = self._assembly.letter(letter) if enters else 0
                state = builder.coordinate(name, gate=0, write=write, start=int(letter == self._nothing))
                builder.output(name, state)
                matrix.append(((len(matrix) - 1, 1),) if position else ())
                images.append(first + (position + 1) % length)
        self._current_on_stream = True
        if permutation:
            layer = builder.build(recurrence=self._permutation(chains, images))
        else:
            layer = builder.build(matrix=matrix)
        self._assembly.append(layer, builder.stream)

    def _permutation(self, chains: Chains, images: list[int]) -> Recurrence:
        """The shift as a cyclic permutation of each chain that drops what would come round."""
        diagonal = tuple(int(i == image - 1) for i, image in enumerate(images))
        places = [(letter, position) for letter, length in chains.items() for position in range(length)]
        num_letters = len(self._assembly.alphabet)
        return ByChoice.from_images(
            images=(tuple(images),) * num_letters,
            diagonals=(diagonal,) * num_letters,
            writes=tuple(tuple(int(place == (a, 0)) for place in places) for a in range(num_letters)),
        )

    def _add_delays(self, chains: Chains) -> None:
        """One layer for each position from 1 on, or one for the current letter if nothing older is needed."""
        longest = max(chains.values(), default=1)
        if longest == 1:
            self._add_current(chains or {0: 1})
        for position in range(1, longest):
            self._add_delay(position, [letter for letter, length in chains.items() if length > position])

    def _add_current(self, chains: Chains) -> None:
        builder = self._assembly.layer("current letter")
        for letter in chains:
            name = self._name(0, letter)
            builder.output(name, builder.coordinate(name, gate=0, write=self._assembly.letter(letter)))
        self._current_on_stream = True
        self._assembly.add(builder)

    def _add_delay(self, position: int, letters: list[int]) -> None:
        """A layer that holds position - 1 and shows what it held before, which is `position`."""
        exclusive = self._assembly.request.options.exclusive_scan
        retain = self._assembly.request.options.retention
        builder = self._assembly.layer(f"letter {position} back", exposes_previous=exclusive)
        for letter in letters:
            held, shown = self._name(position - 1, letter), self._name(position, letter)
            absent = letter == self._nothing
            write: Form | int = 0 if absent and position == 1 else self.literal(position - 1, letter)[0]
            state = builder.coordinate(held, gate=0 if exclusive else retain, write=write, start=int(absent))
            if exclusive:
                builder.output(shown, builder.previous(held))
            else:
                builder.output(shown, second_digit(state, builder.readout_relu, retain))
        self._assembly.add(builder)
