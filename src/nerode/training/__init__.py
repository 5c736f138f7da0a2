"""How models learn tasks: specs, one loop, records keyed by length, and a folder for each run."""

from nerode.training.defaults import make_specs, specs_of_seeds, with_small_defaults
from nerode.training.environment import describe_environment
from nerode.training.evaluation import draw_tests, evaluate, require_tests, run
from nerode.training.loop import Sight, train
from nerode.training.optimiser import make_optimiser
from nerode.training.pool import run_all
from nerode.training.record import RunRecord
from nerode.training.run_folder import CHECKPOINT, MODEL, RESULT, WEIGHTS, folder_name, read_run, write_model
from nerode.training.scores import LengthScore
from nerode.training.spec import OptimiserSpec, TrainSpec
from nerode.training.spec_sources import merge, parse_assignments, read_toml
from nerode.training.together import train_groups

__all__ = [
    "CHECKPOINT",
    "MODEL",
    "RESULT",
    "WEIGHTS",
    "LengthScore",
    "OptimiserSpec",
    "RunRecord",
    "Sight",
    "TrainSpec",
    "describe_environment",
    "draw_tests",
    "evaluate",
    "folder_name",
    "make_optimiser",
    "make_specs",
    "merge",
    "parse_assignments",
    "read_run",
    "read_toml",
    "require_tests",
    "run",
    "run_all",
    "specs_of_seeds",
    "train",
    "train_groups",
    "with_small_defaults",
    "write_model",
]
