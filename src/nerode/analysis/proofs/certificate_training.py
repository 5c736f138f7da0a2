"""Certificate training: weights and boxes trained together, without a single sequence.

There is a box for each pair of a state of the automaton and the last letter; its centre and its radii are
parameters like the weights. What is minimised is by how much the image of a box sticks out of the box that it
should be in, at a price that rises, and the loss of the worst state in each box.

Steps on boxes are not rounded outward: they only guide training, and what they find is proved elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nerode.analysis.proofs.fine_tuning import draw_words, run_states
from nerode.analysis.proofs.goals import Goal
from nerode.core import InputError
from nerode.models import Model, SequenceLayer, State
from nerode.models.architectures import Elman, Gru, Lstm, Slstm

_LARGEST = 10.0
"""Exponents of an input gate above this are cut in training."""


@dataclass(frozen=True)
class Spans:
    """Intervals, element by element."""

    low: Tensor
    high: Tensor

    def __add__(self, other: Spans) -> Spans:
        return Spans(self.low + other.low, self.high + other.high)

    def scaled(self, factor: Spans) -> Spans:
        """Returns the products with factors that are not negative."""
        return Spans(
            torch.minimum(factor.low * self.low, factor.high * self.low),
            torch.maximum(factor.low * self.high, factor.high * self.high),
        )

    def tanh(self) -> Spans:
        """Returns the images under tanh."""
        return Spans(self.low.tanh(), self.high.tanh())

    def sigmoid(self) -> Spans:
        """Returns the images under the logistic function."""
        return Spans(self.low.sigmoid(), self.high.sigmoid())

    def exp(self) -> Spans:
        """Returns the images under exp, cut off above."""
        return Spans(self.low.clamp(max=_LARGEST).exp(), self.high.clamp(max=_LARGEST).exp())

    def columns(self, first: int, last: int) -> Spans:
        """Returns some of the coordinates."""
        return Spans(self.low[..., first:last], self.high[..., first:last])

    def times(self, weight: Tensor) -> Spans:
        """Returns the images under x ↦ weight x."""
        centre, radius = (self.low + self.high) / 2, (self.high - self.low) / 2
        middle, reach = centre @ weight.T, radius @ weight.abs().T
        return Spans(middle - reach, middle + reach)


def joined(parts: list[Spans]) -> Spans:
    """Returns the coordinates of several intervals side by side."""
    return Spans(torch.cat([p.low for p in parts], dim=-1), torch.cat([p.high for p in parts], dim=-1))


def blocks_of(layer: SequenceLayer) -> tuple[str, ...]:
    """Returns the names of the parts of a cell's state that boxes are about, in order."""
    match layer:
        case Elman() | Gru():
            return ("h",)
        case Lstm():
            return ("h", "c")
        case Slstm():
            return ("h", "c", "n")
        case _:
            raise InputError(f"boxes are not made for {type(layer).__name__}")


def flat_state(layer: SequenceLayer, state: State) -> Tensor:
    """Returns the state of a cell as one vector; c and n of an sLSTM without their common scale."""
    scale = state["m"].exp() if "m" in state else None
    parts = [
        state[name] if name == "h" or scale is None else state[name] * scale for name in blocks_of(layer)
    ]
    return torch.cat(parts, dim=-1)


def letter_vectors(model: Model) -> Tensor:
    """Returns what the cell reads for each letter."""
    letters = model.config.letters
    assert letters is not None
    if model.embedding is None:
        return torch.eye(letters)
    return model.embedding(torch.arange(letters))  # type: ignore[no-any-return]


def step_boxes(model: Model, before: Spans, source: Tensor, letter: Tensor) -> Spans:
    """Returns the images of boxes.

    Args:
        model: one cell between letters and a linear head.
        before: the boxes (boxes, coordinates).
        source: for each image the number of its box.
        letter: for each image the letter that is read.
    """
    layer = model.layers[0]
    vectors = letter_vectors(model)
    match layer:
        case Elman():
            drive = layer._project(vectors)[letter]
            return _shift(before.times(layer.recurrent), source, drive).tanh()
        case Gru():
            return _gru(layer, before, source, layer._project(vectors)[0][letter])
        case Lstm():
            drive = layer._project(vectors)[letter]
            i, f, g, o = _chunks(_shift(_hidden(layer, before).times(layer.recurrent), source, drive), 4)
            c = _pick(before.columns(layer.outputs, 2 * layer.outputs), source)
            new = c.scaled(f.sigmoid()) + g.tanh().scaled(i.sigmoid())
            return joined([new.tanh().scaled(o.sigmoid()), new])
        case Slstm():
            return _slstm(layer, before, source, layer._project(vectors, vectors)[letter])
        case _:
            raise InputError(f"boxes are not made for {type(layer).__name__}")


