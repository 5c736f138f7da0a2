"""Several seeds and rates of one small model in one computation.

Each member is trained as it would be alone, with its own sequences, rate, clipping, stop rule and divergence;
only the order of sums differs, so that results agree to rounding and not to the bit. That is why such runs
have no folders: a folder holds what follows from its spec, bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from nerode.core import InputError
from nerode.models import Ensemble, Model, fixed_bits
from nerode.records import Divergence, NotFinite, RunRecord, TrainSpec
from nerode.tasks import build_task
from nerode.training.batch_parts import run
from nerode.training.loop import OnProgress, ProgressEvent, Trainer
from nerode.training.model_building import spec_model_config
from nerode.training.optimiser import make_optimiser, rate_factor, set_rates
from nerode.training.runs import progress_of


def train_groups(
    specs: Sequence[TrainSpec], *, on_progress: Callable[[int, ProgressEvent], None] | None = None
) -> Iterator[tuple[int, RunRecord]]:
    """Yields the number and the record of each run; those that differ in seed and rate only run together.

    Args:
        specs: the runs.
        on_progress: is called with the number of a run and its progress.

    Raises:
        InputError: if a run needs what only runs by themselves have.
    """
    groups: dict[str, list[int]] = {}
    for number, spec in enumerate(specs):
        groups.setdefault(repr(_without_seed_and_rate(spec)), []).append(number)
    for numbers in groups.values():
        _require_alike([specs[number] for number in numbers])
    for numbers in groups.values():
        callbacks = [progress_of(number, on_progress) for number in numbers]
        found = train_together([specs[number] for number in numbers], on_progress=callbacks)
        yield from zip(numbers, (record for record, _ in found), strict=True)


def train_together(
    specs: Sequence[TrainSpec], *, on_progress: Sequence[OnProgress | None] | None = None
) -> list[tuple[RunRecord, nn.Module]]:
    """Returns the record of each run and its model, in the order of the specs.

    Args:
        specs: alike but for the seed and the learning rate.
        on_progress: one callback per run; None for no callback.

    Raises:
        InputError: if they differ in more, or need what only runs by themselves have: a curriculum, a fixed
            sample, aids, dropout, a model of the user's own.
    """
    _require_alike(specs)
    with fixed_bits(specs[0].run.threads), torch.random.fork_rng(devices=[]):
        callbacks = on_progress or [None] * len(specs)
        trainers = [
            Trainer(spec, on_progress=callback) for spec, callback in zip(specs, callbacks, strict=True)
        ]
        joint = JointTrainer(trainers)
        while joint.active:
            joint.step()
        return [(trainer.finish(), trainer.model) for trainer in trainers]


class JointTrainer:
    """The runs that are still under way, with one ensemble and one optimiser for all.

    Args:
        trainers: the runs, none of them begun.
    """

    def __init__(self, trainers: Sequence[Trainer]) -> None:
        self.active = list(trainers)
        self.spec = trainers[0].spec
        self._form()

    def _form(self) -> None:
        """Makes the ensemble of the models of the active runs."""
        models = [trainer.model for trainer in self.active]
        self.ensemble = Ensemble([model for model in models if isinstance(model, Model)])
        self.ensemble.train()
        # A step of rate 1, of which each member takes the share that is its own rate.
        unit = replace(self.spec.optimiser, rate=1.0, slow_rate=1.0)
        self.optimiser = make_optimiser(self.ensemble, unit)
        groups = zip(*(trainer.optimiser.param_groups for trainer in self.active), strict=True)
        self.rates = [
            torch.tensor([group["top"] for group in kinds], dtype=torch.float64) for kinds in groups
        ]

    def step(self) -> None:
        """Makes one update of all active runs; those that end are left out from then on."""
        begun = time.process_time()
        active, number = self.active, self.active[0].progress.step
        batches = [trainer.data.batch(number, trainer.progress.longest) for trainer in active]
        self.optimiser.zero_grad(set_to_none=True)
        scores, _ = run(self.ensemble, torch.stack([batch.inputs for batch in batches]))
        losses = torch.stack(
            [t.task.loss(s, batch) for t, s, batch in zip(active, scores, batches, strict=True)]
        )
        values = losses.tolist()
        finite = torch.isfinite(losses.detach())
        if finite.any():
            losses[finite].sum().backward()  # type: ignore[no-untyped-call]
            norms = self.ensemble.clip_gradients(self.spec.optimiser.clip or math.inf)
            self._update(rate_factor(self.spec.optimiser, number, active[0].data.steps))
        else:
            norms = losses.detach()
        share = (time.process_time() - begun) / len(active)
        for place, (trainer, batch) in enumerate(zip(active, batches, strict=True)):
            bad: NotFinite | None = None
            if not (finite[place] and torch.isfinite(norms[place])):
                bad = "gradient" if finite[place] else "loss"
            self._account(trainer, place, values[place], len(batch), bad, share)
        self._drop([not trainer.done for trainer in active])

    @torch.no_grad()
    def _update(self, factor: float) -> None:
        weights = [p for group in self.optimiser.param_groups for p in group["params"]]
        before = [p.clone() for p in weights]
        self.optimiser.step()
        rates = [
            rate * factor
            for rate, group in zip(self.rates, self.optimiser.param_groups, strict=True)
            for _ in group["params"]
        ]
        for old, new, rate in zip(before, weights, rates, strict=True):
            new.copy_(old.lerp(new, rate.to(new.dtype).view(-1, *(1 for _ in new.shape[1:]))))

    def _account(
        self, trainer: Trainer, place: int, loss: float, samples: int, bad: NotFinite | None, seconds: float
    ) -> None:
        """Notes what a step did to one run, and validates it when it is time to."""
        progress = trainer.progress
        progress.cpu_seconds += seconds
        if bad is not None:
            progress.divergence = Divergence(step=progress.step, what=bad)
            return
        if trainer.count(loss, samples):
            begun = time.process_time()
            trainer.model.load_state_dict(self.ensemble.member(place).state_dict())
            factor = rate_factor(trainer.spec.optimiser, progress.step - 1, trainer.data.steps)
            set_rates(trainer.optimiser, factor)
            trainer.validate()
            trainer.report("validation", loss)
            progress.cpu_seconds += time.process_time() - begun

    def _drop(self, kept: list[bool]) -> None:
        """Leaves out the runs that have ended, with their part of the optimiser's state."""
        if all(kept):
            return
        places = [place for place, keep in enumerate(kept) if keep]
        for place in places:
            self.active[place].model.load_state_dict(self.ensemble.member(place).state_dict())
        self.active = [self.active[place] for place in places]
        if not self.active:
            return
        old = self.optimiser.state_dict()["state"]
        self._form()
        rows = torch.tensor(places)
        state = {n: {k: _rows(v, rows) for k, v in slots.items()} for n, slots in old.items()}
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})


def _rows(value: Tensor | None, rows: Tensor) -> Tensor | None:
    """The part of some members; the count of steps, which all share, as it is."""
    return value if value is None or value.ndim == 0 else value[rows]


def _without_seed_and_rate(spec: TrainSpec) -> TrainSpec:
    return replace(spec, run=replace(spec.run, seed=0), optimiser=replace(spec.optimiser, rate=1.0))


def _require_alike(specs: Sequence[TrainSpec]) -> None:
    if not specs:
        raise InputError("there is nothing to train; give one spec or more")
    first = specs[0]
    shared = _without_seed_and_rate(first)
    for spec in specs:
        if _without_seed_and_rate(spec) != shared:
            raise InputError("runs that are trained together may differ in seed and rate only")
    if first.run.curriculum is not None or first.run.epochs or first.run.aids is not None:
        raise InputError("runs with a curriculum, a fixed sample or aids cannot be trained together")
    if first.model.module:
        raise InputError("a model of your own cannot be trained together with others")
    config = spec_model_config(first.model, build_task(first.task))
    if any(config.around(number).dropout for number in range(len(config.layers))):
        raise InputError("models with dropout cannot be trained together; each draws its own")
