"""Claims of certificates in one line each."""

from __future__ import annotations

from nerode.core import NerodeError
from nerode.languages import Language, language_hash
from nerode.languages.bestiary import lookup_language
from nerode.proofs import FRAGILE, RECOGNISE, TESTED, UNDER_NOISE, VALID_PREFIXES, WINDOW, Claim


def claim_line(claim: Claim) -> str:
    """Returns a claim as a line with a mark: a proof, a limit, or neither."""
    mark = "·" if claim.scope == TESTED else "✗" if claim.task == FRAGILE else "✓"
    parts = [claim.scope.replace("a dtype", claim.dtype or "a dtype")]
    if claim.length != "all":
        parts = [f"right up to length {claim.length:,} in {claim.dtype}"]
    if claim.scope == TESTED:
        parts = [f"tested to length {claim.length:,} in {claim.dtype}, no proof"]
    if claim.task == WINDOW or claim.task == FRAGILE:
        parts = [claim.covers]
    if claim.scope == UNDER_NOISE and claim.dtype is not None:
        parts.append(f"computed in {claim.dtype}")
    if claim.eps is not None:
        parts.append(f"eps = {float(claim.eps):.3g}")
    if claim.task == VALID_PREFIXES:
        parts.append("on valid prefixes")
    if claim.task == RECOGNISE:
        parts.append("membership only")
    return f"{mark} {', '.join(parts)}  [{claim.method}]"


def language_line(language: Language) -> str:
    """Returns which language claims are about.

    A file may call its language as it likes, so a name is only taken over from the bestiary, where it stands
    for the same language.
    """
    if is_named_rightly(language):
        return f"{language.name}: {language.convention}"
    states = language.num_states() if language.regular else None
    size = "" if states is None else f" of {states:,} state{'' if states == 1 else 's'}"
    alphabet = language.alphabet.describe()
    return f"a {language.kind} language{size} over {{{alphabet}}}; its file calls it {language.name!r}"


def is_named_rightly(language: Language) -> bool:
    """Whether the bestiary has a language of this name, and it is this one."""
    try:
        known = lookup_language(language.name)
    except NerodeError:
        return False
    return known is not None and language_hash(known) == language_hash(language)


def polished_lines(*, margin: float, length: int, dtype: str) -> str:
    """Returns what is proved about a polished network, in two lines."""
    return (
        f"✓ with its exact matrices right at every length, the right score above all others by {margin:.3g}\n"
        f"✓ as it is, right up to length {length:,} in {dtype}, one letter after the other"
    )
