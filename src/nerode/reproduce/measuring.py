"""The measurement of a table: specs, runs (or those that are there), compiled networks, numbers of cells."""

from __future__ import annotations

import functools
import json
import math
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from nerode.analysis import AnalysisOptions, analyse, load_subject
from nerode.core import Budget, InputError, from_mapping, stream, to_mapping
from nerode.languages import resolve_language
from nerode.models.network_module import CompiledModel, load_model
from nerode.proofs import UNDER_NOISE, Claim, Refutation, Unproved
from nerode.records import (
    CURVE,
    WEIGHTS_FILE,
    Folder,
    LineResult,
    Measure,
    RunRecord,
    RunStore,
    TableResult,
    TaskConfig,
    TrainSpec,
    analysis_json,
    merge_tables,
    read_run,
)
from nerode.reproduce.records import (
    RULE,
    AxisValue,
    Finding,
    LengthRange,
    Noise,
    Paper,
    PaperTable,
    Reading,
    SignalOutput,
    TableLine,
    compare_cells,
    judge_again,
)
from nerode.study import NetworkStudy, study_network, summarise_verdict
from nerode.sweeps import LocalExecutor, RunJob, RunOutcome, run_sweep
from nerode.tasks import Prediction, Task, build_task
from nerode.tasks.formal import LanguageSettings
from nerode.training import (
    TRAINING,
    describe_environment,
    draw_tests,
    make_spec,
    require_tests,
    run_key,
    spec_model,
)

_LENGTHS_OF_A_RANGE = 4
"""Lengths that stand for a range, its ends among them."""

_TRIES = 12
"""Shorter lengths that are tried where a language has no word of a length."""


def lengths_to_test(task: Task, readings: Iterable[Reading]) -> tuple[int, ...]:
    """Returns the lengths that the readings need, those without test sequences replaced by shorter ones."""
    found: set[int] = set()
    for reading in readings:
        if isinstance(reading, LengthRange) and reading.every:
            found |= {n for n in range(reading.low, reading.high + 1) if _nearest(task, n, n) is not None}
        elif isinstance(reading, LengthRange):
            found |= {
                n for target in _spread(reading) if (n := _nearest(task, target, reading.low)) is not None
            }
    return tuple(sorted(found))


