"""Re-checking boxes for the states of an automaton and the last letters, closed under letters and noise.

    task      what is shown
    eps       the noise: after every letter every coordinate may be moved by this much
    letters   how many last letters a node knows
    boxes     for each node, for each layer, for each coordinate the two ends
    digest    SHA-256 of the other four

A node is a configuration of the language with the last letters; nodes are numbered as a search from the empty
word finds them, letters in order. The start has to be in the box of node 0; the image of every box under
every letter, with the noise added, has to be in the box of the node that the letter leads to, and the decoder
has to give the language's answer on all of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from nerode.core import InputError
from nerode.languages import Legal, Word
from nerode.proofs.certificate import Claim, content_hash, language_claim, noise_claim
from nerode.proofs.checker_boxes import explain_escape
from nerode.proofs.checker_problem import (
    LANGUAGE_TASKS,
    Evidence,
    Failure,
    Problem,
    agrees,
    followed_letters,
    refuse_unless_implied,
    refute,
)
from nerode.proofs.checker_records import Layer
from nerode.proofs.checker_rounding import refuse_rounding
from nerode.proofs.checker_span_network import LayerState, SpanNetwork
from nerode.proofs.checker_spans import inner, outer, read_rational
from nerode.proofs.rounded_claims import rounded_claim

METHOD = "state-boxes"

_KEYS = ("task", "eps", "letters", "boxes")
_MOST_LETTERS = 16

Json = Any
Box = list[LayerState]
Node = tuple[Hashable, Word]


def verify_state_boxes(problem: Problem, evidence: Evidence, claims: Sequence[Claim]) -> Failure | None:
    """Checks claims that rest on one closed box for each state and last letters."""
    entry = f"evidence.{METHOD}"
    if set(evidence) != {*_KEYS, "digest"}:
        return Failure(what=f"the evidence has not the keys {', '.join(_KEYS)}, digest", entry=entry)
    if evidence["digest"] != content_hash({key: evidence[key] for key in _KEYS}):
        return Failure(what=f"the digest is not that of {', '.join(_KEYS)}", entry=f"{entry}.digest")
    task, letters = evidence["task"], evidence["letters"]
    if task not in LANGUAGE_TASKS:
        return Failure(what=f"this method does not show the task {str(task)[:40]!r}", entry=f"{entry}.task")
    if type(letters) is not int or not 0 <= letters <= _MOST_LETTERS:
        return Failure(what=f"{str(letters)[:40]} last letters", entry=f"{entry}.letters")
    eps = read_rational(evidence["eps"], "the noise")
    if eps <= 0:
        return Failure(what=f"the noise {eps} is not above 0", entry=f"{entry}.eps")
    outside, inside = _read_boxes(evidence["boxes"], problem.network.layers)
    expected: dict[int, Legal] = {}
    failure = _check_edges(problem, task, letters, eps, outside, inside, expected)
    if failure is not None:
        return failure
    shown = [language_claim(task=task, method=METHOD), noise_claim(task=task, method=METHOD, eps=eps)]
    if any(claim.dtype is not None for claim in claims):
        answers = [expected[node] for node in range(len(outside))]
        failure = refuse_rounding(problem.network, outside, answers, eps, task)
        if failure is not None:
            return failure
        shown.append(rounded_claim(task=task, method=METHOD, eps=eps / 2))
    return refuse_unless_implied(claims, shown)


def _check_edges(
    problem: Problem,
    task: str,
    letters: int,
    eps: Fraction,
    outside: list[Box],
    inside: list[Box],
    expected: dict[int, Legal],
) -> Failure | None:
    """Looks at every node and letter, and notes the answers of the nodes; no box may be left over."""
    language, steps = problem.language, SpanNetwork(problem.network)
    entry = f"evidence.{METHOD}.boxes"
    expected[0] = language.legal(language.initial())
    if not agrees(task, expected[0], problem.network.empty):
        return refute(language.alphabet, (), expected[0], problem.network.empty)
    if not _contains(inside[0], steps.start()):
        return Failure(what="the start is not in its box", entry=entry)
    noise = outer(eps, eps)[1]
    seen = 1
    for here, word, letter, there, configuration in _edges(problem, task, letters, len(inside)):
        seen = max(seen, there + 1)
        if there >= len(inside):
            return Failure(what=f"there are more than {len(inside)} nodes", entry=entry)
        expected[there] = language.legal(configuration)
        images, got = steps.step(outside[here], letter, noise)
        how = None
        if got is None:
            how = "leaves the answer open somewhere in the box"
        elif not agrees(task, expected[there], got):
            how = "makes the answer wrong in the whole box"
        elif not _contains(inside[there], images):
            how = "leads out of the box of its node"
        if how is not None:
            return explain_escape(problem, steps, task, (*word, letter), how, entry=entry)
    if seen != len(inside):
        return Failure(what=f"{len(inside)} boxes for {seen} nodes", entry=entry)
    return None


def _edges(
    problem: Problem, task: str, letters: int, most: int
) -> Iterator[tuple[int, Word, int, int, Hashable]]:
    """Yields for each node and letter: the node, a word that leads there, the letter, where it leads."""
    language = problem.language
    start: Node = (language.initial(), ())
    number: dict[Node, int] = {start: 0}
    queue: list[tuple[Node, Word]] = [(start, ())]
    for (configuration, last), word in queue:
        for letter in followed_letters(language, configuration, task):
            problem.budget.check("states", len(number), nodes=len(number))
            recent = (*last, letter)
            reached: Node = (
                language.advance(configuration, letter),
                recent[len(recent) - letters :] if len(recent) > letters else recent,
            )
            if reached not in number:
                number[reached] = len(number)
                queue.append((reached, (*word, letter)))
            yield number[configuration, last], word, letter, number[reached], reached[0]
            if len(number) > most:
                return


def _contains(box: Box, states: Sequence[LayerState]) -> bool:
    return all(
        low <= span[0] and span[1] <= high
        for wanted, found in zip(box, states, strict=True)
        for (low, high), span in zip(wanted, found, strict=True)
    )


def _read_boxes(data: Json, layers: Sequence[Layer]) -> tuple[list[Box], list[Box]]:
    """The boxes, rounded outward to start from and inward to arrive in."""
    if not isinstance(data, list) or not data:
        raise InputError("the boxes are not a list with one for each node")
    outside: list[Box] = []
    inside: list[Box] = []
    for box in data:
        if not isinstance(box, list) or len(box) != len(layers):
            raise InputError(f"a box does not have {len(layers)} layers")
        ends = [_read_ends(part, len(layer.state)) for part, layer in zip(box, layers, strict=True)]
        outside.append([tuple(outer(low, high) for low, high in part) for part in ends])
        inside.append([tuple(inner(low, high) for low, high in part) for part in ends])
    return outside, inside


def _read_ends(part: Json, width: int) -> list[tuple[Fraction, Fraction]]:
    if not isinstance(part, list) or len(part) != width:
        raise InputError(f"a box does not have {width} coordinates")
    found = []
    for pair in part:
        if not isinstance(pair, list) or len(pair) != 2:
            raise InputError("a coordinate of a box is not a pair of ends")
        low, high = (read_rational(end, "a box") for end in pair)
        if low > high:
            raise InputError(f"a box ends at {high} before it begins at {low}")
        found.append((low, high))
    return found
