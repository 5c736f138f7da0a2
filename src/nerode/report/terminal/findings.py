"""Claims of certificates, extracted automata and comparisons, in lines for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from rich.console import RenderableType

from nerode.core import plural
from nerode.languages import Language, is_named_rightly, with_powers
from nerode.proofs import FRAGILE, RECOGNISE, TESTED, UNDER_NOISE, VALID_PREFIXES, WINDOW, Claim
from nerode.records import Settlement
from nerode.report.notation import STATUS_MARKS


def extraction_lines(item: Mapping[str, Any]) -> Iterable[str]:
    """Yields what an extraction found, one sentence per line; `item` is its JSON object."""
    states = item["states"]
    yield f"{item['name']}: {plural(states, 'state')}, by {item['method']}"
    asked = item["queries"]
    yield (
        f"asked: {asked['words']:,} words of {asked['letters']:,} letters, {asked['states']:,} steps from "
        f"state to state; {item['cpu_seconds']:.2f} CPU s"
    )
    yield _agreement(item)
    difference = item["difference"]
    if difference is None:
        yield from _equal_lines(item)
    else:
        yield (
            f"✗ not {item['target']}: after {difference['word']} it says {difference['got']}, "
            f"{difference['expected']} is correct; no shorter word tells them apart"
        )
    yield from _theory_lines(item["theory"])


def bits_lines(item: Mapping[str, Any]) -> Iterable[str]:
    """Yields what ways of reading words do to the bits of a model's scores; `item` is its JSON object."""
    yield (
        f"{item['folder']}: {plural(item['words'], 'word')} of {item['length']:,} letters, {item['dtype']}, "
        "each compared with the word whole, alone, on one thread"
    )
    width = max(len(way["way"]) for way in item["ways"])
    for way in item["ways"]:
        name = f"{way['way']:<{width}}"
        if way["left_out"]:
            yield f"· {name}  not tried: {way['left_out']}"
        elif way["position"] is None:
            yield f"✓ {name}  the same bits"
        else:
            yield (
                f"✗ {name}  other bits from position {way['position']:,} on (word {way['word']}); "
                f"{100 * way['share']:.3g} % of the scores, by {way['largest']:.0e} of the largest at most"
            )
    if item["proved"]:
        yield (
            f"Claimed for all words: the same bits in any evaluation order  [{item['proved']}]; "
            "`nerode verify` checks it"
        )
    else:
        yield "These words were tested; nothing is proved about other words or other orders"


def _equal_lines(item: Mapping[str, Any]) -> Iterable[str]:
    """An automaton that is the target; what that says about the network depends on how it was found."""
    network = item["network"]
    if network["proved"]:
        yield f"✓ equal to {item['target']} on every word, as all states of the network were checked"
        return
    yield f"✓ this automaton is equal to {item['target']} on every word"
    if network["refuted"]:
        yield f"✗ the network is not: {network['refuted'][:1].lower()}{network['refuted'][1:]}"
    elif item["fails_on"] is not None:
        yield "✗ the network is not: it differs from the automaton, as shown above"
    else:
        yield "· nothing is proved about the network itself; try `nerode prove` or `nerode mend`"


def _agreement(item: Mapping[str, Any]) -> str:
    tested = item["tested"]
    if item["fails_on"] is not None:
        return f"✗ the network itself differs from this automaton after {_shortened(item['fails_on'])}"
    told = f"{tested['words']:,} new words up to length {tested['longest']:,}"
    if not item["consistent"]:
        return f"✗ extraction stopped before it agreed with the network; no difference on {told}"
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
    # Here and not above: claims are printed without what theory says.
    from nerode.report.terminal.verdicts import name_table

    return name_table(
        ("architecture", "theory", "compiled", "trained", "certified"), [_cells(row) for row in rows]
    )


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    compiled = f"✓ {row['compiled']}" if row["compiled"] else f"✗ {row['refusal']}"
    runs = [f"seed {r['seed']}: {'diverged' if r['diverged'] else r['status']}" for r in row["trained"]]
    proofs = [("✓ " if proof["holds"] else "✗ ") + "; ".join(proof["claims"]) for proof in row["certified"]]
    return (
        row["architecture"],
        f"{STATUS_MARKS[row['theory']]} {row['reason']}",
        compiled,
        "\n".join(runs) or "–",
        "\n".join(proofs) or "–",
    )


def _shortened(word: str) -> str:
    return word if len(word) <= 60 else f"{word[:57]}… ({len(word)} characters)"


