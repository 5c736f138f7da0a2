"""Certificates in floats: what a module does in the format it runs in, roundings included; needs torch."""

from nerode.proofs.floats.certify import FloatVerdict, certify_module
from nerode.proofs.floats.closure import find_cycle
from nerode.proofs.floats.decoders import decoder_length
from nerode.proofs.floats.examination import Examination, examine, recheck_stored, store
from nerode.proofs.floats.memories import certify_fading
from nerode.proofs.floats.model_claims import graph_failure, known, load_model
from nerode.proofs.floats.real_models import (
    ModelReader,
    RealModel,
    choose_lowering,
    load_architecture,
    make_architecture,
    replay_real_model,
    write_real_model,
)
from nerode.proofs.floats.runner import QuestionTable, to_rows
from nerode.proofs.reading import SignalModule, decode, decoder

__all__ = [
    "Examination",
    "FloatVerdict",
    "ModelReader",
    "QuestionTable",
    "RealModel",
    "SignalModule",
    "certify_fading",
    "certify_module",
    "choose_lowering",
    "decode",
    "decoder",
    "decoder_length",
    "examine",
    "find_cycle",
    "graph_failure",
    "known",
    "load_architecture",
    "load_model",
    "make_architecture",
    "recheck_stored",
    "replay_real_model",
    "store",
    "to_rows",
    "write_real_model",
]
