"""Small networks that are trained for these tests, each once a session."""

from __future__ import annotations

import functools

from nerode.analysis.subject import LoadedNetwork
from nerode.records import TrainSpec
from nerode.tasks import build_task
from nerode.training import train


@functools.cache
def trained(
    task: str, layers: str = "lstm", seed: int = 0, steps: int = 600, longest: int = 20
) -> LoadedNetwork:
    """Returns a network that predicts or recognises a language, trained on short words."""
    spec = TrainSpec.from_mapping(
        {
            "task": {"name": task, "settings": {"longest": longest}},
            "model": {"layers": layers, "width": 8, "settings": {"hidden": 16}},
            "optimiser": {"rate": 1e-2},
            "run": {
                "steps": steps,
                "batch": 32,
                "seed": seed,
                "validation": 64,
                "test_lengths": [20],
                "test_sequences": 8,
            },
        }
    )
    record, model = train(spec)
    built = build_task(spec.task)
    return LoadedNetwork(
        name=f"{layers} on {task}, seed {seed}",
        model=model.eval(),
        record=record,
        task=built,
        language=getattr(built, "language", None),
    )
