"""All speeds on one page: benchmarks/RESULTS.md, from runs on an idle machine.

`make bench` measures every section. What a section measured is kept in benchmarks/results.json as soon as it
ends, so that a run can be stopped: `--go-on` measures the sections that are not kept for this commit yet,
`--only cells,layers` some of them, and `--page` none; the page is written from all that is kept. A row says
what was done, against whom, how many times as long the peer takes, the least and the largest ratio of one
turn, the target, and what limits it.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import profiles
from benchmarks._rows import MEASURED, BenchRow
from nerode.core import plural, write_atomically
from nerode.models.native import library as native
from nerode.training.environment import describe_environment

PAGE, KEPT = Path(__file__).with_name("RESULTS.md"), Path(__file__).with_name("results.json")

SECTIONS = (
    *("transformers", "cells", "layers", "kernels", "mamba", "training"),
    *("monoid", "starfree", "bestiary", "threads", "waiting"),
)
"""In this order: from `layers` on the process keeps freed memory, as other libraries alone would not."""
_OPTIONS = {"transformers": (["--write"],)}
"""What the main functions of some sections are given: the table of docs/accelerate.md is of the same run."""

PROFILES = "profiles"
"""What takes the time: a section without rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTarget:
    """The ratio that a row should reach, and what it cannot pass.

    Attributes:
        work: how the name of the work begins.
        peer: how the name of the peer begins.
        least: the ratio.
        limit: what stands in the way of more.
    """

    work: str
    peer: str
    least: float
    limit: str


_PRODUCTS = "it is multiplications of matrices, in which torch is as fast"
_CALLS = "calls from Python, autograd and memory take as long as the cell itself (profiles below)"
_PAGES = (
    "arrays of 32 MiB go back to the system after each use, and each page of the next is zeroed first: "
    "compare the copy with allocation"
)
_BANDWIDTH = "memory bandwidth: a store reads its line first, three times in eight"
_SCAN = "the selective scan and the linear maps (profiles below)"
_FUSED = "torch's own fused attention, which ours calls"
_SMALL = "batch, loss, clipping and update beside the kernels (profiles below)"
_HALVES = "some work is done by one thread while the other waits"

TARGETS = (
    BenchTarget(work="gru H 8 ", peer="torch", least=10, limit=_CALLS),
    BenchTarget(work="gru H 128 ", peer="torch", least=1.5, limit=_PRODUCTS),
    BenchTarget(work="gru H", peer="torch", least=1, limit=_PRODUCTS),
    *(BenchTarget(work=f"lstm H {n} ", peer="torch", least=1.3, limit=_PRODUCTS) for n in (8, 64, 128)),
    BenchTarget(work="lstm H", peer="torch", least=1, limit=_PRODUCTS),
    BenchTarget(work="causal attention", peer="torch", least=1, limit=_FUSED),
    BenchTarget(work="attention with slopes", peer="torch", least=1, limit=_FUSED),
    BenchTarget(work="mlstm layer", peer="xlstm package", least=1, limit=_PRODUCTS),
    BenchTarget(work="scalar decay", peer="chunks", least=1, limit=_PRODUCTS),
    BenchTarget(work="vector decay", peer="chunks", least=1, limit=_PRODUCTS),
    BenchTarget(
        work="erase rule", peer="torch loop", least=1, limit="no chunked form in plain torch is known"
    ),
    BenchTarget(work="mamba step", peer="mambapy", least=6, limit=_SCAN),
    BenchTarget(work="mamba step", peer="transformers, slow path", least=25, limit=_SCAN),
    BenchTarget(work="diagonal scan (8, 512, 512)", peer="copy of the bytes", least=0.6, limit=_BANDWIDTH),
    BenchTarget(work="diagonal scan (16, 512, 512)", peer="copy of the bytes", least=0.6, limit=_PAGES),
    BenchTarget(work="diagonal scan (64, 512, 16)", peer="mambapy pscan", least=8, limit=_BANDWIDTH),
    BenchTarget(work="training of", peer="", least=1, limit=_SMALL),
    BenchTarget(work="kernels in a step", peer="", least=0.7, limit=_SMALL),
    BenchTarget(
        work="training step of pd-ssm", peer="gla", least=0.5, limit="its scan over choices of columns"
    ),
    BenchTarget(work="training step", peer="one thread", least=1.6, limit=_HALVES),
    *(
        BenchTarget(work=f"monoid {n}", peer="libsemigroups", least=1.5, limit="gathers from Cayley graphs")
        for n in ("O10", "D100")
    ),
    BenchTarget(
        work="groups and classes",
        peer="20 s",
        least=1,
        limit="listing monoids (24 %), dot-depth one (15 %), powers of elements (12 %)",
    ),
    BenchTarget(
        work="certificates of the classes", peer="30 s", least=1, limit="exact steps in plain Python"
    ),
    BenchTarget(work="checks of the classes", peer="60 s", least=1, limit="exact steps in plain Python"),
    BenchTarget(work="atlas from nothing", peer="90 s", least=1, limit="proofs of large groups"),
    BenchTarget(work="atlas unchanged", peer="", least=1, limit="imports"),
)
"""The first that fits a row counts."""

