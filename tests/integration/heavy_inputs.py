"""Inputs that ask for more than a small budget: languages, files, networks, certificates, runs.

`make_corpus` writes the files into a folder; `cases` lists command lines that use them. Large files are
generated, never kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from nerode.core import stream
from nerode.records import TrainSpec, run_name
from nerode.training import run_key
from nerode.training.runs import run_in
from tests.cli.runner import run
from tests.training.tiny import tiny


@dataclass(frozen=True)
class HeavyCase:
    """A command line; `quick` ones make up the slice that every test run has."""

    name: str
    command: tuple[str, ...]
    quick: bool = False


HEAD = {"format": "nerode-dfa", "version": 1, "alphabet": ["a", "b"], "start": 0}
S10452 = {
    **HEAD,
    "accepting": [4],
    "transitions": [[0, 1], [2, 3], [4, 2], [1, 0], [5, 4], [3, 5]],
}
"""A small automaton whose group has very many subgroups."""


def make_quick_corpus(folder: Path) -> None:
    """Writes the files of the quick cases."""
    (folder / "s10452.json").write_text(json.dumps(S10452))
    (folder / "full-9.json").write_text(json.dumps(_dfa(_full_transformations(9), [0, 3])))
    _compile(folder, "net-s3", "S3", "householder")
    _write_numbers(folder)
    _write_words(folder, ("net-s3", "net-sums-1249"))


def make_corpus(folder: Path) -> None:
    """Writes the files of all cases."""
    _write_automata(folder)
    _write_texts(folder)
    _write_networks(folder)
    _write_words(folder, NETWORKS)
    _write_runs(folder)


def _write_automata(folder: Path) -> None:
    rng = stream(0, "heavy", "automata")
    (folder / "s10452.json").write_text(json.dumps(S10452))
    for states, letters in ((20_000, 4), (3_000, 2), (12, 3), (7, 2), (400, 40)):
        dfa = _random_dfa(rng, states, letters)
        (folder / f"random-{states}-{letters}.json").write_text(json.dumps(dfa))
    (folder / "full-7.json").write_text(json.dumps(_dfa(_full_transformations(7), [0])))
    (folder / "full-9.json").write_text(json.dumps(_dfa(_full_transformations(9), [0, 3])))
    (folder / "order-9.json").write_text(json.dumps(_dfa(_order_preserving(14), [3])))
    edges = rng.integers(0, 60_000, size=(300_000, 2)).tolist()
    lines = [f"{p} {q} {'abcd'[i % 4]}" for i, (p, q) in enumerate(edges)]
    (folder / "large.att").write_text("\n".join([*lines, "5", "6"]) + "\n")
    few = rng.integers(0, 60, size=(3_000, 2)).tolist()
    lines = [f"{p} {q} {'ab'[i % 2]}" for i, (p, q) in enumerate(few)]
    (folder / "tangled.att").write_text("\n".join([*lines, "5"]) + "\n")
    arrows = "\n".join(f'q{p} -> q{q} [label="{"ab"[i % 2]}"];' for i, (p, q) in enumerate(edges[:150_000]))
    (folder / "large.dot").write_text("digraph { q5 [shape=doublecircle];\n" + arrows + "\n}\n")


def _dfa(transitions: list[list[int]], accepting: list[int]) -> dict[str, Any]:
    letters = [f"x{i}" for i in range(len(transitions[0]))]
    return {**HEAD, "alphabet": letters, "accepting": accepting, "transitions": transitions}


def _random_dfa(rng: np.random.Generator, states: int, letters: int) -> dict[str, Any]:
    moves = rng.integers(0, states, size=(states, letters)).tolist()
    return _dfa(moves, sorted(set(rng.integers(0, states, size=max(1, states // 3)).tolist())))


def _full_transformations(n: int) -> list[list[int]]:
    """A cycle, a swap and a merging: all maps of n points."""
    cycle = [(i + 1) % n for i in range(n)]
    swap = [1, 0, *range(2, n)]
    merge = [0, 0, *range(2, n)]
    return [list(row) for row in zip(cycle, swap, merge, strict=True)]


def _order_preserving(n: int) -> list[list[int]]:
    """Maps that move one point up or down by one: very many order-preserving maps, no group."""
    maps = [[i + 1 if i == k else i for i in range(n)] for k in range(n - 1)]
    maps += [[i - 1 if i == k else i for i in range(n)] for k in range(1, n)]
    return [list(row) for row in zip(*maps, strict=True)]


def _write_texts(folder: Path) -> None:
    rng = stream(0, "heavy", "labels")
    words = {"".join(rng.choice(list("ab"), 14)) for _ in range(3_000)}
    labelled = [f"{word}\t{int(rng.integers(2))}\n" for word in sorted(words)]
    (folder / "labelled.tsv").write_text("".join(labelled))
    (folder / "deep.json").write_text("[" * 200_000 + "]" * 200_000)
    (folder / "deep.toml").write_text("a = " + "[" * 50_000 + "]" * 50_000 + "\n")
    (folder / "numbers.json").write_text(
        json.dumps({**S10452, "start": "9" * 4_000})[:-1] + ', "x": ' + "9" * 4_000 + "}"
    )
    keys = ("run.seed", "run.steps", "run.batch", "model.width")
    grid = "\n".join(f"{key} = {list(range(1, 31))}" for key in keys)
    (folder / "wide.toml").write_text(f"[base]\ntask.name = 'parity'\n[grid]\n{grid}\n")
    (folder / "stream.txt").write_text("ab" * 2_000_000)
    _write_wide_cell(folder / "wide.safetensors")
    rng = stream(0, "heavy", "ngrams")
    (folder / "wide.arpa").write_text(_arpa(rng, words=3_000, pairs=40_000))
    (folder / "order-4.arpa").write_text(_arpa(rng, words=40, pairs=1_200, deeper=(8_000, 20_000)))


def _write_wide_cell(path: Path) -> None:
    """An LSTM of torch with 2,000 units for two letters."""
    draw, units = stream(0, "heavy", "cell"), 2_000
    shapes = {
        "embedding.weight": (2, 8),
        "lstm.weight_ih_l0": (4 * units, 8),
        "lstm.weight_hh_l0": (4 * units, units),
        "lstm.bias_ih_l0": (4 * units,),
        "lstm.bias_hh_l0": (4 * units,),
        "head.weight": (3, units),
        "head.bias": (3,),
    }
    weights = {name: draw.standard_normal(shape, dtype=np.float32) * 0.02 for name, shape in shapes.items()}
    save_file(weights, path)


def _arpa(rng: np.random.Generator, *, words: int, pairs: int, deeper: tuple[int, ...] = ()) -> str:
    names = ["</s>", *(f"w{i}" for i in range(words))]
    grams: list[list[tuple[int, ...]]] = [[(i,) for i in range(len(names))]]
    found = {(int(a), int(b)) for a, b in rng.integers(1, len(names), size=(pairs, 2))}
    grams.append(sorted(found))
    for count in deeper:
        longer = {
            (*grams[-1][int(i)], int(w))
            for i, w in zip(
                rng.integers(0, len(grams[-1]), size=count),
                rng.integers(1, len(names), size=count),
                strict=True,
            )
            if len(grams) < 2 or (*grams[-1][int(i)][1:], int(w)) in set(grams[-1])
        }
        grams.append(sorted(longer))
    lines = ["\\data\\", *(f"ngram {n}={len(g) + (n == 1)}" for n, g in enumerate(grams, start=1)), ""]
    for n, listed in enumerate(grams, start=1):
        lines.append(f"\\{n}-grams:")
        if n == 1:
            lines.append("-99\t<s>\t-0.1")
        weight = "" if n == len(grams) else "\t-0.2"
        lines += [f"-{1 + (sum(g) % 7) / 10:.1f}\t{' '.join(names[i] for i in g)}{weight}" for g in listed]
        lines.append("")
    return "\n".join([*lines, "\\end\\", ""])


def _compile(folder: Path, name: str, language: str, target: str) -> Path:
    place = folder / name
    done = run("compile", language, "--to", target, "-o", str(place), "--max-seconds", "30")
    assert done.code == 0, done.err
    return place


def _write_networks(folder: Path) -> None:
    _compile(folder, "net-s3", "S3", "householder")
    _compile(folder, "net-a5", "A5", "dense")
    _compile(folder, "net-window", "(a|b)*a(a|b){3}", "diagonal")
    _compile(folder, "net-lstm", "(ab)*", "lstm")
    _compile(folder, "net-ssm", "(a|b)*a(a|b){4}", "ssm")
    _compile(folder, "net-dyck", "dyck-2-3", "diagonal")
    _compile(folder, "net-anbn", "anbn", "ssm")
    _compile(folder, "net-flip-flop", "flip-flop", "mamba")
    _compile(folder, "net-star-free", "(a|b)*(aa|bb)(a|b)*c(a|b)*", "mamba")
    _compile(folder, "net-ngram", "ngram-seed", "ssm")
    _write_numbers(folder)
    _change(folder / "net-window", folder / "net-slow-gate", _gates("99999/100000"))
    _widen_certificate(folder / "net-s3", folder / "net-large-certificate")


def _write_numbers(folder: Path) -> None:
    """Networks with long numbers in the place of small ones."""
    for order, terms in ((4_999, 1_400), (1_249, 1_200)):
        sums = ["+".join(f"e({(7 * k + d) % order}/{order})" for k in range(terms)) for d in range(60)]
        _change(folder / "net-s3", folder / f"net-sums-{order}", _directions(sums))
    dense = ["+".join(f"{k % 9 + 1}*e({k}/401)" for k in range(1, 400)), "1", "e(3/401)+e(398/401)"]
    _change(folder / "net-s3", folder / "net-order-401", _vector(dense))
    digits = ["1/" + "9" * 4_000, "7" * 4_000, "1/" + "3" * 4_000]
    _change(folder / "net-s3", folder / "net-digits", _vector(digits))


def _write_words(folder: Path, networks: Sequence[str]) -> None:
    rng = stream(0, "heavy", "words")
    for net in networks:
        letters = json.loads((folder / net / "network.json").read_text())["alphabet"]
        word = " ".join(letters[i] for i in rng.integers(0, len(letters), size=300_000).tolist())
        (folder / f"words-{net}.txt").write_text(f"{word}\n" * 20)


def _change(source: Path, target: Path, change: Any) -> None:
    """A copy of a folder with another network; the certificate is bound to it, so that it is looked at."""
    from nerode.kernel import content_hash

    target.mkdir()
    network = json.loads((source / "network.json").read_text())
    change(network)
    certificate = json.loads((source / "certificate.json").read_text())
    certificate["network"] = content_hash(network)
    (target / "network.json").write_text(json.dumps(network))
    (target / "certificate.json").write_text(json.dumps(certificate))
    for name in ("language.json", "subject.json"):
        (target / name).write_text((source / name).read_text())


def _directions(numbers: list[str]) -> Any:
    def change(network: dict[str, Any]) -> None:
        decoder = network["decoder"]
        points = decoder["points"]
        decoder["points"] = [[*numbers[3 * i % 60 : 3 * i % 60 + 3]] for i in range(len(points))]
        network["layers"][0]["start"] = numbers[18:21]
        for i, factors in enumerate(network["layers"][0]["recurrence"]["factors"]):
            for j, factor in enumerate(factors):
                first = 21 + 6 * i + 3 * j
                factor["vector"] = numbers[first : first + 3]

    return change


def _vector(numbers: list[str]) -> Any:
    def change(network: dict[str, Any]) -> None:
        for factors in network["layers"][0]["recurrence"]["factors"]:
            for factor in factors:
                factor["vector"] = numbers

    return change


def _gates(gate: str) -> Any:
    def change(network: dict[str, Any]) -> None:
        recurrence = network["layers"][0]["recurrence"]
        text = json.dumps(recurrence)
        for name in ("gates", "gate", "retention", "diagonal"):
            if name in recurrence:
                recurrence[name] = json.loads(json.dumps(recurrence[name]).replace("0", f'"{gate}"'))
                return
        raise AssertionError(text[:400])

    return change


def _widen_certificate(source: Path, target: Path) -> None:
    target.mkdir()
    for name in ("network.json", "language.json", "subject.json"):
        (target / name).write_text((source / name).read_text())
    certificate = json.loads((source / "certificate.json").read_text())
    claim = certificate["claims"][0]
    certificate["claims"] = [claim] * 20_000
    certificate["evidence"]["joint-closure"]["padding"] = [[0] * 50 for _ in range(20_000)]
    (target / "certificate.json").write_text(json.dumps(certificate))


def _write_runs(folder: Path) -> None:
    runs = folder / "runs"
    for seed in range(3):
        run_in(runs, tiny(run={"steps": 3, "seed": seed}))
    small = tiny(run={"steps": 3})
    (runs / run_name(run_key(small))).rename(folder / "run-parity")
    run_in(runs, small)
    group = TrainSpec.from_mapping(
        {
            "task": {"name": "s5"},
            "model": {
                "layers": "orthogonal",
                "width": 0,
                "head": "none",
                "settings": {"blocks": 4, "size": 5, "outputs": 120, "spread": 1.0},
            },
            "run": {"steps": 2, "batch": 4, "test_sequences": 2, "test_lengths": [4]},
        }
    )
    run_in(folder, group)
    (folder / run_name(run_key(group))).rename(folder / "run-s5")
    many = folder / "many-runs"
    many.mkdir()
    source = next(p for p in runs.iterdir() if (p / "result.json").exists())
    text = (source / "result.json").read_text()
    key = json.loads(text)["key"]
    for number in range(1_500):
        other = f"{number:016x}" + key[16:]
        place = many / other[:16]
        place.mkdir()
        (place / "result.json").write_text(text.replace(key, other))
        (place / "metrics.jsonl").write_bytes((source / "metrics.jsonl").read_bytes())


REGEXES = {
    "last-but-12": "(a|b)*a(a|b){12}",
    "last-but-18": "(a|b)*a(a|b){18}",
    "ternary-8": "(a|b|c)*a(a|b|c){8}b(a|b|c)*",
    "repeat": "(a{1,60}b{1,60}){60}",
    "long": "a{20000}",
    "nested-stars": "(" * 200 + "a" + "*b)" * 200 + "*",
    "alternation": "|".join(format(i * 7919 % 65536, "016b") for i in range(1_500)),
    "complements": "~(" * 30 + "(a|b)*a(a|b){6}" + ")b*" * 30,
    "intersection": "&".join(f"((a|b){{{p}}})*" for p in (7, 11, 13, 17)),
    "subsequence": "(.*" + ".*".join("abcdefghij") + ".*)",
}
FORMULAS = {
    "deep-yesterday": "Y " * 400 + "a",
    "deep-since": "a" + " S (b" * 120 + ")" * 120,
    "conjunction": " & ".join(f"O (a & {'Y ' * k}b)" for k in range(1, 16)),
    "nested": "H (a -> " * 40 + "Y O b" + ")" * 40,
}
NAMES = tuple(
    "S5 A6 S6 A7 Z60 Z997 Z2xZ2xZ2xZ2xZ2xZ2 D60 D500 A5xZ7 S4xS4 PSL(2,11) dyck-2-5 dyck-3-8 "
    "dyck-2-11 last-but-12 offset-counting-9999 majority dyck-3 shuffle-dyck-3".split()
)
FILES = tuple(
    "s10452.json random-20000-4.json random-3000-2.json random-12-3.json random-7-2.json "
    "random-400-40.json full-7.json full-9.json order-9.json large.att tangled.att large.dot "
    "deep.json numbers.json wide.arpa order-4.arpa".split()
)
TARGETS = (
    "diagonal",
    "householder",
    "permutation-diagonal",
    "dense",
    "elman-relu",
    "lstm",
    "ssm",
    "diagonal-complex",
)
NETWORKS = tuple(
    "net-s3 net-a5 net-window net-lstm net-ssm net-dyck net-anbn net-flip-flop net-star-free "
    "net-ngram net-sums-4999 net-sums-1249 net-order-401 net-digits net-slow-gate "
    "net-large-certificate".split()
)
_QUICK = (
    "check regex last-but-18",
    "check S6",
    "check full-9.json",
    "explain regex last-but-12",
    "compile s10452.json permutation-diagonal",
    "compile eps 1e999999999",
    "compile retention 1e999999999",
    "verify net-sums-1249",
    "verify net-order-401",
    "run net-sums-1249",
    "run net-order-401",
    "extract net-digits",
)


def cases() -> Iterator[HeavyCase]:
    """Yields all command lines; the budget is put behind them."""
    for name, command in _commands():
        yield HeavyCase(name, tuple(command), name in _QUICK)


def _languages() -> Iterator[tuple[str, list[str]]]:
    for name, text in REGEXES.items():
        yield f"regex {name}", [text, "--regex"]
    for name, text in FORMULAS.items():
        yield f"ltl {name}", [text, "--ltl", "--alphabet", "abc"]
    for name in (*NAMES, *FILES):
        yield name, [name]


def _commands() -> Iterator[tuple[str, list[str]]]:
    for number, (name, text) in enumerate(_languages()):
        yield f"check {name}", ["check", *text]
        yield f"explain {name}", ["explain", *text, "-o", "page.html"]
        yield f"draw {name}", ["draw", *text, "--what", "cascade", "-o", "cascade.svg"]
        yield f"convert {name}", ["convert", *text, "--as", "regex"]
        target = "permutation-diagonal" if name == "s10452.json" else TARGETS[number % len(TARGETS)]
        yield f"compile {name} {target}", ["compile", *text, "--to", target]
    yield "diff S6 S5", ["diff", "S6", "S5"]
    for eps in ("1e999999999", "1e-999999999", "1e-4000"):
        yield f"compile eps {eps}", ["compile", "ngram-seed", "--to", "ssm", "--eps", eps]
        yield f"compile retention {eps}", ["compile", "flip-flop", "--to", "diagonal", "--retention", eps]
    for name in ("S5", "A6", "Z60", "dyck-2-5"):
        yield f"atlas {name}", ["atlas", "--only", name, "-o", "atlas.html", "--jobs", "1"]
    for net in NETWORKS:
        yield f"verify {net}", ["verify", net]
        yield f"verify {net} window", ["verify", net, "--window", "--eps", "1/1000000"]
        yield f"verify {net} noise", ["verify", net, "--noise", "--fragile"]
        yield f"run {net}", ["run", net, "--words", f"words-{net}.txt"]
        yield f"export {net}", ["export", net, "-o", "net.onnx"]
        yield f"extract {net}", ["analyse", "--automaton", net]
        yield f"analyse {net}", ["analyse", net, "-o", "analysis", "--longest", "100000000"]
    for net in ("net-s3", "net-a5", "net-lstm", "net-ssm", "net-dyck", "net-anbn", "net-order-401"):
        yield f"verify {net} floats", ["verify", net, "--dtype", "float32,float64,bfloat16,float16"]
    yield "run net-window stream", ["run", "net-window", "--stream", "/dev/zero"]
    yield "run net-window long stream", ["run", "net-window", "--stream", "stream.txt"]
    for name in ("run-parity", "run-s5"):
        yield f"analyse {name}", ["analyse", name, "-o", "analysis", "--length", "4096", "--metric"]
        yield f"analyse {name} memorise", ["analyse", name, "-o", "analysis", "--memorise", "16"]
        for method in ("cluster", "lstar"):
            yield (
                f"extract {name} {method}",
                ["analyse", "--automaton", name, "--method", method, "--longest", "100000"],
            )
        for method in ("gates", "words", "group"):
            yield (
                f"mend {name} {method}",
                ["mend", name, "-o", "mended", "--method", method, "--steps", "100000"],
            )
        yield f"prove {name}", ["prove", name]
    for name in ("parity", "S5", "dyck-2-5"):
        yield (
            f"standing of {name}",
            ["report", "--language", name, "--arch", "mamba,lstm,deltaproduct,pd-ssm"],
        )
    yield "standing of runs", ["report", "runs", "net-s3", "--language", "parity"]
    yield "report many", ["report", "many-runs", "-o", "report.html"]
    yield "report figures", ["report", "runs", "-o", "report.html", "--figures", "figures"]
    for action in ("ls", "table", "export", "prune"):
        yield f"runs {action}", ["runs", action, "many-runs"]
    yield "runs show", ["runs", "show", "many-runs", "0000000000000001"]
    yield "sweep dry", ["train", "wide.toml", "--dry-run"]
    yield "sweep deep", ["train", "deep.toml", "--dry-run"]
    yield "sweep", ["train", "wide.toml", "--out", "swept", "--jobs", "1"]
    yield (
        "train",
        ["train", "parity", "--arch", "elman", "--steps", "1000000", "--out", "trained", "--jobs", "1"],
    )
    yield (
        "train seeds",
        ["train", "parity", "--arch", "lstm", "--seeds", "50", "--out", "trained", "--jobs", "2"],
    )
    yield "reproduce", ["reproduce", "sarrof", "--out", "reproduced"]
    for flag in ("--noisy", "--held-out=0", "--train=words"):
        yield f"learn {flag}", ["learn", "labelled.tsv", flag, "-o", "learned"]
    yield "import", ["import", "wide.safetensors", "-o", "imported"]
    letters = ["--letters", "ab", "-o", "answer.html"]
    yield "ask cell", ["ask", "wide.safetensors", *letters]
    yield "ask cell language", ["ask", "wide.safetensors", *letters, "--language", "(a|b)*a(a|b){12}"]
    for name in ("net-window", "net-lstm", "run-parity", "run-s5"):
        yield f"ask {name}", ["ask", name, "-o", "answer.html"]
