"""The answers of the page that need torch: steps in floats, and the inside of a trained run.

A compiled network goes step by step, with noise on its states if that is asked for. A trained run is shown by
its mechanism in pictures, and by its automaton beside that of its language.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nerode.analysis import AnalysisOptions, LoadedNetwork, analyse, load_subject
from nerode.analysis.extraction import (
    OUTSIDE,
    UNASKED,
    Kind,
    Moore,
    extract,
    finite_target,
    is_member,
    question_about,
)
from nerode.core import InputError
from nerode.explorer.orders import AttentionOrder, RunOrder, request_budget
from nerode.explorer.runs import run_folder
from nerode.explorer.traces import Number, Step, plain_numbers
from nerode.languages import Legal, Word, minimise
from nerode.models import TORCH_DTYPES
from nerode.models.network_module import CompiledLayer, CompiledRecurrence, Drive, load_model
from nerode.network import Network
from nerode.records import read_result
from nerode.report import automaton_figure


class DisturbedRecurrence:
    """A recurrence that is disturbed after each step, and remembers what moved it.

    Args:
        inner: the recurrence.
        noise: the largest disturbance of each coordinate (of each part of a complex one).
        generator: of the disturbances.
    """

    def __init__(self, inner: CompiledRecurrence, *, noise: float, generator: torch.Generator) -> None:
        self.inner = inner
        self.noise = noise
        self.generator = generator
        self.seen: dict[str, list[Number]] = {}

    def drive(self, seen: Tensor, letters: Tensor) -> Drive:
        """Returns what the inputs contribute."""
        return self.inner.drive(seen, letters)

    def advance(self, drive: Drive, state: Tensor) -> Tensor:
        """Returns the state after one position, disturbed."""
        self.seen = {name: plain_numbers(v[0].tolist()) for name, v in self.shown(drive, state).items()}
        after = self.inner.advance(drive, state)
        return after + self._disturbance(after) if self.noise else after

    def shown(self, drive: Drive, state: Tensor) -> dict[str, Tensor]:
        """Returns what moves the state, by name."""
        return self.inner.shown(drive, state)

    def _disturbance(self, state: Tensor) -> Tensor:
        parts = torch.view_as_real(state) if state.is_complex() else state
        unit = torch.rand(parts.shape, generator=self.generator, dtype=torch.float64)
        moved = ((2 * unit - 1) * self.noise).to(parts.dtype)
        return torch.view_as_complex(moved) if state.is_complex() else moved


def float_steps(network: Network, word: Word, *, dtype: str, noise: float, seed: int) -> list[Step]:
    """Returns the states of all layers after each prefix, the empty one first.

    Every coordinate of every state is moved, after every letter, by a number that is uniform between
    -noise and noise; the readout sees the moved state, as in the certificates about noise.

    Args:
        network: what the compiler made.
        word: the letters.
        dtype: a float format.
        noise: the largest disturbance.
        seed: of the disturbances.

    Raises:
        InputError: if the network does not fit the format.
    """
    model = load_model(network, dtype=TORCH_DTYPES[dtype])
    generator = torch.Generator().manual_seed(seed)
    probes = []
    for layer in model.layers:
        assert isinstance(layer, CompiledLayer)
        probes.append(DisturbedRecurrence(layer.recurrence, noise=noise, generator=generator))
        layer.exact_step.recurrence = probes[-1]
    with torch.inference_mode():
        state = model.initial_state(1)
        steps = [Step(legal=_legal(model.empty), states=_states(state))]
        for letter in word:
            scores, state = model.step(torch.tensor([letter]), state)
            steps.append(
                Step(
                    legal=_legal(model.legal(scores)[0]),
                    states=_states(state),
                    drives=tuple(probe.seen for probe in probes),
                    scores=tuple(plain_numbers(scores[0].tolist())),
                )
            )
    return steps


def _states(state: Any) -> tuple[list[Number], ...]:
    return tuple(plain_numbers(values[0].tolist()) for values in state.values())


def _legal(flags: Tensor) -> Legal:
    *letters, end = flags.tolist()
    return Legal(frozenset(i for i, legal in enumerate(letters) if legal), bool(end))


_MOST_CONFIGURATIONS = 400
"""States of the automaton of correct answers, if it is drawn."""

_LONGEST_SHOWN = 24
"""Letters of a word of the task along which heads are shown."""

_LONGEST_STREAM = 2_000
"""Ignored bits that a flip-flop is tested with; the command line tests more."""


def look(order: RunOrder) -> dict[str, Any]:
    """Returns what `nerode analyse` finds, with fewer and shorter words."""
    options = AnalysisOptions(longest=_LONGEST_STREAM)
    return analyse(_subject(order), options, budget=request_budget()).to_json()


def attend(order: AttentionOrder) -> dict[str, Any]:
    """Returns where each head of a run looks along a word: position and share of its greatest weight.

    Raises:
        InputError: if the word has a letter that the run does not read, or its model has no attention.
    """
    subject = _subject(order)
    options = AnalysisOptions(word=order.word or None, length=None if order.word else _shown_length(subject))
    maps = analyse(subject, options, parts=("attention",), budget=request_budget()).attention
    if maps is None:
        raise InputError(f"{subject.name} has no heads that look at all earlier positions")
    heads = []
    for head in maps.heads:
        looks = [max(range(len(row)), key=row.__getitem__) for row in head.weights]
        heads.append(
            {
                "layer": head.layer,
                "head": head.head,
                "looks": looks,
                "shares": [row[at] for row, at in zip(head.weights, looks, strict=True)],
                "previous": head.previous,
                "first": head.first,
                "distance": head.distance,
            }
        )
    return {"word": list(maps.word), "heads": heads}


def _shown_length(subject: LoadedNetwork) -> int | None:
    """A length of training that fits a page; None for the usual one."""
    if subject.task is None:
        return _LONGEST_SHOWN
    lengths = range(_LONGEST_SHOWN, 0, -1)
    return next((length for length in lengths if subject.task.trains_on(length)), None)


def extract_automaton(order: RunOrder) -> dict[str, Any]:
    """Returns the automaton of a run and that of its target, drawn, and where they differ."""
    subject = _subject(order)
    question = question_about(subject, None, None)
    found = extract(subject, budget=request_budget())
    told = found.to_json()
    del told["machine"]
    wanted = finite_target(question, most=_MOST_CONFIGURATIONS)
    shown = _shown_class(found.machine if wanted is None else wanted, question.kind)
    return {
        **told,
        "shown": shown or "",
        "automaton": _figure(found.machine, question.kind, shown, "what was learned"),
        "wanted": "" if wanted is None else _figure(wanted, question.kind, shown, found.target),
    }


def _subject(order: RunOrder) -> LoadedNetwork:
    folder: Path = run_folder(order)
    spec = read_result(folder).get("spec")
    model = spec.get("model") if isinstance(spec, dict) else None
    if not isinstance(model, dict) or model.get("module"):
        # Opening a run must not run code that came with it.
        raise InputError(
            "its model is its own code, which a page never runs; `nerode analyse` and `nerode extract` do, "
            "with --trust-code"
        )
    return load_subject(folder)


def _shown_class(machine: Moore, kind: Kind) -> str | None:
    """The answer whose words are accepted in the drawings; None where the language itself is drawn."""
    if kind != "class":
        return None
    return next((output for output in machine.outputs if output not in (OUTSIDE, UNASKED)), None)


def _figure(machine: Moore, kind: Kind, shown: str | None, name: str) -> str:
    accepts: Callable[[str], bool] = (
        (lambda output: is_member(output, kind)) if shown is None else (lambda output: output == shown)
    )
    return str(automaton_figure(minimise(machine.accepting(accepts)), name=name).markup)
