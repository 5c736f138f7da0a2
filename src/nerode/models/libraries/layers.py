"""The layers of other libraries, weight by weight: what each weight is called there and here."""

from __future__ import annotations

from nerode.models.libraries.places import Place, renamed


def _same(*names: str) -> tuple[Place, ...]:
    return renamed({name: name for name in names})


def _convolution(name: str) -> tuple[Place, ...]:
    return (
        Place(theirs=f"{name}.weight", ours="convolution.weight", axes=(1,)),
        Place(theirs=f"{name}.bias", ours="convolution.bias"),
    )


MAMBA = (
    *_convolution("conv1d"),
    *_same(
        "A_log", "D", "in_proj.weight", "x_proj.weight", "dt_proj.weight", "dt_proj.bias", "out_proj.weight"
    ),
)
"""The Mamba block of mamba-ssm, transformers and mambapy."""

MAMBA_BIASES = _same("in_proj.bias", "out_proj.bias")
"""Of a Mamba or Mamba-2 block whose maps add biases."""

MAMBA_2 = (
    *_convolution("conv1d"),
    *renamed({"norm.weight": "norm_weight"}),
    *_same("dt_bias", "A_log", "D", "in_proj.weight", "out_proj.weight"),
)
"""The Mamba-2 block of mamba-ssm and transformers."""


def griffin(blocks: int) -> tuple[Place, ...]:
    """Returns the places of the recurrent block of RecurrentGemma, whose gates have so many blocks."""
    names = {"recurrent_gate": "recurrence_gate", "input_gate": "input_gate"}
    return (
        *_convolution("conv_1d"),
        Place(theirs="rg_lru.recurrent_param", ours="decay"),
        *(
            Place(theirs=f"rg_lru.{theirs}_bias", ours=f"{ours}.bias", shape=(blocks, -1))
            for theirs, ours in names.items()
        ),
        # The library multiplies its gate matrices from the right.
        *(
            Place(theirs=f"rg_lru.{theirs}_weight", ours=f"{ours}.weight", turned=True)
            for theirs, ours in names.items()
        ),
        *_same(
            *(
                f"{name}.{kind}"
                for name in ("linear_x", "linear_y", "linear_out")
                for kind in ("weight", "bias")
            )
        ),
    )


LOCAL_ATTENTION = _same("q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight", "o_proj.bias")
"""The attention of RecurrentGemma."""

RWKV_4 = (
    *renamed({"time_decay": "decay", "time_first": "bonus"}),
    *(
        Place(theirs=f"time_mix_{name}", ours="mix", row=row, axes=(0, 0))
        for row, name in enumerate(("receptance", "key", "value"))
    ),
    *_same("key.weight", "value.weight", "receptance.weight", "output.weight"),
)
"""The time mixing of RWKV-4."""

RWKV_CHANNEL_MIX = (
    *(
        Place(theirs=f"time_mix_{name}", ours="mix", row=row, axes=(0, 0))
        for row, name in enumerate(("receptance", "key"))
    ),
    *_same("key.weight", "value.weight", "receptance.weight"),
)
"""The channel mixing of RWKV-4."""

MLSTM_LARGE = renamed(
    {
        "q.weight": "query.weight",
        "k.weight": "key.weight",
        "v.weight": "value.weight",
        "ogate_preact.weight": "output_gate.weight",
        "igate_preact.weight": "input_gate.weight",
        "igate_preact.bias": "input_gate.bias",
        "fgate_preact.weight": "forget_gate.weight",
        "fgate_preact.bias": "forget_gate.bias",
        "multihead_norm.weight": "norm.weight",
        "out_proj.weight": "down.weight",
    }
)
"""The mLSTM layer of xLSTM-7B, in transformers and in xlstm."""

MLSTM_BLOCK = (
    *_convolution("conv1d.conv"),
    *renamed(
        {
            "proj_up.weight": "up.weight",
            "q_proj.weight": "query.weight",
            "k_proj.weight": "key.weight",
            "v_proj.weight": "value.weight",
            "mlstm_cell.igate.weight": "input_gate.weight",
            "mlstm_cell.igate.bias": "input_gate.bias",
            "mlstm_cell.fgate.weight": "forget_gate.weight",
            "mlstm_cell.fgate.bias": "forget_gate.bias",
            "learnable_skip": "skip",
            "proj_down.weight": "down.weight",
        }
    ),
    # The package keeps the weight of a norm less one.
    Place(theirs="mlstm_cell.outnorm.weight", ours="norm.weight", shift=-1.0),
)
"""The mLSTM layer of xlstm."""

SLSTM_CELL = (
    Place(theirs="slstm_cell._recurrent_kernel_", ours="recurrent"),
    Place(theirs="slstm_cell._bias_", ours="bias", shape=(-1,)),
    Place(theirs="group_norm.weight", ours="norm.weight", shift=-1.0),
    # The package calls the map of its input gate `fgate`, and that of its forget gate `igate`.
    *(
        Place(theirs=f"{name}.weight", ours="read", row=row)
        for row, name in enumerate(("fgate", "igate", "zgate", "ogate"))
    ),
)
"""The sLSTM layer of xlstm without its convolution."""

SLSTM_BLOCK = (*_convolution("conv1d.conv"), *SLSTM_CELL)
"""The sLSTM layer of xlstm."""


def torch_cell(layer: int, *, bias: bool) -> tuple[Place, ...]:
    """Returns the places of one layer of torch's RNN, GRU or LSTM."""
    names = {f"weight_ih_l{layer}": "read.weight", f"weight_hh_l{layer}": "recurrent"}
    if bias:
        names |= {f"bias_ih_l{layer}": "read.bias", f"bias_hh_l{layer}": "recurrent_bias"}
    return renamed(names)
