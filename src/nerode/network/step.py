"""One step of a network, in any numbers: the definition that all other modules use.

The interpreter steps in exact or decimal numbers, the modules of `models` in torch, ONNX graphs in nodes, the
finders of proofs in intervals and counted bits. `record.py` says in formulas what is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic

from nerode.network.affine import Affine
from nerode.network.numbers import Numbers, Vector
from nerode.network.record import Layer, Network


class Units(Generic[Vector]):
    """Rows x followed by relu(map(x))."""

    def __init__(self, affine: Affine, numbers: Numbers[Vector], place: str) -> None:
        self._numbers = numbers
        self._map = numbers.map(affine, place)
        self._any = bool(affine.num_outputs)

    def __call__(self, values: Vector) -> Vector:
        """Returns the values with the units after them."""
        if not self._any:
            return values
        return self._numbers.join([values, self._numbers.apply("relu", self._map(values))])


class LayerStep(Generic[Vector]):
    """One layer with its numbers converted once.

    Attributes:
        seen: from what the layer reads to that and its units.
        recurrence: the step of its recurrence.
    """

    def __init__(self, layer: Layer, numbers: Numbers[Vector]) -> None:
        self._numbers = numbers
        self._exposes_previous, self._is_complex = layer.exposes_previous, layer.complex_state
        self.seen = Units(layer.units, numbers, "units")
        self.recurrence = numbers.recurrence(layer.recurrence, is_complex=layer.complex_state)
        self._inside = Units(layer.readout_units, numbers, "readout_units")
        self._readout = numbers.map(layer.readout, "readout")

    def step(self, reads: Vector, letter: Any, state: Vector) -> tuple[Vector, Vector]:
        """Returns the state after the letter and the outputs."""
        new = self.recurrence.advance(self.recurrence.drive(self.seen(reads), letter), state)
        return new, self.read_out(reads, new, state)

    def read_out(self, reads: Vector, state: Vector, before: Vector) -> Vector:
        """Returns the outputs for a state and the one before it."""
        inside = [reads, *self._shown(state)]
        if self._exposes_previous:
            inside += self._shown(before)
        return self._readout(self._inside(self._numbers.join(inside)))

    def _shown(self, state: Vector) -> list[Vector]:
        return self._numbers.parts(state) if self._is_complex else [state]


class NetworkStep(Generic[Vector]):
    """A network with its numbers converted once: the stream from the embedding to the decoder.

    Args:
        network: the network.
        numbers: the arithmetic.
        layers: the layers, if they are made already.
    """

    def __init__(
        self, network: Network, numbers: Numbers[Vector], layers: Sequence[LayerStep[Vector]] | None = None
    ) -> None:
        self.layers = [LayerStep(layer, numbers) for layer in network.layers] if layers is None else layers
        self._numbers = numbers
        self._embedding = numbers.vectors(network.embedding.vectors, "embedding")
        reads, decoded = read_positions(network)
        self._reads = [numbers.picks(places, f"reads_{number}") for number, places in enumerate(reads)]
        self._decoded = numbers.picks(decoded, "reads_decoder")

    def stream(self, letter: Any, visit: Callable[[int, Vector], Vector]) -> Vector:
        """Returns the whole stream at one position.

        Args:
            letter: the letter.
            visit: called for each layer with its number and what it reads; returns its outputs.
        """
        stream = self._embedding(letter)
        for number, reads in enumerate(self._reads):
            stream = self._numbers.join([stream, visit(number, reads(stream))])
        return stream

    def step(self, states: Sequence[Vector], letter: Any) -> tuple[list[Vector], Vector]:
        """Returns the states after a letter and the stream."""
        after: list[Vector] = []

        def visit(number: int, reads: Vector) -> Vector:
            new, outputs = self.layers[number].step(reads, letter, states[number])
            after.append(new)
            return outputs

        return after, self.stream(letter, visit)

    def decoded(self, stream: Vector) -> Vector:
        """Returns what the decoder reads."""
        return self._decoded(stream)


def read_positions(network: Network) -> tuple[list[list[int]], list[int]]:
    """Returns the positions on the stream of what each layer and the decoder read."""
    position = {name: i for i, name in enumerate(network.embedding.directions)}
    found = []
    for layer in network.layers:
        found.append([position[name] for name in layer.reads])
        for name in layer.outputs:
            position[name] = len(position)
    return found, [position[name] for name in network.decoder.reads]
