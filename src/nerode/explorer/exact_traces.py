"""A compiled network step by step without rounding."""

from __future__ import annotations

from nerode.explorer.steps import Step, plain_numbers
from nerode.languages import Word
from nerode.network import Interpreter, Network


def exact_steps(network: Network, word: Word) -> list[Step]:
    """Returns the states of all layers after each prefix, the empty one first, and what moved them."""
    interpreter = Interpreter(network)
    states, answer = interpreter.start(), interpreter.empty_answer()
    steps = [Step(legal=answer.legal, states=tuple(map(plain_numbers, states)))]
    for letter in word:
        drives = tuple(
            {name: plain_numbers(values) for name, values in drive.items()}
            for drive in interpreter.drives(states, letter)
        )
        states, answer = interpreter.step(states, letter)
        steps.append(
            Step(
                legal=answer.legal,
                states=tuple(map(plain_numbers, states)),
                drives=drives,
                scores=tuple(plain_numbers(answer.scores)),
            )
        )
    return steps