LATER_TARGETS = (
    BenchTarget(work="transformers: Mamba,", peer="default", least=10, limit=_SCAN),
    BenchTarget(work="transformers: Mamba,", peer="mambapy path", least=5, limit=_SCAN),
    BenchTarget(work="transformers: delta rule", peer="default", least=2, limit=_PRODUCTS),
    *(
        BenchTarget(work=f"nerode {work}", peer="", least=1, limit="imports of torch and of this package")
        for work in ("check", "compile", "verify", "train")
    ),
)
"""Targets set later; the page counts them by themselves."""

_SIDE_BY_SIDE = "a step of a few ms: two runs side by side, as `nerode train --jobs 2` does, use both cores"
_TOGETHER = "networks are no longer trained stacked: seeds run in processes of their own, which was as fast"
STRUCK = {
    **{
        (f"training step of {name}", "one thread"): _SIDE_BY_SIDE
        for name in ("elman-tanh", "mingru", "mingru-signed", "ssm-decayed", "ssm-nilpotent")
    },
    **{
        (f"30 × {cell} H 32 B 64 T 60", f"torch nn.{name} one by one"): _TOGETHER
        for cell, name in (("elman-tanh", "RNN"), ("gru", "GRU"), ("lstm", "LSTM"))
    },
    ("lstm H 128 B 64 T 50", "torch nn.LSTM"): "in float32 its products alone leave 1.21",
    ("attention with slopes d 64 heads 4 B 16 T 512", "torch's fused attention"): (
        "the work is torch's own function, called by both"
    ),
}
"""Targets without a user, with the reason: a second figure counts them as missed, and those without a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A sentence of the page's first screen about some rows.

    Attributes:
        work, peer: how the names of the rows begin.
        says: the sentence; {} stands for the ratios.
    """

    work: str
    peer: str
    says: str


GAINS = (
    Gain(
        work="transformers: Mamba,",
        peer="default",
        says="a training step of an unmodified Mamba of `transformers` under `nerode.accelerate()`: {}",
    ),
    Gain(work="transformers: Mamba,", peer="mambapy path", says="the same against its path with mambapy: {}"),
    Gain(
        work="transformers: delta rule",
        peer="default",
        says="the gated delta rule of Qwen3-Next, forward and backward: {}",
    ),
    Gain(
        work="transformers: ",
        peer="default",
        says="all recurrent models of `transformers` and layers of `xlstm` that were measured: {}",
    ),
    Gain(
        work="mamba step",
        peer="mambapy",
        says="a training step of nerode's own Mamba layer against mambapy's: {}",
    ),
    Gain(
        work="training of mamba",
        peer="mambapy",
        says="training a Mamba, task and records included, against mambapy in a plain loop: {}",
    ),
    Gain(
        work="training of",
        peer="torch",
        says="training a GRU or LSTM, task and records included, against torch in a plain loop: {}",
    ),
    Gain(
        work="gru H",
        peer="torch",
        says="a GRU of 8 to 768 units, forward and backward, against `torch.nn.GRU`: {}",
    ),
    Gain(work="elman-tanh H", peer="torch", says="an Elman network against `torch.nn.RNN`: {}"),
    Gain(
        work="lstm H",
        peer="torch",
        says="an LSTM against `torch.nn.LSTM`, which is at the limit of the processor's products: {}",
    ),
    Gain(
        work="lstm with bfloat16",
        peer="nerode",
        says='an LSTM trained with `run.products = "bfloat16"` against itself in float32: {}',
    ),
    Gain(
        work="lstm with bfloat16",
        peer="torch",
        says="the same against `torch.nn.LSTM` under autocast, whose products it takes: {}",
    ),
    Gain(work="slstm layer", peer="xlstm", says="an sLSTM layer against the package of its authors: {}"),
    Gain(work="mlstm layer", peer="xlstm", says="an mLSTM layer against the package of its authors: {}"),
    Gain(work="delta rule", peer="torch loop", says="the delta rule against a loop in torch: {}"),
    Gain(
        work="vector decay",
        peer="chunks",
        says="gated linear attention against its chunked form in torch: {}",
    ),
    Gain(work="causal attention", peer="torch", says="softmax attention is torch's: {}"),
    Gain(
        work="training step",
        peer="one thread",
        says="two threads against one, the same bits, a training step of {count} architectures: {}",
    ),
    Gain(work="monoid", peer="libsemigroups", says="syntactic monoids against libsemigroups (C++): {}"),
)
"""The first screen."""


