"""Sweeps: many runs, from a file of combinations to finished runs in a store."""

from nerode.sweeps.export import (
    TRACKERS,
    Tracker,
    export_run,
    flat_rows,
    flatten,
    open_tracker,
    to_csv,
    to_json_lines,
)
from nerode.sweeps.running import (
    Executor,
    LocalExecutor,
    RayExecutor,
    RunJob,
    RunOutcome,
    SlurmExecutor,
    SweepReport,
    run_sweep,
    run_worker,
)
from nerode.sweeps.sweep_file import read_sweep

__all__ = [
    "TRACKERS",
    "Executor",
    "LocalExecutor",
    "RayExecutor",
    "RunJob",
    "RunOutcome",
    "SlurmExecutor",
    "SweepReport",
    "Tracker",
    "export_run",
    "flat_rows",
    "flatten",
    "open_tracker",
    "read_sweep",
    "run_sweep",
    "run_worker",
    "to_csv",
    "to_json_lines",
]
