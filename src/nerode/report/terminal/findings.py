"""Claims of certificates, extracted automata and comparisons, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType

from nerode.core import NerodeError
from nerode.languages import Language, language_hash
from nerode.languages.bestiary import lookup_language
from nerode.proofs import FRAGILE, RECOGNISE, TESTED, UNDER_NOISE, VALID_PREFIXES, WINDOW, Claim
from nerode.report.terminal.verdicts import name_table


def extraction_lines(item: Mapping[str, Any]) -> Iterable[str]:
    """Yields what an extraction found, one sentence per line; `item` is its JSON object."""
    states = item["states"]
    yield f"{item['name']}: {states} state{'' if states == 1 else 's'}, by {item['method']}"
    asked = item["queries"]
    yield (
        f"asked: {asked['words']:,} words of {asked['letters']:,} letters, {asked['states']:,} steps from "
        f"state to state; {item['cpu_seconds']:.2f} CPU s"
    )
    yield _agreement(item)
    difference = item["difference"]
    if difference is None:
        yield f"✓ equal to {item['target']} on every word"
    else:
        yield (
            f"✗ not {item['target']}: after {difference['word']} it says {difference['got']}, "
            f"{difference['expected']} is correct; no shorter word tells them apart"
        )
    yield from _theory_lines(item["theory"])


def _agreement(item: Mapping[str, Any]) -> str:
    tested = item["tested"]
    if item["fails_on"] is not None:
        return f"✗ the network itself differs from this automaton after {_shortened(item['fails_on'])}"
    told = f"{tested['words']:,} new words up to length {tested['longest']:,}"
    if not item["consistent"]:
        return f"✗ extraction ended before it agreed with the network; no difference on {told}"
    return f"✓ agrees with the network on {told}"


def _theory_lines(theory: Mapping[str, Any] | None) -> Iterable[str]:
    if theory is None:
        yield "its algebra was not computed: too many states for the budget"
        return
    kind = {True: "star-free", False: "not star-free", None: "star-free or not: not decided"}
    groups = f", groups {', '.join(theory['groups'])}" if theory["groups"] else ""
    monoid = "" if theory["monoid"] is None else f", monoid of {theory['monoid']:,} elements"
    yield f"algebra: {kind[theory['star_free']]}{groups}{monoid}"
    if theory["warning"]:
        yield f"! {theory['warning']}"
    elif theory["status"] is not None:
        can = {"yes": "can hold it", "open": "may or may not hold it (open)"}[theory["status"]]
        yield f"theory: {theory['architecture']} {can} at every length"


def standing_table(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Returns theory, compiler, training and certificates side by side, one row per architecture."""
    return name_table(
        ("architecture", "theory", "compiled", "trained", "certified"), [_cells(row) for row in rows]
    )


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    compiled = f"✓ {row['compiled']}" if row["compiled"] else f"✗ {row['refusal']}"
    runs = [f"seed {run['seed']}: {_reach(run)}" for run in row["trained"]]
    proofs = [("✓ " if proof["holds"] else "✗ ") + "; ".join(proof["claims"]) for proof in row["certified"]]
    mark = {"yes": "✓", "no": "✗", "open": "?"}[row["theory"]]
    return (
        row["architecture"],
        f"{mark} {row['reason']}",
        compiled,
        "\n".join(runs) or "–",
        "\n".join(proofs) or "–",
    )


def _reach(run: Mapping[str, Any]) -> str:
    if run["diverged"]:
        return "diverged"
    if run["reaches"] is None:
        return f"fails (tested to {run['longest']})"
    if run["reaches"] == run["longest"]:
        return f"correct to {run['longest']:,}, the longest tested"
    return f"correct to {run['reaches']:,} of {run['longest']:,}"


def _shortened(word: str) -> str:
    return word if len(word) <= 60 else f"{word[:57]}… ({len(word)} characters)"


def claim_line(claim: Claim) -> str:
    """Returns a claim as a line with a mark: a proof, a limit, or neither."""
    mark = "·" if claim.scope == TESTED else "✗" if claim.task == FRAGILE else "✓"
    parts = [claim.scope.replace("a dtype", claim.dtype or "a dtype")]
    if claim.length != "all":
        parts = [f"right up to length {claim.length:,} in {claim.dtype}"]
    if claim.scope == TESTED:
        parts = [f"tested to length {claim.length:,} in {claim.dtype}, no proof"]
    if claim.task == WINDOW or claim.task == FRAGILE:
        parts = [claim.covers.removesuffix(".")]
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
        "✓ with its exact matrices correct at every length, the correct score above all others by "
        f"{margin:.3g}\n"
        f"✓ as it is, correct up to length {length:,} in {dtype}, one letter after the other"
    )
