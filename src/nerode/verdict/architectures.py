"""The named architectures, each pointing to the class that decides what it can express.

The classification of gates follows the published recurrences. Where an architecture can be built with an
extended gate range, that variant is a row of its own with the suffix `-signed`.
"""

from __future__ import annotations

from dataclasses import dataclass

from nerode.core import Reference, Registry, add_plugins
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
    """

    name: str
    title: str
    properties: ArchitectureClass
    update: str
    reference: Reference
    is_class: bool = False


ARCHITECTURES: Registry[Architecture] = Registry("architecture", hint="`nerode architectures` lists them.")


def _row(name: str, title: str, properties: ArchitectureClass, update: str, key: str) -> None:
    ARCHITECTURES.add(
        name,
        Architecture(name=name, title=title, properties=properties, update=update, reference=Reference(key)),
    )


def _class(name: str, title: str, properties: ArchitectureClass, update: str, key: str) -> None:
    ARCHITECTURES.add(
        name,
        Architecture(
            name=name,
            title=title,
            properties=properties,
            update=update,
            reference=Reference(key),
            is_class=True,
        ),
    )


def _linear(
    transition: Transition,
    gates: Gates,
    *,
    input_dependent: bool = True,
    free_write: bool = True,
    counting: WayOfCounting = WayOfCounting.FREE,
    unit_gate: UnitGate = UnitGate.EXACT,
    state: State = State.LINEAR,
    max_factors: int | None = None,
    gate_scalar: bool = False,
) -> ArchitectureClass:
    return ArchitectureClass(
        recurrence=MemoryKind.LINEAR,
        transition=transition,
        gates=gates,
        input_dependent=input_dependent,
        free_write=free_write,
        counting=counting,
        unit_gate=unit_gate,
        state=state,
        max_factors=max_factors,
        gate_scalar=gate_scalar,
    )


def _nonlinear(
    state: State, counting: WayOfCounting, *, unit_gate: UnitGate = UnitGate.EXACT
) -> ArchitectureClass:
    return ArchitectureClass(
        recurrence=MemoryKind.NONLINEAR,
        transition=Transition.DENSE,
        gates=Gates.NONNEGATIVE if counting is WayOfCounting.CELL else Gates.FREE,
        counting=counting,
        unit_gate=unit_gate,
        state=state,
    )


def _attention(
    positions: Positions,
    weights: AttentionWeights = AttentionWeights.SOFTMAX,
    *,
    strict_mask: bool = False,
    free_slopes: bool = False,
) -> ArchitectureClass:
    return ArchitectureClass(
        recurrence=MemoryKind.ATTENTION,
        counting=WayOfCounting.NONE,
        state=State.CACHE,
        attention=weights,
        positions=positions,
        strict_mask=strict_mask,
        free_slopes=free_slopes,
    )


_DIAGONAL, _HOUSEHOLDER, _DENSE = Transition.DIAGONAL, Transition.HOUSEHOLDER, Transition.DENSE
_LIMIT = UnitGate.LIMIT
_DELTA = "H = (I - β k kᵀ) H + β k vᵀ"
_GATED_DELTA = "H = α (I - β k kᵀ) H + β k vᵀ"
_DELTAS = "H = ∏(I - β k kᵀ) H + β k vᵀ"

_class(
    "diagonal",
    "diagonal, gates in [0,1]",
    _linear(_DIAGONAL, Gates.NONNEGATIVE),
    "h = A(x) ∘ h + B(x), 0 ≤ A ≤ 1",
    "Sarrof2024",
)
_class(
    "diagonal-signed",
    "diagonal, gates in [-1,1]",
    _linear(_DIAGONAL, Gates.SIGNED),
    "h = A(x) ∘ h + B(x), -1 ≤ A ≤ 1",
    "Grazzi2025",
)
_class(
    "diagonal-complex",
    "diagonal, gates in the unit disk",
    _linear(_DIAGONAL, Gates.COMPLEX),
    "h = A(x) ∘ h + B(x), |A| ≤ 1",
    "Shakerinava2026",
)
_class(
    "householder",
    "products of Householder reflections",
    _linear(
        _HOUSEHOLDER,
        Gates.SIGNED,
        free_write=False,
        counting=WayOfCounting.REFLECTIONS,
        gate_scalar=True,
    ),
    "H = ∏(I - β k kᵀ) H + …, β in [0,2]",
    "Grazzi2025",
)
_class(
    "permutation-diagonal",
    "permutation times diagonal",
    _linear(Transition.PERMUTATION_DIAGONAL, Gates.COMPLEX),
    "h = P(x) D(x) h + B(x)",
    "Terzic2025PdSsm",
)
_class("dense", "dense linear", _linear(_DENSE, Gates.FREE), "h = A(x) h + B(x)", "Merrill2024")
_row(
    "elman-tanh",
    "Elman RNN (tanh)",
    _nonlinear(State.SQUASHED, WayOfCounting.BOUNDED),
    "h = tanh(U h + W x + b)",
    "Elman1990",
)
_row(
    "elman-relu",
    "Elman RNN (ReLU)",
    _nonlinear(State.RELU, WayOfCounting.FREE),
    "h = relu(U h + W x + b)",
    "Elman1990",
)
_row(
    "lstm",
    "LSTM",
    _nonlinear(State.CELL, WayOfCounting.CELL, unit_gate=_LIMIT),
    "c = f ∘ c + i ∘ z, h = o ∘ tanh(c)",
    "HochreiterSchmidhuber1997",
)
_row(
    "gru",
    "GRU",
    _nonlinear(State.SQUASHED, WayOfCounting.BOUNDED, unit_gate=_LIMIT),
    "h = (1-z) ∘ h + z ∘ tanh(…)",
    "Cho2014",
)
_row(
    "nru",
    "NRU",
    _nonlinear(State.ADDITIVE, WayOfCounting.MEMORY),
    "h = relu(…, m), m = m + write - erase",
    "Chandar2019",
)
_row(
    "slstm",
    "sLSTM",
    _nonlinear(State.NORMALISED, WayOfCounting.NONE, unit_gate=_LIMIT),
    "c = f c + i z, n = f n + i, h = o ∘ c/n, gates read h",
    "Beck2024",
)
_row(
    "transformer",
    "Transformer (positions)",
    _attention(Positions.ROTARY),
    "causal attention with position encodings",
    "Vaswani2017",
)
_row(
    "transformer-nope",
    "Transformer (no positions)",
    _attention(Positions.NONE),
    "causal attention without position encodings",
    "Vaswani2017",
)
_row(
    "transformer-alibi",
    "Transformer (distance penalty)",
    _attention(Positions.PENALTY, free_slopes=True),
    "causal attention, scores fall with the distance, slopes free",
    "Press2022",
)
_row(
    "transformer-periodic",
    "Transformer (periodic positions)",
    _attention(Positions.PERIODIC_AND_PENALTY, free_slopes=True),
    "causal attention with periodic position vectors and a distance penalty",
    "Press2022",
)
for _name, _title, _weights, _positions, _update in (
    (
        "transformer-hard",
        "hard attention, latest match",
        AttentionWeights.HARD_RIGHT,
        Positions.NONE,
        "the value at the latest earlier position of greatest score",
    ),
    (
        "transformer-hard-left",
        "hard attention, earliest match",
        AttentionWeights.HARD_LEFT,
        Positions.NONE,
        "the value at the earliest position of greatest score",
    ),
    (
        "transformer-hard-periodic",
        "hard attention, latest match, periodic positions",
        AttentionWeights.HARD_RIGHT,
        Positions.PERIODIC,
        "as transformer-hard, with the position modulo m",
    ),
):
    _class(
        _name, _title, _attention(_positions, _weights, strict_mask=True), _update, "YangChiangAngluin2024"
    )
_row(
    "ssm",
    "SSM of the n-gram paper",
    _linear(_DENSE, Gates.FREE, input_dependent=False),
    "h = A h + B x, y = C relu(h + b)",
    "Nandakumar2024",
)
for _name, _title, _update, _key in (
    ("s4", "S4", "diagonal plus low rank, fixed", "GuGoelRe2022"),
    ("s4d", "S4D", "h = λ ∘ h + B x, λ complex, fixed", "GuGuptaGoelRe2022"),
    ("h3", "H3", "shift and diagonal SSMs with products", "Fu2023"),
    ("lru", "LRU", "h = λ ∘ h + γ ∘ B x, λ complex, fixed", "Orvieto2023"),
    ("megalodon", "Megalodon (CEMA)", "complex exponential moving average", "Ma2024"),
):
    _row(
        _name,
        _title,
        _linear(_DIAGONAL, Gates.COMPLEX, input_dependent=False, unit_gate=_LIMIT),
        _update,
        _key,
    )
_row(
    "lssl",
    "LSSL",
    _linear(_DENSE, Gates.FREE, input_dependent=False, unit_gate=_LIMIT),
    "h = A h + B x, dense, fixed",
    "Gu2021",
)
_row(
    "retnet",
    "RetNet",
    _linear(
        _DIAGONAL,
        Gates.COMPLEX,
        input_dependent=False,
        counting=WayOfCounting.BOUNDED,
        unit_gate=UnitGate.NEVER,
    ),
    "S = γ e^{iθ} S + kᵀ v, γ fixed below 1",
    "SunRetNet2023",
)
_row(
    "rwkv-4",
    "RWKV-4",
    _linear(
        _DIAGONAL,
        Gates.NONNEGATIVE,
        input_dependent=False,
        counting=WayOfCounting.NONE,
        unit_gate=_LIMIT,
        state=State.NORMALISED,
    ),
    "a = e^{-w} a + e^k v, b = e^{-w} b + e^k, o = a/b",
    "Peng2023Rwkv4",
)
for _name, _title, _update, _key, _counting, _state in (
    ("mamba", "Mamba", "h = exp(-Δ e^a) ∘ h + Δ B x", "GuDao2023", WayOfCounting.SLOW_DECAY, State.LINEAR),
    (
        "mamba-2",
        "Mamba-2",
        "one scalar gate per head, exp(-Δ e^a), write Δ B x",
        "DaoGu2024",
        WayOfCounting.SLOW_DECAY,
        State.LINEAR,
    ),
    (
        "griffin",
        "Griffin (RG-LRU)",
        "h = a ∘ h + sqrt(1-a²) ∘ (i ∘ x)",
        "De2024",
        WayOfCounting.BOUNDED,
        State.LINEAR,
    ),
    ("hgrn2", "HGRN2", "h = g ∘ h + (1-g) ∘ i", "Qin2024", WayOfCounting.BOUNDED, State.LINEAR),
    ("mingru", "minGRU", "h = (1-z) ∘ h + z ∘ c", "Feng2024", WayOfCounting.BOUNDED, State.LINEAR),
    ("gla", "GLA", "S = (αᵀ 1) ∘ S + kᵀ v", "Yang2024Gla", WayOfCounting.FREE, State.LINEAR),
    (
        "mlstm",
        "mLSTM",
        "C = f C + i v kᵀ, h = C q / max(|n·q|, 1)",
        "Beck2024",
        WayOfCounting.NORMALISER,
        State.NORMALISED,
    ),
    (
        "rwkv-6",
        "RWKV-6",
        "S = diag(w) S + kᵀ v, w input-dependent",
        "Peng2024Rwkv6",
        WayOfCounting.FREE,
        State.LINEAR,
    ),
):
    _row(
        _name,
        _title,
        _linear(
            _DIAGONAL,
            Gates.NONNEGATIVE,
            free_write=_counting in (WayOfCounting.FREE, WayOfCounting.NORMALISER),
            counting=_counting,
            unit_gate=_LIMIT,
            state=_state,
        ),
        _update,
        _key,
    )
_row(
    "mamba-signed",
    "Mamba, gates in [-1,1]",
    _linear(_DIAGONAL, Gates.SIGNED, free_write=False, counting=WayOfCounting.SLOW_DECAY, unit_gate=_LIMIT),
    "gate s replaced by 2s - 1",
    "Grazzi2025",
)
_row(
    "mamba-3",
    "Mamba-3",
    _linear(_DIAGONAL, Gates.COMPLEX, free_write=False, counting=WayOfCounting.SLOW_DECAY, unit_gate=_LIMIT),
    "h = exp(-Δ e^a + iθ(x)) ∘ h + writes of this token and the one before",
    "Lahoti2026Mamba3",
)
_row(
    "complex-diagonal",
    "complex diagonal, input-dependent",
    _linear(_DIAGONAL, Gates.COMPLEX),
    "h = r(x) e^{iθ(x)} ∘ h + B(x), 0 ≤ r ≤ 1",
    "Shakerinava2026",
)
_row(
    "aussm",
    "AUSSM",
    _linear(_DIAGONAL, Gates.UNIT),
    "h = e^{iθ(x)} ∘ h + B(x)",
    "Karuvally2025Aussm",
)
for _name, _title, _gates, _factors, _scalar, _update, _key in (
    ("deltanet", "DeltaNet", Gates.NONNEGATIVE, 1, False, _DELTA, "YangDeltaNet2024"),
    ("deltanet-signed", "DeltaNet, β in [0,2]", Gates.SIGNED, 1, False, _DELTA, "Grazzi2025"),
    ("gated-deltanet", "Gated DeltaNet", Gates.NONNEGATIVE, 1, True, _GATED_DELTA, "YangGatedDeltaNet2025"),
    (
        "gated-deltanet-signed",
        "Gated DeltaNet, β in [0,2]",
        Gates.SIGNED,
        1,
        True,
        _GATED_DELTA,
        "Grazzi2025",
    ),
    ("deltaproduct", "DeltaProduct, β in [0,1]", Gates.NONNEGATIVE, None, False, _DELTAS, "Siems2025"),
    ("deltaproduct-signed", "DeltaProduct, β in [0,2]", Gates.SIGNED, None, False, _DELTAS, "Siems2025"),
    (
        "complex-kda",
        "Complex KDA",
        Gates.SIGNED,
        1,
        True,
        "H = (I - β k kᵀ) diag(a) H + β k vᵀ, a in [-1,1], β in [0,2]",
        "Siems2026ComplexKda",
    ),
    (
        "ttt-linear",
        "TTT-Linear (no inner norm, one token per step)",
        Gates.AT_MOST_ONE,
        1,
        False,
        "W = W - η k (kᵀ W - vᵀ), |k| free",
        "SunTtt2024",
    ),
):
    _row(
        _name,
        _title,
        _linear(
            _HOUSEHOLDER,
            _gates,
            free_write=False,
            counting=WayOfCounting.BOUNDED if _gates is Gates.NONNEGATIVE else WayOfCounting.REFLECTIONS,
            unit_gate=_LIMIT,
            max_factors=_factors,
            gate_scalar=_scalar,
        ),
        _update,
        _key,
    )
for _name, _title, _gates, _update in (
    (
        "rwkv-7",
        "RWKV-7",
        Gates.ABOVE_MINUS_HALF,
        "S = S (diag(w) - κᵀ(a ∘ κ)) + vᵀ k, w in (0.545, 1), a in (0, 1)",
    ),
    (
        "rwkv-7-signed",
        "RWKV-7, removal doubled",
        Gates.SIGNED,
        "S = S (diag(w) - κᵀ(a ∘ κ)) + vᵀ k, a in (0, 2)",
    ),
):
    _row(
        _name,
        _title,
        _linear(_HOUSEHOLDER, _gates, unit_gate=_LIMIT, max_factors=1),
        _update,
        "Peng2025Rwkv7",
    )
_row(
    "pd-ssm",
    "PD-SSM",
    _linear(Transition.PERMUTATION_DIAGONAL, Gates.COMPLEX, unit_gate=_LIMIT),
    "x = P(u) D(u) x + B u, P column-one-hot",
    "Terzic2025PdSsm",
)
_row(
    "orthogonal",
    "blocks of rotations",
    _linear(_DENSE, Gates.UNIT),
    "H = R(x) H + B x, R(x) in SO(n)",
    "Merrill2024",
)
_row("ids4", "IDS4", _linear(_DENSE, Gates.FREE), "h = A(x) h + B x, dense", "Merrill2024")
_row(
    "slice",
    "SLiCE (dense blocks)",
    _linear(_DENSE, Gates.FREE),
    "h = h + A(x) h + B x, A block-diagonal with dense blocks",
    "Walker2025Slice",
)
_row(
    "s4d-mamba",
    "S4D and Mamba layers",
    ArchitectureClass(recurrence=MemoryKind.HYBRID, parts=("s4d", "mamba")),
    "time-invariant and selective diagonal layers in turn",
    "Khavari2025",
)
_class(
    "diagonal-attention",
    "diagonal layers, gates in [0,1], and attention",
    ArchitectureClass(
        recurrence=MemoryKind.HYBRID, state=State.CACHE, parts=("diagonal", "transformer-nope")
    ),
    "diagonal recurrences and softmax attention in turn",
    "Lieber2024",
)
_row(
    "mamba-attention-periodic",
    "Mamba and attention layers, periodic positions",
    ArchitectureClass(
        recurrence=MemoryKind.HYBRID, state=State.CACHE, parts=("mamba", "transformer-periodic")
    ),
    "selective SSM and attention layers in turn, position vectors that repeat",
    "Lieber2024",
)
_row(
    "mamba-attention",
    "Mamba and attention layers",
    ArchitectureClass(recurrence=MemoryKind.HYBRID, state=State.CACHE, parts=("mamba", "transformer-nope")),
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
    """Returns the row of a name or alias, or raises UnknownName with the nearest."""
    return ARCHITECTURES[ALIASES.get(name.lower(), name.lower())]
