"""Counting in the memory paper: tables 4 and 5, figures 2 and 3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nerode.reproduce.published.small_models import NEVER, small_model, spec
from nerode.reproduce.records import TICKS, Finding, PaperFigure, PaperTable, TableCell, TableLine

MODELS = {
    "RNN": "elman-tanh",
    "LSTM": "lstm",
    "GRU": "gru",
    "NRU": "nru-one-head",
    "TF": "transformer-nope",
    "S4D": "s4d",
    "Mamba": "mamba",
}
SIGNALS: dict[int, dict[str, Any]] = {
    200: {"on": 10, "off": [20, 40], "length": 200},
    600: {"on": 30, "off": [60, 120], "length": 600},
    1000: {"on": 50, "off": [100, 200], "length": 1000},
}
LEARNED = 0.9
"""Share of the offsets that a seed has to predict, each with all steps of its time on."""

_LONG_RATES = {"RNN": 3e-3, "NRU": 3e-3, "TF": 1e-3}
"""Rates on the signals of 600 and 1,000 steps, where they are not 5e-3; that of the short one is 1e-3."""

_TABLE_4 = {
    200: "✓✓ ✓✓ ✓✓ ✓✓ ✗✗ ✓✓ ✗✗",
    600: "✓✓ ✓✓ ✓✓ ✓✓ ✗✗ ✓✓ ✗✗",
    1000: "✓✓ ✓✓ ✓✓ ✓✗ ✗✗ ✓✓ ✗✗",
}
_TABLE_5 = {"two-isi": "✓✓ ✗✓ ✗✗ ✗✓ ✗✗ ✓✓ ✗✗", "double-isi": "✓✗ ✗✗ ✓✗ ✓✓ ✗✗ ✓✓ ✗✗"}
"""Ticks of the hidden sizes 8 and 64, by model."""

SIZES = (8, 64)


def _tick(printed: str, model: str, size: int) -> str:
    return printed.split()[list(MODELS).index(model)][SIZES.index(size)]


def _spec(model: str, size: int, length: int, depth: int = 1) -> dict[str, Any]:
    """The paper's 1,000 epochs; on the long signals training ends when the signal is learned."""
    settings: dict[str, Any] = {"states": 16} if model == "S4D" else {"states": 4} if model == "Mamba" else {}
    if model in ("RNN", "LSTM", "GRU", "NRU"):
        settings["hidden"] = size
    rate = 1e-3 if length == 200 else _LONG_RATES.get(model, 5e-3)
    own = small_model(MODELS[model], depth=depth, width=size, rate=rate, **settings)
    own["optimiser"] |= {"name": "adam", "decay": 0.0}
    return spec(
        "counting",
        own,
        settings=SIGNALS[length],
        epochs=1000,
        sample=200,
        batch=20,
        evaluate_every=500 if length == 200 else 100,
        validation=64,
        measure="token",
        stop=NEVER if length == 200 else {"threshold": 0.9999, "patience": 3},
        test_sequences=64,
    )


def _paper(model: str, size: int, length: int, depth: int = 1) -> dict[str, Any]:
    """The paper's models and epochs; the optimiser, its rate and the batches are ours, it gives none."""
    name = {"TF": "transformer"}.get(model, model.lower())
    return {
        "task": {"name": "counting", "settings": SIGNALS[length]},
        "model": {"configuration": f"memory-counting-{name}-{size}", "width": 0, "depth": depth},
        "optimiser": {"name": "adam", "rate": 1e-3, "decay": 0.0},
        "run": {"epochs": 1000, "sample": 200, "batch": 20, "evaluate_every": 100, "measure": "token"},
    }


def _runs(model: str, length: int) -> bool:
    """Whether a line runs here: of transformers, only those on the short signal."""
    return length == 200 or model != "TF"


def _line(model: str, size: int, length: int, cells: tuple[TableCell, ...], depth: int = 1) -> TableLine:
    return TableLine(
        row=f"length {length}",
        model=f"{model}, hidden size {size}" + (f", {depth} layers" if depth > 1 else ""),
        cells=cells,
        language=f"offset-counting-{SIGNALS[length]['on']}",
        architecture={"nru-one-head": "nru"}.get(MODELS[model], MODELS[model]),
        cpu=_spec(model, size, length, depth) if _runs(model, length) else None,
        paper=_paper(model, size, length, depth),
    )


def _offset(printed: str) -> TableCell:
    return TableCell(
        column="offset",
        reading=Finding(name="offset"),
        published=TICKS.get(printed),
        printed=printed,
        trained=True,
    )


def _learned_offset(model: str, size: int, depth: int = 1) -> TableCell:
    """The offset in a table about something else, with what the paper has of it elsewhere."""
    printed = "✓" if depth > 1 else _tick(_TABLE_4[200], model, size)
    return TableCell(
        column="offset",
        reading=Finding(name="offset"),
        trained=True,
        threshold=LEARNED,
        elsewhere=TICKS[printed],
    )


_CORRECTED = (
    "new test sequences; offsets are scored alone, each with all steps of its time on, because a network "
    "that never predicts one has 0.97, 0.99 and 0.994 of all determined steps; Adam at rates of 1e-3 to "
    "5e-3, 200 sequences and batches of 20 are ours: the paper gives a grid of rates, chosen by "
    "extrapolation, and no optimiser, number of sequences or batch"
)
_SCALE = (
    "16 states (S4D) and 4 (Mamba) for 64, 161 to 761 parameters at hidden size 8 where the paper prints 99 "
    "to 3,641; training on signals of 600 and 1,000 steps ends when 0.9999 of the validation steps are right"
)

