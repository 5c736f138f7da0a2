"""Transformer decoders: the role of each weight, found by its shape, as a model of the zoo.

A decoder is an embedding, perhaps with learned positions; blocks of norm, attention, norm and feed-forward
part, each part with a residual path; a last norm and a head. Names decide between weights of one shape alone:
query, key and value, gate and up, first and second norm. Entries of the config that change the function have
to be neutral, and the scores are compared with the library's before anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch

from nerode.core import InputError
from nerode.models.base import Surroundings
from nerode.models.config import ModelConfig
from nerode.models.libraries.library_model import LibraryModel, Settings, Shapes
from nerode.models.libraries.places import Place
from nerode.models.zoo import LayerConfig

_IN_BLOCK = re.compile(r"(?P<stack>.*?)(?P<number>\d+)\.(?P<part>.+)\.(?P<kind>weight|bias)$")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
_WIDTH = ("hidden_size", "n_embd", "d_model")
_LONGEST = ("max_position_embeddings", "n_positions", "max_seq_len", "sliding_window")
_EPSILON = ("rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_epsilon")
_PLAIN = {"gelu": "gelu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "relu": "relu"}
_GATED = {"silu": "swiglu", "swish": "swiglu", "gelu": "geglu", "gelu_pytorch_tanh": "geglu-tanh"}

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "rope_scaling": (None,),
    "attn_logit_softcapping": (None,),
    "final_logit_softcapping": (None,),
    "logit_scale": (1.0,),
    "clip_qkv": (None,),
    "softmax_scale": (None,),
    "partial_rotary_factor": (1.0,),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "apply_residual_connection_post_layernorm": (False,),
    "parallel_attn": (False,),
    "use_parallel_residual": (False,),
    "qk_ln": (False,),
    "prefix_lm": (False,),
    "num_local_experts": (0,),
}
"""Entries that change the function, and the values with which they do not."""

_UNUSED = (".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq")
"""Masks and speeds that some files hold beside the weights."""


DECODERS = ("gpt2", "llama", "mistral", "qwen2", "starcoder2", "bloom", "mpt")
"""The types of which tests compare a model with the library's; others may have parts that no weight shows."""


