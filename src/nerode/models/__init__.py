"""Networks that run: architectures, models made of them, and models on disk. torch starts here.

Open `zoo` first, the table of architectures; `architectures/` has one file per family, `model` the model
around its layers. `network_module/` turns a compiled network into a module, `lower/` writes it into an
architecture, and `libraries/` and `exports/` exchange weights with other libraries.
"""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.models.architectures.mamba import RoundedMemory
    from nerode.models.base import (
        DenseTransition,
        DiagonalTransition,
        HouseholderTransition,
        LinearReading,
        SequenceLayer,
        State,
        Surroundings,
    )
    from nerode.models.config import ModelConfig, model_config, spec_config
    from nerode.models.exact_gates import ExactGates, GateForm, ThreeValuedGates
    from nerode.models.folder import (
        TORCH_DTYPES,
        dtype_of,
        fill_weights,
        read_model,
        read_tensors,
        save_model,
    )
    from nerode.models.kernels.arguments import dtype_name
    from nerode.models.model import LayerBlock, Model, build_model, part_of
    from nerode.models.native.calls import coarse_products, fixed_bits, num_threads, share_threads
    from nerode.models.outside import (
        TokenModule,
        WordModule,
        adapt_module,
        hash_module,
        no_exit,
        require_model,
        takes_state,
    )
    from nerode.models.own_models import (
        MOST_STATES,
        Layered,
        OwnLayer,
        as_layered,
        is_stateful,
        measure_transitions,
        step_derivative,
    )
    from nerode.models.published import configuration
    from nerode.models.shared_terms import SharedTerms, add_optional, sharing
    from nerode.models.zoo import LayerConfig, all_kinds, find_kind

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.models.architectures.mamba": "RoundedMemory",
        "nerode.models.base": (
            "DenseTransition DiagonalTransition HouseholderTransition LinearReading "
            "SequenceLayer State Surroundings"
        ),
        "nerode.models.config": "ModelConfig model_config spec_config",
        "nerode.models.exact_gates": "ExactGates GateForm ThreeValuedGates",
        "nerode.models.folder": "TORCH_DTYPES dtype_of fill_weights read_model read_tensors save_model",
        "nerode.models.kernels.arguments": "dtype_name",
        "nerode.models.model": "LayerBlock Model build_model part_of",
        "nerode.models.native.calls": "coarse_products fixed_bits num_threads share_threads",
        "nerode.models.outside": "TokenModule WordModule adapt_module hash_module no_exit require_model "
        "takes_state",
        "nerode.models.own_models": (
            "MOST_STATES Layered OwnLayer as_layered is_stateful measure_transitions step_derivative"
        ),
        "nerode.models.published": "configuration",
        "nerode.models.shared_terms": "SharedTerms add_optional sharing",
        "nerode.models.zoo": "LayerConfig all_kinds find_kind",
    },
)