TABLE_4 = PaperTable(
    name="table-4",
    title="counting: does a single layer predict when the signal ends",
    where="Table 4",
    unit="tick",
    threshold=LEARNED,
    protocol="next step of a signal that is on for a fixed time and off for a random one, 1,000 epochs; a "
    "tick is at least 3 of 5 seeds that predict the offset",
    corrected=_CORRECTED + f"; a tick is {LEARNED:g} of the offsets, which 3 of 5 seeds have to reach",
    scale=_SCALE + "; transformers on the short signal only",
    average="median",
    lines=tuple(
        _line(model, size, length, (_offset(_tick(_TABLE_4[length], model, size)),))
        for length in SIGNALS
        for size in SIZES
        for model in MODELS
    ),
    remarks=(
        "One layer of Mamba: a count to 10 is star-free, so that gates in [0, 1] do not forbid it. The "
        "paper says that its solution for S4D needs complex eigenvalues, and asks whether there is another.",
    ),
)


def _phases(model: str, size: int) -> tuple[TableCell, ...]:
    two, double = (_tick(_TABLE_5[name], model, size) for name in ("two-isi", "double-isi"))
    return (
        _learned_offset(model, size),
        TableCell(column="Two ISI", reading=Finding(name="two-isi"), published=TICKS[two], printed=two),
        TableCell(
            column="Double ISI",
            reading=Finding(name="double-isi", at=2),
            published=TICKS[double],
            printed=double,
        ),
        TableCell(column="Double ISI, off in the middle", reading=Finding(name="double-isi", at=1)),
        TableCell(column="Double ISI, off at the end, too", reading=Finding(name="double-isi", at=3)),
    )


TABLE_5 = PaperTable(
    name="table-5",
    title="counting: does the count begin anew (phase alignment)",
    where="Table 5",
    unit="tick",
    threshold=0.5,
    protocol="the models of table 4 on two signals far apart, and on one of twice the time; a tick is at "
    "least 3 of 5 seeds that are right",
    corrected=_CORRECTED + "; the tests are defined bit by bit in nerode.tasks.synthetic.counting",
    scale=_SCALE,
    average="median",
    lines=tuple(_line(model, size, 200, _phases(model, size)) for size in SIZES for model in MODELS),
    remarks=(
        "The paper does not print what counts as passed. Its words on Double ISI are that a model should "
        '"deactivate briefly, then reactivate and continue counting": off at the end of the first half, and '
        "on again while the signal is on. That is the column Double ISI. The two columns after it ask for "
        "less (off at the end of the first half) and for more (off at the end of the second half, too).",
        "Two ISI is scored at the shorter of two gaps, twice the longest time off of training.",
    ),
)


def _figure_2(model: str) -> TableLine:
    cell = _offset("✓")
    if model == "TF":
        cell = replace(cell, published=None, printed="", elsewhere=TICKS["✗"])
    return _line(model, 8, 200, (cell,), depth=2 if model in ("Mamba", "TF") else 1)


FIGURE_2 = PaperTable(
    name="figure-2",
    title="counting at hidden size 8: all but the transformer predict the offset",
    where="Figure 2",
    unit="tick",
    threshold=LEARNED,
    protocol="outputs of models trained for 1,000 epochs on the short signal; Mamba and the transformer "
    "with two layers",
    corrected=_CORRECTED,
    scale=_SCALE,
    average="median",
    lines=tuple(map(_figure_2, MODELS)),
)


def _figure_3(model: str, printed: str) -> TableLine:
    depth = 2 if model == "Mamba" else 1
    cell = TableCell(
        column="Two ISI", reading=Finding(name="two-isi"), published=TICKS[printed], printed=printed
    )
    return _line(model, 8, 200, (_learned_offset(model, 8, depth), cell), depth=depth)


FIGURE_3 = PaperTable(
    name="figure-3",
    title="phase alignment with two layers of Mamba",
    where="Figure 3 (a)",
    unit="tick",
    threshold=0.5,
    protocol="as table 5, Mamba with two layers; the text says that it passes the test of consecutive ISIs "
    "and fails one of the two tests",
    corrected=_CORRECTED,
    scale=_SCALE,
    average="median",
    lines=(_figure_3("Mamba", "✓"),),
    remarks=(
        "The caption of figure 3 calls Two ISI the consecutive one, and so it is read here; the text once "
        "uses that word for Double ISI.",
    ),
)

COUNTING_FIGURES = (
    PaperFigure(
        name="figure-2",
        where="Figure 2",
        title="Outputs at hidden size 8 beside the signal",
        kind="signals",
        table=FIGURE_2,
        signals=("training",),
    ),
    PaperFigure(
        name="figure-3",
        where="Figure 3",
        title="Phase alignment: outputs at hidden size 8 beside the signal",
        kind="signals",
        table=replace(
            TABLE_5,
            lines=tuple(
                line
                for line in (*TABLE_5.lines[: len(MODELS)], *FIGURE_3.lines)
                if line.model != "Mamba, hidden size 8"
            ),
        ),
        signals=("two-isi", "double-isi"),
    ),
)
