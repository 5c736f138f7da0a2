"""Certificates in floats: what a module does in the format it runs in, roundings included; needs torch."""

from nerode.proofs.find.schedule import Schedule, Work, finished
from nerode.proofs.find.walk import CALL, Walk, grid_marks, state_values
from nerode.proofs.floats.certify import FloatVerdict, certify_module, closing
from nerode.proofs.floats.cycles import find_cycle
from nerode.proofs.floats.decoders import decoder_length
from nerode.proofs.floats.examination import Examination, examine, store
from nerode.proofs.floats.memories import certify_fading, fading_search
from nerode.proofs.floats.model_claims import graph_failure, known, load_model
from nerode.proofs.floats.real_models import (
    ModelReader,
    RealModel,
    choose_lowering,
    load_architecture,
    make_architecture,
    write_real_model,
)
from nerode.proofs.reading import SignalModule, decode, decoder
from nerode.proofs.runner import QuestionTable, Runner, make_runner, to_rows

__all__ = [
    "CALL",
    "Examination",
    "FloatVerdict",
    "ModelReader",
    "QuestionTable",
    "RealModel",
    "Runner",
    "Schedule",
    "SignalModule",
    "Walk",
    "Work",
    "certify_fading",
    "certify_module",
    "choose_lowering",
    "closing",
    "decode",
    "decoder",
    "decoder_length",
    "examine",
    "fading_search",
    "find_cycle",
    "finished",
    "graph_failure",
    "grid_marks",
    "known",
    "load_architecture",
    "load_model",
    "make_architecture",
    "make_runner",
    "state_values",
    "store",
    "to_rows",
    "write_real_model",
]
