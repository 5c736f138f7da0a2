"""`nerode analyse`: the mechanism of a network in numbers and pictures."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.options import (
    PATH,
    Command,
    FiniteRange,
    RunPath,
    budgeted,
    default_option,
    force_option,
    trust_option,
)
from nerode.cli.progress import Progress
from nerode.core import (
    Budget,
    BudgetExceeded,
    InputError,
    claim_file,
    claim_folder,
    write_atomically,
)
from nerode.languages import resolve_language
from nerode.languages.formats import automaton_files, write_automaton
from nerode.proofs import MODEL_FOLDER, fewest_ramps
from nerode.records import ANALYSIS_FORMAT, analysis_json
from nerode.report import analysis_page, analysis_view, bits_lines, extraction_lines, make_console
from nerode.study import settled_run

if TYPE_CHECKING:
    from nerode.analysis import LoadedNetwork
    from nerode.analysis.extraction import Extraction

JSON_FILE = "analysis.json"
PAGE_FILE = "analysis.html"

_AUTOMATON = ("method", "black_box", "target", "recognise")
"""Options of `nerode analyse` that only the automaton has."""

_LONGEST_TEST, _MOST_LETTERS = 100, 100_000
"""Letters of the longest test word: unless the user gives others, and at most."""


@click.command(cls=Command, sections={"The automaton": ("automaton", *_AUTOMATON)})
@click.argument("folder", metavar="RUN", type=RunPath())
@click.option(
    "-o",
    "--out",
    type=PATH,
    help="Folder of analysis.json and analysis.html; RUN/analysis by default. With --automaton: a .dot, "
    ".json, .att or .jff file.",
)
@click.option("--word", help="Show states, gates and attention along this word (letters with spaces).")
@click.option("--length", type=click.IntRange(1, 4096), help="Length of the random words.")
@click.option(
    "--ngram", type=click.IntRange(1, 16), help="Also label hidden states by this number of last letters."
)
@default_option(
    "--eps",
    type=FiniteRange(0, min_open=True),
    default=0.01,
    help="Change below which a letter counts as forgotten.",
)
@click.option(
    "--longest",
    type=click.IntRange(1, 10**8),
    help="Flip-flops: number of ignored bits at the end of a stream, 100000 by default. With --automaton: "
    "longest test word, 100 by default.",
)
@click.option(
    "--metric",
    is_flag=True,
    help="Also measure the distances between states of the network and of the automaton.",
)
@click.option(
    "--memorise",
    metavar="N",
    type=click.IntRange(2, 16),
    help="Also prove how many ReLU neurons one hidden layer needs for N alternating points on a line.",
)
@click.option(
    "--bits",
    is_flag=True,
    help="Only compare the bits of the scores when words are read whole, letter by letter, in chunks, in a "
    "batch and on more threads, and show the first position where they differ; exit 1 if "
    "they differ, 3 if one of these ways was not tried.",
)
@click.option(
    "--automaton/--no-automaton",
    default=None,
    help="The learned automaton alone, tested on new words; exit 1 if it is not that of the language. Or an "
    "analysis without it.",
)
@click.option(
    "--method",
    type=click.Choice(["cluster", "lstar", "exact"]),
    help="Clusters of states, queries (L*), or all states of a compiled network.  "
    "[default: exact for compiled networks, lstar with words only for attention, cluster for others]",
)
@click.option("--black-box", is_flag=True, help="With lstar: query words only, without access to states.")
@click.option("--target", metavar="LANG", help="Compare with this language instead of the network's own.")
@click.option("--recognise", is_flag=True, help="With --target: read the scores as two classes, out and in.")
@default_option("--seed", type=click.IntRange(0), default=0, help="Seed of the words.")
@trust_option
@force_option
@budgeted(seconds=300.0)
@click.option("--json", "as_json", is_flag=True, help="Also print the JSON object.")
def analyse(folder: Path, out: Path | None, as_json: bool, budget: Budget, **options: Any) -> None:
    """Look inside a trained run, a saved model or a compiled network.

    Spectra, context windows, clusters of hidden states next to those before training, states, gates and
    attention along a word, margins by length; for flip-flops how long a bit is remembered.

    \b
    nerode train flip-flop --arch mamba --out runs
    nerode analyse runs/9b7ef0cf02d1bbd9
    nerode analyse last --automaton --method lstar --black-box -o learned.dot
    nerode analyse last --bits
    """
    alone = {name: options.pop(name) for name in _AUTOMATON}
    if options["bits"]:
        words = {name: options[name] for name in ("word", "length", "seed", "trust_code")}
        sys.exit(_show_bits(folder, as_json=as_json, budget=budget, **words))
    if options["automaton"]:
        sys.exit(_show_automaton(folder, out, as_json=as_json, budget=budget, **alone, **options))
    if any(alone.values()):
        raise InputError("--method, --black-box, --target and --recognise belong to --automaton; add it")
    from nerode.analysis import ANALYSIS_PARTS, AnalysisOptions, analyse as look, load_subject

    chosen = AnalysisOptions(
        length=options["length"],
        word=options["word"],
        ngram=options["ngram"] or 0,
        eps=options["eps"],
        longest=options["longest"] or _LONGEST,
        seed=options["seed"],
    )
    place = folder / "analysis" if out is None else out
    subject = load_subject(folder, trust_code=options["trust_code"])
    end = settled_run(folder)
    failing = None if end is None or options["word"] is not None else end.word
    if failing is not None and 0 < len(failing) <= _LONGEST_SHOWN:
        # States and gates are shown where it matters.
        chosen = replace(chosen, word=" ".join(failing))
    claim_folder(place, holds=(JSON_FILE,), form=ANALYSIS_FORMAT, of="an analysis", force=options["force"])
    with Progress(f"analysing {subject.name}", len(ANALYSIS_PARTS), unit="part", quiet=as_json) as progress:
        found = look(subject, chosen, budget=budget, on_part=progress.end).to_json()
    if options["metric"]:
        from nerode.analysis import metric

        try:
            found["metric"] = analysis_json(metric(subject))
        except InputError as error:
            found["left_out"]["metric"] = str(error)
    if end is not None:
        found["settled"] = {"status": end.status, "letters": end.first_wrong_length, "word": end.word}
    if options["automaton"] is None:
        _add_automaton(found, subject, budget, seed=options["seed"])
    if options["memorise"] is not None:
        try:
            found["memorisation"] = _memorisation(options["memorise"], budget)
        except BudgetExceeded as stop:
            found["left_out"]["memorisation"] = str(stop)
    text = json.dumps(found, ensure_ascii=False, allow_nan=False)
    write_atomically(place / JSON_FILE, text + "\n")
    write_atomically(place / PAGE_FILE, analysis_page(found, command=f"nerode analyse {folder}"))
    if as_json:
        click.echo(text)
        return
    make_console().print(analysis_view(found))
    if "metric" in found:
        click.echo(_metric_lines(found["metric"]))
    if "memorisation" in found:
        click.echo(_memorisation_line(found["memorisation"]))
    click.echo(f"\n{place / PAGE_FILE}")


def _show_bits(folder: Path, *, as_json: bool, budget: Budget, **options: Any) -> int:
    """Prints what ways of reading do to bits and returns the exit code, as the option says.

    Beside a compiled network, the model with its weights is looked at as well.
    """
    from nerode.analysis import load_subject, read_word, same_bits

    found = []
    for place in (folder, folder / MODEL_FOLDER):
        if place != folder and not place.is_dir():
            continue
        subject = load_subject(place, trust_code=options["trust_code"])
        word = None if options["word"] is None else read_word(subject, options["word"])
        seen = same_bits(
            subject, length=options["length"], word=word, seed=options["seed"], folder=place, budget=budget
        )
        found.append({"folder": str(place), **seen.to_json()})
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))
    else:
        click.echo("\n\n".join("\n".join(bits_lines(item)) for item in found))
    ways = [way for item in found for way in item["ways"]]
    return 1 if any(way["position"] for way in ways) else 3 if any(way["left_out"] for way in ways) else 0


def _add_automaton(found: dict[str, Any], subject: LoadedNetwork, budget: Budget, *, seed: int) -> None:
    """Adds the learned automaton with its table, or the reason why there is none, to an analysis."""
    from nerode.analysis.extraction import extract

    try:
        learned = extract(subject, seed=seed, budget=budget.part(_SHARE))
        dfa = learned.acceptor()
    except (InputError, BudgetExceeded) as stop:
        found["left_out"]["automaton"] = str(stop)
        return
    table = None
    if dfa.num_states <= _MOST_STATES:
        table = {
            "alphabet": list(dfa.alphabet),
            "transitions": dfa.transitions.tolist(),
            "start": int(dfa.start),
            "accepting": dfa.accepting.tolist(),
        }
    found["automaton"] = {**learned.to_json(), "table": table}


_LONGEST = 100_000
"""Ignored bits of a flip-flop, unless the user gives others."""

_SHARE = 0.2
"""Of the time that is left, for the extraction."""

_MOST_STATES = 64
"""A larger automaton is counted, not drawn."""

_LONGEST_SHOWN = 64
"""A failing word that is no longer takes the place of a random one in the figures."""


def _memorisation(points: int, budget: Budget) -> dict[str, Any]:
    """The bound for one hidden layer, with the neurons that attain it."""
    bound = fewest_ramps(points, budget=budget)
    return {
        "points": bound.points,
        "neurons": bound.neurons,
        "patterns": bound.patterns,
        "ramps": [[str(slope), str(offset), sign] for slope, offset, sign in bound.ramps],
    }


def _memorisation_line(found: dict[str, Any]) -> str:
    fewer = (
        f"; with one neuron fewer all {found['patterns']:,} activation patterns are ruled out"
        if found["patterns"]
        else ""
    )
    return f"\n{found['points']} alternating points on a line need {found['neurons']} ReLU neurons{fewer}"


def _metric_lines(found: dict[str, Any]) -> str:
    """The numbers of Metric Automata Theory, sampled: evidence, no proof."""
    separation = "none" if found["separation"] is None else f"{found['separation']:.3g}"
    noise = "wrong without noise" if found["noise_radius"] is None else f"{found['noise_radius']:.3g}"
    lines = [
        f"\n{found['states']:,} states around {found['places']} of the automaton, "
        f"in {found['components']} parts; diameter {found['diameter']:.3g}, "
        f"least distance of different ones {separation}",
        f"noise allowed by the rates {found['promised_radius']:.3g}, noise survived {noise}",
    ]
    for row in found["rates"]:
        within, between = (
            "–" if row[key] is None else f"{row[key]:.3g}" for key in ("within_median", "between_median")
        )
        lines.append(f"letter {row['letter']}: distances inside a part × {within}, between parts × {between}")
    return "\n".join(lines)


def _show_automaton(
    folder: Path, output: Path | None, *, as_json: bool, budget: Budget, **options: Any
) -> int:
    """Prints the automaton of a network and returns the exit code: 1 if it is not that of its language.

    The options are those of `nerode analyse`.
    """
    from nerode.analysis import load_subject
    from nerode.analysis.extraction import EXTRACTION_PARTS, HypothesisTest, extract as extract_automaton

    longest = options["longest"] or _LONGEST_TEST
    if longest > _MOST_LETTERS:
        raise InputError(
            f"--longest is {longest:,}; with --automaton test words have at most {_MOST_LETTERS:,}"
        )
    for file in () if output is None else automaton_files(output):
        claim_file(file, force=options["force"])
    target = None if options["target"] is None else resolve_language(options["target"], budget=budget)
    subject = load_subject(folder, trust_code=options["trust_code"])
    parts = len(EXTRACTION_PARTS)
    with Progress(f"extracting from {subject.name}", parts, unit="part", quiet=as_json) as progress:
        found = extract_automaton(
            subject,
            method=options["method"],
            target=target,
            kind="acceptance" if options["recognise"] else None,
            black_box=options["black_box"],
            probe=HypothesisTest(longest=longest),
            seed=options["seed"],
            budget=budget,
            on_part=progress.end,
        )
    written = [] if output is None else _write(found, output)
    if as_json:
        click.echo(json.dumps(found.to_json() | {"files": written}, ensure_ascii=False, allow_nan=False))
    else:
        for line in extraction_lines(found.to_json()):
            click.echo(line)
        for path in written:
            click.echo(f"written: {path}")
        trusted = " --trust-code" if options["trust_code"] else ""
        click.echo(f"Next: nerode prove {folder}{trusted}; nerode analyse {folder}{trusted}", err=True)
    return 0 if found.equal else 1


def _write(found: Extraction, path: Path) -> list[str]:
    """Writes the automaton: with its outputs, if these are classes; as an acceptor otherwise."""
    if found.kind != "class":
        return [str(p) for p in write_automaton(found.acceptor(), path)]
    suffix = path.suffix.lower()
    if suffix in (".dot", ".gv"):
        write_atomically(path, found.machine.to_dot())
    elif suffix == ".json":
        write_atomically(path, json.dumps(found.machine.to_json(), ensure_ascii=False) + "\n")
    else:
        raise InputError(
            f"{path.name} cannot hold a machine whose outputs are classes; name a file that ends in .dot or "
            ".json"
        )
    return [str(path)]
