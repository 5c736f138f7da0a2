"""The table of constructions, in the order in which the pipeline tries them: cheaper networks first."""

from nerode.compiler.construction import Construction
from nerode.compiler.constructions import (
    attention,
    attention_components,
    blocks,
    bounded_dyck,
    clock,
    counters,
    flip_flop,
    group_cascades,
    ngram_models,
    nonlinear_cells,
    star_free,
    transition_matrices,
    windows,
)
from nerode.core import Registry

ROWS: tuple[Construction, ...] = (
    # Languages that are given by a model or a machine of their own.
    ngram_models.NGRAM_SSM,
    ngram_models.NGRAM_RNN,
    flip_flop.FLIP_FLOP,
    flip_flop.FLIP_FLOP_PREDICTOR,
    windows.WINDOW,
    bounded_dyck.BOUNDED_DYCK,
    bounded_dyck.BOUNDED_DEPTH,
    bounded_dyck.BOUNDED_DYCK_PREDICTOR,
    counters.COUNTERS,
    counters.COUNTERS_PREDICTOR,
    counters.ALTERNATING_COUNTERS,
    nonlinear_cells.RELU_COUNTERS,
    # Star-free languages.
    star_free.STAR_FREE,
    star_free.STAR_FREE_DELTA_RULE,
    bounded_dyck.BOUNDED_DYCK_LEDGER,
    windows.WINDOW_PARTS_TIME_INVARIANT,
    windows.ONCE_FLAGS,
    windows.LETTER,
    # Groups.
    clock.PARITY_SIGN,
    clock.CLOCK_ROTATION,
    clock.CLOCK_SHIFT,
    clock.OFFSET_COUNTING,
    clock.POSITION_CLOCK,
    blocks.REFLECTION_PRODUCT,
    # Languages with groups inside.
    group_cascades.TWO_GROUP_CASCADE,
    group_cascades.SOLVABLE_CASCADE,
    group_cascades.UNITARY_CASCADE,
    star_free.CLOCKED_STAR_FREE,
    group_cascades.HOUSEHOLDER_CASCADE,
    group_cascades.MIRROR_CASCADE,
    blocks.BLOCKS,
    # Any regular language.
    transition_matrices.ROTATIONS,
    transition_matrices.PERMUTATION_DIAGONAL,
    transition_matrices.DENSE_ONE_HOT,
    bounded_dyck.BOUNDED_DYCK_PERMUTATION_DIAGONAL,
    bounded_dyck.BOUNDED_DYCK_DENSE,
    bounded_dyck.BOUNDED_DYCK_REGISTERS,
    # Attention: every length in floats first, then up to a horizon.
    attention.BRACKET_HEADS,
    attention_components.COMPONENT_HEADS,
    attention.STAR_FREE_HEADS,
    attention.CLOCKED_STAR_FREE_HEADS,
    attention.COUNTER_HEADS,
    attention.HYBRID_REGISTERS,
    attention.HYBRID_CLOCKED_REGISTERS,
    nonlinear_cells.ELMAN_RELU,
    nonlinear_cells.ELMAN_TANH,
    nonlinear_cells.GATED_CELLS,
)

CONSTRUCTIONS: Registry[Construction] = Registry("construction")
"""The rows by name, in order."""

for _row in ROWS:
    CONSTRUCTIONS.add(_row.name, _row)
