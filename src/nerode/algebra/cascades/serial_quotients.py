"""Serial quotients: one chain over a tower of congruences, the coarse quotients on top."""

from __future__ import annotations

from nerode.algebra.cascades.assembly import CascadeBuilder
from nerode.algebra.cascades.holonomy import add_holonomy
from nerode.algebra.cascades.records import Cascade
from nerode.algebra.cascades.sections import Levels
from nerode.algebra.cascades.skeleton import Skeleton
from nerode.algebra.cascades.towers import Tower, is_finer, principal_congruences
from nerode.algebra.components import whole_action
from nerode.core import Budget
from nerode.languages import Dfa

MOST_STATES = 32
"""Above this no tower is looked for."""

MOST_CONGRUENCES = 24
"""How many congruences a tower may be chosen from."""


def tower_cascade(dfa: Dfa, budget: Budget | None = None) -> Cascade | None:
    """Returns the cascade of one chain over a tower of congruences; None if no tower lowers the levels.

    Args:
        dfa: any automaton; the states of the cascade are its states.
        budget: its `images` bound the images.

    Raises:
        BudgetExceeded: if there are too many images.

    Implements: [HartmanisStearns1966]
    """
    levels = _levels_over_a_tower(dfa, budget) if 3 < dfa.num_states <= MOST_STATES else None
    if levels is None:
        return None
    builder = CascadeBuilder(dfa.num_letters)
    state = add_holonomy(builder, dfa, levels)
    sizes = ", ".join(str(max(labels) + 1) for labels in levels.skeleton.tower.congruences)
    route = f"holonomy over a tower of quotients with {sizes} states"
    return builder.build(state=state, num_states=dfa.num_states, route=route)


def _levels_over_a_tower(dfa: Dfa, budget: Budget | None) -> Levels | None:
    """Returns levels below those of the whole automaton, or None.

    The tower is grown greedily: each time by the congruence that lowers the levels most, of those that one
    pair of states generates.
    """
    action = whole_action(dfa)
    principal = principal_congruences(dfa.transitions.tolist(), MOST_CONGRUENCES)
    best = Levels(Skeleton(action, budget))
    grows = True
    while grows:
        grows = False
        tower = best.skeleton.tower.congruences
        for labels in principal:
            if labels not in tower and all(is_finer(labels, t) or is_finer(t, labels) for t in tower):
                higher = Tower(sorted([*tower, labels], key=max))
                levels = Levels(Skeleton(action, budget, higher))
                if levels.top < best.top:
                    best, grows = levels, True
    return best if best.skeleton.tower.congruences else None
