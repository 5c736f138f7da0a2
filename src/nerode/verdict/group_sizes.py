"""How many dimensions and reflections a letter the well-known representations of a group need."""

from __future__ import annotations

import re

_PART = re.compile(r"([ZDSA])([0-9]+)\Z")


def reflection_room(name: str) -> tuple[int, int] | None:
    """Returns dimensions in which a group acts, and reflections that each element is a product of at most.

    Cyclic and dihedral groups turn and mirror the plane, S_n and A_n permute n points, a direct product acts
    on the sum of what its factors act on.

    Implements: [Grazzi2025, Theorem 3]

    Args:
        name: of the group, as the algebra gives it ("S5", "A4xZ5"); None comes back where a part of it is
            none of these.
    """
    parts = [_part(part) for part in name.split("x")]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return sum(d for d, _ in known), sum(r for _, r in known)


def is_dihedral(name: str) -> bool:
    """Returns whether a group is that of a polygon; the triangle's is called S3."""
    return name == "S3" or (name[0] == "D" and name[1:].isdigit())


def _part(name: str) -> tuple[int, int] | None:
    found = _PART.match(name)
    if found is None:
        return None
    family, n = found[1], int(found[2])
    if family == "Z" and n <= 2:
        return n - 1, n - 1
    if family == "Z" or is_dihedral(name):
        return 2, 2
    # A permutation with c cycles is a product of n - c swaps; an even one of an even number of them.
    swaps = n - 1
    return n, swaps if family == "S" else swaps - swaps % 2
