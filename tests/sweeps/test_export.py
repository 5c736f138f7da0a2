from __future__ import annotations

import subprocess
import sys

import pytest

from nerode.records import RunStore
from nerode.sweeps.running import execute
from tests.sweeps.toy import TOY, job

CODE = """
import sys
from pathlib import Path
from nerode.records import list_runs
from nerode.records import RunStore
from nerode.sweeps.export import export_run
store, out = RunStore(Path(sys.argv[1])), Path(sys.argv[2])
for run in list_runs(store):
    export_run("tensorboard", store, run, out)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
for folder in sorted(out.iterdir()):
    events = EventAccumulator(str(folder)).Reload().Scalars("sum")
    print(folder.name, *(f"{e.step}:{e.value:g}" for e in events))
"""


@pytest.mark.slow
def test_tensorboard_reads_what_was_measured(tmp_path):
    """In a process of its own, because TensorBoard warns of things that are none of ours."""
    store = RunStore(tmp_path / "runs")
    execute(store, TOY, job(3))
    arguments = [sys.executable, "-c", CODE, str(store.root), str(tmp_path / "out")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.stdout == f"{job(3).key[:16]} 1:3 2:9 3:18 4:30 5:45\n", done.stderr
