"""Counting in the memory paper: tables 4 and 5, figures 2 and 3."""

from __future__ import annotations

from typing import Any

from nerode.reproduce.published.small_models import small_model, spec
from nerode.reproduce.records import TICKS, Finding, LengthRange, PaperTable, TableCell, TableLine

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
LEARNED = 0.995
"""Share of determined steps: one offset in seven may be missed where the signal is on for 10, off for 20."""

_RATES = {"RNN": 1e-2, "LSTM": 2e-2, "GRU": 2e-2, "NRU": 5e-3, "TF": 3e-3, "S4D": 1e-2, "Mamba": 1e-2}
_EPOCHS = {"TF": 40, "NRU": 60, "Mamba": 80}
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


def _own_model(model: str, size: int, depth: int) -> dict[str, Any]:
    settings: dict[str, Any] = {"states": 16} if model == "S4D" else {"states": 4} if model == "Mamba" else {}
    if model in ("RNN", "LSTM", "GRU", "NRU"):
        settings["hidden"] = size
    return small_model(MODELS[model], depth=depth, width=size, rate=_RATES[model], **settings)


def _spec(model: str, size: int, length: int, depth: int = 1) -> dict[str, Any]:
    own = _own_model(model, size, depth)
    if size == 64:
        own["optimiser"]["rate"] /= 4
    return spec(
        "counting",
        own,
        settings=SIGNALS[length],
        epochs=_EPOCHS.get(model, 100),
        sample=200,
        batch=20,
        evaluate_every=20,
        validation=64,
        measure="token",
        stop={"threshold": 0.999, "patience": 2},
        test_sequences=64,
    )


def _paper(model: str, size: int, length: int, depth: int = 1) -> dict[str, Any]:
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
        note="at most 100 epochs of 200 sequences",
    )


def _offset(length: int, printed: str) -> TableCell:
    return TableCell(
        column="offset",
        reading=LengthRange(low=length, high=length, measure="token"),
        published=TICKS.get(printed),
        printed=printed,
        trained=True,
    )


_LEARNED_OFFSET = TableCell(
    column="offset",
    reading=LengthRange(low=200, high=200, measure="token"),
    trained=True,
    threshold=LEARNED,
)
_CORRECTED = "new test sequences; stopping is decided by validation on the signal of training"
_SCALE = "at most 40 to 100 epochs at rates of 1e-2 for 1,000 epochs; 16 states (S4D) and 4 (Mamba) for 64"

TABLE_4 = PaperTable(
    name="table-4",
    title="counting: does a single layer predict when the signal ends",
    where="Table 4",
    unit="tick",
    threshold=LEARNED,
    protocol="next step of a signal that is on for a fixed time and off for a random one, 1,000 epochs; a "
    "tick is at least 3 of 5 seeds that predict the offset",
    corrected=_CORRECTED
    + f"; a tick is {LEARNED:g} of the determined steps, which 3 of 5 seeds have to reach",
    scale=_SCALE + "; transformers on the short signal only",
    lines=tuple(
        _line(model, size, length, (_offset(length, _tick(_TABLE_4[length], model, size)),))
        for length in SIGNALS
        for size in SIZES
        for model in MODELS
    ),
    remarks=(
        "One layer of Mamba: a count to 10 is star-free, so that gates in [0, 1] do not forbid it; the "
        "paper explains its cross by the lack of complex eigenvalues.",
    ),
)


def _phases(model: str, size: int) -> tuple[TableCell, ...]:
    cells = []
    for name, title in (("two-isi", "Two ISI"), ("double-isi", "Double ISI")):
        printed = _tick(_TABLE_5[name], model, size)
        reading = Finding(name="two-isi") if name == "two-isi" else Finding(name="double-isi")
        cells.append(TableCell(column=title, reading=reading, published=TICKS[printed], printed=printed))
    return (_LEARNED_OFFSET, *cells)


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
    lines=tuple(_line(model, size, 200, _phases(model, size)) for size in SIZES for model in MODELS),
    remarks=(
        "Checked: the answered bits of every run (`examination.phase_alignment` of its result.json). While a "
        "signal of twice the time is on, all networks that learned the offset answer off after the first "
        "half; most then stay off, some go on again and end early. None counts the second half. The paper "
        "does not say what counts as passed, and its runs last 1,000 epochs; ours end when validation is "
        "right.",
        "Two ISI differs between seeds of one model; a tick rests on 3 of 5.",
    ),
)

_FIGURE = tuple(
    _line(model, 8, 200, (_offset(200, "✓"),), depth=2 if model == "Mamba" else 1)
    for model in MODELS
    if model != "TF"
)
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
    lines=_FIGURE,
)


def _figure_3(model: str, printed: str) -> TableLine:
    depth = 2 if model == "Mamba" else 1
    cell = TableCell(
        column="Two ISI", reading=Finding(name="two-isi"), published=TICKS[printed], printed=printed
    )
    return _line(model, 8, 200, (_LEARNED_OFFSET, cell), depth=depth)


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
    lines=(_figure_3("Mamba", "✓"),),
    remarks=(
        "The caption of figure 3 calls Two ISI the consecutive one, and so it is read here; the text once "
        "uses that word for Double ISI.",
    ),
)
