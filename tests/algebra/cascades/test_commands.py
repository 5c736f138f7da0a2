"""What commands do to labels, and which commands a level refuses."""

from __future__ import annotations

import pytest

from nerode.algebra.cascades.records import HOLD, Add, Command, Permute, Reset
from nerode.core import InputError


@pytest.mark.parametrize(
    ("command", "images"),
    [(HOLD, (0, 1, 2)), (Reset(1), (1, 1, 1)), (Add(2), (2, 0, 1)), (Permute((1, 0, 2)), (1, 0, 2))],
)
def test_a_command_maps_labels(command: Command, images: tuple[int, ...]) -> None:
    command.check(3)
    assert tuple(command.apply(label, 3) for label in range(3)) == images


@pytest.mark.parametrize(
    "command", [Reset(3), Reset(-1), Add(0), Add(3), Permute((0, 1)), Permute((0, 0, 1)), Permute((0, 1, 2))]
)
def test_a_command_that_does_not_fit_three_labels_is_refused(command: Command) -> None:
    with pytest.raises(InputError):
        command.check(3)
