"""Section-labelled holonomy: one chain of levels for a whole automaton."""

from __future__ import annotations

from nerode.algebra.cascades.assembly import CascadeBuilder, ChainAssembly, DecodedLookup
from nerode.algebra.cascades.chains import build_chain
from nerode.algebra.cascades.records import Cascade
from nerode.algebra.cascades.sections import Levels
from nerode.algebra.cascades.skeleton import Skeleton
from nerode.algebra.cascades.stages import Context
from nerode.algebra.components import whole_action
from nerode.core import Budget
from nerode.languages import Dfa


def holonomy_cascade(dfa: Dfa, budget: Budget | None = None) -> Cascade:
    """Returns the cascade of one chain over all states.

    A level is a set-reset component, or a permutation component where a group permutes the tiles.

    Args:
        dfa: any automaton; the states of the cascade are its states.
        budget: its `images` bound the images.

    Raises:
        BudgetExceeded: if there are too many images.

    Implements: [Eilenberg1976], [EgriNagyNehaniv2015], with sections.
    """
    builder = CascadeBuilder(dfa.num_letters)
    levels = Levels(Skeleton(whole_action(dfa), budget))
    state = add_holonomy(builder, dfa, levels)
    kind = "permutation-reset" if any(levels.has_group) else "section-labelled"
    route = f"{kind} holonomy of the whole automaton"
    return builder.build(state=state, num_states=dfa.num_states, route=route)


def add_holonomy(builder: CascadeBuilder, dfa: Dfa, levels: Levels, name: str = "") -> DecodedLookup:
    """Adds the chain of an automaton to a builder; returns the lookup of its state.

    Args:
        builder: the builder of the cascade.
        dfa: the automaton.
        levels: of the images of all its states.
        name: of the chain, in the names of its levels.
    """
    skeleton = levels.skeleton
    map_of = {images: j for j, images in enumerate(skeleton.action.maps)}
    contexts = [Context(map_of[tuple(column)], 0, 0) for column in dfa.transitions.T.tolist()]
    blocks = build_chain(levels, contexts=contexts, images=[0], start=(dfa.start, 0))
    chain = ChainAssembly(builder, blocks, name)
    if chain.has_levels:
        chain.add_levels(builder.add_letter_classes(f"{name}front", [chain.kind(c) for c in contexts]))
    state = chain.add_reading(DecodedLookup(None, (0,)))
    return DecodedLookup(state.number, tuple(skeleton.point(image) for image in state.meanings))
