"""Certified length generalisation: how many networks that pass the usual test are right at every length.

Languages are drawn, not chosen: uniform random automata, minimal, in strata of size, as many as asked for
that are star-free and others that are not. Each network is trained on words of up to 40 letters, tested as
papers do on words of two longer bins, and settled: proved at every length, refuted by a word, or unsettled.
Nothing is chosen by the tests.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import nn

from nerode.algebra import profile
from nerode.analysis.recipes import recipe
from nerode.analysis.settle import settle_task
from nerode.analysis.subject import LoadedNetwork
from nerode.core import Budget, InputError, plural, stream, write_atomically
from nerode.languages import Alphabet, Dfa, Language, RegularLanguage, minimise
from nerode.languages.formats import write_automaton
from nerode.models import all_kinds, find_kind, model_config
from nerode.records import RunRecord, TaskConfig, hash_tensors, merge_tables
from nerode.tasks import Task, build_task
from nerode.training import Build, make_spec, train, with_small_defaults

STRATA: tuple[tuple[int, int, tuple[int, ...]], ...] = (
    (3, 4, (2, 3, 4)),
    (5, 6, (2, 3, 4)),
    (7, 9, (2, 3)),
    (10, 12, (2,)),
)
"""Fewest and most states of the minimal automaton, and the numbers of letters that are drawn in turn; random
automata with more letters are hardly ever star-free."""

SEED, STAR_FREE, OTHERS = 20261118, 100, 50
"""Of the published draw."""

LONGEST = 40
"""The longest words of training."""

BINS = ((41, 80), (81, 120))
"""The usual test: lengths of two longer bins."""

_TESTED = 200
"""Words of training lengths, and words of each bin."""

UPDATES = 2_000
"""Updates of plain training, which ends sooner where ten validations in a row have no error."""

_MOST_DRAWS = 2_000_000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLanguage:
    """One language of the draw.

    Attributes:
        number: its place in the draw, from 0.
        star_free: which half it is from.
        language: itself.
    """

    number: int
    star_free: bool
    language: Language

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{'star-free' if self.star_free else 'other'}-{self.number:03}"

    @property
    def stratum(self) -> str:
        """Its stratum, like "5-6"."""
        states = self.language.dfa().num_states
        low, high, _ = next(row for row in STRATA if row[0] <= states <= row[1])
        return f"{low}-{high}"


def draw_languages(
    *, seed: int = SEED, star_free: int = STAR_FREE, others: int = OTHERS
) -> list[DrawnLanguage]:
    """Returns the languages of a draw: the same for the same seed, and a longer draw begins with a shorter.

    An automaton has a uniform random table and a uniform random set of accepting states. It counts if it is
    minimal with its number of states, its language has more than 500 words of up to 40 letters and words in
    both longer bins, no language came twice, and it is star-free or not as asked.

    Args:
        seed: of the draw.
        star_free: how many languages are star-free.
        others: how many are not.
    """
    found, seen = [], set[str]()
    for wanted, count in ((True, star_free), (False, others)):
        for number in range(count):
            language = _draw(seed, wanted, number, seen)
            found.append(DrawnLanguage(number=number, star_free=wanted, language=language))
    return found


def _draw(seed: int, star_free: bool, number: int, seen: set[str]) -> Language:
    """Returns one language; `seen` has the tables of those before it."""
    low, high, letters = STRATA[number % len(STRATA)]
    place = number // len(STRATA)
    states = low + place % (high - low + 1)
    symbols = "abcd"[: letters[place % len(letters)]]
    rng = stream(seed, "generalisation", "star-free" if star_free else "other", number)
    for _ in range(_MOST_DRAWS):
        table = rng.integers(0, states, (states, len(symbols))).astype(np.int32)
        accepting = rng.random(states) < 0.5
        if (star_free and _has_short_cycle(table)) or accepting.all() or not accepting.any():
            continue
        dfa = minimise(
            Dfa(alphabet=Alphabet(tuple(symbols)), transitions=table, start=0, accepting=accepting)
        )
        text = json.dumps([symbols, dfa.transitions.tolist(), dfa.accepting.tolist()])
        if dfa.num_states != states or text in seen or not _has_words(dfa):
            continue
        language = RegularLanguage(
            name=f"{'star-free' if star_free else 'other'}-{number:03}",
            automaton=dfa,
            convention=f"a random automaton with {plural(states, 'state')}",
        )
        if profile(language, budget=Budget(elements=100_000)).star_free is star_free:
            seen.add(text)
            return language
    raise InputError(f"no language with {states} states over {symbols} was found in {_MOST_DRAWS:,} draws")


def _has_short_cycle(table: np.ndarray) -> bool:
    """Returns whether a word of up to three letters permutes some states: a quick "not star-free"."""
    letters = [tuple(column) for column in table.T.tolist()]
    words = letters
    for length in range(1, 4):
        for word in words:
            power = word
            for _ in range(4):  # the word to the power 16, where only its cycles are left
                power = tuple(power[q] for q in power)
            if any(word[q] != q for q in power):
                return True
        if length < 3:
            words = [tuple(letter[q] for q in word) for word in words for letter in letters]
    return False


def _has_words(dfa: Dfa) -> bool:
    """Returns whether there are more than 500 words to train on, and words in both longer bins."""
    counts, found = np.zeros(dfa.num_states), []
    counts[dfa.start] = 1.0
    for _ in range(BINS[-1][1]):
        reached = [np.bincount(column, counts, dfa.num_states) for column in dfa.transitions.T]
        counts = np.sum(reached, axis=0)
        found.append(float(counts[dfa.accepting].sum()))
    return sum(found[:LONGEST]) > 500 and all(any(found[low - 1 : high]) for low, high in BINS)


def write_languages(languages: Sequence[DrawnLanguage], folder: Path) -> None:
    """Writes each language as an automaton in JSON, which specs name."""
    for drawn in languages:
        path = folder / f"{drawn.name}.json"
        if not path.exists():
            write_automaton(drawn.language.dfa(), path)


def ways_of(architecture: str) -> tuple[str, ...]:
    """Returns the ways to train an architecture: plain, and through exact gates where its layer has them."""
    has_gates = architecture in all_kinds() and bool(find_kind(architecture).gates)
    return ("plain", "exact") if has_gates else ("plain",)


def study_row(
    drawn: DrawnLanguage,
    *,
    architecture: str,
    folder: Path,
    way: str,
    seed: int,
    layers: int = 1,
    build: Build | None = None,
    seconds: float = 20.0,
) -> Row:
    """Returns one row: a network trained, tested as usual, and settled.

    Args:
        drawn: the language.
        architecture: of the zoo; the name of the user's own with `build`.
        folder: where the file of the language is.
        way: "plain" or "exact".
        seed: of the run.
        layers: number of layers.
        build: makes a module of the user's own.
        seconds: of CPU for settling, where training did not end with a proof.
    """
    table: dict[str, Any] = {
        "name": "language-prediction",
        "settings": {"language": str(folder / f"{drawn.name}.json"), "longest": LONGEST},
    }
    task = build_task(TaskConfig(**table))
    tables = (
        _exact_tables(table, architecture, layers) if way == "exact" else _plain_tables(architecture, layers)
    )
    spec = make_spec(merge_tables(tables, {"task": table, "run": {"seed": seed}}))
    begun = time.process_time()
    record, model = train(spec, build=build)
    trained = time.process_time() - begun
    accuracy = _accuracies(model, task, drawn)
    row: Row = {
        "architecture": architecture,
        "layers": layers,
        "way": way,
        "language": drawn.name,
        "star_free": drawn.star_free,
        "stratum": drawn.stratum,
        "states": drawn.language.dfa().num_states,
        "letters": len(drawn.language.alphabet),
        "seed": seed,
        "key": record.key,
        "weights": hash_tensors(save({k: v.contiguous() for k, v in model.state_dict().items()})),
        "updates": record.steps,
        "attempts": record.checks[-1]["attempt"] + 1 if record.checks else 1,
        "accuracy": accuracy,
        "learned": accuracy[0] >= 0.99,
        "passes": min(accuracy) == 1.0,
        "train_seconds": round(trained, 1),
    }
    return row | _settled(record, model, task, drawn.language, architecture, seconds)


def _settled(
    record: RunRecord, model: nn.Module, task: Task, language: Language, name: str, seconds: float
) -> Row:
    """Returns the columns that say whether the network is right at every length."""
    if record.stopped == "judge":
        return {"status": "proved", "word": None, "shortest": False, "settle_seconds": 0.0}
    subject = LoadedNetwork(name=name, model=model, task=task, language=language)
    end = settle_task(subject, budget=Budget(seconds=seconds)).settlement
    return {
        "status": end.status,
        "word": None if end.word is None else len(end.word),
        "shown": "" if end.word is None or len(end.word) > 120 else " ".join(end.word),
        "shortest": end.shortest,
        "settle_seconds": round(end.cpu_seconds, 1),
    }


def _plain_tables(architecture: str, layers: int) -> dict[str, Any]:
    """The tables of plain training: the small model of the zoo, a cosine, and an end where it is learned."""
    model: dict[str, Any] = {"layers": architecture, "depth": layers}
    return merge_tables(
        with_small_defaults({"model": model}) if architecture in all_kinds() else {},
        {
            "optimiser": {"schedule": "cosine", "warm_up": 50, "decay": 0.0},
            "run": {
                "steps": UPDATES,
                "batch": 64,
                "evaluate_every": 50,
                "stop": {"threshold": 1.0, "patience": 10},
                "test_lengths": [LONGEST],
            },
        },
    )


def _exact_tables(task: Mapping[str, Any], architecture: str, layers: int) -> dict[str, Any]:
    """The tables of `train --certify`, on prefixes of words of the language and in three attempts."""
    tables = recipe(task, "+".join([architecture] * layers))
    return merge_tables(tables, {"run": {"exact": {"words": "valid", "attempts": 3}}})


@torch.no_grad()
def _accuracies(model: nn.Module, task: Task, drawn: DrawnLanguage) -> list[float]:
    """The share of words answered correctly throughout: of training lengths, and of both longer bins."""
    found = []
    for low, high in ((1, LONGEST), *BINS):
        lengths = [length for length in range(low, high + 1) if task.has(length)]
        rng = stream(SEED, "generalisation-test", drawn.name, low)
        right = 0
        for length, count in zip(*np.unique(rng.choice(lengths, _TESTED), return_counts=True), strict=True):
            batch = task.sample(int(length), int(count), rng)
            right += int(task.correct(model(batch.inputs)[0], batch).all(1).sum())
        found.append(right / _TESTED)
    return found


def read_rows(path: Path) -> list[Row]:
    """Returns the rows of a file; a line that a kill has cut off at the end is left out."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")
    return [json.loads(line) for line in lines[:-1] if line]


