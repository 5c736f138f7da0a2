"""Peers: layers of other libraries that compute what a layer of the zoo computes, and their weights.

A peer may keep a weight in another shape, transposed, as one of several rows, or less a constant. A `Match`
says so once, and both directions follow from it: copying our weights, and comparing gradients. A library is
imported only when its layer is built, so that the table `PEERS` can be read without any of them.

No machine of this project has a CUDA device: peers that need one are written, not measured. What mamba-ssm
calls its weights was read in its source (`modules/mamba_simple.py`), and the axes of fla's operations in
theirs (`ops/gla/chunk.py`, `ops/delta_rule`).
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, normalize

from nerode.core import InputError
from nerode.models.architectures.griffin import Griffin, GriffinSettings
from nerode.models.architectures.gru import Gru, GruSettings
from nerode.models.architectures.lstm import Lstm, LstmSettings
from nerode.models.architectures.mamba import Mamba, MambaSettings
from nerode.models.architectures.mamba2 import Mamba2, Mamba2Settings
from nerode.models.architectures.mlstm import MLstmBlock, MLstmLarge, MLstmSettings
from nerode.models.architectures.rwkv4 import Rwkv4, Rwkv4Settings
from nerode.models.architectures.slstm import Slstm, SlstmSettings
from nerode.models.base import SequenceLayer
from nerode.models.kernels.matrix_scan import decay_scan_reference, delta_scan_reference
from nerode.models.libraries.places import (
    MAMBA,
    MAMBA_2,
    MLSTM_BLOCK,
    MLSTM_LARGE,
    RWKV_4,
    SLSTM_BLOCK,
    SLSTM_CELL,
    Place,
    griffin,
    torch_cell,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A weight of ours, and the weight of a peer that means the same.

    Attributes:
        name: what the weight is called here.
        ours: our weight.
        theirs: the weight of the peer.
        part: the row of ours that theirs is; None for all of it.
        turned: whether the last two axes of theirs are those of ours in the other order.
        shift: what theirs has more than ours; a norm may keep its weight less 1.
    """

    name: str
    ours: Tensor
    theirs: Tensor
    part: int | None = None
    turned: bool = False
    shift: float = 0.0

    def __post_init__(self) -> None:
        if self.lay_out(self.ours.detach()).numel() != self.theirs.numel():
            raise InputError(
                f"the weight {self.name} has the shape {tuple(self.ours.shape)}, the peer's "
                f"{tuple(self.theirs.shape)}; the two need as many numbers"
            )

    def lay_out(self, tensor: Tensor) -> Tensor:
        """Returns a tensor of the shape of ours (the weight, its gradient) in the layout of theirs."""
        taken = tensor if self.part is None else tensor[self.part]
        return (taken.transpose(-1, -2) if self.turned else taken).flatten()


def match_weights(
    ours: nn.Module, theirs: nn.Module, names: Mapping[str, str] | None = None
) -> tuple[Match, ...]:
    """Returns the pairs of all weights of two modules.

    Args:
        ours: our layer.
        theirs: the peer's.
        names: for each weight of the peer that is called otherwise here, its name here.

    Raises:
        InputError: if a weight is left over on one side, or two of a pair differ in size.
    """
    names = names or {}
    mine, other = dict(ours.named_parameters()), dict(theirs.named_parameters())
    meant = {name: names.get(name, name) for name in other}
    alone = (
        sorted(set(mine) - set(meant.values())),
        sorted(n for n, here in meant.items() if here not in mine),
    )
    if any(alone) or not set(names) <= set(other):
        wrong = sorted(set(names) - set(other))
        raise InputError(
            "weights without a partner: "
            + "; ".join(
                f"{whose} {', '.join(left)}"
                for whose, left in (
                    ("ours", alone[0]),
                    ("the peer's", alone[1]),
                    ("no weight of the peer", wrong),
                )
                if left
            )
            + ". Give `names`: for each weight of the peer its name in our layer"
        )
    return tuple(Match(name=here, ours=mine[here], theirs=other[name]) for name, here in meant.items())