def target_of(row: BenchRow) -> BenchTarget | None:
    """Returns the target of a row, None if it has none."""
    every = (*TARGETS, *LATER_TARGETS)
    return next((t for t in every if row.work.startswith(t.work) and row.peer.startswith(t.peer)), None)


def line(row: BenchRow) -> str:
    """Returns a row of the table."""
    target = target_of(row)
    wanted = "" if target is None else f"{target.least:g} {'✓' if row.ratio >= target.least else '✗'}"
    spread = f"{row.low:.2f}–{row.high:.2f}"
    cells = (row.work, duration(row.seconds), row.peer, f"{row.ratio:.2f}", spread, str(row.threads), wanted)
    return f"| {' | '.join(cells)} |"


def duration(seconds: float) -> str:
    """Returns seconds as milliseconds, or as seconds from ten on."""
    return f"{seconds * 1e3:,.1f} ms" if seconds < 10 else f"{seconds:,.0f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSection:
    """What one run of a section measured.

    Attributes:
        name: of the section.
        rows: in order.
        lines: profiles, in words.
        about: commit, date, processor, version of torch.
        load: processes that were running when it began.
        seconds: how long it took.
    """

    name: str
    rows: tuple[BenchRow, ...]
    lines: tuple[str, ...]
    about: dict[str, str]
    load: float
    seconds: float


def read_kept(path: Path = KEPT) -> dict[str, KeptSection]:
    """Returns the kept sections by name."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return {
        item["name"]: KeptSection(
            **{**item, "rows": tuple(BenchRow(**row) for row in item["rows"]), "lines": tuple(item["lines"])}
        )
        for item in found
    }


def keep(sections: Iterable[KeptSection], path: Path = KEPT) -> None:
    """Writes the kept sections."""
    lines = ",\n".join(json.dumps(asdict(section), ensure_ascii=False) for section in sections)
    write_atomically(path, f"[\n{lines}\n]\n")


def judged(rows: Iterable[BenchRow], targets: Sequence[BenchTarget]) -> tuple[list[BenchRow], list[BenchRow]]:
    """Returns the rows that meet their target, and those that miss it, of these targets."""
    own = [row for row in rows if target_of(row) in targets]
    met = [row for row in own if row.ratio >= target_of(row).least]  # type: ignore[union-attr]
    return met, [row for row in own if row not in met]


def gain(told: Gain, rows: Sequence[BenchRow]) -> str:
    """Returns a sentence of the first screen; empty without rows."""
    ratios = sorted(
        row.ratio for row in rows if row.work.startswith(told.work) and row.peer.startswith(told.peer)
    )
    if not ratios:
        return ""
    low, high = (f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" for ratio in (ratios[0], ratios[-1]))
    shown = f"**{low}×**" if low == high else f"**{low}–{high}×**"
    return f"- {told.says.replace('{count}', str(len(ratios))).replace('{}', shown)}"


def missed_line(row: BenchRow) -> str:
    """Returns a row that misses its target, with what stands in the way."""
    target = target_of(row)
    assert target is not None
    reason = STRUCK.get((row.work, row.peer), "; ".join(part for part in (target.limit, row.limit) if part))
    return f"- {row.work}, against {row.peer}: {row.ratio:.2f} of {target.least:g}. {_sentence(reason)}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Returns lines that a reader unfolds."""
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]