def claim_line(claim: Claim) -> str:
    """Returns a claim as a line with a mark: a proof, a limit, or neither."""
    mark = "·" if claim.scope == TESTED else "✗" if claim.task == FRAGILE else "✓"
    parts = [claim.scope.replace("a dtype", claim.dtype or "a dtype")]
    if claim.length != "all":
        parts = [f"correct up to length {claim.length:,} in {claim.dtype}"]
    if claim.scope == TESTED:
        parts = [f"tested to length {claim.length:,} in {claim.dtype}, no proof"]
    if claim.task in (WINDOW, FRAGILE) or claim.method.startswith("n-gram"):
        # Their scope alone would say too much: which prefixes and which window is in the sentence.
        parts = [claim.covers.removesuffix(".")]
    if claim.scope == UNDER_NOISE and claim.dtype is not None:
        parts.append(f"computed in {claim.dtype}")
    if claim.eps is not None:
        parts.append(f"eps = {float(claim.eps):.3g}")
    if claim.task == VALID_PREFIXES and not claim.method.startswith("n-gram"):
        parts.append("on valid prefixes")
    if claim.task == RECOGNISE:
        parts.append("membership only")
    parts += only_in_batches(claim)
    return f"{mark} {', '.join(parts)}  [{claim.method}]"


def only_in_batches(claim: Claim) -> list[str]:
    """Returns the batches that a claim is about, where words that are read alone are not covered."""
    batches = re.search(r"in batches of ([\d,]+(?: and of [\d,]+)*)\.", claim.covers)
    if batches is None or "1" in batches[1].split(" and of "):
        return []
    return [f"only in batches of {batches[1]}, not for single words"]


def language_line(language: Language) -> str:
    """Returns which language claims are about.

    A file may call its language as it likes, so a name is only taken over from the bestiary, where it stands
    for the same language.
    """
    if is_named_rightly(language):
        return f"{language.name}: {language.convention}"
    states = language.num_states() if language.regular else None
    size = "" if states is None else f" of {states:,} state{'' if states == 1 else 's'}"
    over = f"over {{{language.alphabet.describe()}}}"
    article = "an" if language.kind.startswith("n-") else "a"
    return f"{article} {language.kind} language{size} {over}, named {language.name!r} in its file"


def polished_lines(*, margin: float, length: int, dtype: str) -> str:
    """Returns what is proved about a polished network, in two lines."""
    return (
        "✓ with its exact matrices correct at every length, the correct score above all others by "
        f"{margin:.3g}\n"
        f"✓ as it is, correct up to length {length:,} in {dtype}, one letter after the other"
    )


def settlement_lines(found: Settlement, *, name: str = "") -> list[str]:
    """Returns the end of a network in lines: what is settled, and what it rests on."""
    title = f"{name}: " if name else ""
    where = "in exact arithmetic" if found.dtype is None else f"bit for bit in {found.dtype}, step by step"
    cost = f"{found.cpu_seconds:.1f} CPU s"
    if found.status == "proved":
        noise = "" if found.noise is None else f", under noise below {float(Fraction(found.noise)):.2g}"
        how = f"{found.method}, {plural(found.states, 'state')}" if found.states else found.method
        if found.noise is not None:
            where = "in exact arithmetic" if found.dtype is None else f"in {found.dtype}, roundings included"
        first = f"{found.mark} {title}proved for {found.about} at every length, {where}{noise}"
        return [first, f"  on {found.words}  [{how}, {cost}]"]
    if found.status == "refuted":
        assert found.word is not None
        which = "the shortest failing word" if found.shortest else "a failing word"
        shown = with_powers(found.word)
        size = plural(len(found.word), "letter")
        word = f"{which}, of {size}: {shown}" if found.word else "the empty word"
        return [
            f"{found.mark} {title}refuted for {found.about} by {word}",
            f"  expected {found.expected}, got {found.got}  [{found.method}, {cost}]",
        ]
    lines = [
        f"{found.mark} {title}unsettled for {found.about}: {found.reason}",
        f"  every word up to length {found.length:,} passes ({found.words}); "
        f"{plural(found.states, 'state')} seen  [{cost}]",
    ]
    if found.undecided:
        shares = ", ".join(f"{layer} {share:.1%}" for layer, share in found.undecided.items())
        lines.append(f"  gates that are neither 0 nor 1 nor -1: {shares}")
    return lines