def _gru(layer: Gru, before: Spans, source: Tensor, drive: Tensor) -> Spans:
    both = 2 * layer.outputs
    w_gates, w_new = layer.recurrent[:both], layer.recurrent[both:]
    x_gates, x_new = drive[:, :both], drive[:, both:]
    reset, keep = _chunks(_shift(before.times(w_gates), source, x_gates).sigmoid(), 2)
    cap = layer.settings.cap
    h = _pick(before, source)
    shown = h.scaled(reset).times(w_new)
    new = Spans(shown.low + x_new, shown.high + x_new).tanh()
    ends = [
        (share * h.low + (1 - share) * new.low, share * h.high + (1 - share) * new.high)
        for share in (cap * keep.low, cap * keep.high)
    ]
    return Spans(torch.minimum(ends[0][0], ends[1][0]), torch.maximum(ends[0][1], ends[1][1]))


def _slstm(layer: Slstm, before: Spans, source: Tensor, drive: Tensor) -> Spans:
    size = layer.outputs
    heads, rows, places = layer.recurrent.shape
    blocks = layer.recurrent.reshape(heads, 4, rows // 4, places)
    whole = torch.cat([_block_diagonal(blocks[:, gate]) for gate in range(4)])
    i, f, z, o = _chunks(_shift(_hidden(layer, before).times(whole), source, drive), 4)
    c, n = (_pick(before.columns(k * size, (k + 1) * size), source) for k in (1, 2))
    amount, kept = i.exp(), f.sigmoid()
    new = c.scaled(kept) + z.tanh().scaled(amount)
    total = n.scaled(kept) + amount
    inverse = Spans(1 / total.high, 1 / total.low)
    return joined([new.scaled(inverse).scaled(o.sigmoid()), new, total])


def _block_diagonal(blocks: Tensor) -> Tensor:
    return torch.block_diag(*blocks)  # type: ignore[no-untyped-call, no-any-return]


def _hidden(layer: SequenceLayer, before: Spans) -> Spans:
    return before.columns(0, layer.outputs)


def _shift(sums: Spans, source: Tensor, drive: Tensor) -> Spans:
    return Spans(sums.low[source] + drive, sums.high[source] + drive)


def _pick(spans: Spans, rows: Tensor) -> Spans:
    return Spans(spans.low[rows], spans.high[rows])


def _chunks(spans: Spans, count: int) -> list[Spans]:
    return [
        Spans(low, high)
        for low, high in zip(spans.low.chunk(count, dim=-1), spans.high.chunk(count, dim=-1), strict=True)
    ]


_WORDS, _LENGTH, _STRAY = 256, 40, 0.1
"""Words that show where the states of each pair are before training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateTraining:
    """Settings of certificate training.

    Attributes:
        steps: updates at most.
        every: updates between two attempts at a proof.
        rate: of Adam.
        least_radius: no box gets thinner.
        first_radius: radius at the beginning, on top of the least one.
        price: of what sticks out, at the first update and from update `ramp` on.
        ramp: see there.
        answers: weight of the worst answer of each box.
        states: weight of the worst name of a state of each box.
        saturation: weight of the mean of 1 - |centre|, for Elman networks.
    """

    steps: int = 1200
    every: int = 100
    rate: float = 3e-3
    least_radius: float = 0.03
    first_radius: float = 0.1
    price: tuple[float, float] = (0.6, 30.0)
    ramp: int = 800
    answers: float = 2.0
    states: float = 0.3
    saturation: float = 0.02

    def __post_init__(self) -> None:
        if self.steps < 0 or self.every < 1 or self.ramp < 1 or self.rate <= 0 or self.first_radius <= 0:
            raise InputError(
                "certificate training needs 0 steps or more, 1 or more between attempts and for the ramp, "
                f"and a rate and a radius above 0; given were {self.steps}, {self.every}, {self.ramp}, "
                f"{self.rate}, {self.first_radius}"
            )


@dataclass(frozen=True, kw_only=True)
class _Pairs:
    """The graph of states with their last letters; the first pair is the start, without a letter."""

    states: Tensor
    letters: Tensor
    source: Tensor
    letter: Tensor
    target: Tensor


def train_certificate(
    model: Model,
    goal: Goal,
    states_head: nn.Linear,
    settings: CertificateTraining,
    *,
    rng: np.random.Generator,
    proved: Callable[[int], bool],
) -> int:
    """Changes the weights of a model until a proof is found; returns the number of updates.

    Args:
        model: one cell between letters and a linear head, more or less trained.
        goal: what is to be proved.
        states_head: names states; it is trained as well.
        settings: how to train.
        rng: draws words that show where states are.
        proved: is asked after every so many updates whether there is a proof now.
    """
    pairs = _pairs(goal)
    centres = nn.Parameter(_first_centres(model, goal, pairs, rng))
    radii = nn.Parameter(torch.full_like(centres, math.log(settings.first_radius)))
    weights = [*model.parameters(), *states_head.parameters(), centres, radii]
    optimiser = torch.optim.Adam(weights, settings.rate)
    for step in range(1, settings.steps + 1):
        first, last = settings.price
        price = first + (last - first) * min(1.0, step / settings.ramp)
        loss = _loss(model, goal, states_head, pairs, centres, radii, price, settings)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(weights, 10.0)
        optimiser.step()
        if step % settings.every == 0 and proved(step):
            return step
    return settings.steps


def _loss(
    model: Model,
    goal: Goal,
    states_head: nn.Linear,
    pairs: _Pairs,
    centres: Tensor,
    radii: Tensor,
    price: float,
    settings: CertificateTraining,
) -> Tensor:
    layer = model.layers[0]
    start = flat_state(layer, layer.initial_state(1))
    centre = torch.cat([start, centres])
    radius = torch.cat([torch.zeros_like(start), settings.least_radius + radii.exp()])
    images = step_boxes(model, Spans(centre - radius, centre + radius), pairs.source, pairs.letter)
    low, high = (centre - radius)[pairs.target], (centre + radius)[pairs.target]
    outside = (functional.relu(images.high - high) + functional.relu(low - images.low)).mean()
    h, reach = centre[:, : layer.outputs], radius[:, : layer.outputs]
    loss = price * outside + settings.answers * _worst_answers(model, goal, pairs, h, reach)
    loss = loss + settings.states * _worst_classes(states_head, pairs.states, h, reach)
    if layer.squashed_recurrence() is not None:
        loss = loss + settings.saturation * (1 - centres.abs().clamp(max=1)).mean()
    return loss


def _worst_answers(model: Model, goal: Goal, pairs: _Pairs, h: Tensor, reach: Tensor) -> Tensor:
    """The loss of the worst state in each box."""
    head = model.head
    assert isinstance(head, nn.Linear)
    if goal.classes is not None:
        return _worst_classes(head, torch.from_numpy(goal.classes)[pairs.states], h, reach)
    signs = 2.0 * torch.from_numpy(goal.bits)[pairs.states].float() - 1.0
    return functional.softplus(reach @ head.weight.abs().T - signs * head(h)).mean()


def _worst_classes(head: nn.Linear, classes: Tensor, h: Tensor, reach: Tensor) -> Tensor:
    """The cross-entropy with every difference of two scores as bad as it gets in the box."""
    scores: Tensor = head(h)
    differences = head.weight[classes][:, None] - head.weight[None]
    worst = scores - scores.gather(1, classes[:, None])
    worst = worst + (reach[:, None] * differences.abs()).sum(dim=-1)
    return worst.logsumexp(dim=1).mean()


def _pairs(goal: Goal) -> _Pairs:
    start = (goal.dfa.start, -1)
    number = {start: 0}
    order = [start]
    edges = []
    for here, (state, _) in enumerate(order):
        for letter, target in enumerate(goal.dfa.transitions[state].tolist()):
            if (target, letter) not in number:
                number[target, letter] = len(order)
                order.append((target, letter))
            edges.append((here, letter, number[target, letter]))
    states, letters = torch.tensor(order).unbind(1)
    source, letter_of, there = torch.tensor(edges).unbind(1)
    return _Pairs(states=states, letters=letters, source=source, letter=letter_of, target=there)


def _first_centres(model: Model, goal: Goal, pairs: _Pairs, rng: np.random.Generator) -> Tensor:
    """The mean states of all pairs but the first, along random words; zero where no word came by."""
    words, states = draw_words(goal, _WORDS, _LENGTH, rng, stray=_STRAY)
    layer = model.layers[0]
    with torch.no_grad():
        run = run_states(model, torch.from_numpy(words))
        seen = torch.stack([flat_state(layer, state) for state in run[1:]], dim=1)
    read, passed = torch.from_numpy(words), torch.from_numpy(states[:, 1:])
    found = []
    for state, letter in zip(pairs.states[1:].tolist(), pairs.letters[1:].tolist(), strict=True):
        here = (passed == state) & (read == letter)
        found.append(seen[here].mean(dim=0) if bool(here.any()) else torch.zeros(seen.shape[2]))
    return torch.stack(found)
