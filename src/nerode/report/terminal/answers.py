"""The answer to "what does this model compute?" in lines, for the terminal and for its page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from nerode.core import plural
from nerode.languages import with_powers
from nerode.records import Settlement
from nerode.report.terminal.findings import settlement_lines

_NEAR = 2.0
"""Factor by which a probability has to be away from the threshold, if the reading is not to decide."""


def answer_lines(found: Mapping[str, Any]) -> list[str]:
    """Returns an answer in lines: the automaton, the reading, the settlement, and what has to be known.

    Args:
        found: the JSON of an answer.
    """
    lines = [headline(found)]
    if facts := automaton_facts(found):
        lines.append(f"  {facts}")
    lines += [f"  {line}" for line in reading_lines(found)]
    lines += settled_lines(found)
    learned = found["learned"]
    return lines + [f"  note: {remark}" for remark in (() if learned is None else learned["remarks"])]


def headline(found: Mapping[str, Any]) -> str:
    """Returns what the model computes, in a line."""
    learned = found["learned"]
    if learned is None:
        return f"{found['model']}: no automaton was found"
    what = learned["expression"] or f"an automaton with {plural(learned['states'], 'state')}"
    known = f", known as {learned['known']}" if learned["known"] else ""
    verb = "computes" if learned["proved"] else "seems to compute"
    return f"{found['model']} {verb} {what}{known}"


def automaton_facts(found: Mapping[str, Any]) -> str:
    """Returns the size and the algebra of the learned automaton; empty if there is none."""
    learned = found["learned"]
    if learned is None:
        return ""
    facts = [plural(learned["states"], "state")]
    if learned["star_free"] is not None:
        facts.append("star-free" if learned["star_free"] else "not star-free")
    if learned["monoid"] is not None:
        facts.append(f"monoid of {plural(learned['monoid'], 'element')}")
    if learned["ltl"] is not None and len(learned["ltl"]) <= 80:
        facts.append(learned["ltl"])
    return ", ".join(facts)


def reading_lines(found: Mapping[str, Any]) -> list[str]:
    """Returns how scores are read, and how far the probabilities are from the threshold."""
    lines = [f"reading: {found['reading']}" + (f" ({found['seen']})" if found["seen"] else "")]
    gap = found["gap"]
    if gap is None:
        return lines
    least, most = gap["least_allowed"], gap["most_forbidden"]
    lines.append(f"least probability of what may follow {least:.3g}, largest of what may not {most:.3g}")
    limit = threshold(found["reading"])
    if least < _NEAR * limit or most > limit / _NEAR:
        lines.append("the reading decides: some probability lies within a factor of 2 of the threshold")
    return lines


def threshold(reading: str) -> float:
    """Returns the number that a probability or a score has to reach, from the sentence on the reading."""
    found = re.search(r"(?:at least|above) (\S+)", reading)
    return 0.0 if found is None else float(Fraction(found[1]))


def settled_lines(found: Mapping[str, Any]) -> list[str]:
    """Returns the settlement about the language that was named, or about the learned automaton."""
    settlement = Settlement.from_json(found["settlement"], path="an answer")
    if found["language"] is not None:
        return settlement_lines(settlement, name=found["model"])
    where = "in exact arithmetic" if settlement.dtype is None else f"bit for bit in {settlement.dtype}"
    cost = f"{settlement.method}, {settlement.cpu_seconds:.1f} CPU s"
    if settlement.status == "proved":
        return [f"{settlement.mark} equal to this automaton at every length, {where}  [{cost}]"]
    if settlement.word is not None:
        which = "shortest word" if settlement.shortest else "word"
        size = plural(len(settlement.word), "letter")
        return [
            f"{settlement.mark} not at every length: model and automaton differ after the {which} of {size}: "
            f"{with_powers(settlement.word)}",
            f"  the automaton says {settlement.expected}, the model {settlement.got}  [{cost}]",
        ]
    checked = [f"sampled words up to length {settlement.tested:,}"] if settlement.tested else []
    checked += [f"every word up to length {settlement.length:,}"] if settlement.length else []
    return [
        f"{settlement.mark} tested, not proved: {' and '.join(checked) or 'a few words'} agree; "
        f"{settlement.reason}  [{settlement.cpu_seconds:.1f} CPU s]"
    ]
