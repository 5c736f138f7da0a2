"""The certificate of a polished network: exact representations, bases, and the length that floats reach.

What it claims is re-checked from the files alone by `nerode.proofs.polished_checker`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nerode.analysis.polish.exact_parts import ExactPart
from nerode.analysis.polish.network import PolishedNetwork
from nerode.core import to_complex, write_atomically, write_exact
from nerode.models import WEIGHTS_FILE, Model, save_model
from nerode.models.architectures import Orthogonal
from nerode.proofs import POLISH_CLAIM, POLISH_FILE, POLISH_FORMAT, POLISH_VERSION

BASIS_BITS = 64
"""A basis is written in multiples of 2^-64."""

MARGIN_CLAIMED = 0.99
LENGTH_CLAIMED = 0.5
"""Shares of the estimates that are claimed, since they are made in floats: that of the length with matrices
whose distance from the exact ones is of the size of a rounding. The checker says how much holds.
"""

ROOM = 1.0
"""How far a state may drift while the estimate holds."""


def write_polished(folder: Path, network: PolishedNetwork, model: Model) -> dict[str, Any]:
    """Writes a model and its certificate, and returns the certificate.

    Raises:
        InputError: if the folder cannot be written.
    """
    save_model(folder, model)
    content = {
        "format": POLISH_FORMAT,
        "version": POLISH_VERSION,
        "claim": POLISH_CLAIM,
        "group": network.lettered.group.name,
        "letters": [network.lettered.group.element_names[a] for a in network.lettered.letters],
        "weights": hashlib.sha256((folder / WEIGHTS_FILE).read_bytes()).hexdigest(),
        "margin": MARGIN_CLAIMED * float(network.margins().min()),
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        "length": int(LENGTH_CLAIMED * estimate_length(network, model)),
        "blocks": [_block(parts) for parts in network.parts],
    }
    write_atomically(folder / POLISH_FILE, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    return content


def _block(parts: tuple[ExactPart, ...]) -> dict[str, Any]:
    basis = np.concatenate([part.basis for part in parts], axis=1)
    scale = 2.0**BASIS_BITS
    return {
        "basis_bits": BASIS_BITS,
        "basis": [[[int(z.real * scale), int(z.imag * scale)] for z in row] for row in basis],
        "parts": [
            [[[write_exact(e) for e in row] for row in matrix] for matrix in part.matrices] for part in parts
        ],
    }


def estimate_length(network: PolishedNetwork, model: Model) -> float:
    """Returns about how many steps of rounding leave the margins positive, at the least; 0 if one is not.

    One step adds at most (‖M̃ - M‖ + γ‖M̃‖)‖H‖ to the distance from the exact point, and rotations do not
    stretch what was added before.
    """
    if not network.margins().min() > 0:
        return 0.0
    layer = model.layers[0]
    assert isinstance(layer, Orthogonal)
    unit = torch.finfo(next(model.parameters()).dtype).eps / 2
    _, blocks, size, _ = network.table.shape
    given = layer.W.weight.detach().double().numpy().T.reshape(-1, blocks, size, size)
    exact = np.stack([_exact_letters(parts, size) for parts in network.parts], axis=1)
    distance = np.linalg.norm(given - exact, axis=(-1, -2)).max(axis=0)
    weight = np.linalg.norm(given, axis=(-1, -2)).max(axis=0)
    gamma = (size + 1) * unit / (1 - (size + 1) * unit)
    step = (distance + gamma * weight) * (np.sqrt(size) + ROOM)
    return _shortest(network, step, unit)


def _exact_letters(parts: tuple[ExactPart, ...], size: int) -> np.ndarray[Any, Any]:
    """B E B⁻¹ of each letter, in floats."""
    letters = len(parts[0].matrices)
    matrices = np.zeros((letters, size, size), dtype=np.complex128)
    first = 0
    for part in parts:
        last = first + part.degree
        matrices[:, first:last, first:last] = [
            [[to_complex(e) for e in row] for row in matrix] for matrix in part.matrices
        ]
        first = last
    basis = np.concatenate([part.basis for part in parts], axis=1)
    return np.asarray(basis @ matrices @ np.linalg.inv(basis))


def _shortest(network: PolishedNetwork, step: np.ndarray[Any, Any], unit: float) -> float:
    scores = np.einsum("gbij,obij->go", network.table, network.weight) + network.bias
    norms = np.linalg.norm(network.weight, axis=(-1, -2))
    terms = network.weight[0].size + 2
    reading = terms * unit * (norms.sum(axis=1) * (np.sqrt(network.size) + ROOM) + np.abs(network.bias))
    best = float((ROOM / step).min())
    for g, row in enumerate(scores):
        apart = np.linalg.norm(network.weight - network.weight[g], axis=(-1, -2)) @ step
        left = row[g] - row - reading - reading[g]
        others = np.arange(len(row)) != g
        best = min(best, float((left[others] / apart[others]).min()))
    return max(0.0, best)
