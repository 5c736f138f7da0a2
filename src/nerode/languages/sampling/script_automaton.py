"""The automaton that reads edit scripts from accepted to rejected words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nerode.core import Budget
from nerode.languages.alphabet import Word
from nerode.languages.dfa import Dfa

Step = tuple[int | None, int | None]
"""A letter that is read and a letter that is written; None where nothing is. (None, None) is padding."""

Progress = tuple[int, int, int, int]
"""State after what was read, state after what was written, edits, deletions."""

_PADDING: Step = (None, None)


def script_automaton(
    dfa: Dfa, edits: int, budget: Budget | None = None
) -> tuple[Dfa, Callable[[Sequence[int]], Word]]:
    """Returns an automaton of padded edit scripts, and the function from a script to the word that it writes.

    It accepts the scripts that read an accepted word, write a rejected word and have at most `edits` edits
    (steps that do not write what they read). Padding at the end of a script makes it as long as the word
    that it writes plus `edits`, whatever the number of deletions is, so that one length of scripts belongs
    to one length of words.

    Raises:
        BudgetExceeded: if it has more states than the budget allows.
    """
    letters = range(dfa.num_letters)
    steps: list[Step] = [(a, b) for a in letters for b in letters]
    steps += [(None, b) for b in letters] + [(a, None) for a in letters] + [_PADDING]
    table, live, accepting = dfa.transitions.tolist(), dfa.live.tolist(), dfa.accepting.tolist()

    def is_done(state: Progress) -> bool:
        return accepting[state[0]] and not accepting[state[1]]

    def after(state: Progress | int, symbol: str) -> Progress | int | None:
        read, written = step = steps[int(symbol)]
        if isinstance(state, int):
            return state - 1 if step == _PADDING and state else None
        p, q, used, deleted = state
        if step == _PADDING:
            return edits - deleted - 1 if is_done(state) and deleted < edits else None
        p = p if read is None else table[p][read]
        q = q if written is None else table[q][written]
        used += read != written
        return (p, q, used, deleted + (written is None)) if live[p] and used <= edits else None

    def accepts(state: Progress | int) -> bool:
        return state == 0 if isinstance(state, int) else state[3] == edits and is_done(state)

    automaton = Dfa.build(
        (str(i) for i in range(len(steps))),
        after,
        start=(dfa.start, dfa.start, 0, 0),
        accept=accepts,
        budget=budget,
    )

    def read_script(script: Sequence[int]) -> Word:
        return tuple(written for written in (steps[i][1] for i in script) if written is not None)

    return automaton, read_script
