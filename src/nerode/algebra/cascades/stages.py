"""Stages of a chain: what the levels at one height of the images do, context by context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nerode.algebra.cascades.commands import Command
from nerode.algebra.cascades.skeleton import NOWHERE

ENTER = -1
"""In place of the letter: the set before it is not known, only where the letter leads."""


class Context(NamedTuple):
    """A letter (a map of the skeleton, or ENTER), the image before it and the image after it.

    With ENTER `before` is the image to which the letter leads.
    """

    letter: int
    before: int
    after: int


LEFT = Context(ENTER, NOWHERE, NOWHERE)
"""The context of a letter that leaves the points of the skeleton: nothing matters any more."""


class Node(NamedTuple):
    """A context, and the context at the beginning of its block from which it comes (by number).

    All stages of a block look at nothing but the context at its beginning.
    """

    leader: int
    context: Context


@dataclass(kw_only=True)
class Component:
    """The labels of one level of the cascade.

    Attributes:
        tile: (class of images, label) → number of the tile that the label means there.
        num_labels: how many labels there are.
        start: the label before the first letter.
        commands: for each leader of the block.
    """

    tile: dict[tuple[int, int], int]
    num_labels: int
    start: int = 0
    commands: list[Command] = field(default_factory=list)


@dataclass(kw_only=True)
class Choice:
    """What follows a node or an image: by the label of a component, or whatever the labels are.

    Attributes:
        component: whose label decides, None if nothing has to be decided.
        following: what follows, by label (None for a label that cannot occur); one entry without a component.
    """

    component: int | None
    following: list[Node | None]


@dataclass(kw_only=True)
class Reading:
    """As `Choice`, for the image that decoding has reached."""

    component: int | None
    following: list[int | None]


@dataclass(kw_only=True)
class Stage:
    """What happens at one level of the images.

    Attributes:
        components: the levels of the cascade at this stage; they do not read each other.
        moves: what follows each node.
        readings: what follows each image that decoding can have reached.
    """

    components: list[Component]
    moves: dict[Node, Choice]
    readings: dict[int, Reading]


@dataclass(kw_only=True)
class Block:
    """Consecutive stages whose commands are functions of the context at the beginning of the block.

    Their levels have one depth. A leader is a context at the beginning; leader i starts in the node
    `Node(i, leaders[i])`. What follows the last stage are nodes of the next block.

    Attributes:
        leaders: the contexts at the beginning.
        stages: at least one.
    """

    leaders: list[Context]
    stages: list[Stage]


def drop_impossible(blocks: Sequence[Block]) -> None:
    """Removes nodes and images after which no label can occur, from the last stage upwards."""
    possible: set[Node] | None = None
    images: set[int] | None = None
    for block in reversed(blocks):
        for stage in reversed(block.stages):
            for choice in stage.moves.values():
                if possible is not None:
                    choice.following = [f if f in possible else None for f in choice.following]
            for reading in stage.readings.values():
                if images is not None:
                    reading.following = [f if f in images else None for f in reading.following]
            stage.moves = {n: c for n, c in stage.moves.items() if any(f is not None for f in c.following)}
            stage.readings = {
                i: r for i, r in stage.readings.items() if any(f is not None for f in r.following)
            }
            possible, images = set(stage.moves), set(stage.readings)
