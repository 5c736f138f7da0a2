"""One step of a network, in any numbers: the definition that all other modules use.

The interpreter steps in exact or decimal numbers, the modules of `models` in torch, ONNX graphs in nodes, the
finders of proofs in boxes. `record.py` says in formulas what is computed here. To the network a layer is
something that reads the stream, keeps a state of its own, and gives outputs. Heads of attention are such
layers, too (`attention.py`): their state is what they have seen of the past.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic

from nerode.network.numbers import Numbers, Vector
from nerode.network.record import Layer, Network


class LayerStep(Generic[Vector]):
    """One layer with its numbers converted once.

    Attributes:
        seen: from what the layer reads to that and its units.
        recurrence: the step of its recurrence.
    """

    def __init__(self, layer: Layer, numbers: Numbers[Vector]) -> None:
        self._numbers = numbers
        self._exposes_previous, self._is_complex = layer.exposes_previous, layer.complex_state
        self.seen = numbers.with_units(layer.units, "units")
        self.recurrence = numbers.recurrence(layer.recurrence, is_complex=layer.complex_state)
        self._inside = numbers.with_units(layer.readout_units, "readout_units", layer.functions)
        self._readout = numbers.map(layer.readout, "readout")

    def step(self, reads: Vector, letter: Any, state: Vector) -> tuple[Vector, Vector]:
        """Returns the state after the letter and the outputs."""
        recurrence = self.recurrence
        new = recurrence.advance(recurrence.drive(self.seen(reads), letter), state)
        return new, self.read_out(reads, new, state)

    def read_out(self, reads: Vector, state: Vector, before: Vector) -> Vector:
        """Returns the outputs for a state and the one before it."""
        shown = [state, before] if self._exposes_previous else [state]
        if self._is_complex:
            shown = [part for values in shown for part in self._numbers.parts(values)]
        return self._readout(self._inside(self._numbers.join([reads, *shown])))


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

    def at_start(self, nothing: Vector, states: Sequence[Vector]) -> Vector:
        """Returns the stream before the first letter: the start states, with zeros for the letter."""
        stream = nothing
        for layer, reads, state in zip(self.layers, self._reads, states, strict=True):
            stream = self._numbers.join([stream, layer.read_out(reads(stream), state, state)])
        return stream

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
