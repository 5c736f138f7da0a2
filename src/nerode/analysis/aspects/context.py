"""Context windows of networks: by the spectrum, by the norms of products, and by changing letters.

The first two are about the state of a layer and know nothing of what is read from it; the third changes one
letter and looks at what the whole network answers. They agree only where the readout uses all of the state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from nerode.analysis.probes import ProbeWords, plain
from nerode.analysis.subject import LoadedNetwork
from nerode.core import InputError, stream
from nerode.records import AnalysisRow, ContextAnalysis, LayerSpectrum

EPS = 0.01
"""Share of the state, or change of a probability, below which something counts as forgotten."""


def context(
    subject: LoadedNetwork,
    probe: ProbeWords,
    spectra: Sequence[LayerSpectrum],
    *,
    eps: float = EPS,
    seed: int = 0,
) -> ContextAnalysis:
    """Returns how far back a network looks.

    Args:
        subject: the network.
        probe: the words whose letters are changed.
        spectra: of its layers.
        eps: what counts as forgotten.
        seed: of the letters that are put in.
    """
    if not 0 < eps < 1:
        raise InputError(f"eps is {eps}; it is a share between 0 and 1")
    changes = interventions(subject, probe, seed=seed)
    return ContextAnalysis(
        eps=eps,
        layers=tuple(layer_window(spectrum, eps=eps) for spectrum in spectra),
        changes=changes,
        by_intervention=_window(changes, lambda c: c.mean >= eps),
        by_largest=_window(changes, lambda c: c.largest >= eps),
        flips=_window(changes, lambda c: c.flips > 0),
        longest=changes[-1].back + 1 if changes else 0,
    )


def layer_window(spectrum: LayerSpectrum, *, eps: float = EPS) -> AnalysisRow:
    """Returns how many positions one layer remembers, by three rules.

    Implements: [Nandakumar2024, Proposition 4.6] for the rule of nilpotency
    """
    rate = spectrum.rate
    by_spectrum = None
    if rate == 0:
        by_spectrum = 1
    elif rate < 1:
        by_spectrum = math.ceil(math.log(eps) / math.log(rate))
    small = [p.n for p in spectrum.products if p.largest is not None and p.largest < eps]
    return AnalysisRow(
        layer=spectrum.layer,
        rate=plain(rate),
        by_spectrum=by_spectrum,
        by_norm=small[0] if small else None,
        by_nilpotency=spectrum.nilpotent,
        computed=spectrum.products[-1].n,
    )


@torch.no_grad()
def interventions(subject: LoadedNetwork, probe: ProbeWords, *, seed: int = 0) -> tuple[AnalysisRow, ...]:
    """Returns what changing one letter does to later answers, for each distance at which something is asked.

    Every letter of every word is changed in turn. Letters are replaced by others at random, so that most of
    the words are none of the task any more; features are replaced by those of another word. Nothing is
    returned for an alphabet of one letter, which cannot be changed.
    """
    inputs = probe.inputs
    if probe.has_letters and len(probe.symbols) < 2:
        return ()
    rng = stream(seed, "analysis", "interventions")
    bits = subject.task is not None and subject.task.targets_are_bits
    mask = torch.ones(inputs.shape[:2], dtype=torch.bool) if probe.batch is None else probe.batch.mask
    usual = _answers(subject, inputs, bits=bits)
    sizes: list[list[Tensor]] = [[] for _ in range(probe.length)]
    flips: list[list[Tensor]] = [[] for _ in range(probe.length)]
    for place in range(probe.length):
        changed = inputs.clone()
        if probe.has_letters:
            letters = len(probe.symbols)
            shift = torch.from_numpy(rng.integers(1, letters, len(inputs)))
            changed[:, place] = (changed[:, place] + shift) % letters
        else:
            changed[:, place] = changed[:, place].roll(1, dims=0)
        answers = _answers(subject, changed, bits=bits)
        moved = (answers - usual).abs()
        size = moved.amax(-1) if bits else moved.sum(-1) / 2
        other = (_decided(answers, bits) != _decided(usual, bits)).any(-1)
        for back in range(probe.length - place):
            asked = mask[:, place + back]
            sizes[back].append(size[asked, place + back])
            flips[back].append(other[asked, place + back])
    return tuple(
        _change(back, torch.cat(sizes[back]), torch.cat(flips[back]))
        for back in range(probe.length)
        if any(len(part) for part in sizes[back])
    )


def _change(back: int, sizes: Tensor, flips: Tensor) -> AnalysisRow:
    return AnalysisRow(
        back=back,
        mean=float(sizes.mean()),
        largest=float(sizes.max()),
        flips=float(flips.double().mean()),
        answers=len(sizes),
    )


def _answers(subject: LoadedNetwork, inputs: Tensor, *, bits: bool) -> Tensor:
    """The probabilities of all answers (batch, time, outputs)."""
    scores = subject.model(inputs, None)[0].double()
    if not scores.isfinite().all():
        raise InputError(
            f"{subject.name} answers with numbers that are not finite; there is nothing to compare"
        )
    return torch.sigmoid(scores) if bits else scores.softmax(-1)


def _decided(answers: Tensor, bits: bool) -> Tensor:
    return answers > 0.5 if bits else answers.argmax(-1, keepdim=True)


def _window(changes: Sequence[AnalysisRow], matters: Callable[[AnalysisRow], bool]) -> int:
    return max((c.back + 1 for c in changes if matters(c)), default=0)
