"""A guard of replays: words that the module itself reads.

It is no part of a proof. A replay that is right never refuses here; a fault of a replay may be met.
"""

from __future__ import annotations

import random

import torch

from nerode.kernel import Failure
from nerode.languages import Language, Legal
from nerode.models import Model
from nerode.proofs.answers import wrong_answer
from nerode.proofs.replay.listing import fingerprint

_WORDS, _LETTERS = 4, 40
"""How many words are read, and their letters."""


@torch.no_grad()
def find_contradiction(model: Model, language: Language, length: int | str, *, valid: bool) -> Failure | None:
    """Returns why a module is wrong on one of some words, None if it is not.

    Args:
        model: its scores are above 1/2 for what may follow.
        language: what it should do.
        length: up to which it is claimed to be right, or "all".
        valid: whether that is claimed of prefixes of words in the language alone.
    """
    choose, letters = random.Random(fingerprint(model)), range(len(language.alphabet))
    most = _LETTERS if length == "all" else min(_LETTERS, int(length))
    for number in range(_WORDS):
        state, at, word = model.initial_state(1), language.initial(), list[int]()
        while len(word) < most:
            legal = sorted(language.legal(at).symbols)
            if valid and not legal:
                break
            word.append(choose.choice(legal if legal and (valid or number % 2) else letters))
            scores, state = model.step(torch.tensor(word[-1:]), state)
            at = language.advance(at, word[-1])
            *flags, end = (scores[0] > 0.5).tolist()
            got = Legal(frozenset(a for a in letters if flags[a]), end)
            if got != language.legal(at) or not bool(scores.isfinite().all()):
                return wrong_answer(language.alphabet, word, language.legal(at), got)
    return None
