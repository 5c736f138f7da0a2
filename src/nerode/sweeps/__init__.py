"""Many runs: where they are kept, what a sweep asks for, and who carries it out."""

from nerode.sweeps.driver import SweepReport, run_sweep
from nerode.sweeps.export import flat_rows, flatten, to_csv, to_json_lines
from nerode.sweeps.index import Outline, list_runs
from nerode.sweeps.local import LocalExecutor
from nerode.sweeps.lock import LOCK, read_owner
from nerode.sweeps.pruning import prune, removable
from nerode.sweeps.ray_cluster import RayExecutor
from nerode.sweeps.runner import Executor, Job, Outcome
from nerode.sweeps.slurm import SlurmExecutor
from nerode.sweeps.store import RESULT, RunStore, read_metrics, read_result
from nerode.sweeps.sweep_file import read_sweep
from nerode.sweeps.trackers import TRACKERS

__all__ = [
    "LOCK",
    "RESULT",
    "TRACKERS",
    "Executor",
    "Job",
    "LocalExecutor",
    "Outcome",
    "Outline",
    "RayExecutor",
    "RunStore",
    "SlurmExecutor",
    "SweepReport",
    "flat_rows",
    "flatten",
    "list_runs",
    "prune",
    "read_metrics",
    "read_owner",
    "read_result",
    "read_sweep",
    "removable",
    "run_sweep",
    "to_csv",
    "to_json_lines",
]
