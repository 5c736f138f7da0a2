"""The group of a language with its letters, and the record of one block of a representation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nerode.algebra import CosetAction, Members, PermutationGroup, ProductTable
from nerode.compiler.representations.matrices import Matrix, Vector
from nerode.languages import Dfa

Numbers = npt.NDArray[np.intp]


class LanguageGroup:
    """The group that the letters of a permutation automaton generate, with all its products.

    Attributes:
        table: the products.
        letters: the number of each letter's element.

    Args:
        dfa: an automaton whose letters permute the states.

    Raises:
        BudgetExceeded: if the group is too large for a table of products.
    """

    def __init__(self, dfa: Dfa) -> None:
        permutations = [tuple(column) for column in dfa.transitions.T.tolist()]
        self.table = ProductTable(PermutationGroup(permutations, dfa.num_states))
        self.letters: Numbers = np.array([self.table.index(p) for p in permutations], dtype=np.intp)

    def quotients(self) -> list[CosetAction]:
        """Returns the regular actions of the groups G/N, one for each normal subgroup N other than G."""
        return [
            self.table.cosets(n)
            for n in self.table.subgroup_classes
            if n.order < self.table.order and self.table.is_normal(n.members)
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Piece:
    """One block of a representation: an orthogonal matrix for each letter.

    Attributes:
        title: what it is, in words.
        dimension: size of the matrices.
        integral: whether all entries are 0, 1 or -1.
        ranks: for each letter the number of reflections that its matrix needs.
        kernel: the elements of the group that it does not see.
        matrices: makes the matrices of the letters, which take the vector of a prefix to that of the next.
        start: a vector that only the kernel fixes.
    """

    title: str
    dimension: int
    integral: bool
    ranks: Numbers
    kernel: Members
    matrices: Callable[[], tuple[Matrix, ...]]
    start: Vector
