"""What figures need beside the records of runs: outputs along signals, and the analysis of states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from nerode.analysis import AnalysisOptions, analyse, load_subject
from nerode.core import stream
from nerode.records import RunStore, TableResult, analysis_json
from nerode.reproduce.records import SignalOutput


def _folders(result: TableResult, out: Path) -> Iterator[tuple[str, int, Path]]:
    """The model, the seed and the folder of each run that is there."""
    store = RunStore(out)
    for line in result.lines:
        for seed, key in zip(line.seeds, line.keys, strict=True):
            if store.is_done(key):
                yield line.model, seed, store.folder(key)


@torch.no_grad()
def read_outputs(result: TableResult, signals: tuple[str, ...], out: Path) -> tuple[SignalOutput, ...]:
    """Returns what the counting networks of a table give along signals.

    Args:
        result: the table.
        signals: "training" for one of the kind of training, or names of tests of phase alignment, of which
            the first with that name is taken.
        out: the folder of the runs.
    """
    found = []
    for model, seed, folder in _folders(result, out):
        subject = load_subject(folder)
        assert subject.record is not None
        assert subject.task is not None
        tests = subject.record.examination.get("phase_alignment", [])
        bits = {test["name"]: test["signal"] for test in reversed(tests)}
        length = subject.task.training_lengths[1]
        drawn = subject.task.sample(length, 1, stream(0, "figure", "signal")).inputs[0, :, 0]
        bits["training"] = "".join(str(int(bit)) for bit in drawn)
        for name in signals:
            inputs = torch.tensor([[[float(bit)] for bit in bits[name]]])
            scores = subject.model(inputs)[0][0, :, 0]
            outputs = tuple(torch.sigmoid(scores).tolist())
            found.append(SignalOutput(model=model, seed=seed, signal=name, bits=bits[name], outputs=outputs))
    return tuple(found)


def read_states(result: TableResult, out: Path) -> list[tuple[str, dict[str, Any]]]:
    """Returns for the first run of each model its analysis: spectra, powers, clusters by the last letters."""
    first: dict[str, Path] = {}
    for model, _, folder in _folders(result, out):
        first.setdefault(model, folder)
    options = AnalysisOptions(ngram=3)
    return [
        (model, analysis_json(analyse(load_subject(folder), options, parts=("clusters",))))
        for model, folder in first.items()
    ]
