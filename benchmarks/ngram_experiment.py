"""The experiment of the n-gram paper (section 5): its variants and seeds, to experiments/ngram/README.md.

    python -m benchmarks ngram_experiment
    python -m benchmarks ngram_experiment --seeds 301-305   prints the rows of other seeds and writes nothing

Runs go to `build/runs/ngram`; those that are there are not made again. It takes a few minutes on one core.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.generalisation import fresh_seeds
from nerode.analysis import analyse, load_subject
from nerode.core import write_atomically
from nerode.records import Analysis, read_toml, run_name
from nerode.training import run_key, specs_of_seeds
from nerode.training.runs import run_in

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "experiments" / "ngram"
RUNS = ROOT / "build" / "runs" / "ngram"
SEEDS = range(5)
VARIANTS = {
    "ngram-ssm": "SSM, Adam",
    "ngram-ssm-decay": "SSM, AdamW, decay 30 on A",
    "ngram-ssm-sgd": "SSM, plain SGD, as printed",
    "ngram-rnn": "ReLU network, Adam",
}
POWER = 16


def row(variant: str, found: Analysis) -> dict[str, Any]:
    """The numbers of one run."""
    (spectrum,) = found.spectra
    own = spectrum.spectra[0] if spectrum.stretch is None else spectrum.stretch.weights
    (clusters,) = found.clusters
    assert own is not None
    assert found.context is not None
    assert clusters.untrained is not None
    (window,) = found.context.layers
    free = None if spectrum.stretch is None else spectrum.stretch.free
    return {
        "variant": variant,
        "seed": found.about["spec"]["run"]["seed"],
        "greedy": found.about["examination"]["greedy"],
        "sampled": found.about["examination"]["sampled"],
        "outside": own.outside,
        "radius": own.radius,
        "power_norm": spectrum.products[POWER - 1].largest,
        "free_norms": None if free is None else [free[POWER - 1], free[-1]],
        "lipschitz": None if spectrum.stretch is None else [spectrum.stretch.sampled, spectrum.stretch.bound],
        "silhouette": clusters.trained.silhouette,
        "silhouette_plane": clusters.trained.silhouette_plane,
        "untrained": clusters.untrained.silhouette,
        "untrained_plane": clusters.untrained.silhouette_plane,
        "purity": clusters.trained.purity,
        "untrained_purity": clusters.untrained.purity,
        "labels": clusters.labels,
        "by_spectrum": window.by_spectrum,
        "by_norm": window.by_norm,
        "by_nilpotency": window.by_nilpotency,
        "by_intervention": found.context.by_intervention,
        "change_at": {c.back: c.mean for c in found.context.changes if c.back in (0, 1, 2, 3, 5, 10)},
        "longest": found.context.longest,
    }


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The rows as a table of Markdown."""
    lines = [
        "| variant | seed | greedy | sampled | eigenvalues outside | radius | norm of 16 steps "
        "| silhouette, untrained | trained | in the plane, untrained | trained "
        "| window by spectrum | by norm | by intervention |",
        "|" + "---|" * 14,
    ]
    for r in rows:
        cells = [
            VARIANTS[str(r["variant"])],
            r["seed"],
            *(f"{r[k]:.3f}" for k in ("greedy", "sampled")),
            r["outside"],
            f"{r['radius']:.3f}",
            f"{r['power_norm']:.3g}",
            *(f"{r[k]:.2f}" for k in ("untrained", "silhouette", "untrained_plane", "silhouette_plane")),
            r["by_spectrum"] or "∞",
            r["by_norm"] or "not seen",
            f"{r['by_intervention']}{'+' if r['by_intervention'] == r['longest'] else ''}",
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def spread(rows: list[dict[str, Any]], variant: str, key: str, digits: str = ".2f") -> str:
    """Least and largest value of a variant, in words."""
    values = [r[key] for r in rows if r["variant"] == variant and r[key] is not None]
    if not values:
        return "none"
    low, high = min(values), max(values)
    return f"{low:{digits}}" if low == high else f"{low:{digits}} to {high:{digits}}"


TEXT = """\
# The experiment of the n-gram paper (section 5)

40 sentences, half of each template, 25 epochs; 200 unseen sentences cut after six words and completed. Every
seed is listed. Written by `python -m benchmarks ngram_experiment` from `experiments/presets/ngram-*.toml`;
the numbers are in `results.json`. The spectrum, the clusters next to those of the untrained network and the
intervention curve of one run are drawn by `nerode analyse RUN`.

{table}

Eigenvalues are those of A, for the ReLU network those of its recurrent matrix. The norm of 16 steps is ‖A¹⁶‖,
for the ReLU network the largest norm of the derivative of 16 steps along sentences. Windows count words, with
0.01 as what is forgotten; ∞ is a radius of 1 or more, + the longest that sentences can show. Silhouettes are
by the last three words, of those that occur five times or more in 100 sentences of each template.

## What differs from the paper

1. **Optimiser.** The paper prints "stochastic gradient descent", rate 0.001, 25 epochs. Plain SGD with these
   completes {sgd_greedy} of the beginnings; Adam at the same rate, batch 4, completes {greedy} greedily.
2. **Decoder.** The paper does not say how words are chosen. Sampled instead of greedy, {sampled} of the
   completions are sentences of the language.
3. **Spectrum.** The paper reports one eigenvalue outside the unit circle. The five seeds have {outside}, with
   radius {radius}; ‖A¹⁶‖ is {power}, so A is not close to nilpotent. With decay 30 on A there are
   {decay_outside} outside, ‖A¹⁶‖ is {decay_power}, and greedy completion is {decay_greedy} (sampled
   {decay_sampled}). Our own earlier trial (spec/cpu-presets.md, section 1) had fewer outside (2 to 4), and
   with decay none outside, ‖A¹⁶‖ of 0.07 to 0.14 and greedy completion of 1 on two seeds: not found again.
4. **Clusters.** The paper shows that hidden states cluster by the last three words. The untrained network of
   the same seed clusters better: silhouette {untrained} untrained against {trained} trained; in the plane of
   the principal components {untrained_plane} against {trained_plane}. With decay 30 on A: {decay_trained}, in
   the plane {decay_plane}. The clusters come from the contracting initial weights; training weakens them.
5. **Context window.** The theory asks for three words; two are enough for this language. By the spectrum the
   window of {unbounded} of 5 trained SSMs is unbounded; by intervention answers still change {interventions}
   words back, of 20. The median over seeds of the mean change 1, 2, 3, 5 and 10 words back is {changes}.
   With decay 30 on A the window is {decay_spectrum} by the spectrum, {decay_norm} by the norm of powers
   (seeds without a bound are not counted), {decay_intervention} by intervention.
6. **ReLU networks.** The recurrent matrix has {rnn_outside} eigenvalues outside, as the paper says of
   several. The paper finds that (σ∘A)ⁿ approaches 0 nevertheless. The mean norm of 16 iterates on states of
   real sentences, over that of the state, is {free}
   for the five seeds, of 64 iterates {free_far}: it shrinks, slowly.
   The Lipschitz constant of one step is at least {sampled_lipschitz} and at most {bound}: no window follows.
"""


def findings(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of the text."""
    ssm, decay, sgd, rnn = VARIANTS
    own = [r for r in rows if r["variant"] == ssm]
    nets = [r for r in rows if r["variant"] == rnn]
    free = [r["free_norms"] for r in nets]
    slopes = [r["lipschitz"] for r in nets]
    changes = [statistics.median(r["change_at"][back] for r in own) for back in (1, 2, 3, 5, 10)]
    return {
        "sgd_greedy": spread(rows, sgd, "greedy"),
        "greedy": spread(rows, ssm, "greedy", ".3f"),
        "sampled": spread(rows, ssm, "sampled", ".3f"),
        "outside": ", ".join(str(r["outside"]) for r in own),
        "radius": spread(rows, ssm, "radius"),
        "power": spread(rows, ssm, "power_norm", ".2g"),
        "decay_outside": spread(rows, decay, "outside", "d"),
        "decay_power": spread(rows, decay, "power_norm", ".2g"),
        "decay_greedy": spread(rows, decay, "greedy", ".3f"),
        "decay_sampled": spread(rows, decay, "sampled", ".3f"),
        "untrained": spread(rows, ssm, "untrained"),
        "trained": spread(rows, ssm, "silhouette"),
        "untrained_plane": spread(rows, ssm, "untrained_plane"),
        "trained_plane": spread(rows, ssm, "silhouette_plane"),
        "decay_trained": spread(rows, decay, "silhouette"),
        "decay_plane": spread(rows, decay, "silhouette_plane"),
        "unbounded": sum(r["by_spectrum"] is None for r in own),
        "interventions": spread(rows, ssm, "by_intervention", "d"),
        "changes": ", ".join(f"{v:.2f}" for v in changes),
        "decay_spectrum": spread(rows, decay, "by_spectrum", "d"),
        "decay_norm": spread(rows, decay, "by_norm", "d"),
        "decay_intervention": spread(rows, decay, "by_intervention", "d"),
        "rnn_outside": spread(rows, rnn, "outside", "d"),
        "free": ", ".join(f"{a:.2g}" for a, _ in free),
        "free_far": ", ".join(f"{b:.2g}" for _, b in free),
        "sampled_lipschitz": f"{min(a for a, _ in slopes):.2f}",
        "bound": f"{max(b for _, b in slopes):.2f}",
    }


def main(arguments: Sequence[str] = ()) -> None:
    torch.set_num_threads(1)
    fresh = fresh_seeds(arguments, "ngram_experiment")
    rows = []
    for variant in VARIANTS:
        tables = read_toml(ROOT / "experiments" / "presets" / f"{variant}.toml")
        for spec in specs_of_seeds(tables, seeds=SEEDS if fresh is None else fresh):
            run_in(RUNS, spec)
            found = analyse(load_subject(RUNS / run_name(run_key(spec))))
            rows.append(row(variant, found))
            print(f"{variant} seed {spec.run.seed}: {rows[-1]}", flush=True)
    if fresh is not None:
        return
    text = TEXT.format(table="\n".join(table(rows)), **findings(rows))
    write_atomically(OUT / "README.md", text)
    write_atomically(OUT / "results.json", json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    print(f"written: {OUT / 'README.md'}")


if __name__ == "__main__":
    main()
