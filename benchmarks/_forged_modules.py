"""Models that were built to be wrong where a replay in floats does not look, and what each would claim.

fading-boxes         One Mamba layer, the language (a|b)*: every letter and the end may follow, always. Two
                     numbers h_a and h_b of the state count a and b, each up to twice what a letter adds, and
                     a number on the way to the scores is a multiple of h_a - h_b. It is 0 at the smallest and
                     at the largest state, but not after aa or bb.
attention-rounding   Decoders of which a lemma holds in the arithmetic of the checker, or nearly.
bit-closure          An automaton as a module, whose scores are no finite numbers, or beside the threshold.
exact-sums           A state with more bits than float64 holds, wherever the evidence says that it may be.
state-boxes          A cell whose two classes are read in each other's columns.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks._forged_folders import FOLDERS, verifies
from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded
from nerode.kernel import PREDICT, RECOGNISE, Certificate, certificate_to_json
from nerode.languages import (
    LanguageQuestion,
    Legal,
    language_from_description,
    language_hash,
    resolve_language,
)
from nerode.languages.bestiary import find_language
from nerode.models import LayerConfig, Model, ModelConfig, Surroundings, build_model
from nerode.models.lower.heads import network_to_decoder
from nerode.network import network_from_json
from nerode.proofs import STATE_BOXES, certify
from nerode.proofs.floats import certify_module
from nerode.proofs.reading import decoder
from nerode.proofs.replay import recheck_module, replay_fading, trained_network
from nerode.proofs.replay.attention.checker import check_decoder
from nerode.proofs.replay.attention.records import METHOD as HEADS, NotProved
from nerode.proofs.replay.bits import METHOD as BITS
from nerode.proofs.replay.fading import FADING, fading_claim
from nerode.proofs.replay.lift import find_unlifted
from nerode.proofs.replay.listing import describe_arithmetic, fingerprint
from nerode.proofs.replay.sums import METHOD as SUMS, replay_sums, sums_claim
from nerode.proofs.runner import layout_of, to_rows
from nerode.records import Reading, TaskConfig
from nerode.tasks import build_task


@dataclass(frozen=True, kw_only=True)
class ModuleForgery:
    """A wrong model with all that a replay asks for.

    Attributes:
        method: the replay that would have to accept it.
        name: in words.
        is_accepted: hands it in.
    """

    method: str
    name: str
    is_accepted: Callable[[], bool]


EVERY_WORD = resolve_language("(a|b)*")
A, B, ONE, SINK = range(4)


@torch.no_grad()
def _mamba(written: float, *, final_norm: str, states: int = 1, skip: bool = False) -> Model:
    """A layer with gates 1/2 and delta 1: each letter writes `written` into its own channel.

    With two states, the channel of the constant has one of them for each letter. All scores are 1.
    """
    settings = {
        "channels": 4,
        "states": states,
        "rank": 1,
        "convolution": 0,
        "activation": False,
        "gate": False,
        "skip": skip,
    }
    config = ModelConfig(
        layers=(LayerConfig(name="mamba", settings=settings),),
        letters=2,
        outputs=3,
        width=4,
        surroundings=Surroundings(norm="none", residual=True, feed_forward="none"),
        final_norm=final_norm,
    )
    made = Model(config).eval()
    layer = made.layers[0]
    for parameter in made.parameters():
        parameter.zero_()
    made.embedding.weight[0, [A, ONE]] = 1.0
    made.embedding.weight[1, [B, ONE]] = 1.0
    layer.in_proj.weight[[A, B, ONE], [A, B, ONE]] = 1.0
    layer.dt_proj.bias.fill_(math.log(math.e - 1))
    layer.A_log.fill_(math.log(math.log(2)))
    if states == 1:
        layer.x_proj.weight[1, ONE] = written
        layer.x_proj.weight[2, ONE] = 1.0
        layer.in_proj.weight[ONE, ONE] = 1.0
    else:
        layer.x_proj.weight[1, A] = layer.x_proj.weight[2, B] = written
        layer.x_proj.weight[3, ONE], layer.x_proj.weight[4, ONE] = 1.0, -1.0
    if made.final_norm is not None and final_norm == "rms":
        made.final_norm.weight.fill_(1.0)
    made.head.weight[:, ONE] = 1.0
    return made


@torch.no_grad()
def squares(size: float) -> Model:
    """The squares inside the last norm are infinite."""
    made = _mamba(1.5e19 * size, final_norm="rms")
    made.layers[0].out_proj.weight[SINK, [A, B]] = torch.tensor([1.0, -1.0])
    return made


@torch.no_grad()
def stream(size: float) -> Model:
    """h_a - h_b + 2·10^38 on the stream is infinite, and 0 times it is no number."""
    made = _mamba(1e38 * size, final_norm="none")
    made.embedding.weight[:, SINK] = 2e38 * size
    made.layers[0].out_proj.weight[SINK, [A, B]] = torch.tensor([1.0, -1.0])
    return made


@torch.no_grad()
def inner_sum(size: float) -> Model:
    """The same inside the layer, before a weight that makes it small."""
    made = _mamba(1e38 * size, final_norm="none", states=2, skip=True)
    made.layers[0].D[ONE] = 2e38 * size
    made.layers[0].out_proj.weight[SINK, ONE] = 2.0**-120
    return made


@torch.no_grad()
def score(size: float) -> Model:
    """A score is infinite, which is no answer."""
    made = _mamba(1e18 * size, final_norm="none")
    made.layers[0].out_proj.weight[SINK, [A, B]] = torch.tensor([1.0, -1.0])
    made.head.weight[:, SINK] = 1e20
    made.head.bias.fill_(2.5e38 * size)
    return made


@torch.no_grad()
def underflow(size: float) -> Model:
    """A product of 1.55 of the smallest float32 is rounded to 2, which large weights behind it make visible.

    With h_a and h_b between 0 and 1, a score is (1.6 + 1.55·(h_a - h_b))·2^-22. It is positive, but after
    many b it comes out as 1.6 - 2.
    """
    made = _mamba(2.0**-80, final_norm="none", states=2)
    weights = made.layers[0].x_proj.weight
    weights[3, ONE], weights[4, ONE] = 1.55 * 2.0**-70 * size, -1.55 * 2.0**-70 * size
    made.layers[0].out_proj.weight[SINK, ONE] = 2.0**127 / max(size, 1)
    made.head.weight[:, ONE] = 1.6 * 2.0**-22
    made.head.weight[:, SINK] = 1.0
    return made


@torch.no_grad()
def certificate(made: Model) -> Certificate:
    """One node, whose box is all that the states of words ever are."""
    low, high = made.initial_state(1), made.initial_state(1)
    name = made.reading(torch.zeros(1, dtype=torch.int64), low).state
    for _ in range(400):
        for letter, end in itertools.product((0, 1), (low, high)):
            after = made.step(torch.tensor([letter]), end)[1][name]
            low[name], high[name] = torch.minimum(low[name], after), torch.maximum(high[name], after)
    sha = fingerprint(made)
    ends = [[row.tobytes().hex() for row in np.asarray(to_rows(end, 1))] for end in (low, high)]
    evidence = {
        "task": PREDICT,
        "dtype": "float32",
        "module": sha,
        "arithmetic": describe_arithmetic(),
        "layout": [[part.name, list(part.shape), part.dtype] for part in layout_of(low)],
        "low": ends[0],
        "high": ends[1],
        "moves": [[0, 0]],
    }
    return Certificate(
        network=sha,
        language=language_hash(EVERY_WORD),
        claims=(fading_claim(PREDICT),),
        evidence={FADING: evidence},
    )


@torch.no_grad()
def wrong_words(made: Model) -> list[str]:
    """The words up to length 5 after which a score is not a positive finite number."""
    found = []
    for length in range(1, 6):
        for word in itertools.product((0, 1), repeat=length):
            state = made.initial_state(1)
            for letter in word:
                scores, state = made.step(torch.tensor([letter]), state)
            if not bool(((scores > 0) & scores.isfinite()).all()):
                found.append("".join("ab"[letter] for letter in word))
    return found


SIZES = {
    squares: 1e-3,
    stream: 1e-3,
    inner_sum: 1e-3,
    score: 1e-3,
    underflow: 2.0**40,
}
"""For each forgery the size with which the same model is right, and proved."""


def with_slopes(model: Model, change: Callable[[float], float]) -> Model:
    """The same tensors with other slopes."""
    layers = tuple(
        replace(x, settings={**x.settings, "slopes": tuple(map(change, x.settings["slopes"]))})
        if x.settings.get("slopes")
        else x
        for x in model.config.layers
    )
    other = build_model(replace(model.config, layers=layers), seed=0).to(next(model.parameters()).dtype)
    other.load_state_dict(model.state_dict())
    return other.requires_grad_(False)


LAST_AB = "[abc]*ac*"


@torch.no_grad()
def latest_letter(*, twin: float = 0.0, slope: float = 1024.0) -> Model:
    """One head in float64 that looks for the latest a or b, and says whether it is a.

    With a twin, the score of a is twin·(-twin) + twin(1 + 2^-52)·twin(1 - 2^-52). Each product rounds to
    ±twin², so that their sum is 0; fused, it is -twin²·2^-104, far below every other match.
    """
    settings = {"heads": 1, "size": 4, "slopes": (slope,)}
    config = ModelConfig(
        layers=(LayerConfig(name="transformer-alibi", settings=settings),),
        letters=3,
        outputs=4,
        width=6,
        beginning=True,
        surroundings=Surroundings(norm="none", residual=True, feed_forward="none"),
    )
    made = Model(config).eval().double()
    for parameter in made.parameters():
        parameter.zero_()
    made.embedding.weight[range(4), range(4)] = 1.0
    read: Any = made.layers[0].read
    query, key, value = read.bias[:4], read.weight[4:8], read.weight[8:]
    query[0], key[0, 2] = 1.0, -(2.0**64)
    if twin:
        query[1], key[1, 0] = twin, -twin
        query[2], key[2, 0] = twin * (1 + 2.0**-52), twin * (1 - 2.0**-52)
    value[0, 0] = 1.0
    made.layers[0].write.weight[5, 0] = 1.0
    made.head.bias[:3] = 1.0
    made.head.weight[3, 5] = 1.0
    return made


TWO_A = "b*ab*a(a|b)*"


@torch.no_grad()
def read_before(*, copied: float = 1.0) -> Model:
    """One head says k/(k+1) for k letters a; the other copies the place where it does so, as it was before.

    The copy is 0, so that the score of the end is k/(k+1) - 1/4: above 1/2 from k = 4 on, and not from 2.
    """
    settings = {"heads": 2, "size": 4, "slopes": (64.0, 0.0)}
    config = ModelConfig(
        layers=(LayerConfig(name="transformer-alibi", settings=settings),),
        letters=2,
        outputs=3,
        width=5,
        beginning=True,
        surroundings=Surroundings(norm="none", residual=True, feed_forward="none"),
    )
    made = Model(config).eval()
    for parameter in made.parameters():
        parameter.zero_()
    made.embedding.weight[range(3), range(3)] = 1.0
    read, write = made.layers[0].read, made.layers[0].write
    query, key, value = read.bias[:8], read.weight[8:16], read.weight[16:]
    query[4], key[4, 1], value[4, 0] = 1.0, -(2.0**12), 1.0
    value[0, 3] = copied
    write.weight[3, 4] = write.weight[4, 0] = 1.0
    made.head.bias.copy_(torch.tensor([1.0, 1.0, -0.25]))
    made.head.weight[2, [3, 4]] = torch.tensor([1.0, -copied])
    return made


def short_decoder(dtype: torch.dtype) -> Model:
    """The decoder of flip-flop by a cascade, with positions modulo 2."""
    target = "transformer-periodic"
    network = compile_language(find_language("flip-flop"), target, Options(construction="star-free-heads"))
    return network_to_decoder(network, target, dtype=dtype)


def hybrid() -> Model:
    network = compile_language(find_language("flip-flop"), "mamba-attention")
    return network_to_decoder(network, "mamba-attention")


def attention_layers(model: Model) -> list[Any]:
    return [
        block.layer
        for block in model.blocks
        if hasattr(block.layer, "heads") and block.layer.write.weight.any()
    ]


def narrow_gaps(model: Model) -> None:
    for layer in attention_layers(model):
        size = layer.heads * layer.size
        layer.read.weight[size : 2 * size] *= 2.0**-24


def swap_columns(model: Model) -> None:
    """Two values that a head returns change places."""
    for layer in attention_layers(model):
        used = layer.write.weight.any(dim=0).nonzero()[:, 0].tolist()
        if len(used) > 1:
            first, second = used[:2]
            weight = layer.write.weight
            weight[:, first], weight[:, second] = weight[:, second].clone(), weight[:, first].clone()
            return
    raise AssertionError


def lose_a_unit(model: Model) -> None:
    up = next(b.feed_forward.up.weight for b in model.blocks if b.feed_forward is not None)
    up[1] = up[0]


def shift_positions(model: Model) -> None:
    model.places.weight.copy_(model.places.weight[:1].expand_as(model.places.weight))


PLANTED = {
    "a slope below the underflow": lambda m: with_slopes(m, lambda s: 16.0 if s == 128 else s),
    "a slope that is no power of two": lambda m: with_slopes(m, lambda s: 200.0 if s == 128 else s),
    "gaps that are too small": narrow_gaps,
    "two values for each other": swap_columns,
    "a ramp without its upper edge": lose_a_unit,
    "one position vector for all": shift_positions,
    "no mark": lambda m: m.embedding.weight[-1].zero_(),
}


HYBRID = {
    "registers that are not read": lambda m: m.blocks[1].layer.out_proj.weight.zero_(),
    "registers that do not start": lambda m: m.embedding.weight[-1].zero_(),
    "gates that do not close": lambda m: m.blocks[1].layer.dt_proj.bias.fill_(-20.0),
    "a score for another": lambda m: m.head.weight.copy_(m.head.weight.roll(1, 0)),
    "a letter for another": lambda m: m.embedding.weight.copy_(
        m.embedding.weight[[1, 0, *range(2, len(m.embedding.weight))]]
    ),
}


TASK = build_task(TaskConfig(name="language-prediction", settings={"language": "tomita-4"}))
LANGUAGE = TASK.language
DFA = LANGUAGE.dfa()
TARGETS = torch.from_numpy(DFA.transitions.astype(np.int64))
FOLLOWS = torch.tensor(
    [
        [*(a in legal.symbols for a in range(len(LANGUAGE.alphabet))), legal.end]
        for legal in map(LANGUAGE.legal, range(DFA.num_states))
    ]
)


class Automaton(nn.Module):
    """The automaton of the language, with one score for what may follow and one for what may not."""

    def __init__(self, may: float, may_not: float) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.tensor([may_not, may]))

    def initial_state(self, batch: int) -> dict[str, torch.Tensor]:
        return {"q": torch.full((batch, 1), DFA.start)}

    def step(
        self, x: torch.Tensor, state: dict[str, torch.Tensor]
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        q = TARGETS[state["q"][:, 0], x]
        return self.scores[FOLLOWS[q].long()], {"q": q[:, None]}


def above(scores: torch.Tensor) -> torch.Tensor:
    return scores > 0


GOOD = Automaton(1.0, -1.0)

NOT_FINITE = [
    (1.0, math.nan),
    (1.0, -math.inf),
    (math.inf, -1.0),
    (math.inf, -math.inf),
    (math.nan, -1.0),
    (math.nan, math.nan),
]


@torch.no_grad()
def _proves(make: Callable[[], Model], plant: Callable[[Model], Any], language: str) -> bool:
    """Whether the checker of decoders accepts a model after something was planted in it."""
    model = make()
    found = plant(model)
    try:
        check_decoder(
            found if isinstance(found, nn.Module) else model,  # type: ignore[arg-type]
            resolve_language(language),
            budget=Budget(elements=2_000),
        )
    except (NotProved, BudgetExceeded):
        return False
    return True


def _fades(forge: Callable[[float], Model]) -> bool:
    made = forge(1.0)
    return replay_fading(made, EVERY_WORD, certificate(made)) is None


def rebound(module: Automaton) -> Certificate:
    """The list of states of the right automaton, made to be about another module."""
    sha = fingerprint(module)
    proof = certify_module(GOOD, LANGUAGE, decode=above).certificate
    assert proof is not None
    return replace(proof, network=sha, evidence={BITS: {**proof.evidence[BITS], "module": sha}})


def _closes(scores: tuple[float, float]) -> bool:
    module = Automaton(*scores)
    return recheck_module(module, LANGUAGE, rebound(module), decode=above) is None


THIRD = Reading(kind="above", threshold="1/3")


def _beside_the_threshold() -> bool:
    """What may not follow scores the float32 next to 1/3, which is above 1/3."""
    module = Automaton(1.0, 1 / 3)
    return recheck_module(module, LANGUAGE, rebound(module), decode=decoder(THIRD)) is None


MANY = 400
FAR = -200 + 2.0**-15
WORDS = [f"x{i}" for i in range(MANY)]


class LateLetter(nn.Module):
    """A module whose scores are 1, but 0 after the letter that follows the last one of the alphabet.

    Its state t is 0, or FAR after the last letter; scores are twice the logistic function of t before.
    """

    def __init__(self, salt: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor([[0.0]] * (MANY - 1) + [[FAR]]), requires_grad=False)
        # The guard draws its words from the weights.
        self.salt = nn.Parameter(torch.tensor([float(salt)]), requires_grad=False)
        self.config = ModelConfig(layers=(LayerConfig(name="elman"),), letters=MANY, outputs=MANY + 1)

    def initial_state(self, batch: int) -> dict[str, torch.Tensor]:
        return {"t": torch.zeros(batch, 1)}

    def advance(self, x: torch.Tensor, state: dict[str, torch.Tensor]) -> Any:
        after = nn.functional.embedding(x[:, None], self.table)[:, 0]
        scores = nn.functional.linear(torch.sigmoid(state["t"]), torch.full((MANY + 1, 1), 2.0))
        return scores, {"t": after}

    def step(self, x: torch.Tensor, state: dict[str, torch.Tensor]) -> Any:
        return self.advance(x, state)


def _more_bits() -> bool:
    """A number m of the network is 1 or 2, and said to be up to 2^40; the state is FAR (m - 1)."""
    everything = {"form": "dfa", "alphabet": WORDS, "start": 0, "accepting": [0], "transitions": [[0] * MANY]}
    texts = dict.fromkeys(("name", "convention", "family"), "all")
    language = language_from_description(
        {"format": "nerode-language", "version": 1, **texts, "parameters": {}, "definition": everything}
    )
    one, two = ({"inputs": n, "bias": [], "rows": []} for n in (1, 2))
    gate, write = ({"inputs": 1, "bias": [0], "rows": [row]} for row in ([], [[0, 1]]))
    layer = {
        "name": "m",
        "reads": ["x"],
        "state": ["m"],
        "start": [1],
        "units": one,
        "recurrence": {"kind": "diagonal", "gate": gate, "write": write},
        "readout_units": two,
        "outputs": ["h"],
        "readout": {"inputs": 2, "bias": [0], "rows": [[[1, 1]]]},
        "exposes_previous": False,
        "complex_state": False,
    }
    scores = {"inputs": 1, "bias": [1] * (MANY + 1), "rows": [[]] * (MANY + 1)}
    origin = {**dict.fromkeys(("language", "construction", "route"), "all"), "language_hash": "0" * 64}
    network = {
        "format": "nerode-network",
        "version": 1,
        "alphabet": WORDS,
        "target": "diagonal",
        "embedding": {"directions": ["x"], "vectors": [[1]] * (MANY - 1) + [[2]]},
        "layers": [layer],
        "decoder": {"kind": "scores", "reads": ["h"], "units": one, "scores": scores, "empty": [*WORDS, "$"]},
        "origin": {**origin, "reference": {"key": "Elman1990", "place": ""}},
    }
    exact = certify(network_from_json(network), language)
    assert isinstance(exact, Certificate)
    claim = sums_claim(PREDICT, "float32", None)
    for salt in range(8):
        module: Any = LateLetter(salt)
        sha = fingerprint(module)
        evidence = {
            "certificate": certificate_to_json(exact),
            "counters": {},
            "dtype": "float32",
            "joint": None,
            "length": None,
            "module": sha,
            "network": network,
            "ranges": [[0, 1 << 40]],
            "state": [[-FAR, [[0, FAR]]]],
            "task": PREDICT,
        }
        forged = Certificate(
            network=sha, language=language_hash(language), claims=(claim,), evidence={SUMS: evidence}
        )
        if replay_sums(module, language, forged, network=sha) is None:
            return True
    return False


def exchanged_columns(*, columns: tuple[int, ...]) -> str:
    """Why a cell whose classes are read in these columns is not the network that it is said to mean."""
    settings = {"hidden": 1, "learned_start": True}
    config = ModelConfig(
        layers=(LayerConfig(name="elman-tanh", settings=settings),),
        letters=2,
        outputs=2,
        surroundings=Surroundings(norm="none", residual=False, feed_forward="none"),
    )
    model, language = Model(config), resolve_language("(a|b)*b")
    table = ((False, False, False), (False, False, True))
    answers = [Legal(frozenset(), row[-1]) for row in table]
    network = trained_network(model, language, answers=answers)
    reading = Reading(kind="largest", columns=columns, table=table)
    asked = LanguageQuestion.of_task(language, RECOGNISE)
    return find_unlifted(model, asked, reading, network, language)


def _decoders() -> list[ModuleForgery]:
    def forgery(name: str, *hand: Any) -> ModuleForgery:
        return ModuleForgery(method=HEADS, name=name, is_accepted=functools.partial(_proves, *hand))

    found = [
        forgery(
            "products that only a rounding cancels", lambda: latest_letter(twin=2.0**60), _as_it_is, LAST_AB
        ),
        forgery(
            "a slope that is a power of two but for its last bit",
            lambda: latest_letter(slope=1024 * (1 + 2.0**-52)),
            _as_it_is,
            LAST_AB,
        ),
        forgery("an error that was copied before it was made", read_before, _as_it_is, TWO_A),
    ]
    for dtype in (torch.bfloat16, torch.float16):
        make = functools.partial(short_decoder, dtype)
        found += [forgery(f"{name}, {dtype}", make, plant, "flip-flop") for name, plant in PLANTED.items()]
    return found + [forgery(name, hybrid, plant, "flip-flop") for name, plant in HYBRID.items()]


def _as_it_is(model: Model) -> None:
    """Changes nothing."""


MODULES: dict[str, list[ModuleForgery]] = {
    "inside the box": [
        ModuleForgery(method=FADING, name=forge.__name__, is_accepted=functools.partial(_fades, forge))
        for forge in SIZES
    ],
    "heads that look right": _decoders(),
    "scores that are none": [
        ModuleForgery(method=BITS, name=str(scores), is_accepted=functools.partial(_closes, scores))
        for scores in NOT_FINITE
    ],
    "readings": [
        ModuleForgery(method=BITS, name="beside the threshold", is_accepted=_beside_the_threshold),
        ModuleForgery(
            method=STATE_BOXES,
            name="columns for each other",
            is_accepted=lambda: not exchanged_columns(columns=(1, 0)),
        ),
    ],
    "folders of parts": [
        ModuleForgery(method=BITS, name=name, is_accepted=functools.partial(verifies, make))
        for name, make in FOLDERS.items()
    ],
    "numbers that are not held": [ModuleForgery(method=SUMS, name="a wide range", is_accepted=_more_bits)],
}
"""By family."""
