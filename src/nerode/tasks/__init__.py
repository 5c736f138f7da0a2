"""What a model is asked to do: sequences by length and seed, with targets, masks and what counts as right."""

from nerode.tasks.dfa_states import DfaStates, DfaStatesSettings
from nerode.tasks.flip_flop import ALPHABET, FlipFlop
from nerode.tasks.flip_flop_streams import IGNORE, READ, STREAMS, WRITE, ZERO, survey
from nerode.tasks.ngram_text import NgramText
from nerode.tasks.parity import Parity
from nerode.tasks.prediction import Prediction
from nerode.tasks.recognition import Recognition
from nerode.tasks.regular import CycleNavigation, EvenPairs
from nerode.tasks.state_tracking import StateTracking
from nerode.tasks.table import all_tasks, build_task, complete_task, find_task, resolve_task, task_file_hashes
from nerode.tasks.task import Batch, Split, Task

__all__ = [
    "ALPHABET",
    "IGNORE",
    "READ",
    "STREAMS",
    "WRITE",
    "ZERO",
    "Batch",
    "CycleNavigation",
    "DfaStates",
    "DfaStatesSettings",
    "EvenPairs",
    "FlipFlop",
    "NgramText",
    "Parity",
    "Prediction",
    "Recognition",
    "Split",
    "StateTracking",
    "Task",
    "all_tasks",
    "build_task",
    "complete_task",
    "find_task",
    "resolve_task",
    "survey",
    "task_file_hashes",
]