def page(sections: Sequence[KeptSection]) -> str:
    """Returns the page of the kept sections."""
    rows = [row for section in sections for row in section.rows]
    met, missed = judged(rows, TARGETS)
    struck = [row for row in missed if (row.work, row.peer) in STRUCK]
    gone = sorted(set(STRUCK) - {(row.work, row.peer) for row in rows})
    open_rows = [row for row in missed if row not in struck]
    left = len(met) + len(open_rows)
    total = left + len(struck) + len(gone)
    later_met, later_missed = judged(rows, LATER_TARGETS)
    waiting = [row for section in sections if section.name == "waiting" for row in section.rows]
    head = [
        "# Speeds",
        "",
        "How many times as long the others take, on a CPU: processor time of one thread, medians; with two",
        "threads, and for the atlas, time on the wall. `make bench` measures; the end of the page says when.",
        "",
        *[text for told in GAINS if (text := gain(told, rows))],
        "",
        *(
            ["Waiting, in seconds of the processor (the atlas: on the wall, two processes):", ""]
            if waiting
            else []
        ),
        *[f"- `{row.work}`: {row.seconds:.1f} s of at most {row.peer}" for row in waiting],
        *([""] if waiting else []),
        f"{len(met)} of {left} targets are met; {len(met)} of {total} with those that were struck. "
        f"Of {plural(len(later_met) + len(later_missed), 'target')} set later, {len(later_met)} are met.",
        "",
    ]
    body = [
        *folded(
            f"What is missed, and why ({len(open_rows) + len(later_missed)})",
            [missed_line(row) for row in [*open_rows, *later_missed]],
        ),
        *folded(
            f"Struck: targets without a user ({len(struck) + len(gone)})",
            [
                *(missed_line(row) for row in struck),
                *(
                    f"- {work}, against {peer}: not measured. {_sentence(STRUCK[work, peer])}"
                    for work, peer in gone
                ),
            ],
        ),
    ]
    for section in sections:
        if not section.rows:
            body += folded("Profiles: what takes the time", section.lines)
            continue
        title = f"All rows of `python -m benchmarks {section.name}`"
        columns = [
            "| work | ours | peer | ratio | spread | threads | target |",
            "|---|---|---|---|---|---|---|",
        ]
        body += folded(title, [*columns, *(line(row) for row in section.rows)])
    return "\n".join([*head, *body, *_measured(sections)])


def _measured(sections: Sequence[KeptSection]) -> list[str]:
    """When and where the sections were measured."""
    lines = ["Measured:", ""]
    for section in sections:
        about = section.about
        lines.append(
            f"- {section.name}: {about['date']}, commit {about['commit'][:12]}, {about['processor']}, torch "
            f"{about['torch']}, in {section.seconds:.0f} s, beside {section.load:.1f} other processes"
        )
    return [*lines, ""]


def build_kernels() -> None:
    """Builds the native kernels if they are missing or out of date; without them nothing is measured."""
    subprocess.run([sys.executable, "-m", "nerode.models.native"], check=False)
    if native.library() is None:
        sys.exit(
            "the native kernels are missing (no C++ compiler) or switched off (NERODE_NATIVE=0): "
            "a table would be of the plain path; install a compiler, or unset the variable"
        )


def measure(name: str) -> KeptSection:
    """Returns what a section measures."""
    print(f"== {name}", flush=True)
    found: dict[str, Any] = describe_environment()
    about = {key: str(found[key]) for key in ("commit", "processor", "torch")}
    about["date"] = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    load, begun = os.getloadavg()[0], time.perf_counter()
    MEASURED.clear()
    lines: Sequence[str] = ()
    if name == PROFILES:
        lines = profiles.lines()
    else:
        importlib.import_module(f"benchmarks.{name}").main(*_OPTIONS.get(name, ()))
    return KeptSection(
        name=name,
        rows=tuple(MEASURED),
        lines=tuple(lines),
        about=about,
        load=load,
        seconds=time.perf_counter() - begun,
    )


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks results", description=__doc__)
    every = (*SECTIONS, PROFILES)
    parser.add_argument("--only", help=f"of {', '.join(every)}; separated by commas")
    parser.add_argument("--go-on", action="store_true", help="leave out what is kept for this commit")
    parser.add_argument("--page", action="store_true", help="measure nothing; write the page of what is kept")
    given = parser.parse_args(list(options))
    names = given.only.split(",") if given.only else list(every)
    if unknown := [name for name in names if name not in every]:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(every)}")
    kept = read_kept()
    if given.go_on:
        commit = describe_environment()["commit"]
        names = [name for name in names if name not in kept or kept[name].about["commit"] != commit]
    if names and not given.page:
        build_kernels()
        for name in names:
            kept[name] = measure(name)
            keep(kept[name] for name in every if name in kept)
    write_atomically(PAGE, page([kept[name] for name in every if name in kept]))
    print(PAGE)
