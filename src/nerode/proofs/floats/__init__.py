"""Certificates in floats: what a module does in the format it runs in, roundings included; needs torch."""

from nerode.proofs.find.cells import prove_boxes
from nerode.proofs.find.closure import FloatVerdict, certify_module
from nerode.proofs.find.heads import decoder_length
from nerode.proofs.find.loops import LoopWord, predict_repetitions
from nerode.proofs.find.schedule import finished
from nerode.proofs.find.walk import CALL, Walk
from nerode.proofs.find.words import WordReader, coarse_walks, failing_hold, shorten, shrinking_margins
from nerode.proofs.floats.written import (
    LONGEST,
    Examination,
    ModelReader,
    RealModel,
    choose_lowering,
    examine,
    graph_failure,
    known,
    load_model,
    make_architecture,
    store,
    write_real_model,
)
from nerode.proofs.reading import SignalModule, decode, decoder, distances
from nerode.proofs.runner import from_values, layout_of, make_runner, nan_rows, to_rows, to_values
from nerode.proofs.settle import (
    BOXES,
    CLOSURE,
    LETTERS_FOR_SHORTENING,
    MOST_STATES,
    WORDS,
    Settled,
    SettleSettings,
    proved_by,
    search_states,
    settle,
    shown,
)

__all__ = [
    "BOXES",
    "CALL",
    "CLOSURE",
    "LETTERS_FOR_SHORTENING",
    "LONGEST",
    "MOST_STATES",
    "WORDS",
    "Examination",
    "FloatVerdict",
    "LoopWord",
    "ModelReader",
    "RealModel",
    "SettleSettings",
    "Settled",
    "SignalModule",
    "Walk",
    "WordReader",
    "certify_module",
    "choose_lowering",
    "coarse_walks",
    "decode",
    "decoder",
    "decoder_length",
    "distances",
    "examine",
    "failing_hold",
    "finished",
    "from_values",
    "graph_failure",
    "known",
    "layout_of",
    "load_model",
    "make_architecture",
    "make_runner",
    "nan_rows",
    "predict_repetitions",
    "prove_boxes",
    "proved_by",
    "search_states",
    "settle",
    "shorten",
    "shown",
    "shrinking_margins",
    "store",
    "to_rows",
    "to_values",
    "write_real_model",
]
