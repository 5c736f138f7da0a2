"""Own models before their training: what they offer and what they declare, checked while nothing is spent."""

from __future__ import annotations

from collections.abc import Iterable

from nerode.core import InputError
from nerode.models import is_stateful
from nerode.records import TrainSpec
from nerode.tasks import build_task
from nerode.training import declared_theory, measure_own, own_builder, spec_model
from nerode.verdict import contradiction, find_architecture


def require_own_models(specs: Iterable[TrainSpec], *, certify: bool = False) -> None:
    """Raises InputError for a model of the user's own that what is asked for would refuse after its training.

    Each module is built once, which runs the user's code, and its first weights are measured.

    Args:
        specs: the runs that are asked for; models of the zoo pass.
        certify: whether the runs are to be trained on until they can be proved, which own models cannot.

    Raises:
        InputError: if a module is not to be built, takes no state, has no `step` where one is needed, or has
            weights that contradict its declared class; UnknownName for an unknown class.
    """
    seen = set()
    for spec in specs:
        if not spec.model.module or (spec.model.module, spec.task.name) in seen:
            continue
        seen.add((spec.model.module, spec.task.name))
        if certify:
            raise InputError(
                f"{spec.model.module} is a model of your own; --certify trains layers of the zoo until they "
                "can be proved. Train it without, and settle the run with `nerode prove RUN --trust-code`"
            )
        task = build_task(spec.task)
        model = spec_model(spec.model, task, seed=spec.run.seed, build=own_builder(spec.model)).eval()
        declared = declared_theory(spec.model, model)
        if not declared:
            continue
        row = find_architecture(declared)
        if not is_stateful(model):
            raise InputError(
                f"{spec.model.module} is declared as {row.name}, but has no `step` and `initial_state` by "
                "which its transitions could be measured; add them, or leave the declaration out"
            )
        if trouble := contradiction(row, measure_own(model, task)):
            raise InputError(f"{spec.model.module} contradicts its declaration: {trouble}")
