"""A network as a column of boxes: what each layer keeps, and what is read from the last one."""

from __future__ import annotations

from dataclasses import dataclass

from nerode.network import Network, network_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPart:
    """One box: the embedding, a layer or the decoder."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkDrawing:
    """A network from its letters to its answers.

    Attributes:
        target: the class or architecture that it is for.
        parts: its boxes, in the order in which a letter passes them.
    """

    target: str
    parts: tuple[NetworkPart, ...]

    @property
    def num_lines(self) -> int:
        """Lines in all boxes."""
        return sum(len(part.lines) for part in self.parts)


def draw_network(network: Network) -> NetworkDrawing:
    """Returns the boxes of a network, with its weights as far as they can be written in a few lines."""
    parts = tuple(NetworkPart(title=title, lines=tuple(lines)) for title, lines in network_parts(network))
    return NetworkDrawing(target=network.target, parts=parts)
