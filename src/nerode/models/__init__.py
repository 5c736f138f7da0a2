"""Networks that run: architectures, models made of them, and models on disk. torch starts here."""

from typing import TYPE_CHECKING

from nerode.core import lazy_door

if TYPE_CHECKING:
    from nerode.models.base import (
        DenseTransition,
        DiagonalTransition,
        HouseholderTransition,
        Norm,
        SequenceLayer,
        State,
        Surroundings,
    )
    from nerode.models.configurations import configuration, model_config
    from nerode.models.ensembles import Ensemble
    from nerode.models.folder import (
        MAX_WEIGHTS_BYTES,
        TORCH_DTYPES,
        WEIGHTS_FILE,
        fill_weights,
        read_bytes,
        read_model,
        read_tensors,
        save_model,
    )
    from nerode.models.model import Model, ModelConfig, build_model, part_of
    from nerode.models.zoo import LayerConfig, all_members, find_member

__getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "MAX_WEIGHTS_BYTES",
    "TORCH_DTYPES",
    "WEIGHTS_FILE",
    "DenseTransition",
    "DiagonalTransition",
    "Ensemble",
    "HouseholderTransition",
    "LayerConfig",
    "Model",
    "ModelConfig",
    "Norm",
    "SequenceLayer",
    "State",
    "Surroundings",
    "all_members",
    "build_model",
    "configuration",
    "fill_weights",
    "find_member",
    "model_config",
    "part_of",
    "read_bytes",
    "read_model",
    "read_tensors",
    "save_model",
]
