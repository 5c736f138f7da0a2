"""The named architectures, each pointing to the class that decides what it can express.

The classification of gates follows the published recurrences. Where an architecture can be built with an
extended gate range, that variant is a row of its own with the suffix `-signed`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from nerode.core import InputError, Reference, Registry, add_plugins
from nerode.verdict.classes import (
    ArchitectureClass,
    AttentionWeights,
    Gates,
    MemoryKind,
    Positions,
    State,
    Transition,
    UnitGate,
    WayOfCounting,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A named architecture, or a class of architectures under its own name.

    Attributes:
        name: kebab-case.
        title: as it is written in the literature.
        properties: the class that theorems look at.
        reference: where it was published.
        update: its recurrence in one line.
        is_class: whether the row stands for a whole class (a compile target) rather than one architecture.
        has_layer: whether `models` has a layer of it, so that weights are written and trained.
    """

    name: str
    title: str
    properties: ArchitectureClass
    update: str
    reference: Reference
    is_class: bool = False
    has_layer: bool = True


@functools.cache
def _stack(rows: tuple[Architecture, ...]) -> Architecture:
    """The row of layers of several kinds in turn, decided by the properties of its parts."""
    parts = tuple(dict.fromkeys(part for row in rows for part in row.properties.parts or (row.name,)))
    if len(parts) < 2:
        raise InputError(f"{rows[0].name} alone is no stack of several kinds of layers; name it once")
    kinds = [ARCHITECTURES[part] for part in parts]
    grows = any(row.properties.state is State.CACHE for row in kinds)
    return Architecture(
        name="+".join(parts),
        title=" and ".join(row.title for row in kinds),
        properties=ArchitectureClass(
            recurrence=MemoryKind.HYBRID, parts=parts, state=State.CACHE if grows else State.LINEAR
        ),
        update=f"layers of {' and '.join(parts)} in turn",
        reference=kinds[0].reference,
        has_layer=False,
    )


ARCHITECTURES: Registry[Architecture] = Registry(
    "architecture", hint="`nerode list architectures` lists them.", compose=_stack
)


_WITHOUT_LAYER = {"aussm", "complex-kda", "mamba-3", "rwkv-7-signed", "s4d-mamba", "slice"}


def _row(
    name: str, title: str, properties: ArchitectureClass, update: str, key: str, *, is_class: bool = False
) -> None:
    row = Architecture(
        name=name,
        title=title,
        properties=properties,
        update=update,
        reference=Reference(key),
        is_class=is_class,
        has_layer=name not in _WITHOUT_LAYER,
    )
    ARCHITECTURES.add(name, row)


_DIAGONAL, _HOUSEHOLDER, _DENSE = Transition.DIAGONAL, Transition.HOUSEHOLDER, Transition.DENSE
_LIMIT = UnitGate.LIMIT
_DELTA = "H = (I - β k kᵀ) H + β k vᵀ"
_GATED_DELTA = "H = α (I - β k kᵀ) H + β k vᵀ"
_DELTAS = "H = ∏(I - β k kᵀ) H + β k vᵀ"

_linear = functools.partial(ArchitectureClass, recurrence=MemoryKind.LINEAR)
_nonlinear = functools.partial(
    ArchitectureClass, recurrence=MemoryKind.NONLINEAR, transition=_DENSE, gates=Gates.FREE
)
_attention = functools.partial(
    ArchitectureClass,
    recurrence=MemoryKind.ATTENTION,
    counting=WayOfCounting.NONE,
    state=State.CACHE,
    attention=AttentionWeights.SOFTMAX,
)
_alternating = functools.partial(ArchitectureClass, recurrence=MemoryKind.HYBRID)

_row(
    "diagonal",
    "diagonal, gates in [0,1]",
    _linear(transition=_DIAGONAL, gates=Gates.NONNEGATIVE),
    "h = A(x) ∘ h + B(x), 0 ≤ A ≤ 1",
    "Sarrof2024",
    is_class=True,
)
_row(
    "diagonal-signed",
    "diagonal, gates in [-1,1]",
    _linear(transition=_DIAGONAL, gates=Gates.SIGNED),
    "h = A(x) ∘ h + B(x), -1 ≤ A ≤ 1",
    "Grazzi2025",
    is_class=True,
)
_row(
    "diagonal-complex",
    "diagonal, gates in the unit disk",
    _linear(transition=_DIAGONAL, gates=Gates.COMPLEX),
    "h = A(x) ∘ h + B(x), |A| ≤ 1",
    "Shakerinava2026",
    is_class=True,
)
_reflections = functools.partial(_linear, transition=_HOUSEHOLDER, free_write=False)
_row(
    "householder",
    "products of Householder reflections",
    _reflections(gates=Gates.SIGNED, counting=WayOfCounting.REFLECTIONS, gate_scalar=True),
    "H = ∏(I - β k kᵀ) H + …, β in [0,2]",
    "Grazzi2025",
    is_class=True,
)
_row(
    "permutation-diagonal",
    "permutation times diagonal",
    _linear(transition=Transition.PERMUTATION_DIAGONAL, gates=Gates.COMPLEX),
    "h = P(x) D(x) h + B(x)",
    "Terzic2025PdSsm",
    is_class=True,
)
_dense = _linear(transition=_DENSE, gates=Gates.FREE)
_row("dense", "dense linear", _dense, "h = A(x) h + B(x)", "Merrill2024", is_class=True)

