"""The HiPPO matrix that remembers a whole past as Legendre coefficients, and its normal form."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Complex, Float
from numpy.typing import NDArray
from torch import Tensor


def legendre_matrices(
    states: int,
) -> tuple[Float[Tensor, "states states"], Float[Tensor, " states"]]:
    """Returns A and B of HiPPO-LegS in float64: h' = A h + B x.

    Implements: [GuDaoErmonRudraRe2020]
    """
    A, B = _matrices(states)
    return torch.from_numpy(A), torch.from_numpy(B)


def legendre_normal_form(
    states: int,
) -> tuple[
    Complex[Tensor, " half"],
    Complex[Tensor, " half"],
    Complex[Tensor, " half"],
    Complex[Tensor, "states half"],
]:
    """Returns Λ, P, B and V of HiPPO-LegS as diagonal plus low rank, in complex128, half of each.

    A + P Pᵀ = -½ I + S with S skew-symmetric, so it has orthonormal eigenvectors V; in their basis A is
    diag(Λ) - P P*, and B is V* B. The eigenvalues come in conjugate pairs: those with positive imaginary part
    are returned, the smallest first.

    Implements: [GuGoelRe2022]

    Args:
        states: number of states, even.
    """
    A, B = _matrices(states)
    P = np.sqrt(np.arange(states) + 0.5)
    skew = A + P[:, None] * P[None, :] + 0.5 * np.eye(states)
    frequencies, V = np.linalg.eigh(-1j * skew)
    kept = slice(states // 2, None)
    V = V[:, kept]
    rate = -0.5 + 1j * frequencies[kept]
    turned = V.conj().T
    return tuple(torch.from_numpy(m) for m in (rate, turned @ P, turned @ B, V))  # type: ignore[return-value]


def _matrices(states: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n = np.arange(states)
    root = np.sqrt(2.0 * n + 1)
    A = -np.tril(root[:, None] * root[None, :], -1) - np.diag(n + 1.0)
    return A, root