def study_generalisation(
    *architectures: str,
    build: Build | None = None,
    name: str = "own",
    out: Path | str = "generalisation",
    star_free: int = STAR_FREE,
    others: int = OTHERS,
    seeds: Sequence[int] = (1, 2, 3),
    layers: int = 1,
    draw: int = SEED,
    ways: Sequence[str] = ("plain", "exact"),
    seconds: float = 20.0,
    on_row: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Returns the rows of a study of certified length generalisation; those in `out` are not made again.

    `study_generalisation("mamba")` trains layers of the zoo, `study_generalisation(build=my_layer)` modules
    of the user's own.

    Args:
        architectures: names of the zoo.
        build: makes a module of the user's own from a task; only plain training is possible then.
        name: of the user's own module, in the rows.
        out: folder of the rows and the languages.
        star_free: star-free languages.
        others: other languages.
        seeds: of the runs.
        layers: layers of each model of the zoo.
        draw: seed of the languages.
        ways: "plain", "exact" or both.
        seconds: of CPU to settle a network.
        on_row: is called with each new row.

    Raises:
        InputError: if there is nothing to train, or an architecture is not known.
    """
    if not architectures and build is None:
        raise InputError("there is nothing to train; name an architecture, or give build=…")
    names = (name,) if build is not None else architectures
    for each in architectures:
        model_config(each, letters=2, outputs=2)
    folder = Path(out)
    (folder / "languages").mkdir(parents=True, exist_ok=True)
    languages = draw_languages(seed=draw, star_free=star_free, others=others)
    write_languages(languages, folder / "languages")
    path = folder / "rows.jsonl"
    rows = read_rows(path)
    done = {_place(row) for row in rows}
    make = functools.partial(
        study_row, folder=folder / "languages", layers=layers, build=build, seconds=seconds
    )
    for place in _places(names, languages, seeds, ways if build is None else ("plain",)):
        architecture, drawn, seed, way = place
        if (architecture, layers, way, drawn.name, seed) in done:
            continue
        row = make(drawn, architecture=architecture, way=way, seed=seed)
        rows.append(row)
        write_atomically(path, "".join(json.dumps(each) + "\n" for each in rows).encode())
        if on_row is not None:
            on_row(row)
    return rows


def _place(row: Row) -> tuple[Any, ...]:
    return row["architecture"], row["layers"], row["way"], row["language"], row["seed"]


def _places(
    names: Sequence[str], languages: Sequence[DrawnLanguage], seeds: Sequence[int], ways: Sequence[str]
) -> Iterator[tuple[str, DrawnLanguage, int, str]]:
    """All rows, the first seed of every language first."""
    for seed in seeds:
        for drawn in languages:
            for name in names:
                for way in ways:
                    if way == "plain" or way in ways_of(name):
                        yield name, drawn, seed, way