_row(
    "elman-tanh",
    "Elman RNN (tanh)",
    _nonlinear(state=State.SQUASHED, counting=WayOfCounting.BOUNDED),
    "h = tanh(U h + W x + b)",
    "Elman1990",
)
_row("elman-relu", "Elman RNN (ReLU)", _nonlinear(state=State.RELU), "h = relu(U h + W x + b)", "Elman1990")
_row(
    "lstm",
    "LSTM",
    _nonlinear(state=State.CELL, gates=Gates.NONNEGATIVE, counting=WayOfCounting.CELL, unit_gate=_LIMIT),
    "c = f ∘ c + i ∘ z, h = o ∘ tanh(c)",
    "HochreiterSchmidhuber1997",
)
_row(
    "gru",
    "GRU",
    _nonlinear(state=State.SQUASHED, counting=WayOfCounting.BOUNDED, unit_gate=_LIMIT),
    "h = (1-z) ∘ h + z ∘ tanh(…)",
    "Cho2014",
)
_row(
    "nru",
    "NRU",
    _nonlinear(state=State.ADDITIVE, counting=WayOfCounting.MEMORY),
    "h = relu(…, m), m = m + write - erase",
    "Chandar2019",
)
_row(
    "slstm",
    "sLSTM",
    _nonlinear(state=State.NORMALISED, counting=WayOfCounting.NONE, unit_gate=_LIMIT),
    "c = f c + i z, n = f n + i, h = o ∘ c/n, gates read h",
    "Beck2024",
)

_row(
    "transformer",
    "Transformer (positions)",
    _attention(positions=Positions.ROTARY),
    "causal attention with position encodings",
    "Vaswani2017",
)
_row(
    "transformer-nope",
    "Transformer (no positions)",
    _attention(),
    "causal attention without position encodings",
    "Vaswani2017",
)
_row(
    "transformer-alibi",
    "Transformer (distance penalty)",
    _attention(positions=Positions.PENALTY, free_slopes=True),
    "causal attention, scores fall with the distance, slopes free",
    "Press2022",
)
_row(
    "transformer-periodic",
    "Transformer (periodic positions)",
    _attention(positions=Positions.PERIODIC_AND_PENALTY, free_slopes=True),
    "causal attention with periodic position vectors and a distance penalty",
    "Press2022",
)
_row(
    "transformer-hard",
    "hard attention, latest match",
    _attention(attention=AttentionWeights.HARD_RIGHT, strict_mask=True),
    "the value at the latest earlier position of greatest score",
    "YangChiangAngluin2024",
    is_class=True,
)
_row(
    "transformer-hard-left",
    "hard attention, earliest match",
    _attention(attention=AttentionWeights.HARD_LEFT, strict_mask=True),
    "the value at the earliest position of greatest score",
    "YangChiangAngluin2024",
    is_class=True,
)
_row(
    "transformer-hard-periodic",
    "hard attention, latest match, periodic positions",
    _attention(attention=AttentionWeights.HARD_RIGHT, positions=Positions.PERIODIC, strict_mask=True),
    "as transformer-hard, with the position modulo m",
    "YangChiangAngluin2024",
    is_class=True,
)

