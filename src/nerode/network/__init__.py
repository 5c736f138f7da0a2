"""The neutral record between compiler, models, proofs and pages: exact networks and their step.

Open `record` first (the parts of a network), then `step` (what it computes per letter, over any numbers).
"""

from nerode.network.affine import (
    Affine,
    AffineBuilder,
    Factor,
    NamedMap,
    Row,
    StateNames,
    multiplied,
    zero_map,
)
from nerode.network.attention import AttentionHeads
from nerode.network.cells import CELL_GATES, CELL_STATES, GatedCell, Squashed
from nerode.network.choices import ByChoice, ColumnTable, FactorTable, RowTable
from nerode.network.json_form import (
    NETWORK_FORMAT,
    describe_network,
    network_from_json,
    network_hash,
    network_parts,
    network_to_json,
)
from nerode.network.moves import Fixed, Gated, Recurrence
from nerode.network.numbers import Numbers, RecurrenceStep, relu
from nerode.network.record import (
    Decoder,
    Embedding,
    Layer,
    LogitDecoder,
    LogSum,
    Network,
    Origin,
    PointDecoder,
    ScoreDecoder,
)
from nerode.network.step import Answer, Interpreter, LayerStep, NetworkState, NetworkStep
