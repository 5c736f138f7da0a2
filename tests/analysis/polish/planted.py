"""Networks that track a group by matrices that are known, with noise on them."""

from __future__ import annotations

import numpy as np
import torch

from nerode.analysis.subject import LoadedNetwork
from nerode.languages.groups import finite_monoid
from nerode.models import LayerConfig, Model, ModelConfig
from nerode.models.architectures import Orthogonal
from nerode.tasks import StateTracking
from nerode.tasks.synthetic.state_tracking import StateTrackingSettings


def regular(name: str) -> np.ndarray:
    """M of each element of a group: p goes to p g. Then M(gh) = M(h) M(g)."""
    group = finite_monoid(name)
    table = group.times(tuple(range(group.order)))
    matrices = np.zeros((group.order,) * 3)
    for g in range(group.order):
        matrices[g, table[:, g], np.arange(group.order)] = 1
    return matrices


def points(name: str) -> np.ndarray:
    """M of each element of a group of permutations: their matrices, in the order of the product."""
    group = finite_monoid(name)
    images = np.array(group.values)
    n = images.shape[1]
    matrices = np.zeros((group.order, n, n))
    for g in range(group.order):
        matrices[g, images[g], np.arange(n)] = 1
    g, h = 1, 2
    if np.allclose(matrices[group.product(g, h)], matrices[h] @ matrices[g]):
        return matrices
    return matrices.transpose(0, 2, 1)


def turns(order: int, step: int) -> np.ndarray:
    """M of each element of a cyclic group: rotations of the plane by multiples of step / order."""
    angles = 2 * np.pi * step * np.arange(order) / order
    return np.stack([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)


def turned(matrices: np.ndarray, seed: int) -> np.ndarray:
    """The same representation in other coordinates."""
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=matrices.shape[1:]))[0]
    return basis @ matrices @ basis.T


def planted(
    name: str,
    blocks: list[np.ndarray],
    *,
    noise: float = 0.0,
    sharpness: float = 5.0,
    letters: str = "elements",
    seed: int = 0,
) -> LoadedNetwork:
    """A network with the given blocks; an element scores by the likeness of its matrices to the state."""
    task = StateTracking(StateTrackingSettings(monoid=name, letters=letters))
    group = finite_monoid(name)
    table = np.stack(blocks, axis=1)
    order, count, size, _ = table.shape
    rng = np.random.default_rng(seed)
    read = table[[group.element(letter) for letter in task.alphabet]]
    read = read + noise * rng.normal(size=read.shape)
    layer = LayerConfig(
        name="orthogonal",
        settings={"blocks": count, "size": size, "outputs": order, "form": "matrix"},
    )
    model = Model(
        ModelConfig(layers=(layer,), letters=len(task.alphabet), outputs=order, head="none").complete()
    ).eval()
    found = model.layers[0]
    assert isinstance(found, Orthogonal)
    with torch.no_grad():
        found.W.weight.copy_(torch.from_numpy(read.reshape(len(read), -1).T))
        found.C.weight.copy_(torch.from_numpy(sharpness * table.reshape(order, -1)))
        found.C.bias.zero_()
    return LoadedNetwork(name=f"planted {name}", model=model, task=task)
