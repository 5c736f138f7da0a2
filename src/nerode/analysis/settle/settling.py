"""Settling a network on a task: its tests beside the strategies of `proofs.settle`. No weight is changed.

The test sequences of the task are drawn at growing lengths; the first position that a network answers
incorrectly ends a failing word. When no strategy has ended the search, other tests of the task follow:
completed sentences, phase alignment of signals.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import nn

from nerode.analysis.subject import LoadedNetwork, to_subject
from nerode.core import Budget, BudgetExceeded, InputError, started, stream
from nerode.languages import NOTHING, Word, answer_names
from nerode.models import (
    DiagonalTransition,
    OwnLayer,
    SequenceLayer,
    as_layered,
    is_stateful,
)
from nerode.proofs import Refutation
from nerode.proofs.floats import CALL, Settled, SettleSettings, settle, shown
from nerode.tasks import (
    Batch,
    Counting,
    NgramText,
    Task,
    phase_alignment,
    right_answers,
)
from nerode.training import run

EXAMINATION = "examination"

_PART = 512
"""Positions of a sequence that are read at once."""

_DECIDED = 2.0**-30
"""Distance from 0, 1 or -1 at which a gate counts as decided: below the steps of float32."""


def settle_task(
    subject: LoadedNetwork,
    *,
    settings: SettleSettings | None = None,
    budget: Budget | None = None,
) -> Settled:
    """Returns the outcome of a network that was trained on a task.

    Args:
        subject: the network with its task; it is not changed.
        settings: how far to search.
        budget: limits the seconds of all strategies together.

    Raises:
        InputError: if it has no task, or a weight is not a number.
    """
    model, task = subject.model, subject.task
    if task is None:
        raise InputError(
            f"{subject.name} has neither a language nor a task, so nothing says what is correct; "
            "settle a run or a compiled network, or name the task (--task)"
        )
    budget, chosen = started(budget), settings or SettleSettings()
    lengths = _lengths(subject, task, chosen.longest)
    tests = failing_tests(model, task, lengths, sequences=chosen.tests, budget=budget)
    settings = replace(chosen, longest=lengths[-1])
    found = settle(to_subject(subject), tests=tests, settings=settings, budget=budget)
    if found.settlement.status != "unsettled":
        return found
    # A test of another kind says nothing about a network that can be proved.
    failed = failing_examination(model, task)
    if failed is None:
        undecided = undecided_gates(model, task)
        return replace(found, settlement=replace(found.settlement, undecided=undecided))
    test, word = failed
    return replace(
        found,
        settlement=replace(
            found.settlement,
            status="refuted",
            words=test,
            method=EXAMINATION,
            length=0,
            reason="",
            read="step",
            **shown(word),
        ),
    )


def _lengths(subject: LoadedNetwork, task: Task, longest: int | None) -> list[int]:
    """The lengths of tests: those that failed in the run's own, then all, then longer ones."""
    scores = () if subject.record is None else subject.record.evaluations
    known = sorted(score.length for score in scores) or [task.training_lengths[1]]
    failed = sorted(score.length for score in scores if score.sequence < 1)
    longest = longest or max(1024, 4 * known[-1])
    further: list[int] = []
    while known[-1] * 2 ** (len(further) + 1) < longest:
        further.append(known[-1] * 2 ** (len(further) + 1))
    return list(dict.fromkeys([*failed, *known, *further, longest]))


def failing_tests(
    model: nn.Module, task: Task, lengths: Sequence[int], *, sequences: int, budget: Budget
) -> Iterator[tuple[int, Refutation | None]]:
    """Yields the row-steps of tests, and the word up to the first mistake where one fails.

    What else the task varies in its tests comes after the lengths.

    Args:
        model: in evaluation mode.
        task: draws the tests; lengths without a test are passed over.
        lengths: in the order in which they are tried.
        sequences: tests of each length.
        budget: limits the time; nothing more is tried when it is up.
    """
    for length, draw in _draws(task, lengths, sequences):
        try:
            budget.check_time()
            batch = draw()
        except BudgetExceeded:
            return
        except InputError:
            continue
        yield CALL + sequences * length, _first_mistake(model, task, batch)


def _draws(task: Task, lengths: Sequence[int], sequences: int) -> Iterator[tuple[int, Callable[[], Batch]]]:
    """Ways to draw the tests of a task: at each length, then at each value of what else is varied."""
    for length in lengths:
        rng = stream(0, "settle", task.name, length)
        yield length, functools.partial(task.draw, "test", length, sequences, rng)
    for axis in task.axes:
        for value in axis.values:
            rng = stream(0, "settle", task.name, axis.name, value)
            yield lengths[-1], functools.partial(task.draw_at, axis.name, value, sequences, rng)