def match_places(ours: nn.Module, theirs: nn.Module, places: Sequence[Place]) -> tuple[Match, ...]:
    """Returns the pairs of all weights of two modules, by the map that imports and exports go by.

    Raises:
        InputError: if a weight is left over on one side, or two of a pair differ in size.
    """
    mine, other = dict(ours.named_parameters()), dict(theirs.named_parameters())
    alone = set(mine) ^ {p.ours for p in places} | set(other) ^ {p.theirs for p in places}
    if alone:
        raise InputError(f"weights without a partner: {', '.join(sorted(alone))}")
    return tuple(
        Match(
            name=place.ours,
            ours=mine[place.ours],
            theirs=other[place.theirs],
            part=place.row,
            turned=place.turned,
            shift=place.shift,
        )
        for place in places
    )


@torch.no_grad()
def give_weights(matches: Iterable[Match]) -> None:
    """Gives the peer our weights."""
    for match in matches:
        match.theirs.copy_(match.lay_out(match.ours).view_as(match.theirs) + match.shift)


@torch.no_grad()
def shake(module: nn.Module, generator: torch.Generator, *, by: float) -> None:
    """Adds noise to every weight, so that maps that start at zero do something, too."""
    for weight in module.parameters():
        weight.add_(torch.randn(weight.shape, generator=generator).to(weight), alpha=by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Our layer and a peer's, with the same weights.

    Attributes:
        ours: gives our outputs (batch, time, …), alone or as the first of several things.
        theirs: the same for the peer.
        matches: the pairs of weights.
        inputs: number of features that both read.
        device: where the weights of both are.
    """

    ours: Callable[[Tensor], Any]
    theirs: Callable[[Tensor], Any]
    matches: Sequence[Match]
    inputs: int
    device: str = "cpu"


class PairBuilder(Protocol):
    """A function that builds a pair of layers; it draws from torch's generator."""

    def __call__(self, *, dtype: torch.dtype, length: int) -> Pair:
        """Returns the pair, its weights of this type, for sequences up to this length."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A layer of another library.

    Attributes:
        name: kebab-case.
        library: the name under which pip knows the library.
        module: the name under which Python does.
        layer: what is compared: the class or function of the library.
        ours: the architecture of the zoo that it is compared with.
        build: builds both.
        cuda: whether the library needs a CUDA device.
        note: what one has to know to read the result.
    """

    name: str
    library: str
    module: str
    layer: str
    ours: str
    build: PairBuilder
    cuda: bool = False
    note: str = ""

    @property
    def version(self) -> str | None:
        """The installed version of the library, None if there is none."""
        try:
            return importlib.metadata.version(self.library)
        except importlib.metadata.PackageNotFoundError:
            return None

    def obstacle(self) -> str | None:
        """Returns why this peer cannot be run here and what to do, None if it can."""
        if self.cuda and not torch.cuda.is_available():
            return f"{self.library} needs a CUDA device, and torch finds none on this machine"
        if importlib.util.find_spec(self.module) is None:
            return f"{self.library} is not installed; `pip install {self.library}` installs it"
        return None

    def pair(self, *, dtype: torch.dtype = torch.float32, length: int = 64, seed: int = 0) -> Pair:
        """Returns our layer and the peer's with the same weights, drawn from the seed.

        Raises:
            InputError: if the library or the device that it needs is missing.
        """
        obstacle = self.obstacle()
        if obstacle is not None:
            raise InputError(f"the peer {self.name} cannot be run: {obstacle}")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.build(dtype=dtype, length=length)


def pair_layers(
    ours: SequenceLayer,
    theirs: nn.Module,
    places: Sequence[Place],
    dtype: torch.dtype,
    *,
    by: float = 0.1,
    device: str = "cpu",
) -> Pair:
    """Returns our layer beside a library's, which gets our weights after they were shaken by so much."""
    shake(ours, torch.default_generator, by=by)
    ours, theirs = ours.to(device, dtype), theirs.to(device, dtype)
    matches = match_places(ours, theirs, places)
    give_weights(matches)
    return Pair(ours=ours, theirs=theirs, matches=matches, inputs=ours.inputs, device=device)


WIDTH, STATES = 20, 5


def pair_mamba(theirs: nn.Module, dtype: torch.dtype, device: str = "cpu") -> Pair:
    """Returns our Mamba beside a library's block of the same size."""
    return pair_layers(Mamba(WIDTH, MambaSettings(states=STATES)), theirs, MAMBA, dtype, device=device)


def pair_block(*, dtype: torch.dtype, length: int, parallel: bool) -> Pair:
    """Returns our Mamba and mambapy's block, which scans in parallel or step by step."""
    from mambapy import mamba

    config = mamba.MambaConfig(d_model=WIDTH, n_layers=1, d_state=STATES, pscan=parallel)
    block: Any = mamba.MambaBlock(config)
    return pair_mamba(block, dtype)


INPUTS, HIDDEN = 5, 7
_CELL = torch_cell("_l0", bias=True)


def pair_lstm(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our LSTM and torch's."""
    ours = Lstm(INPUTS, LstmSettings(hidden=HIDDEN, recurrent_bias=True))
    return pair_layers(ours, nn.LSTM(INPUTS, HIDDEN, batch_first=True), _CELL, dtype, by=0.0)


def pair_gru(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our GRU and torch's."""
    ours = Gru(INPUTS, GruSettings(hidden=HIDDEN))
    return pair_layers(ours, nn.GRU(INPUTS, HIDDEN, batch_first=True), _CELL, dtype, by=0.0)


WIDE, HEADS = 32, 4
"""Sizes of the layer of xLSTM-7B; half as many keys as values, as published."""


def pair_large_mlstm(theirs: nn.Module, dtype: torch.dtype) -> Pair:
    """Returns our large mLSTM beside a library's."""
    ours = MLstmLarge(WIDE, MLstmSettings(form="large", heads=HEADS, norm_epsilon=1e-6))
    return pair_layers(ours, theirs, MLSTM_LARGE, dtype)


def pair_mamba_mixer(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our Mamba and transformers', on its path without special kernels."""
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    config = MambaConfig(hidden_size=WIDTH, state_size=STATES, num_hidden_layers=1, use_mambapy=False)
    return pair_mamba(MambaMixer(config, layer_idx=0), dtype)


def pair_mamba_2(*, dtype: torch.dtype, length: int, groups: int = 1) -> Pair:
    """Returns our Mamba-2 and transformers', on its path without special kernels.

    Args:
        dtype: of the weights.
        length: not used.
        groups: groups of heads that share B and C, and that the authors' norm runs over.
    """
    from transformers import Mamba2Config
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    config = Mamba2Config(
        hidden_size=8,
        state_size=6,
        num_heads=4,
        head_dim=4,
        n_groups=groups,
        chunk_size=8,
        num_hidden_layers=1,
        layer_norm_epsilon=1e-5,
    )
    ours = Mamba2(8, Mamba2Settings(states=6, head_size=4, groups=groups))
    return pair_layers(ours, Mamba2Mixer(config, layer_idx=0), MAMBA_2, dtype)


def pair_recurrent_gemma(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our recurrent block of Griffin and transformers'."""
    from transformers import RecurrentGemmaConfig
    from transformers.models.recurrent_gemma.modeling_recurrent_gemma import RecurrentGemmaRecurrentBlock

    config = RecurrentGemmaConfig(hidden_size=8, lru_width=12, num_attention_heads=3, num_hidden_layers=1)
    ours = Griffin(8, GriffinSettings(channels=12, blocks=3))
    theirs: Any = RecurrentGemmaRecurrentBlock(config, layer_idx=0)
    pair = pair_layers(ours, theirs, griffin(3), dtype)

    def run(x: Tensor) -> Tensor:
        # At a position 0 the peer leaves out the square root.
        positions = 1 + torch.arange(x.shape[1]).expand(x.shape[:2])
        outputs: Tensor = theirs(x, positions, None, use_cache=False)[0]
        return outputs

    return replace(pair, theirs=run)


def pair_rwkv(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our time mixing of RWKV-4 and transformers'."""
    from transformers import RwkvConfig
    from transformers.models.rwkv.modeling_rwkv import RwkvSelfAttention

    config = RwkvConfig(hidden_size=8, attention_hidden_size=12, intermediate_size=20, num_hidden_layers=3)
    ours = Rwkv4(8, Rwkv4Settings(width=12))
    return pair_layers(ours, RwkvSelfAttention(config, layer_id=1), RWKV_4, dtype, by=0.3)


def pair_xlstm(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns the mLSTM of xLSTM-7B around our scan, and transformers'."""
    from transformers import xLSTMConfig
    from transformers.models.xlstm.modeling_xlstm import xLSTMBlock

    config = xLSTMConfig(hidden_size=WIDE, num_heads=HEADS, num_hidden_layers=1)
    return pair_large_mlstm(xLSTMBlock(config.to_xlstm_block_config()).mlstm_layer, dtype)


def pair_mlstm(*, dtype: torch.dtype, length: int, epsilon: float | None = None) -> Pair:
    """Returns our mLSTM block and the package's.

    Args:
        dtype: of the weights.
        length: the longest sequence, which the package's mask has to be made for.
        epsilon: what is added to the denominator of h on both sides; None for the package's 1e-6.
    """
    from xlstm.blocks.mlstm.backends import parallel_stabilized_simple
    from xlstm.blocks.mlstm.layer import mLSTMLayer, mLSTMLayerConfig

    theirs: Any = mLSTMLayer(mLSTMLayerConfig(embedding_dim=32, num_heads=4, context_length=length))
    settings = MLstmSettings() if epsilon is None else MLstmSettings(epsilon=epsilon)
    if epsilon is not None:
        theirs.mlstm_cell.backend_fn = functools.partial(parallel_stabilized_simple, eps=epsilon)
    return pair_layers(MLstmBlock(32, settings), theirs, MLSTM_BLOCK, dtype, by=0.05)


def pair_slstm(*, dtype: torch.dtype, length: int, convolution: int = 4) -> Pair:
    """Returns our sLSTM with the parts of its block around it, and the package's on its backend in torch."""
    from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig

    width, heads = 12, 3
    config = sLSTMLayerConfig(
        embedding_dim=width,
        num_heads=heads,
        conv1d_kernel_size=convolution,
        backend="vanilla",
        dtype="float32",
    )
    theirs: Any = sLSTMLayer(config)
    settings = SlstmSettings(heads=heads, headwise=True, convolution=convolution, group_norm=True)
    return pair_layers(Slstm(width, settings), theirs, SLSTM_BLOCK if convolution else SLSTM_CELL, dtype)


SCAN_HEADS, SCAN_SIZE = 2, 16


class Operation(nn.Module):
    """A function without weights, as a module, which a comparison can also run in float64."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        """Returns what the function returns."""
        return self.function(x)


def pair_mamba_ssm(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns our Mamba and that of its authors, with their kernels."""
    from mamba_ssm import Mamba

    return pair_mamba(Mamba(d_model=WIDTH, d_state=STATES), dtype, "cuda")


def pair_gla(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns the decaying matrix state by our loop and by fla's chunks; x holds q, k, v and gate logits."""
    from fla.ops.gla import chunk_gla

    def ours(x: Tensor) -> Tensor:
        q, k, v, logits = _heads(x)
        start = x.new_zeros(len(x), SCAN_HEADS, SCAN_SIZE, SCAN_SIZE)
        gates = logsigmoid(logits).exp()
        return decay_scan_reference(q * SCAN_SIZE**-0.5, k, v, gates, start)[0]

    def theirs(x: Tensor) -> Tensor:
        q, k, v, logits = _heads(x)
        outputs: Tensor = chunk_gla(q, k, v, logsigmoid(logits))[0]
        return outputs

    return Pair(
        ours=Operation(ours), theirs=theirs, matches=(), inputs=4 * SCAN_HEADS * SCAN_SIZE, device="cuda"
    )


def pair_delta_rule(*, dtype: torch.dtype, length: int) -> Pair:
    """Returns the delta rule by our loop and by fla; x holds q, k, v and the logits of β.

    fla's chunks refuse float32, so its fused recurrence is taken there.
    """
    from fla.ops.delta_rule import chunk_delta_rule, fused_recurrent_delta_rule

    operation = fused_recurrent_delta_rule if dtype in (torch.float32, torch.float64) else chunk_delta_rule

    def ours(x: Tensor) -> Tensor:
        q, k, v, beta = _rule(x)
        start = x.new_zeros(len(x), SCAN_HEADS, SCAN_SIZE, SCAN_SIZE)
        k, v, beta = (part[:, :, None] for part in (k, v, beta))
        return delta_scan_reference(q * SCAN_SIZE**-0.5, k, v, beta, None, start)[0]

    def theirs(x: Tensor) -> Tensor:
        outputs: Tensor = operation(*_rule(x))[0]
        return outputs

    return Pair(
        ours=Operation(ours), theirs=theirs, matches=(), inputs=4 * SCAN_HEADS * SCAN_SIZE, device="cuda"
    )


def _rule(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """q, unit keys, v, and one β per head."""
    q, k, v, logits = _heads(x)
    return q, normalize(k, dim=-1), v, torch.sigmoid(logits[..., 0])


def _heads(x: Tensor) -> tuple[Tensor, ...]:
    return x.reshape(*x.shape[:2], 4, SCAN_HEADS, SCAN_SIZE).unbind(2)


def _row(
    name: str,
    library: str,
    layer: str,
    ours: str,
    build: PairBuilder,
    *,
    module: str = "",
    cuda: bool = False,
    note: str = "",
) -> Peer:
    return Peer(
        name=name,
        library=library,
        module=module or library,
        layer=layer,
        ours=ours,
        build=build,
        cuda=cuda,
        note=note,
    )


_gpu_row = functools.partial(_row, cuda=True, note="never run by the authors, who have no CUDA device")

PEERS = (
    _gpu_row("mamba-ssm", "mamba-ssm", "mamba_ssm.Mamba", "mamba", pair_mamba_ssm, module="mamba_ssm"),
    _gpu_row("fla-gla", "flash-linear-attention", "fla.ops.gla.chunk_gla", "gla", pair_gla, module="fla"),
    _gpu_row(
        "fla-delta-rule",
        "flash-linear-attention",
        "fla.ops.delta_rule: chunks in 16 bits, fused recurrence in 32",
        "deltanet",
        pair_delta_rule,
        module="fla",
    ),
    _row(
        "mambapy",
        "mambapy",
        "mambapy.mamba.MambaBlock, parallel scan",
        "mamba",
        functools.partial(pair_block, parallel=True),
    ),
    _row(
        "mambapy-sequential",
        "mambapy",
        "mambapy.mamba.MambaBlock, loop",
        "mamba",
        functools.partial(pair_block, parallel=False),
    ),
    _row("torch-lstm", "torch", "torch.nn.LSTM", "lstm", pair_lstm),
    _row("torch-gru", "torch", "torch.nn.GRU", "gru", pair_gru),
    _row("transformers-mamba", "transformers", "MambaMixer, slow path", "mamba", pair_mamba_mixer),
    _row(
        "transformers-mamba-2",
        "transformers",
        "Mamba2Mixer, torch path in chunks of 8",
        "mamba-2",
        pair_mamba_2,
    ),
    _row(
        "transformers-mamba-2-groups",
        "transformers",
        "Mamba2Mixer with 2 groups, torch path in chunks of 8",
        "mamba-2",
        functools.partial(pair_mamba_2, groups=2),
        note="the library's norm runs over all channels, the authors' over those of a group (docs/peers.md)",
    ),
    _row("transformers-rwkv", "transformers", "RwkvSelfAttention, CPU path", "rwkv-4", pair_rwkv),
    _row(
        "transformers-recurrent-gemma",
        "transformers",
        "RecurrentGemmaRecurrentBlock",
        "griffin",
        pair_recurrent_gemma,
        note="positions count from 1: at a position 0 the library leaves out the square root",
    ),
    _row(
        "transformers-xlstm",
        "transformers",
        "mLSTM layer of xLSTMBlock in its default mode",
        "mlstm",
        pair_xlstm,
        note="the layer of xLSTM-7B; transformers takes that of xlstm where it is installed",
    ),
    _row(
        "xlstm-mlstm",
        "xlstm",
        "mLSTMLayer, parallel form",
        "mlstm",
        pair_mlstm,
        note="the parallel form adds 1e-6 to a denominator that it scales otherwise than the recurrent one "
        "does",
    ),
    _row(
        "xlstm-slstm",
        "xlstm",
        "sLSTMLayer, vanilla backend",
        "slstm-block",
        pair_slstm,
        note="the cuda backend is not compared",
    ),
)
"""The peers of all libraries."""
