"""Training of models on tasks: specs, one loop, evaluation by length, and runs in a store.

Open `loop` first.
"""

from nerode.training.batch_parts import run
from nerode.training.environment import describe_environment
from nerode.training.evaluation import draw_tests, evaluate, require_tests
from nerode.training.exact import Check, Reply
from nerode.training.gates import ExactModel, exact_forms
from nerode.training.loop import ProgressEvent, train
from nerode.training.model_building import (
    Build,
    declared_theory,
    import_builder,
    measure_own,
    own_builder,
    own_code,
    spec_model,
    spec_model_config,
)
from nerode.training.optimiser import make_optimiser, rate_factor, set_rates
from nerode.training.runs import (
    TRAINING,
    folder_builder,
    require_question,
    run_all,
    run_builder,
    run_in,
    task_of_run,
    write_subject,
)
from nerode.training.specs import (
    make_spec,
    make_specs,
    run_key,
    specs_of_seeds,
    tested_lengths,
    with_small_defaults,
)
from nerode.training.terms import GateMargin

__all__ = [
    "TRAINING",
    "Build",
    "Check",
    "ExactModel",
    "GateMargin",
    "ProgressEvent",
    "Reply",
    "declared_theory",
    "describe_environment",
    "draw_tests",
    "evaluate",
    "exact_forms",
    "folder_builder",
    "import_builder",
    "make_optimiser",
    "make_spec",
    "make_specs",
    "measure_own",
    "own_builder",
    "own_code",
    "rate_factor",
    "require_question",
    "require_tests",
    "run",
    "run_all",
    "run_builder",
    "run_in",
    "run_key",
    "set_rates",
    "spec_model",
    "spec_model_config",
    "specs_of_seeds",
    "task_of_run",
    "tested_lengths",
    "train",
    "with_small_defaults",
    "write_subject",
]