@torch.no_grad()
def _first_mistake(model: nn.Module, task: Task, batch: Batch) -> Refutation | None:
    """The earliest mistake in a batch of tests."""
    state = None
    for first in range(0, batch.inputs.shape[1], _PART):
        piece = batch.cut(slice(None), slice(first, first + _PART))
        scores, state = run(model, piece.inputs, state)
        wrong = ~(task.correct(scores, piece) & (torch.isfinite(scores).all(-1) | ~piece.mask))
        if wrong.any():
            place = int(wrong.any(0).nonzero()[0])
            row = int(wrong[:, place].nonzero()[0])
            given = scores[row, place]
            return _refutation(
                _names(task),
                _letters(batch.inputs[row, : first + place + 1]),
                _answer(task, piece.targets[row, place]),
                _answer(task, task.bits(given) if task.targets_are_bits else given.argmax()),
            )
    return None


def _refutation(names: Sequence[str] | None, word: Word, expected: str, got: str) -> Refutation:
    """The refutation by a word; letters without a name have their number."""
    return Refutation(
        word=tuple(str(letter) if names is None else names[letter] for letter in word),
        at=len(word),
        expected=answer_names(expected),
        got=answer_names(got),
    )


def _names(task: Task) -> Sequence[str] | None:
    """The names of the letters of a task; None if they have none."""
    try:
        return task.question().alphabet.symbols
    except InputError:
        named: Sequence[str] | None = getattr(task, "alphabet", None)
        return named


def _letters(inputs: torch.Tensor) -> Word:
    """The letters of a sequence; a feature that is 0 or 1 is one."""
    return tuple((inputs if inputs.dim() == 1 else inputs[:, 0].long()).tolist())


def _answer(task: Task, value: torch.Tensor) -> str:
    """An answer as text: the numbers of the bits that are set, of a class, or of all that would do."""
    if task.targets_are_bits:
        return " ".join(str(i) for i in value.nonzero().flatten().tolist()) or NOTHING
    if value.dim():
        # The next letter comes first, and after it a truth value for each that may follow.
        return " ".join(str(i) for i in value[1:].nonzero().flatten().tolist())
    return str(int(value))


def failing_examination(model: nn.Module, task: Task) -> tuple[str, Refutation] | None:
    """Returns the first of the other tests of a task that a network fails: phase alignment, completion.

    The name of the test comes first. The word is what the network read, or the beginning that it was given.
    """
    if isinstance(task, Counting):
        return _failed_alignment(model, task)
    return _failed_completion(model, task) if isinstance(task, NgramText) else None


def _failed_alignment(model: nn.Module, task: Counting) -> tuple[str, Refutation] | None:
    on, off = task.settings.on, task.settings.off
    for test in phase_alignment(functools.partial(run, model), on=on, off=off):
        if not test.passed:
            answers = "".join(a for a, bit in zip(test.answers, test.signal, strict=True) if bit == "1")
            word, wanted = tuple(test.signal), right_answers(on) * 2
            found = Refutation(word=word, at=len(word), expected=(wanted,), got=(answers,))
            return f"the test {test.name}", found
    return None


def _failed_completion(model: nn.Module, task: NgramText) -> tuple[str, Refutation] | None:
    rng = stream(0, "settle", "completions")
    prefixes = task.prefixes(rng)
    for decoder in ("greedy", "sampled"):
        sentences = task.complete(functools.partial(run, model), prefixes, decoder, rng)
        for prefix, sentence in zip(prefixes.tolist(), sentences, strict=True):
            if not task.language.accepts(sentence):
                given = tuple(task.alphabet[word] for word in prefix)
                rest = tuple(task.alphabet[word] for word in sentence[len(prefix) :])
                wanted = ("the rest of a sentence",)
                found = Refutation(word=given, at=len(given), expected=wanted, got=rest)
                return f"{decoder} completion", found
    return None


def undecided_gates(model: nn.Module, task: Task) -> dict[str, float] | None:
    """Returns for each layer with diagonal gates the share of them that are none of 0, 1 and -1 in floats.

    They are looked at along test sequences of the longest length of training. None for another kind of model.
    """
    if not is_stateful(model):
        return None
    view = as_layered(model)
    batch = task.sample(task.usual_length(task.training_lengths[1]), 16, stream(0, "settle", "gates"))
    found = {}
    with torch.no_grad():
        layers: Sequence[SequenceLayer | OwnLayer] = view.layers
        for number, layer in enumerate(layers):
            moved = layer.transition(view.inputs_of(number, batch.inputs))
            if isinstance(moved, DiagonalTransition):
                size = moved.gate.abs()
                undecided = (size > _DECIDED) & ((size - 1).abs() > _DECIDED)
                found[f"layer {number + 1}"] = round(float(undecided.double().mean()), 6)
    return found or None