def _spread(lengths: LengthRange) -> list[int]:
    steps = _LENGTHS_OF_A_RANGE - 1
    return sorted({lengths.low + (lengths.high - lengths.low) * k // steps for k in range(steps + 1)})


def _nearest(task: Task, length: int, low: int) -> int | None:
    for shorter in range(length, max(low, length - _TRIES) - 1, -1):
        try:
            require_tests(task, [shorter])
        except InputError:
            continue
        return shorter
    return None


def read_value(reading: Reading, record: RunRecord) -> float | None:
    """Returns the share that a reading finds; 0 for a run that diverged, None if it was not tested."""
    if record.divergence is not None:
        return 0.0
    match reading:
        case LengthRange():
            return _at_lengths(reading, record)
        case AxisValue():
            scores = [s.score for s in record.axes if (s.axis, s.value) == (reading.axis, reading.value)]
            return scores[0].accuracy(reading.measure) if scores else None
        case Finding():
            return _finding(reading, record.examination)
        case Noise():
            return None


def _at_lengths(reading: LengthRange, record: RunRecord) -> float | None:
    scores = [s for s in record.evaluations if reading.low <= s.length <= reading.high]
    if not scores:
        return None
    weights = [s.positions if _by_position(reading.measure) else s.sequences for s in scores]
    total = sum(w * s.accuracy(reading.measure) for w, s in zip(weights, scores, strict=True))
    return (total / sum(weights) - reading.chance) / (1 - reading.chance)


def _by_position(measure: Measure) -> bool:
    return measure in ("token", "scaled")


def _finding(reading: Finding, examination: dict[str, Any]) -> float | None:
    match reading.name:
        case "greedy" | "sampled":
            value = examination.get(reading.name)
            return None if value is None else float(value)
        case "offset":
            counts = examination.get("offsets")
            return None if counts is None else counts["predicted"] / counts["shown"]
        case "two-isi" | "double-isi":
            tests = [t for t in examination.get("phase_alignment", ()) if t["name"] == reading.name]
            if not tests:
                return None
            return float(tests[0]["grade"] >= reading.at if reading.at else tests[0]["passed"])
        case "survives":
            rows = examination.get("streams")
            return None if not rows else float(all(r["survived"] >= reading.at for r in rows))


def readings_of(line: TableLine) -> list[Reading]:
    """Returns the readings of the cells of a line."""
    return [cell.reading for cell in line.cells]


OnLine = Callable[[str], None]
"""Is called with one line per finished run."""


def specs_of(line: TableLine, seeds: Sequence[int]) -> list[TrainSpec]:
    """Returns the runs of a line at CPU scale, one for each seed; none for a line that is not trained.

    Raises:
        InputError: if a judge takes part in its training: what is measured is blind to what theory predicts.
    """
    if line.cpu is None:
        return []
    if make_spec(line.cpu).run.exact is not None:
        raise InputError(f"the line {line.model} has run.exact; tables of papers are trained without a judge")
    lengths = _lengths_of(json.dumps(to_mapping(make_spec(line.cpu).task)), tuple(readings_of(line)))
    return [
        make_spec(merge_tables(line.cpu, {"run": {"seed": seed, "test_lengths": list(lengths)}}))
        for seed in seeds
    ]


@functools.cache
def _lengths_of(task: str, readings: tuple[Reading, ...]) -> tuple[int, ...]:
    """The lengths to test of a task as JSON: the models of a table share them, and they take a while."""
    return lengths_to_test(build_task(from_mapping(TaskConfig, json.loads(task))), readings)


def seeds_of(line: TableLine, count: int | range | None = None) -> range:
    """Returns the seeds of a line, or as many as are asked for, or those that are asked for."""
    if isinstance(count, range):
        return count
    return range(line.first_seed, line.first_seed + (count or line.seeds))


def num_missing(table: PaperTable, *, out: Path, seeds: int | range | None = None) -> int:
    """Returns how many runs of a table are not in `out` yet."""
    store = RunStore(out)
    lines = [line for line in table.lines if line.runs_here]
    keys = {run_key(spec) for line in lines for spec in specs_of(line, seeds_of(line, seeds))}
    return sum(not store.is_done(key) for key in keys)


def run_table(
    paper: Paper,
    table: PaperTable,
    *,
    out: Path,
    seeds: int | range | None = None,
    jobs: int = 1,
    on_line: OnLine | None = None,
) -> TableResult:
    """Returns a table with the results of the runs at CPU scale; runs that are in `out` are not made again.

    Args:
        paper: the paper.
        table: one of its tables.
        out: where the folders of runs are.
        seeds: how many or which, instead of what each line says.
        jobs: processes at once; 0 to run nothing, and to take what is there.
        on_line: is called with one line per finished run.
    """
    lines = [line for line in table.lines if line.runs_here]
    specs = [specs_of(line, seeds_of(line, seeds)) for line in lines]
    records, failures = _run_all(lines, specs, out, jobs, on_line)
    results = [
        _compiled_line(table, line)
        if line.compile_to
        else _trained_line(table, line, own, records, failures, out)
        for line, own in zip(lines, specs, strict=True)
    ]
    measured = [line for line in results if _is_measured(line)]
    unmeasured = len(table.lines) - len(measured)
    waiting = tuple(f"{line.row} · {line.model}" for line in results if not _is_measured(line))
    commits = Counter(str(record.environment.get("commit")) for record in records.values())
    return TableResult(
        paper=paper.name,
        reference=paper.reference.key,
        citation=str(paper.reference),
        table=table.name,
        title=table.title,
        where=table.where,
        unit=table.unit,
        threshold=table.threshold,
        protocol=table.protocol,
        corrected=table.corrected,
        scale=table.scale,
        remarks=table.remarks,
        rule=RULE,
        average=table.average,
        command=_command(paper, table, seeds, out),
        lines=tuple(measured),
        unmeasured=unmeasured,
        waiting=waiting,
        environment=describe_environment(),
        commits=tuple(commit for commit, _ in commits.most_common()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedLine:
    """A line that can be run here, and what is left of it.

    Attributes:
        paper: its paper.
        table: its table.
        line: the line.
        keys: of its runs; empty for a compiled network.
        cells: published numbers that it gives, in all tables that share its runs.
        missing: runs that are yet to be made.
        seconds: CPU seconds of a run: the mean of those that are there, or an estimate.
        stored: whether the stored results have it.
    """

    paper: Paper
    table: PaperTable
    line: TableLine
    keys: tuple[str, ...]
    cells: int
    missing: int
    seconds: float
    stored: bool = False

    @property
    def hours(self) -> float:
        """CPU hours that are left."""
        return self.missing * self.seconds / 3600

    @property
    def cells_per_hour(self) -> float:
        """Published numbers per CPU hour that is left; without end where all runs are there."""
        return self.cells / self.hours if self.missing else math.inf

    @property
    def name(self) -> str:
        """The line in words."""
        return f"{self.paper.name}:{self.table.name} {self.line.row} · {self.line.model}"


def list_queue(tables: Sequence[tuple[Paper, PaperTable]]) -> list[QueuedLine]:
    """Returns all lines of tables that run here, with guesses of their time, as if none had been run."""
    lines = [(paper, table, line) for paper, table in tables for line in table.lines if line.runs_here]
    keys = [tuple(run_key(spec) for spec in specs_of(line, seeds_of(line))) for _, _, line in lines]
    cells: Counter[str] = Counter()
    for (_, _, line), own in zip(lines, keys, strict=True):
        cells["".join(own)] += sum(cell.published is not None for cell in line.cells)
    return [
        QueuedLine(
            paper=paper,
            table=table,
            line=line,
            keys=own,
            cells=max(1, cells["".join(own)]) if own else 1,
            missing=len(own) or 1,
            seconds=estimate_seconds(line) if own else _COMPILED_SECONDS,
        )
        for (paper, table, line), own in zip(lines, keys, strict=True)
    ]


_COMPILED_SECONDS = 5.0


def update_queue(
    queue: Sequence[QueuedLine], *, out: Path, stored: Sequence[TableResult] = ()
) -> list[QueuedLine]:
    """Returns the lines with what is left of them, those with most published numbers per CPU hour first.

    Args:
        queue: the lines.
        out: the folder of the runs.
        stored: results; a line of theirs with all runs of the registry is not run again.
    """
    store = RunStore(out)
    whole = {
        (result.paper, result.table, line.row, line.model, line.keys)
        for result in stored
        for line in result.lines
        if not line.missing
    }
    found = []
    for own in queue:
        name = (own.paper.name, own.table.name, own.line.row, own.line.model, own.keys)
        done = [read_run(store.folder(key)) for key in own.keys if store.is_done(key)]
        spent = [record.cpu_seconds + record.evaluation_cpu_seconds for record in done]
        found.append(
            replace(
                own,
                stored=name in whole,
                missing=0 if name in whole else len(own.keys) - len(done) if own.keys else 1,
                seconds=sum(spent) / len(spent) if spent else own.seconds,
            )
        )
    return sorted(found, key=lambda own: -own.cells_per_hour)


_PER_TOKEN, _PER_WEIGHT = 1e-6, 1.5e-10
"""CPU seconds of a position in a layer, and of a weight at a position: a guess from a few measured runs."""


def estimate_seconds(line: TableLine) -> float:
    """Returns a guess of the CPU seconds of a run of a line; it serves to put lines in order."""
    spec = make_spec(line.cpu or {})
    task = build_task(spec.task)
    model = spec_model(spec.model, task, seed=0)
    low, high = task.training_lengths
    run = spec.run
    updates = run.epochs * -(-run.sample // run.batch) if run.epochs else run.steps
    weights = sum(parameter.numel() for parameter in model.parameters())
    per_position = _PER_TOKEN * spec.model.depth + _PER_WEIGHT * weights
    return 1.0 + updates * (2e-3 * spec.model.depth + run.batch * (low + high) / 2 * per_position)


def merge_lines(new: TableResult, stored: TableResult | None, table: PaperTable) -> TableResult:
    """Returns a table with the whole lines of new runs, and the lines that were stored before elsewhere."""
    whole = {(line.row, line.model): line for line in new.lines if not line.missing and not line.failed}
    before = {} if stored is None else {(line.row, line.model): line for line in stored.lines}
    names = dict.fromkeys([*((line.row, line.model) for line in table.lines), *whole, *before])
    lines = tuple(whole.get(name) or before[name] for name in names if name in whole or name in before)
    commits = Counter(commit for line in lines for commit in line.commits)
    return judge_again(
        replace(new, lines=lines, commits=tuple(commit for commit, _ in commits.most_common())), table
    )


def _is_measured(line: LineResult) -> bool:
    return bool(line.failed) or any(cell.values for cell in line.cells)


def _command(paper: Paper, table: PaperTable, seeds: int | range | None, out: Path) -> str:
    words = ["nerode", "reproduce", f"{paper.name}:{table.name}", "--scale", "cpu", "--out", str(out)]
    asked = f"{seeds[0]}-{seeds[-1]}" if isinstance(seeds, range) else str(seeds)
    return shlex.join(words + ([] if seeds is None else ["--seeds", asked]))


def _run_all(
    lines: Sequence[TableLine],
    specs: Sequence[Sequence[TrainSpec]],
    out: Path,
    jobs: int,
    on_line: OnLine | None,
) -> tuple[dict[str, RunRecord], dict[str, str]]:
    """The records and the messages of failed runs, by key."""
    titles = {
        run_key(spec): f"{line.row} · {line.model} · seed {spec.run.seed}"
        for line, own in zip(lines, specs, strict=True)
        for spec in own
    }
    # The first seed of every line comes first: what is stopped halfway has a bit of everything.
    ordered = sorted((spec for own in specs for spec in own), key=lambda spec: spec.run.seed)
    wanted = {run_key(spec): RunJob(key=run_key(spec), spec=spec.to_mapping()) for spec in ordered}
    failures: dict[str, str] = {}

    def see(outcome: RunOutcome) -> None:
        if outcome.status != "done":
            failures[outcome.key] = f"{outcome.status}: {outcome.message}"
        if on_line is not None:
            on_line(f"{titles[outcome.key]}: {outcome.status} {outcome.message}".strip())

    if wanted and jobs:
        run_sweep(
            list(wanted.values()),
            root=out,
            runner=TRAINING.name,
            executor=LocalExecutor(processes=jobs),
            on_outcome=see,
        )
    store = RunStore(out)
    return {key: read_run(store.folder(key)) for key in wanted if store.is_done(key)}, failures


def _trained_line(
    table: PaperTable,
    line: TableLine,
    specs: Sequence[TrainSpec],
    records: Mapping[str, RunRecord],
    failures: Mapping[str, str],
    out: Path,
) -> LineResult:
    found = [records[run_key(spec)] for spec in specs if run_key(spec) in records]
    values = [
        tuple(v for record in found if (v := read_value(cell.reading, record)) is not None)
        for cell in line.cells
    ]
    return LineResult(
        row=line.row,
        model=line.model,
        kind="trained",
        cells=compare_cells(table, line.cells, values),
        theory=summarise_verdict(line.language, line.architecture),
        seeds=tuple(record.complete.run.seed for record in found),
        diverged=tuple(r.complete.run.seed for r in found if r.divergence is not None),
        failed=tuple(f"seed {s.run.seed}: {failures[run_key(s)]}" for s in specs if run_key(s) in failures),
        missing=tuple(s.run.seed for s in specs if run_key(s) not in records and run_key(s) not in failures),
        here=line.here,
        stands_in=line.stands_in,
        steps=tuple(record.steps for record in found),
        parameters=found[0].parameters if found else None,
        cpu_seconds=sum(r.cpu_seconds + r.evaluation_cpu_seconds for r in found),
        keys=tuple(record.key for record in found),
        spec=dict(line.cpu or {}),
        note=line.note,
        language=_language_by_length(line),
        architecture=line.architecture,
        commits=tuple(str(record.environment.get("commit")) for record in found),
        weights=tuple(_hash_of_weights(out, record) for record in found),
        curves=tuple(map(_curve, found)),
    )


def _hash_of_weights(out: Path, record: RunRecord) -> str:
    """The SHA-256 of the tensors of a run; empty for one that diverged and has none."""
    folder = Folder(RunStore(out).folder(record.key))
    return folder.file_hash(WEIGHTS_FILE) if WEIGHTS_FILE in folder else ""


def _curve(record: RunRecord) -> tuple[tuple[float, ...], ...]:
    """The learning curve of a run, thinned."""
    each = -(-len(record.history) // CURVE)
    points = [(row.step, round(row.validation.accuracy(record.measure), 4)) for row in record.history]
    return tuple(points[::-1][::each][::-1]) if points else ()


def _language_by_length(line: TableLine) -> str:
    """The language of a line whose last cell is harder in length than its first."""
    last = line.cells[-1].reading
    by_length = isinstance(last, LengthRange) or (isinstance(last, Finding) and last.name == "survives")
    return line.language if by_length else ""


def _compiled_line(table: PaperTable, line: TableLine) -> LineResult:
    measured = measure_compiled(line)
    return LineResult(
        row=line.row,
        model=line.model,
        kind="compiled",
        cells=compare_cells(table, line.cells, measured.values),
        theory=summarise_verdict(line.language, line.architecture),
        cpu_seconds=measured.cpu_seconds,
        parameters=measured.parameters,
        claims=measured.claims,
        failed=measured.problems,
        note=line.note,
        language=line.language,
        architecture=line.architecture,
    )


_WORDS = 100
"""Words of each length."""

_SECONDS = 60.0
"""For the compiler, and again for the proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Measurements of a compiled network.

    Attributes:
        values: a share for each cell of the line; empty if there is no network.
        claims: what was proved, as plain values.
        parameters: numbers of the network.
        problems: why there is no network, or no proof.
        cpu_seconds: for compiling, running and proving.
    """

    values: tuple[tuple[float, ...], ...]
    claims: tuple[dict[str, Any], ...] = ()
    parameters: int | None = None
    problems: tuple[str, ...] = ()
    cpu_seconds: float = 0.0


def measure_compiled(line: TableLine) -> Measured:
    """Returns the accuracies of the compiled network of a line in float32, and the claims proved of it."""
    begun = time.process_time()
    language = resolve_language(line.language)
    study = study_network(language, line.compile_to, budget=Budget(seconds=_SECONDS))
    if study.network is None:
        return Measured(
            values=((),) * len(line.cells),
            problems=study.refusals,
            cpu_seconds=time.process_time() - begun,
        )
    task = Prediction(LanguageSettings(language=line.language))
    model = load_model(study.network, dtype=torch.float32)
    return Measured(
        values=tuple(_value(model, task, study.claims, cell.reading) for cell in line.cells),
        claims=tuple(map(_plain_claim, study.claims)),
        parameters=study.network.num_parameters,
        problems=_problems(study),
        cpu_seconds=time.process_time() - begun,
    )


def _problems(study: NetworkStudy) -> tuple[str, ...]:
    """The reason why there is no proof, if there is none."""
    match study.result:
        case Refutation():
            return (f"wrong on the word {''.join(study.result.word)!r}",)
        case Unproved():
            return (f"not proved: {study.result.reason}",)
    return ()


def _value(model: CompiledModel, task: Task, claims: Sequence[Claim], reading: Reading) -> tuple[float, ...]:
    match reading:
        case LengthRange():
            return _share(model, task, reading)
        case Noise():
            proved = [claim.eps for claim in claims if claim.scope == UNDER_NOISE and claim.eps]
            return (float(bool(proved) and max(proved) >= reading.eps),)
        case _:
            return ()


def _plain_claim(claim: Claim) -> dict[str, Any]:
    return {**to_mapping(claim), "eps": None if claim.eps is None else str(claim.eps)}


@torch.no_grad()
def _share(model: CompiledModel, task: Task, reading: LengthRange) -> tuple[float, ...]:
    """The share of words that are correct throughout, at all lengths of a reading together."""
    right = words = 0
    for length in lengths_to_test(task, [reading]):
        for batch in draw_tests(task, length, _WORDS):
            scores, _ = model(batch.inputs)
            right += int((model.legal(scores) == batch.targets).all(-1).all(-1).sum())
            words += len(batch)
    return (right / words,) if words else ()


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
