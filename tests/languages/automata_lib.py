"""The outside oracle: the same automaton in automata-lib."""

from __future__ import annotations

from automata.fa.dfa import DFA

from nerode.languages.dfa import Dfa


def to_automata_lib(dfa: Dfa) -> DFA:
    """Returns the same complete automaton as an object of automata-lib."""
    symbols = dfa.alphabet.symbols
    return DFA(
        states=set(range(dfa.num_states)),
        input_symbols=set(symbols),
        transitions={
            q: {symbols[a]: target for a, target in enumerate(row)}
            for q, row in enumerate(dfa.transitions.tolist())
        },
        initial_state=dfa.start,
        final_states={q for q in range(dfa.num_states) if dfa.accepting[q]},
    )