_fixed = functools.partial(_linear, input_dependent=False)
_row(
    "ssm",
    "SSM of the n-gram paper",
    _fixed(transition=_DENSE, gates=Gates.FREE),
    "h = A h + B x, y = C relu(h + b)",
    "Nandakumar2024",
)
_fixed_turns = _fixed(transition=_DIAGONAL, gates=Gates.COMPLEX, unit_gate=_LIMIT)
_row("s4", "S4", _fixed_turns, "diagonal plus low rank, fixed", "GuGoelRe2022")
_row("s4d", "S4D", _fixed_turns, "h = λ ∘ h + B x, λ complex, fixed", "GuGuptaGoelRe2022")
_row("h3", "H3", _fixed_turns, "shift and diagonal SSMs with products", "Fu2023")
_row("lru", "LRU", _fixed_turns, "h = λ ∘ h + γ ∘ B x, λ complex, fixed", "Orvieto2023")
_row("megalodon", "Megalodon (CEMA)", _fixed_turns, "complex exponential moving average", "Ma2024")
_row(
    "lssl",
    "LSSL",
    _fixed(transition=_DENSE, gates=Gates.FREE, unit_gate=_LIMIT),
    "h = A h + B x, dense, fixed",
    "Gu2021",
)
_row(
    "retnet",
    "RetNet",
    replace(_fixed_turns, counting=WayOfCounting.BOUNDED, unit_gate=UnitGate.NEVER),
    "S = γ e^{iθ} S + kᵀ v, γ fixed below 1",
    "SunRetNet2023",
)
_row(
    "rwkv-4",
    "RWKV-4",
    replace(_fixed_turns, gates=Gates.NONNEGATIVE, counting=WayOfCounting.NONE, state=State.NORMALISED),
    "a = e^{-w} a + e^k v, b = e^{-w} b + e^k, o = a/b",
    "Peng2023Rwkv4",
)

_free = _linear(transition=_DIAGONAL, gates=Gates.NONNEGATIVE, unit_gate=_LIMIT)
_slow = replace(_free, free_write=False, counting=WayOfCounting.SLOW_DECAY)
_tied = replace(_free, free_write=False, counting=WayOfCounting.TIED)
_row("mamba", "Mamba", _slow, "h = exp(-Δ e^a) ∘ h + Δ B x", "GuDao2023")
_row("mamba-2", "Mamba-2", _slow, "one scalar gate per head, exp(-Δ e^a), write Δ B x", "DaoGu2024")
_row("griffin", "Griffin (RG-LRU)", _tied, "h = a ∘ h + sqrt(1-a²) ∘ (i ∘ x)", "De2024")
_row("hgrn2", "HGRN2", _tied, "h = g ∘ h + (1-g) ∘ i", "Qin2024")
_row("mingru", "minGRU", _tied, "h = (1-z) ∘ h + z ∘ c", "Feng2024")
_row("gla", "GLA", _free, "S = (αᵀ 1) ∘ S + kᵀ v", "Yang2024Gla")
_row(
    "mlstm",
    "mLSTM",
    replace(_free, counting=WayOfCounting.NORMALISER, state=State.NORMALISED),
    "C = f C + i v kᵀ, h = C q / max(|n·q|, 1)",
    "Beck2024",
)
_row("rwkv-6", "RWKV-6", _free, "S = diag(w) S + kᵀ v, w input-dependent", "Peng2024Rwkv6")
_row(
    "mamba-signed",
    "Mamba, gates in [-1,1]",
    replace(_slow, gates=Gates.SIGNED),
    "gate s replaced by 2s - 1",
    "Grazzi2025",
)
_row(
    "mamba-3",
    "Mamba-3",
    replace(_slow, gates=Gates.COMPLEX),
    "h = exp(-Δ e^a + iθ(x)) ∘ h + writes of this token and the one before",
    "Lahoti2026Mamba3",
)
_row(
    "complex-diagonal",
    "complex diagonal, input-dependent",
    _linear(transition=_DIAGONAL, gates=Gates.COMPLEX),
    "h = r(x) e^{iθ(x)} ∘ h + B(x), 0 ≤ r ≤ 1",
    "Shakerinava2026",
)
_row(
    "aussm",
    "AUSSM",
    _linear(transition=_DIAGONAL, gates=Gates.UNIT),
    "h = e^{iθ(x)} ∘ h + B(x)",
    "Karuvally2025Aussm",
)

