"""The regular tasks of Delétang et al. as Walker et al. (SLiCE) run them: four tasks, one protocol."""

from __future__ import annotations

from typing import Any

from nerode.core import Reference
from nerode.reproduce.published.small_models import NEVER, falling, small_model, spec
from nerode.reproduce.records import LengthRange, Paper, PaperTable, TableCell, TableLine

TASKS = {
    "Cycle navigation": ("cycle-navigation", "cycle-navigation", 0.2),
    "Even pairs": ("even-pairs", "even-pairs", 0.5),
    "Modular arithmetic": ("modular-arithmetic", "modular-arithmetic", 0.2),
    "Parity": ("parity", "parity", 0.5),
}
"""The task, its language for theory, and the accuracy of a guess."""

MODELS: dict[str, tuple[str, str]] = {
    "LSTM": ("lstm", "100.0±0 100.0±0 99.9±.1 100.0±0"),
    "sLSTM": ("slstm", "32.5±.4 100.0±0 27.7±.6 100.0±0"),
    "mLSTM": ("mlstm", "52.4±10.5 99.9±.1 28.8±3.1 53.0±2.1"),
    "DeltaNet": ("deltanet", "49.8±4.7 100.0±0 42.2±4.8 57.8±.8"),
    "DeltaNet[-1,1]": ("deltanet-signed", "46.7±6.1 100.0±0 66.4±8.8 97.7±2.0"),
    "Gated DeltaNet": ("gated-deltanet", "53.8±8.8 100.0±0 42.8±8.2 56.5±1.9"),
    "RWKV-7": ("rwkv-7", "37.8±5.0 88.1±14.2 39.5±6.1 51.1±.3"),
    "Transformer": ("transformer", "24.4±.5 90.4±10.4 23.6±.7 52.2±.4"),
    "Mamba": ("mamba", "48.4±2.2 100.0±0 33.1±6.6 54.2±2.1"),
    "S4D": ("s4d", "23.7±1.1 68.7±4.7 21.7±.4 51.2±1.0"),
}


_LONGER = {
    "Cycle navigation": ("LSTM", "sLSTM", "DeltaNet[-1,1]"),
    "Even pairs": ("mLSTM", "DeltaNet", "Gated DeltaNet", "Transformer"),
    "Modular arithmetic": ("LSTM", "sLSTM", "DeltaNet[-1,1]"),
    "Parity": ("DeltaNet[-1,1]",),
}
"""Models that theory allows or that learned the lengths of training, and get more updates: by task."""


def _cpu(task: str, model: str) -> dict[str, Any]:
    name, layers = TASKS[task][0], MODELS[model][0]
    longer = model in _LONGER[task]
    width = {"lstm": 32 if longer else 16, "transformer": 32}.get(layers, 32 if longer else 24)
    hidden = {"hidden": 64 if longer else 32} if layers == "lstm" else {}
    own = small_model(layers, depth=2, width=width, rate=5e-3 if longer and hidden else 0.0, **hidden)
    run: dict[str, Any] = {"batch": 64, "evaluate_every": 20, "validation": 128, "test_sequences": 100}
    if not longer:
        return spec(
            name,
            own,
            settings={"labels": "last"},
            steps=1500 if layers == "lstm" else 500,
            curriculum={"start": 4, "step": 6, "threshold": 0.95},
            stop={"threshold": 1.0, "patience": 3},
            **run,
        )
    arithmetic = task == "Modular arithmetic"
    return spec(
        name,
        falling(own, hold=4500),
        settings={"labels": "last"},
        steps=6000,
        curriculum={"start": 3 if arithmetic else 4, "step": 2 if arithmetic else 4, "threshold": 0.95},
        stop=NEVER,
        measure="final",
        **run,
    )


def _line(task: str, model: str) -> TableLine:
    name, language, _ = TASKS[task]
    layers, printed = MODELS[model]
    text = printed.split()[list(TASKS).index(task)]
    cells = (
        TableCell(column="≤ 40", reading=LengthRange(low=20, high=40, measure="final"), trained=True),
        TableCell(
            column="40–256",
            reading=LengthRange(low=42, high=256, measure="final"),
            published=float(text.split("±")[0]) / 100,
            printed=text,
        ),
    )
    return TableLine(
        row=task,
        model=model,
        cells=cells,
        language=language,
        architecture=layers,
        cpu=_cpu(task, model),
        paper={
            "task": {"name": name, "settings": {"labels": "last"}},
            "model": {"layers": layers, "depth": 2, "width": 128},
            "optimiser": {"name": "adamw", "rate": 2e-3},
            "run": {"steps": 100_001, "batch": 256, "evaluate_every": 1000, "measure": "final"},
        },
        grid={"model.width": (128, 512)},
        note="two layers of width 16 to 32; short words first",
    )


DELETANG = Paper(
    name="deletang",
    reference=Reference("Walker2025Slice"),
    title="four regular tasks of Delétang et al. (2023), two layers, one protocol (the table of SLiCE)",
    tables=(
        PaperTable(
            name="regular-tasks",
            title="cycle navigation, even pairs, modular arithmetic, parity",
            where="Table 2",
            unit="accuracy of the last answer",
            protocol="two layers of width 128 or 512, 100,001 steps of 256, lengths 3 to 40, one answer at "
            "the end; mean and standard deviation of 5 runs of the accuracy at lengths 40 to 256, which "
            "also chose the size and when to stop",
            corrected="short words first in training; nothing is chosen by longer sequences; "
            "every seed counts",
            scale="two layers of width 16 to 32, at most 500 steps of 64 (LSTM: 1,500); 6,000 steps, which "
            "go on after the lengths of training are learned, for models that theory allows and that had not "
            "learned them, and for those that had and did not go on",
            lines=tuple(_line(task, model) for task in TASKS for model in MODELS),
        ),
    ),
)
