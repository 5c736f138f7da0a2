"""Tasks: sequences by length and seed, with targets, masks and a rule of what counts as correct."""

from nerode.tasks.automaton_words import AutomatonWalks, TaskAutomaton, automaton_of
from nerode.tasks.formal.language_task import FormalLanguageTask
from nerode.tasks.formal.ngram_text import NgramText
from nerode.tasks.formal.recognition import Prediction, Recognition
from nerode.tasks.synthetic.counting import Counting, phase_alignment, right_answers
from nerode.tasks.synthetic.flip_flop import IGNORE, READ, STREAMS, WRITE, ZERO, FlipFlop, survey
from nerode.tasks.synthetic.regular import Parity
from nerode.tasks.synthetic.state_tracking import StateTracking
from nerode.tasks.table import all_tasks, build_task, complete_task, find_task, resolve_task, task_file_hashes
from nerode.tasks.task import Batch, Split, Task

__all__ = [
    "IGNORE",
    "READ",
    "STREAMS",
    "WRITE",
    "ZERO",
    "AutomatonWalks",
    "Batch",
    "Counting",
    "FlipFlop",
    "FormalLanguageTask",
    "NgramText",
    "Parity",
    "Prediction",
    "Recognition",
    "Split",
    "StateTracking",
    "Task",
    "TaskAutomaton",
    "all_tasks",
    "automaton_of",
    "build_task",
    "complete_task",
    "find_task",
    "phase_alignment",
    "resolve_task",
    "right_answers",
    "survey",
    "task_file_hashes",
]
