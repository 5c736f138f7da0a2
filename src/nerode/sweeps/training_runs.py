"""Training as a kind of run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nerode.sweeps.store import RunOutput
from nerode.training import CHECKPOINT, MODEL, TrainSpec, train, write_model

NAME = "nerode.sweeps.training_runs:TRAINING"

_SECONDS_BETWEEN_CHECKPOINTS = 30.0


class TrainingRuns:
    """Runs of the training loop; a run that was stopped goes on from its last checkpoint."""

    def key(self, spec: dict[str, Any]) -> str:
        """Returns the hash of the spec with all defaults."""
        return TrainSpec.from_mapping(spec).key

    def run(self, spec: dict[str, Any], out: Path, scratch: Path) -> RunOutput:
        """Trains, and writes the model into `out`; a run that diverged has none."""
        record, model = train(
            TrainSpec.from_mapping(spec),
            checkpoint=scratch / CHECKPOINT,
            checkpoint_every=_SECONDS_BETWEEN_CHECKPOINTS,
        )
        if record.divergence is None:
            write_model(out / MODEL, model)
        result = record.to_json()
        return RunOutput(result=result, environment=record.environment, metrics=result.pop("history"))


TRAINING = TrainingRuns()
