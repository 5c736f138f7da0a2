"""Answers of a network compared with those of a language; nothing is known here of networks or modules."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from nerode.core import charge
from nerode.kernel import RECOGNISE, VALID_PREFIXES, Failure, Refutation
from nerode.languages import Alphabet, Language, Legal

Node = TypeVar("Node")


def agrees(task: str, expected: Legal, got: Legal) -> bool:
    """Whether an answer is correct for a task."""
    return expected.end == got.end if task == RECOGNISE else expected == got


def letters_read(language: Language, configuration: Any, task: str) -> Sequence[int]:
    """Returns the letters that are read in a configuration: all, or on valid prefixes the legal ones."""
    if task == VALID_PREFIXES:
        return sorted(language.legal(configuration).symbols)
    return range(len(language.alphabet))


def refutation(alphabet: Alphabet, word: Sequence[int], expected: Legal, got: Legal) -> Refutation:
    """Returns the refutation by a word after which the answers differ."""
    return Refutation(
        word=tuple(alphabet.symbols[a] for a in word),
        at=len(word),
        expected=tuple(expected.names(alphabet)),
        got=tuple(got.names(alphabet)),
    )


def wrong_answer(alphabet: Alphabet, word: Sequence[int], expected: Legal, got: Legal) -> Failure:
    """Returns the failure of a network on a word."""
    found = refutation(alphabet, word, expected, got)
    return Failure(
        what=(
            f"after {alphabet.decode(word)} the network says {{{', '.join(found.got)}}}, the language "
            f"{{{', '.join(found.expected)}}}"
        ),
        refutation=found,
    )


def breadth_first(
    start: Node,
    successors: Callable[[Node], Iterable[Node]],
    *,
    key: Callable[[Node], Hashable] = lambda node: node,
    most: int,
) -> Iterator[Node]:
    """Yields what is reached from a start, breadth first, nodes with equal keys once and at most so many."""
    order, known = [start], {key(start)}
    for node in order:
        charge()
        yield node
        for new in successors(node):
            name = key(new)
            if name not in known and len(order) < most:
                known.add(name)
                order.append(new)
