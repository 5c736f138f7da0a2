"""Context windows: the number of last letters that matter, exactly or up to eps.

The kernel decides for a given number of letters; the least one is found by doubling and halving.
"""

from __future__ import annotations

from fractions import Fraction

from nerode.core import Budget, InputError
from nerode.kernel import Certificate
from nerode.languages import Language
from nerode.network import Network
from nerode.proofs.proving import Outcome, Prover

MOST_LETTERS = 1_000_000
"""Longer windows are not looked for; the kernel reads no larger number of letters."""


def find_window(
    network: Network, language: Language, *, eps: Fraction | None = None, budget: Budget | None = None
) -> Outcome:
    """Returns a certificate with the least number of last letters that matter, or why there is none.

    Without eps every layer must forget by itself: a layer with a nilpotent transition of order n sees n
    letters, and layers on top of each other see the sum, less one for each but the first. With eps earlier
    letters may change what the decoder reads by less than eps, for one layer that contracts.

    Implements: [Nandakumar2024, Proposition 4.6]

    Raises:
        InputError: if eps is not above 0, or network and language have different alphabets.
        BudgetExceeded: if the time is up.
    """
    if eps is not None and eps <= 0:
        raise InputError(f"eps = {eps} is not above 0")
    prover = Prover(network, language, budget)
    method = "nilpotent-window" if eps is None else "contraction-window"

    def attempt(letters: int) -> Outcome:
        prover.budget.check_time(letters=letters)
        return prover.outcome(prover.prove(method, {"letters": letters}, eps=eps))

    found = attempt(MOST_LETTERS)
    if not isinstance(found, Certificate):
        return found
    too_few, enough = 0, 1
    while not isinstance(found := attempt(enough), Certificate):
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        tried = attempt(middle)
        if isinstance(tried, Certificate):
            enough, found = middle, tried
        else:
            too_few = middle
    return found
