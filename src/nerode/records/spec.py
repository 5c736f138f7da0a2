"""Specs of training runs as plain data: task, model, optimiser, run; and the tables that they are read from.

`nerode.training` builds tasks and models from them. A run is a pure function of its spec; its key is the hash
of the spec with all defaults written out.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from nerode.core import (
    FormatError,
    InputError,
    UnknownName,
    decode_text,
    from_mapping,
    read_bytes,
    to_mapping,
)

Measure = Literal["token", "sequence", "final", "scaled"]
"""Correct positions; sequences correct throughout; correct last positions; correct positions above chance."""

Norm = Literal["none", "layer", "rms"]
FeedForward = Literal["none", "relu", "gelu", "gelu-tanh", "swiglu", "geglu", "geglu-tanh"]

MAX_LENGTH = 1_000_000
"""Longest sequence that is trained on or tested."""

_MOST_OF_MODEL = {"width": 65_536, "depth": 1000, "head_width": 1_000_000}
_MOST_OF_RUN = {
    "steps": 10**9,
    "epochs": 10**6,
    "sample": 10**8,
    "batch": 10**6,
    "seed": 2**63 - 1,
    "evaluate_every": 10**9,
    "validation": 10**7,
    "test_sequences": 10**7,
    "threads": 256,
}
"""Sizes beyond which no machine goes: a slip of the keyboard is refused before it takes all memory."""

_LEFT_OUT_OF_KEY_WHEN_UNSET = (
    ("optimiser", "decay_only"),
    ("optimiser", "hold"),
    ("optimiser", "floor"),
    ("run", "aids"),
    ("run", "exact"),
    ("run", "start"),
    ("run", "products"),
    ("run", "device"),
    ("run", "stop", "length"),
)
"""Fields that were added later, by their tables; omitting them where unset keeps old run keys valid."""

_LEFT_OUT_OF_SPEC_WHEN_UNSET = (
    ("model", "theory"),
    ("model", "embedding"),
    ("model", "beginning"),
    ("optimiser", "floor"),
    ("run", "aids"),
    ("run", "exact"),
    ("run", "start"),
    ("run", "products"),
    ("run", "device"),
    ("run", "stop", "length"),
)
"""Fields that are younger than old records, which are written again as they were."""

_LEFT_OUT_OF_MODEL_AT_DEFAULT = {"embedding_norm": "none", "norm_epsilon": 1e-5}
"""Such fields whose default is not empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskConfig:
    """A task by name, with the settings that differ from its defaults."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Norm, residual path and feed-forward part around a layer.

    Attributes:
        norm: which norm.
        position: whether norms stand before the parts or after the residual sums.
        residual: whether the input is added to the output of each part.
        feed_forward: the activation of the feed-forward part; "none" for no such part.
        expansion: its hidden width as a multiple of the width.
        dropout: share of the outputs of each part that training drops.
    """

    norm: Norm = "none"
    position: Literal["pre", "post"] = "pre"
    residual: bool = False
    feed_forward: FeedForward = "none"
    expansion: float = 4.0
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}; it has to be at least 0 and below 1")
        if self.expansion <= 0:
            raise InputError(f"the expansion is {self.expansion}; it has to be positive")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model, but for the sizes that belong to the task.

    Attributes:
        layers: names of the zoo separated by commas, in order.
        depth: how often the list of layers is repeated.
        width: features after the embedding; 0 reads letters as one-hot vectors.
        embedding: standard deviation of the draw of the embedding; 0 for that of torch, which is 1.
        settings: of every layer.
        layer_settings: of each layer, on top of `settings`; empty, or one table per layer.
        surroundings: norm, residual and feed-forward part of every layer; None for the published ones.
        positions: what is added to the embedding; None for what the names say.
        final_norm: the norm before the head; None for what goes with the last layer.
        head: "linear", "relu" (one hidden layer) or "none".
        head_width: hidden units of a "relu" head.
        head_bias: whether the head adds a bias.
        beginning: whether a mark of its own stands before every sequence.
        embedding_norm: the norm after the embedding.
        norm_epsilon: what all norms outside the layers add to a variance.
        configuration: name of a model of a paper, instead of all of the above but width (0 for the paper's)
            and depth (0 for the paper's).
        module: "module:function" that builds the user's own model; importing it runs its code.
        theory: the class of theory that the user's own model is declared to be of ("diagonal-signed").
    """

    layers: str = "mamba"
    depth: int = 1
    width: int = 16
    embedding: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    layer_settings: tuple[dict[str, Any], ...] = ()
    surroundings: Surroundings | None = None
    positions: Literal["none", "sine"] | None = None
    final_norm: Norm | None = None
    head: Literal["linear", "relu", "none"] = "linear"
    head_width: int = 0
    head_bias: bool = True
    beginning: bool = False
    embedding_norm: Norm = "none"
    norm_epsilon: float = 1e-5
    configuration: str = ""
    module: str = ""
    theory: str = ""

    def __post_init__(self) -> None:
        if self.theory and not self.module:
            raise InputError(
                f"model.theory is {self.theory!r}; only a model of your own (model.module) is declared, the "
                "layers of the zoo have their rows"
            )
        if self.width < 0:
            raise InputError(f"model.width is {self.width}; it has to be 0 (one-hot letters) or more")
        _require(0 <= self.embedding < math.inf, "model.embedding", self.embedding, "0 or more")
        if self.embedding and (self.module or not (self.width or self.configuration)):
            raise InputError(
                f"model.embedding is {self.embedding}; a model of your own or one that reads one-hot letters "
                "has no embedding to draw"
            )
        if self.depth < (0 if self.configuration else 1):
            raise InputError(f"model.depth is {self.depth}; it has to be 1 or more")
        if self.head_width < 0:
            raise InputError(f"model.head_width is {self.head_width}; it has to be 0 or more")
        for name in ("width", "depth", "head_width"):
            _require_at_most(_MOST_OF_MODEL[name], f"model.{name}", getattr(self, name))
        if self.module and self.configuration:
            raise InputError("model.module and model.configuration exclude each other; give one of them")

    @property
    def title(self) -> str:
        """The name of the model in tables."""
        if self.module or self.configuration:
            return self.module or self.configuration
        name = self.layers.replace(" ", "").replace(",", "+")
        return name if self.depth == 1 else f"{name} ×{self.depth}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserSpec:
    """The optimiser and its learning rate.

    Attributes:
        name: the method.
        rate: the learning rate after warm-up.
        decay: weight decay, of the weights that may decay.
        decay_only: names of the only weights that decay, as their layers call them (like "A"); empty for all
            that may.
        betas: of Adam and AdamW.
        momentum: of SGD.
        warm_up: steps over which the rate rises linearly.
        hold: steps after the warm-up before a falling schedule begins.
        schedule: what the rate does afterwards; "cosine" ends at the floor with the last step.
        floor: least factor of the rate where it falls.
        clip: largest norm of the gradients; 0 for no limit.
        slow_rate: largest rate of the weights that an architecture marks as slow (the dynamics of S4).
    """

    name: Literal["adamw", "adam", "sgd"] = "adamw"
    rate: float = 1e-3
    decay: float = 0.01
    decay_only: tuple[str, ...] = ()
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.0
    warm_up: int = 0
    hold: int = 0
    schedule: Literal["constant", "cosine"] = "constant"
    floor: float = 0.0
    clip: float = 1.0
    slow_rate: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("rate", "slow_rate"):
            _require(0 < getattr(self, name) < math.inf, f"optimiser.{name}", getattr(self, name), "above 0")
        for name in ("decay", "clip", "warm_up", "hold"):
            _require(
                0 <= getattr(self, name) < math.inf, f"optimiser.{name}", getattr(self, name), "0 or more"
            )
        for name, value in (
            ("betas", min(self.betas)),
            ("betas", max(self.betas)),
            ("momentum", self.momentum),
        ):
            _require(0 <= value < 1, f"optimiser.{name}", value, "at least 0 and below 1")
        _require(0 <= self.floor <= 1, "optimiser.floor", self.floor, "from 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curriculum:
    """Short sequences first.

    Attributes:
        start: longest length at the beginning.
        step: how much longer it gets each time.
        threshold: accuracy on validation sequences of the lengths so far at which it gets longer.
    """

    start: int
    step: int = 1
    threshold: float = 0.99

    def __post_init__(self) -> None:
        _require(self.start >= 1, "run.curriculum.start", self.start, "1 or more")
        _require(self.step >= 1, "run.curriculum.step", self.step, "1 or more")
        _require(0 < self.threshold <= 1, "run.curriculum.threshold", self.threshold, "above 0 and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingAids:
    """Aids to length generalisation: other states to begin with, and words that hold for long.

    Attributes:
        passed: share of sequences that begin with the state after another sequence, one that leads the
            automaton of the language back to its start, so that the targets stay correct.
        noise: standard deviation of Gaussian noise on the initial state.
        holds: share of words with a loop of the automaton that is repeated for long, no longer than those of
            training.
    """

    passed: float = 0.0
    noise: float = 0.0
    holds: float = 0.0

    def __post_init__(self) -> None:
        for name in ("passed", "holds"):
            _require(0 <= getattr(self, name) <= 1, f"run.aids.{name}", getattr(self, name), "from 0 to 1")
        _require(0 <= self.noise < math.inf, "run.aids.noise", self.noise, "a number of 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSpec:
    """Training through exact gates, on words of the task's automaton, with a judge that may end it.

    There is a check every `run.evaluate_every` updates. If the words of training are answered correctly,
    gates that need no memory lose it, exact gates are folded into the plain layers, and the judge is asked.
    Words that it returns join those of training. An attempt that it does not end is followed by one from
    fresh weights with twice the updates.

    Attributes:
        gates: the values of a gate: "two" (0 or -1, and 1), "three" (0, 1 and -1), "rounded" (two, and memory
            rounded to few values); "none" trains the plain layers on the same words.
        words: "all" words over the alphabet, "valid" prefixes of words of the language, or "both": all words
            in the first attempt, valid prefixes in the later ones.
        attempts: largest number of attempts.
        longest: length of the longest word that is drawn.
        tested: words that have to be correct before the judge is asked.
        stray: weight of letters that leave the language, where all words are trained on.
        tours: whether half of the words are tours of the automaton's states also where none is rare.
        curriculum: "steady" makes words longer with every update, "patient" once shorter ones are learned.
        margin: distance from 0 that gate scores are trained to have.
        hinge: weight of that loss.
        naming: weight of a second head that names the automaton's state; through exact gates from the second
            attempt on.
        noise: standard deviation of Gaussian noise on the state after each letter.
        saturation: weight of the mean of 1 - |h|, for one tanh cell without anything around it.
        boxes: weight of boxes of states that are trained with such a cell; 0 for none.
        mistakes: number of incorrect words of training that are trained on again; 0 for those of the last
            checks only.
        shed: share of the gates with memory that lose it at a check; 0 takes memory only where all words stay
            correct without it.
        judge: name of the judge.
        states: joint float states that the judge may list.
    """

    gates: Literal["two", "three", "rounded", "none"] = "two"
    words: Literal["all", "valid", "both"] = "both"
    attempts: int = 4
    longest: int = 40
    tested: int = 128
    stray: float = 0.05
    tours: bool = False
    curriculum: Literal["steady", "patient"] = "steady"
    margin: float = 0.5
    hinge: float = 0.1
    naming: float = 1.0
    noise: float = 0.0
    saturation: float = 0.0
    boxes: float = 0.0
    mistakes: int = 0
    shed: float = 0.0
    judge: str = "closure"
    states: int = 8_000

    def __post_init__(self) -> None:
        for name, least in (("attempts", 1), ("longest", 1), ("tested", 2), ("mistakes", 0), ("states", 1)):
            _require(
                getattr(self, name) >= least, f"run.exact.{name}", getattr(self, name), f"{least} or more"
            )
        for name, most in (("attempts", 20), ("longest", 10**4), ("tested", 10**6), ("states", 10**6)):
            _require_at_most(most, f"run.exact.{name}", getattr(self, name))
        for name in ("stray", "margin", "hinge", "naming", "noise", "saturation", "boxes"):
            value = getattr(self, name)
            _require(0 <= value < math.inf, f"run.exact.{name}", value, "0 or more")
        _require_at_most(10**6, "run.exact.mistakes", self.mistakes)
        _require(0 <= self.shed < 1, "run.exact.shed", self.shed, "at least 0 and below 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """Early end of training, by validation on the lengths of training and never by longer ones.

    Attributes:
        threshold: accuracy that is enough; above 1 for never.
        patience: how many validations in a row have to reach it.
        length: the length of training whose validation sequences count; 0 for all lengths together.
    """

    threshold: float = 1.0
    patience: int = 3
    length: int = 0

    def __post_init__(self) -> None:
        _require(self.threshold > 0, "run.stop.threshold", self.threshold, "above 0 (above 1 for never)")
        _require(self.patience >= 1, "run.stop.patience", self.patience, "1 or more")
        _require(0 <= self.length <= MAX_LENGTH, "run.stop.length", self.length, f"from 0 to {MAX_LENGTH:,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Length of training, data and evaluation.

    Attributes:
        steps: updates, each on a batch of new sequences.
        epochs: passes over a fixed sample instead; 0 for none.
        sample: number of sequences of the fixed sample.
        batch: sequences of one update, all of one length.
        seed: of the data, the initial weights and dropout.
        curriculum: short sequences first; None for all lengths from the beginning.
        aids: other initial states and words with long holds; None for neither.
        exact: exact gates and a judge; None for neither.
        start: SHA-256 of the weights that it begins with; empty for weights drawn by the seed.
        evaluate_every: updates between two validations.
        validation: number of validation sequences.
        stop: when to end early.
        measure: the accuracy that curriculum, stop rule and the rule of extrapolation look at.
        test_lengths: lengths to test at the end; empty for those of the task that have test sequences.
        test_sequences: sequences of each length.
        test_threshold: accuracy from which a length counts as mastered.
        dtype: type of the weights.
        threads: threads of a step; its bits do not depend on them.
        products: "bfloat16" for products of 16 bits in training (linear maps, LSTM, attention), which is
            faster and gives other weights; tests and proofs are not made in this way.
        device: where the model is trained and tested, as torch calls it; empty for the CPU. The kernels of
            this project are for CPUs, and nothing has been measured on a GPU.
    """

    steps: int = 1000
    epochs: int = 0
    sample: int = 0
    batch: int = 64
    seed: int = 0
    curriculum: Curriculum | None = None
    aids: TrainingAids | None = None
    exact: ExactSpec | None = None
    start: str = ""
    evaluate_every: int = 50
    validation: int = 256
    stop: StopRule = field(default_factory=StopRule)
    measure: Measure = "sequence"
    test_lengths: tuple[int, ...] = ()
    test_sequences: int = 256
    test_threshold: float = 0.9
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    threads: int = 1
    products: Literal["", "bfloat16"] = ""
    device: str = ""

    def __post_init__(self) -> None:
        if self.products and self.dtype != "float32":
            raise InputError(f"run.products is for weights in float32; run.dtype is {self.dtype}")
        if self.device and (self.exact is not None or self.aids is not None):
            raise InputError(
                f"run.device is {self.device!r}, but run.exact (--certify) and run.aids work on the CPU; "
                "leave one of them out"
            )
        for name in ("steps", "batch", "evaluate_every", "validation", "test_sequences", "threads"):
            _require(getattr(self, name) >= 1, f"run.{name}", getattr(self, name), "1 or more")
        for name in ("epochs", "sample", "seed"):
            _require(getattr(self, name) >= 0, f"run.{name}", getattr(self, name), "0 or more")
        for name, most in _MOST_OF_RUN.items():
            _require_at_most(most, f"run.{name}", getattr(self, name))
        if (self.epochs > 0) != (self.sample > 0):
            raise InputError(
                f"run.epochs is {self.epochs} and run.sample is {self.sample}; a fixed sample needs both, "
                "new sequences at each step need neither"
            )
        if self.epochs and self.curriculum is not None:
            raise InputError(
                "run.curriculum needs new sequences at each step; leave run.epochs and run.sample"
            )
        if self.epochs and self.aids is not None and self.aids.holds:
            raise InputError("run.aids.holds needs new words at each step; leave run.epochs and run.sample")
        if self.exact is not None and (self.epochs or self.curriculum or self.aids):
            raise InputError(
                "run.exact draws its own words; leave run.epochs, run.sample, run.curriculum and run.aids"
            )
        if self.exact is not None and self.dtype != "float32":
            raise InputError(f"run.exact is for weights in float32; run.dtype is {self.dtype}")
        for length in self.test_lengths:
            _require(length >= 1, "run.test_lengths", length, "lengths of 1 or more")
            _require_at_most(MAX_LENGTH, "run.test_lengths", length)
        _require(0 < self.test_threshold <= 1, "run.test_threshold", self.test_threshold, "in (0, 1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSpec:
    """The inputs of a training run; defaults may be left out."""

    task: TaskConfig
    model: ModelSpec = field(default_factory=ModelSpec)
    optimiser: OptimiserSpec = field(default_factory=OptimiserSpec)
    run: RunSpec = field(default_factory=RunSpec)

    def to_mapping(self) -> dict[str, Any]:
        """Returns the spec as plain values for JSON."""
        plain = _without_unset(to_mapping(self), _LEFT_OUT_OF_SPEC_WHEN_UNSET)
        for name, default in _LEFT_OUT_OF_MODEL_AT_DEFAULT.items():
            if plain["model"][name] == default:
                del plain["model"][name]
        return plain

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> TrainSpec:
        """Returns the spec that plain values describe, or raises InputError or UnknownName.

        Whether there is such a task or model is for `nerode.training` to say.
        """
        tables = [table.name for table in fields(cls)]
        unknown = [name for name in given if name not in tables]
        if unknown:
            hint = "A setting is written with its table, as in optimiser.rate=1e-3."
            raise UnknownName("table of settings", str(unknown[0]), tables, hint=hint)
        return from_mapping(cls, given)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteSpec:
    """A training spec with every default written out; its hash is the key of the run.

    Attributes:
        task: its kind with all settings.
        model: the configuration of the model, or {"module": …} for one of the user's own.
        optimiser: the optimiser.
        run: with the lengths that are tested.
        files: SHA-256 by name of the files that the run depends on.
    """

    task: TaskConfig
    model: dict[str, Any]
    optimiser: OptimiserSpec
    run: RunSpec
    files: dict[str, str] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        """Returns plain values for JSON; what does not matter or is younger than old keys is left out."""
        plain = to_mapping(self)
        if self.run.epochs:
            del plain["run"]["steps"]
        if not self.files:
            del plain["files"]
        return _without_unset(plain, _LEFT_OUT_OF_KEY_WHEN_UNSET)

    @property
    def key(self) -> str:
        """The SHA-256 of the spec: the name of the run."""
        text = json.dumps(self.to_mapping(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _without_unset(plain: dict[str, Any], places: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    """The plain values without the fields at these places that are not set."""
    for *tables, name in places:
        place = plain
        for table in tables:
            place = place[table]
        if not place[name]:
            del place[name]
    return plain


def untrusted_code(module: object, source: str) -> InputError:
    """Returns the error for data that names a module while the user has not said that its code may run.

    Args:
        module: the name.
        source: the data, in words.
    """
    return InputError(
        f"{source} names the module {module!r} for its model, and loading it runs that module's code; if you "
        "trust it, say so with --trust-code (trust_code=True in Python)"
    )


def refuse_code(tables: Mapping[str, Any], source: str, *, trust_code: bool) -> None:
    """Raises InputError if the tables of a spec name a module and its code is not trusted."""
    model = tables.get("model")
    if isinstance(model, Mapping) and model.get("module") and not trust_code:
        raise untrusted_code(model["module"], source)


def _require(good: bool, name: str, value: object, allowed: str) -> None:
    if not good:
        raise InputError(f"{name} is {value}; it has to be {allowed}")


def _require_at_most(most: int, name: str, value: int) -> None:
    _require(value <= most, name, value, f"at most {most:,}")


_MAX_BYTES = 1 << 20
"""Largest file of settings that is read."""

_MAX_DEPTH = 20
"""Tables and lists that may be nested in each other."""

_MAX_DOTS = 100
"""Dots of a key; Python reads a key in a time that grows with the square of their number."""

_NAME = r"""(?:"[^"\n]*+"|'[^'\n]*+'|[\w-]++)"""
_DOTTED = re.compile(rf"{_NAME}(?:[ \t]*+\.[ \t]*+{_NAME})*+")

_MAX_DIGITS = 300
"""Digits of a whole number."""


def read_toml(path: Path) -> dict[str, Any]:
    """Returns the tables of a TOML file.

    Raises:
        FormatError: if it cannot be read or is not TOML.
    """
    text = decode_text(read_bytes(path, max_bytes=_MAX_BYTES), path=path)
    try:
        found = _loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"is not TOML: {error}", path=path) from None
    except InputError as error:
        raise FormatError(str(error), path=path) from None
    return _respelt(found)


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """Returns nested tables for texts like "optimiser.rate=1e-3".

    What stands behind the sign is read as a TOML value (numbers, lists, true, tables), and as plain text if
    it is none.

    Raises:
        InputError: for a text without a name or a sign, or for names that contradict each other.
    """
    tables: dict[str, Any] = {}
    for text in assignments:
        name, sign, value = text.partition("=")
        parts = [part.strip() for part in name.split(".")]
        if not sign or not all(parts):
            raise InputError(f"{text!r} does not set anything; write it like optimiser.rate=1e-3")
        place = tables
        for part in parts[:-1]:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise InputError(f"{text!r} sets a part of {part}, which another setting made a plain value")
        found = _value(value.strip())
        if isinstance(place.get(parts[-1], found), dict) != isinstance(found, dict):
            raise InputError(
                f"{text!r} makes {parts[-1]} a plain value, and another setting sets a part of it"
            )
        place[parts[-1]] = found
    return _respelt(tables)


def nest_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns nested tables for values by dotted name, like {"optimiser.rate": 1e-3}.

    Raises:
        InputError: if a name is a table in one place and a plain value in another.
    """
    tables: dict[str, Any] = {}
    for name, value in settings.items():
        for part in reversed(name.split(".")):
            value = {part: value}
        tables = merge_tables(tables, value)
    return _respelt(tables)


_SPELLINGS = {"": {"optimizer": "optimiser"}, "optimiser": {"lr": "rate", "learning_rate": "rate"}}
"""Other spellings of settings, by the table they stand in; the first ones stand anywhere."""


def _respelt(table: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """The tables with each setting under the name that is documented, unless both are given."""
    known = {**_SPELLINGS[""], **_SPELLINGS.get(name, {})}
    found: dict[str, Any] = {}
    for key, value in table.items():
        usual = known.get(key, key)
        place = key if usual in table else usual
        found[place] = _respelt(value, place) if isinstance(value, Mapping) else value
    return found


def merge_tables(base: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables joined, later ones over earlier ones, table by table.

    Raises:
        InputError: if a name is a table in one place and a plain value in another.
    """
    joined = dict(base)
    for other in others:
        for name, value in other.items():
            before = joined.get(name)
            are_tables = [isinstance(item, Mapping) for item in (before, value) if item is not None]
            if len(set(are_tables)) > 1:
                plain = value if isinstance(before, Mapping) else before
                raise InputError(f"{name} is {plain!r}; it has to be a table of settings")
            both = len(are_tables) == 2 and all(are_tables)
            joined[name] = merge_tables(before, value) if both else value  # type: ignore[arg-type]
    return joined


def _value(text: str) -> Any:
    try:
        return _loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _loads(text: str) -> dict[str, Any]:
    """The tables of a TOML text that JSON could hold as well: no dates, no numbers without end.

    Raises:
        InputError: for what is nested too deeply or has no place in a setting.
        tomllib.TOMLDecodeError: if it is no TOML.
    """
    deep = InputError(f"its tables or lists are nested too deeply; at most {_MAX_DEPTH} levels are read")
    keys = (found[0] for found in _DOTTED.finditer(text))
    if any(key.count(".") > _MAX_DOTS and len(re.findall(_NAME, key)) > _MAX_DOTS for key in keys):
        raise deep
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise deep from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise InputError(f"a number is too long ({error}); write a shorter one") from None
    level: list[Any] = [found]
    for _ in range(_MAX_DEPTH):
        level = [child for container in level for child in _children(container)]
    if level:
        raise deep
    return found


def _children(container: Any) -> list[Any]:
    """The tables and lists inside one; raises InputError for a value that no setting has."""
    values = container.values() if isinstance(container, dict) else container
    for value in values:
        if not isinstance(value, dict | list | str | int | float):
            raise InputError(f"{value} is a date or a time, which no setting is; write it in quotes")
        if isinstance(value, int) and abs(value) >= 10**_MAX_DIGITS:
            raise InputError(f"a whole number has more than {_MAX_DIGITS} digits; write a smaller one")
    return [value for value in values if isinstance(value, dict | list)]