def library_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Returns the weights that the library has for a config, with their shapes; one that is tied is one."""
    try:
        from transformers import AutoConfig, AutoModelForCausalLM
    except ModuleNotFoundError:
        raise InputError("the weights of a decoder are named by transformers; install it") from None
    settings = {name: value for name, value in config.items() if name != "model_type"}
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config["model_type"], **settings))
    return {name: tuple(weight.shape) for name, weight in model.named_parameters()}


def read_decoder(settings: Settings, shapes: Shapes) -> LibraryModel:
    """Returns what a causal transformer is here.

    Raises:
        InputError: if a weight has no role, or the config asks for what the layer of the zoo does not do.
    """
    inner, rotary = settings.table("attn_config"), settings.table("rope_parameters")
    for name, allowed in _NEUTRAL.items():
        for part in (settings, inner, rotary):
            part.require(name, *allowed, why="attention of the zoo has to have")
    rotary.require("rope_type", "default")
    heads, width = settings.whole(*_HEADS), settings.whole(*_WIDTH)
    size = settings.whole("head_dim", default=max(1, width // heads))
    groups = settings.whole("num_key_value_heads", default=heads)
    if heads % groups:
        raise InputError(f"{heads} heads cannot share {groups} keys and values in equal parts")
    # A GPT-2 of the base class has no prefix; a mask says nothing.
    shapes = {name: shape for name, shape in shapes.items() if not name.endswith(_UNUSED)}
    blocks, around = _split(shapes)
    tables = [name for name, shape in around.items() if len(shape) == 2]
    vocabulary = settings.whole("vocab_size")
    embeddings = [name for name in tables if around[name] == (vocabulary, width)]
    positions = [name for name in tables if name not in embeddings and around[name][1] == width]
    norms = sorted(
        {name.rpartition(".")[0] for name, shape in around.items() if shape == (width,)}, key=_late
    )
    if not 1 <= len(embeddings) <= 2 or len(positions) > 1 or not 1 <= len(norms) <= 2:
        raise InputError(
            f"outside the blocks the file holds {', '.join(sorted(around))}; a decoder has an embedding, "
            "perhaps positions, a norm and a head there"
        )
    embeddings.sort(key=lambda name: "head" in name or "out" in name)
    roles = _Roles(blocks, heads=heads, groups=groups, size=size, width=width)
    rope = settings.get("rope_parameters") is not None or settings.get("rope_theta") is not None
    alibi = bool(settings.get("alibi") or inner.get("alibi") or not (rope or positions))
    positions = [] if alibi else positions
    norm = "rms" if settings.get("rms_norm_eps") is not None else "layer"
    activation = settings.get("activation_function") or settings.get("hidden_act") or "gelu"
    if settings.get("model_type") == "bloom":
        activation = "gelu_new"
    known = _GATED if roles.gated else _PLAIN
    if activation not in known:
        raise InputError(f"the activation is {activation!r}; there are {', '.join(known)}")
    places = [
        Place(theirs=embeddings[0], ours="embedding.weight"),
        Place(theirs=embeddings[-1], ours="head.weight"),
        *_named(around, norms[-1], "final_norm"),
        *(_named(around, norms[0], "embedding_norm") if len(norms) == 2 else ()),
        *(Place(theirs=name, ours="places.weight") for name in positions),
    ]
    for number, block in enumerate(blocks):
        places += roles.places(block, f"blocks.{number}.", rope=rope)
    base = settings.number("rope_theta", default=rotary.number("rope_theta", default=10_000.0))
    made: dict[str, Any] = {
        "heads": heads,
        "size": size,
        "base": base,
        "positions": "alibi" if alibi else "rope" if rope else "nope",
        "bias": any(re.search(r"layer\.(read|write)\.bias$", place.ours) for place in places),
    }
    if alibi and settings.get("attn_config") is not None:
        made["slopes"] = _slopes(heads, inner.number("alibi_bias_max", default=8.0))
    name = "transformer-alibi" if alibi else "transformer" if rope else "transformer-nope"
    limits = [found for entry in _LONGEST if isinstance(found := settings.get(entry), int)]
    if settings.get("use_sliding_window") is False:
        limits = [found for found in limits if found != settings.get("sliding_window")]
    return LibraryModel(
        config=ModelConfig(
            layers=(LayerConfig(name=name, settings=made),) * len(blocks),
            outputs=vocabulary,
            letters=vocabulary,
            width=width,
            positions="learned" if positions else "none",
            period=around[positions[0]][0] if positions else 2,
            surroundings=Surroundings(
                norm=norm,  # type: ignore[arg-type]
                residual=True,
                feed_forward=known[activation],  # type: ignore[arg-type]
                expansion=roles.hidden / width,
            ),
            final_norm=norm,  # type: ignore[arg-type]
            embedding_norm=norm if len(norms) == 2 else "none",  # type: ignore[arg-type]
            norm_epsilon=settings.number(*_EPSILON, default=1e-5),
            head_bias=False,
        ),
        places=tuple(places),
        optional=tuple(name for name in around if name not in {place.theirs for place in places}),
        longest=min(limits, default=None),
    )


def _split(shapes: Shapes) -> tuple[list[dict[str, tuple[str, tuple[int, ...]]]], dict[str, tuple[int, ...]]]:
    """The weights of each block, by their name in it, with their whole name and shape; and all others."""
    found: dict[int, dict[str, tuple[str, tuple[int, ...]]]] = {}
    around: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():
        match = _IN_BLOCK.match(name)
        if match is None:
            around[name] = shape
        else:
            inside = f"{match['part']}.{match['kind']}"
            found.setdefault(int(match["number"]), {})[inside] = (name, shape)
    blocks = [found[number] for number in sorted(found)]
    layout = [{part: shape for part, (_, shape) in block.items()} for block in blocks]
    if not blocks or sorted(found) != list(range(len(found))) or any(row != layout[0] for row in layout):
        raise InputError("the weights are not those of blocks that are all alike")
    return blocks, around


class _Roles:
    """The role of each weight of a block, the same in all blocks."""

    def __init__(
        self,
        blocks: list[dict[str, tuple[str, tuple[int, ...]]]],
        *,
        heads: int,
        groups: int,
        size: int,
        width: int,
    ) -> None:
        self.heads, self.groups, self.size = heads, groups, size
        shapes = {part: shape for part, (_, shape) in blocks[0].items()}
        parts = {part.removesuffix(".weight"): s for part, s in shapes.items() if part.endswith(".weight")}
        matrices = {part: shape for part, shape in parts.items() if len(shape) == 2}
        self.norms = sorted((part for part, shape in parts.items() if shape == (width,)), key=_late)
        attention = [part for part in matrices if "att" in part.split(".")[0]]
        forward = [part for part in matrices if part not in attention]
        self.read = sorted(part for part in attention if re.match(r"w?(q|k|v|c_attn)", _last(part).lower()))
        write = [part for part in attention if part not in self.read]
        self.down = sorted(forward, key=lambda part: bool(re.search(r"down|c_proj|4h_to|fc2|w2", part)))[-1:]
        self.up = sorted((p for p in forward if p not in self.down), key=lambda part: "gate" not in part)
        if (
            len(self.norms) != 2
            or len(self.read) not in (1, 3)
            or len(write) != 1
            or len(self.up) not in (1, 2)
        ):
            raise InputError(
                f"a block holds {', '.join(sorted(shapes))}; a decoder has two norms, one or three maps into "
                "the heads, one out of them, and a feed-forward part of two or three maps there"
            )
        if len(self.read) == 3:
            # In the order query, key, value.
            self.read.sort(key=lambda part: "qkv".index(_last(part).lower().removeprefix("w")[0]))
        self.write = write[0]
        # Some libraries keep matrices with the inputs first; one that is not square tells.
        told = [matrices[p] for p in (self.read[0], self.up[0]) if matrices[p][0] != matrices[p][1]]
        self.turned = bool(told) and told[-1][0] == width
        self.hidden = matrices[self.up[0]][1 if self.turned else 0]
        self.gated = len(self.up) == 2

    def places(self, block: dict[str, tuple[str, tuple[int, ...]]], ours: str, *, rope: bool) -> list[Place]:
        """Returns where the weights of a block lie."""
        named = dict(block.values())
        prefix = next(whole.removesuffix(part) for part, (whole, _) in block.items())
        maps = {self.write: "layer.write", self.down[0]: "feed_forward.down", self.up[-1]: "feed_forward.up"}
        if self.gated:
            maps[self.up[0]] = "feed_forward.gate"
        found = [
            place
            for part, role in maps.items()
            for place in _named(named, prefix + part, ours + role, turned=self.turned)
        ]
        for part, role in zip(self.norms, ("norm", "second_norm"), strict=True):
            found += _named(named, prefix + part, ours + role)
        count = self.heads * self.size
        for number, rows in enumerate(self._rows()):
            take = _in_pairs(rows, self.size) if rope and number < 2 else rows
            part = self.read[number if len(self.read) == 3 else 0]
            for place in _named(named, prefix + part, f"{ours}layer.read", turned=self.turned):
                found.append(place.rows(take, number * count))
        return found

    def _rows(self) -> tuple[tuple[int, ...], ...]:
        """The rows of the library's maps that give queries, keys and values of each of our heads."""
        size, share = self.size, self.heads // self.groups
        ours = [(head, i) for head in range(self.heads) for i in range(size)]
        if len(self.read) == 1 and "query_key_value" in self.read[0]:
            # The query, key and value of one head lie together.
            return tuple(tuple((3 * head + part) * size + i for head, i in ours) for part in range(3))
        queries = tuple(head * size + i for head, i in ours)
        shared = tuple(head // share * size + i for head, i in ours)
        if len(self.read) == 3:
            return queries, shared, shared
        first, second = self.heads * size, (self.heads + self.groups) * size
        return queries, tuple(first + row for row in shared), tuple(second + row for row in shared)


def _named(shapes: Mapping[str, Any], theirs: str, ours: str, *, turned: bool = False) -> list[Place]:
    """The places of a weight and, if there is one, its bias."""
    return [
        Place(theirs=f"{theirs}.{kind}", ours=f"{ours}.{kind}", turned=turned and kind == "weight")
        for kind in ("weight", "bias")
        if f"{theirs}.{kind}" in shapes
    ]


def _in_pairs(rows: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Rows whose first half is turned with the second, as neighbours."""
    half = size // 2
    order = [place for i in range(half) for place in (i, i + half)]
    return tuple(rows[first + i] for first in range(0, len(rows), size) for i in order)


def _slopes(heads: int, most: float) -> tuple[float, ...]:
    """The slopes of MPT, which falls back on every second one where the heads are no power of two."""
    power = 1 << (heads - 1).bit_length()
    slopes = [2.0 ** (-most * (i + 1) / power) for i in range(power)]
    return tuple(slopes if power == heads else (slopes[1::2] + slopes[::2])[:heads])


def _last(part: str) -> str:
    return part.rpartition(".")[2]


def _late(name: str) -> tuple[bool, str]:
    """Norms in their order: what is called post, or has a later name, is later."""
    return ("emb" not in name and ("post" in name or "ffn" in name)), ("" if "emb" in name else name)
