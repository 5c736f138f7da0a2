"""The algebra of a regular language: its monoid, the groups inside, the varieties it belongs to.

`classes/` has one test per class of languages, `cascades/` the decomposition of automata.
"""

from nerode.algebra.components import AccessTree, strong_components
from nerode.algebra.green_relations import EggBox, EggBoxCell, Green, eggbox, green, j_levels
from nerode.algebra.groups_inside import find_counter
from nerode.algebra.monoid import transition_monoid
from nerode.algebra.permutation_groups import PermutationGroup
from nerode.algebra.permutations import cycles
from nerode.algebra.profiles import profile
from nerode.algebra.records import (
    COMPUTED,
    CounterWitness,
    GroupFactor,
    GroupInside,
    GroupStructure,
    Membership,
    Profile,
)
from nerode.algebra.star_free_expressions import dfa_to_star_free
from nerode.algebra.subgroups import IDENTITY, CosetAction, Members, ProductTable, Subgroup

__all__ = [
    "COMPUTED",
    "IDENTITY",
    "AccessTree",
    "CosetAction",
    "CounterWitness",
    "EggBox",
    "EggBoxCell",
    "Green",
    "GroupFactor",
    "GroupInside",
    "GroupStructure",
    "Members",
    "Membership",
    "PermutationGroup",
    "ProductTable",
    "Profile",
    "Subgroup",
    "cycles",
    "dfa_to_star_free",
    "eggbox",
    "find_counter",
    "green",
    "j_levels",
    "profile",
    "strong_components",
    "transition_monoid",
]