_contraction = _reflections(
    gates=Gates.NONNEGATIVE, counting=WayOfCounting.TIED, unit_gate=_LIMIT, max_factors=1
)
_reflection = replace(_contraction, gates=Gates.SIGNED, counting=WayOfCounting.REFLECTIONS)
_row("deltanet", "DeltaNet", _contraction, _DELTA, "YangDeltaNet2024")
_row("deltanet-signed", "DeltaNet, β in [0,2]", _reflection, _DELTA, "Grazzi2025")
_row(
    "gated-deltanet",
    "Gated DeltaNet",
    replace(_contraction, gate_scalar=True),
    _GATED_DELTA,
    "YangGatedDeltaNet2025",
)
_row(
    "gated-deltanet-signed",
    "Gated DeltaNet, β in [0,2]",
    replace(_reflection, gate_scalar=True),
    _GATED_DELTA,
    "Grazzi2025",
)
_row(
    "deltaproduct",
    "DeltaProduct, β in [0,1]",
    replace(_contraction, max_factors=None),
    _DELTAS,
    "Siems2025",
)
_row(
    "deltaproduct-signed",
    "DeltaProduct, β in [0,2]",
    replace(_reflection, max_factors=None),
    _DELTAS,
    "Siems2025",
)
_row(
    "complex-kda",
    "Complex KDA",
    replace(_reflection, gate_scalar=True),
    "H = (I - β k kᵀ) diag(a) H + β k vᵀ, a in [-1,1], β in [0,2]",
    "Siems2026ComplexKda",
)
_row(
    "ttt-linear",
    "TTT-Linear (no inner norm, one token per step)",
    replace(_reflection, gates=Gates.AT_MOST_ONE),
    "W = W - η k (kᵀ W - vᵀ), |k| free",
    "SunTtt2024",
)
_row(
    "rwkv-7",
    "RWKV-7",
    _linear(transition=_HOUSEHOLDER, gates=Gates.ABOVE_MINUS_HALF, unit_gate=_LIMIT, max_factors=1),
    "S = S (diag(w) - κᵀ(a ∘ κ)) + vᵀ k, w in (0.545, 1), a in (0, 1)",
    "Peng2025Rwkv7",
)
_row(
    "rwkv-7-signed",
    "RWKV-7, removal doubled",
    _linear(transition=_HOUSEHOLDER, gates=Gates.AT_MOST_ONE, unit_gate=_LIMIT, max_factors=1),
    "S = S (diag(w) - κᵀ(a ∘ κ)) + vᵀ k, w in (0.545, 1), a in (0, 2): gates from -1.455 on",
    "Peng2025Rwkv7",
)
_row(
    "pd-ssm",
    "PD-SSM",
    _linear(transition=Transition.PERMUTATION_DIAGONAL, gates=Gates.COMPLEX, unit_gate=_LIMIT),
    "x = P(u) D(u) x + B u, P column-one-hot",
    "Terzic2025PdSsm",
)
_row(
    "orthogonal",
    "blocks of rotations",
    _linear(transition=_DENSE, gates=Gates.UNIT),
    "H = R(x) H + B x, R(x) in SO(n)",
    "Merrill2024",
)
_row("ids4", "IDS4", _dense, "h = A(x) h + B x, dense", "Merrill2024")
_row(
    "slice",
    "SLiCE (dense blocks)",
    _dense,
    "h = h + A(x) h + B x, A block-diagonal with dense blocks",
    "Walker2025Slice",
)

_row(
    "s4d-mamba",
    "S4D and Mamba layers",
    _alternating(parts=("s4d", "mamba")),
    "time-invariant and selective diagonal layers in turn",
    "Khavari2025",
)
_row(
    "diagonal-attention",
    "diagonal layers, gates in [0,1], and attention",
    _alternating(state=State.CACHE, parts=("diagonal", "transformer-nope")),
    "diagonal recurrences and softmax attention in turn",
    "Lieber2024",
    is_class=True,
)
_row(
    "mamba-attention-periodic",
    "Mamba and attention layers, periodic positions",
    _alternating(state=State.CACHE, parts=("mamba", "transformer-periodic")),
    "selective SSM and attention layers in turn, position vectors that repeat",
    "Lieber2024",
)
_row(
    "mamba-attention",
    "Mamba and attention layers",
    _alternating(state=State.CACHE, parts=("mamba", "transformer-nope")),
    "selective SSM and attention layers in turn",
    "Lieber2024",
)

add_plugins("architectures", ARCHITECTURES, Architecture)

ALIASES = {
    "elman": "elman-tanh",
    "rnn": "elman-tanh",
    "transformer-positions": "transformer",
    "transformer-rope": "transformer",
    "hawk": "griffin",
    "delta-product": "deltaproduct",
    "hybrid": "mamba-attention",
    "kda": "complex-kda",
    "ttt": "ttt-linear",
    "min-gru": "mingru",
}
"""Other names under which people look for a row."""


def find_architecture(name: str) -> Architecture:
    """Returns the row of a name or alias, or of a stack of several: "gated-deltanet+transformer-nope".

    Raises:
        UnknownName: with the nearest name; InputError for a stack of one kind.
    """
    parts = [part.strip().lower() for part in name.split("+")]
    return ARCHITECTURES["+".join(ALIASES.get(part, part) for part in parts)]
