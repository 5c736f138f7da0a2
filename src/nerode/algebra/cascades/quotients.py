"""Subdirect quotients: chains for several quotients of an automaton, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from nerode.algebra.cascades.assembly import DecodedLookup, CascadeBuilder
from nerode.algebra.cascades.congruences import Labels, separating_congruences
from nerode.algebra.cascades.holonomy import add_holonomy
from nerode.algebra.cascades.lookups import Lookup, Row, lookup
from nerode.algebra.cascades.records import Cascade
from nerode.algebra.cascades.sections import Levels
from nerode.algebra.cascades.skeleton import Skeleton
from nerode.algebra.components import whole_action
from nerode.core import Budget
from nerode.languages import Dfa


def quotient_cascade(dfa: Dfa, budget: Budget | None = None) -> Cascade | None:
    """Returns the cascade of quotients that together determine the state; None if there is one quotient only.

    Args:
        dfa: any automaton; the states of the cascade are its states.
        budget: bounds the images of each quotient.

    Raises:
        BudgetExceeded: if a quotient has too many images.

    Implements: [HartmanisStearns1966]
    """
    congruences = separating_congruences(dfa.transitions.tolist(), budget)
    if len(congruences) < 2:
        return None
    builder = CascadeBuilder(dfa.num_letters)
    decoded_states = []
    for number, labels in enumerate(congruences):
        factor = quotient(dfa, labels)
        levels = Levels(Skeleton(whole_action(factor), budget))
        decoded_states.append(add_holonomy(builder, factor, levels, name=f"{number + 1}."))
    state = join_classes(builder, congruences, decoded_states)
    sizes = ", ".join(str(max(labels) + 1) for labels in congruences)
    route = f"holonomy of {len(congruences)} quotients with {sizes} states side by side"
    return builder.build(state=state, num_states=dfa.num_states, route=route)


def quotient(dfa: Dfa, labels: Labels) -> Dfa:
    """Returns the automaton of the classes of a congruence; which of them accept is not said."""
    first = [labels.index(number) for number in range(max(labels) + 1)]
    table = np.array(labels, dtype=np.int32)[dfa.transitions[first]]
    return Dfa(
        alphabet=dfa.alphabet,
        transitions=table,
        start=labels[dfa.start],
        accepting=np.zeros(len(first), dtype=np.bool_),
    )


def join_classes(
    builder: CascadeBuilder, congruences: Sequence[Labels], decoded_states: Sequence[DecodedLookup]
) -> DecodedLookup:
    """Adds the lookup from the classes of a state to the state; returns where the state is said."""
    num_states = len(congruences[0])
    order = sorted(range(len(decoded_states)), key=lambda i: -max(congruences[i]))
    values = []
    reads = []
    for i in order:
        number = decoded_states[i].number
        if number is not None:
            value_of = {meaning: value for value, meaning in enumerate(decoded_states[i].meanings)}
            reads.append(lookup(number))
            values.append([value_of.get(label) for label in congruences[i]])
    table = list(zip(*values, strict=True))
    otherwise: list[int] = []
    rows: list[Row] = []
    for first in range(len(decoded_states[order[0]].meanings)):
        states = [q for q in range(num_states) if table[q][0] == first]
        otherwise.append(states[0])
        rows.extend(Row(_distinguish(table, q, states), q) for q in states[1:])
    joined = Lookup(
        name="state",
        num_values=num_states,
        reads=tuple(reads),
        otherwise=tuple(otherwise),
        rows=tuple(rows),
    )
    return DecodedLookup(builder.add_lookup(joined), tuple(range(num_states)))


def _distinguish(
    table: Sequence[tuple[int | None, ...]], state: int, states: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Returns few literals, the first one included, that hold in one state and in no other of its case."""
    chosen = [0]
    left = [q for q in states if q != state]
    while left:
        counts = Counter(i for q in left for i, value in enumerate(table[q]) if value != table[state][i])
        best = max(counts, key=lambda i: (counts[i], -i))
        chosen.append(best)
        left = [q for q in left if table[q][best] == table[state][best]]
    literals = []
    for i in sorted(chosen):
        value = table[state][i]
        if value is None:
            raise AssertionError("a class that no reading means")
        literals.append((i, value))
    return tuple(literals)
