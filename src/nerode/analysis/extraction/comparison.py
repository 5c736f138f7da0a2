"""An extracted automaton beside its target, and beside the verdict of theory on the architecture."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from nerode.algebra import Profile, profile
from nerode.analysis.extraction.oracle import Kind, is_member
from nerode.core import Budget, InputError, started
from nerode.languages import OUTSIDE, UNASKED, Dfa, Moore, Question, RegularLanguage, answer_names, minimise
from nerode.proofs import Refutation
from nerode.verdict import Sense, Status, VerdictTask, collect_facts, find_architecture, verdict_for


def find_difference(machine: Moore, target: Question, budget: Budget | None = None) -> Refutation | None:
    """Returns the shortest word on which a machine differs from a target, the first in alphabet order.

    None if there is none: then they are equal on every word. Words that the target is not asked about are
    left out.

    Args:
        machine: what was extracted.
        target: what it should be; it may have infinitely many configurations.
        budget: limits the pairs of states (`images`) and the time.

    Raises:
        BudgetExceeded: if neither a difference nor the end was found.
    """
    budget = started(budget)
    start: tuple[int, Hashable] = (machine.start, target.initial())
    reached: dict[tuple[int, Hashable], tuple[tuple[int, Hashable], int] | None] = {start: None}
    order = [start]
    for pair in order:
        state, configuration = pair
        expected = target.answer(configuration)
        if expected == OUTSIDE:
            continue
        if expected not in (UNASKED, machine.outputs[state]):
            word = _word_to(pair, reached)
            return Refutation(
                word=tuple(machine.alphabet.symbols[letter] for letter in word),
                at=len(word),
                expected=answer_names(expected),
                got=answer_names(machine.outputs[state]),
            )
        for letter, after in enumerate(machine.rows[state]):
            new = (after, target.advance(configuration, letter))
            if new not in reached:
                reached[new] = (pair, letter)
                order.append(new)
        budget.check("images", len(order), pairs_of_states_visited=len(order))
    return None


def _word_to(pair: Any, reached: dict[Any, Any]) -> list[int]:
    letters: list[int] = []
    while (step := reached[pair]) is not None:
        pair, letter = step
        letters.append(letter)
    return letters[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Theory:
    """The verdict of theory on the automaton that was extracted.

    Attributes:
        states: of the minimal automaton of its language.
        monoid: elements of its monoid; None if they were not counted.
        star_free: None if that was not decided.
        groups: names of the groups inside, largest first.
        architecture: what the network is made of; None if it is not in the table of theory.
        status: whether this architecture can hold it at every length with finite precision: "yes", "no",
            "open", or None.
        reason: why.
        warning: what it means if the status is "no"; empty otherwise.
    """

    states: int
    monoid: int | None
    star_free: bool | None
    groups: tuple[str, ...]
    architecture: str | None
    status: str | None
    reason: str
    warning: str


def acceptor(machine: Moore, kind: Kind) -> Dfa:
    """Returns the minimal automaton whose algebra is that of a machine.

    For classes it accepts the words of one class: the class whose automaton has most states, the first of
    these.
    """
    if kind != "class":
        return minimise(machine.accepting(lambda output: is_member(output, kind)))
    choices = [c for c in dict.fromkeys(machine.outputs) if c not in (OUTSIDE, UNASKED)]
    if not choices:
        raise InputError("the machine never answers anything; it has no language")
    found = [minimise(machine.accepting(lambda output, c=c: output == c)) for c in choices]  # type: ignore[misc]
    return max(found, key=lambda dfa: dfa.num_states)


def theory_of(
    machine: Moore, kind: Kind, architectures: tuple[str, ...], budget: Budget | None = None
) -> Theory:
    """Returns the algebra of what was extracted, and whether such an architecture can hold it.

    Args:
        machine: what was extracted, minimal.
        kind: how its outputs are read.
        architectures: the names of the layers of the network, in the table of theory; empty if it is not
            there.
        budget: limits of the algebra.
    """
    dfa = acceptor(machine, kind)
    language = RegularLanguage(name="what was extracted", automaton=dfa, convention="extracted")
    found = profile(language, budget)
    task = VerdictTask.PREDICT if kind == "prediction" else VerdictTask.RECOGNISE
    name, status, reason, warning = None, None, "", ""
    if len(set(architectures)) == 1:
        name = architectures[0]
        facts = collect_facts(language, task=task, profile=found, budget=budget)
        verdict = verdict_for(facts, find_architecture(name), Sense.FINITE_PRECISION)
        status, reason = verdict.status.value, verdict.reason
        if verdict.status is Status.NO:
            warning = (
                f"the extracted automaton {_features(found)}, which {name} cannot hold at finite precision: "
                "the network can be correct only up to some length"
            )
    elif architectures:
        reason = f"the table has no row for layers of several kinds ({', '.join(architectures)})"
    return Theory(
        states=dfa.num_states,
        monoid=found.monoid_size,
        star_free=found.star_free,
        groups=tuple(group.structure.name for group in found.groups),
        architecture=name,
        status=status,
        reason=reason,
        warning=warning,
    )


def _features(found: Profile) -> str:
    if found.groups:
        return "has the group " + " and ".join(group.structure.name for group in found.groups)
    return "is not star-free" if found.star_free is False else f"has {found.num_states} states"
