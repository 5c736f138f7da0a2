"""Section-labelled holonomy: one chain of levels for a whole automaton, with or without a window of letters.

With a window of the last j letters w the chain begins at the set Q·w instead of Q, so the levels above it are
not needed. The window is read for the letter at hand as well, so a definite language needs no level at all.
"""

from __future__ import annotations

from nerode.algebra.cascades.assembly import Carrier, CascadeBuilder, ChainAssembly
from nerode.algebra.cascades.chains import build_chain
from nerode.algebra.cascades.records import Cascade
from nerode.algebra.cascades.sections import Levels
from nerode.algebra.cascades.skeleton import Skeleton
from nerode.algebra.cascades.window_front import WindowFront, describe_window
from nerode.algebra.components import whole_action
from nerode.core import Budget
from nerode.languages import Dfa


def holonomy_cascade(dfa: Dfa, budget: Budget | None = None, *, window: int = 0) -> Cascade:
    """Returns the cascade of one chain over all states.

    A level is a set-reset component, or a permutation component where a group permutes the tiles.

    Args:
        dfa: any automaton; the states of the cascade are its states.
        budget: its `images` bound the images and its `elements` the windows.
        window: how many letters before the current one may be read.

    Raises:
        BudgetExceeded: if there are too many images or windows.

    Implements: [Eilenberg1976], [EgriNagyNehaniv2015], with sections.
    """
    builder = CascadeBuilder(dfa.num_letters, window)
    levels = Levels(Skeleton(whole_action(dfa), budget))
    state = add_holonomy(builder, dfa, levels)
    kind = "permutation-reset" if any(levels.has_group) else "section-labelled"
    route = f"{kind} holonomy of the whole automaton{describe_window(window)}"
    return builder.build(state=state, num_states=dfa.num_states, route=route)


def add_holonomy(builder: CascadeBuilder, dfa: Dfa, levels: Levels, name: str = "") -> Carrier:
    """Adds the chain of an automaton to a builder; returns where its state is said.

    Args:
        builder: what to add to; its window is used.
        dfa: the automaton.
        levels: of the images of all its states.
        name: what to call the chain in the names of levels.
    """
    front = WindowFront(dfa, levels.skeleton, builder.window)
    contexts, images = front.contexts(), front.images()
    start = (dfa.start, images[()])
    blocks = build_chain(levels, contexts=contexts.values(), images=images.values(), start=start)
    assembly = ChainAssembly(builder, blocks, name)
    if assembly.has_levels:
        kinds = {look: assembly.kind(context) for look, context in contexts.items()}
        assembly.add_levels(front.add(builder, f"{name}front", kinds))
    state = assembly.add_reading(front.add(builder, f"{name}window", images))
    return Carrier(state.number, tuple(levels.skeleton.point(image) for image in state.meanings))
