"""Models for one core, written out: a changed default of `nerode train` must not change a protocol."""

from __future__ import annotations

from typing import Any

_SMALL: dict[str, tuple[int, dict[str, Any], float]] = {
    "elman-tanh": (8, {"hidden": 16}, 3e-3),
    "lstm": (8, {"hidden": 16}, 1e-2),
    "gru": (8, {"hidden": 16}, 1e-2),
    "nru-one-head": (8, {"hidden": 16}, 5e-3),
    "slstm": (16, {}, 5e-3),
    "mlstm": (16, {}, 5e-3),
    "mamba": (16, {"states": 4}, 5e-3),
    "mamba-signed": (16, {"states": 4}, 5e-3),
    "s4d": (16, {"states": 16}, 5e-3),
    "ids4": (16, {"states": 16}, 5e-3),
    "deltanet": (16, {}, 5e-3),
    "deltanet-signed": (16, {}, 5e-3),
    "gated-deltanet": (16, {}, 5e-3),
    "deltaproduct-signed": (16, {}, 5e-3),
    "rwkv-7": (16, {}, 5e-3),
    "pd-ssm": (16, {}, 5e-3),
    "transformer": (32, {}, 1e-3),
    "transformer-nope": (32, {}, 1e-3),
    "transformer-alibi": (32, {}, 1e-3),
    "transformer-sine": (32, {}, 1e-3),
}
"""Width, settings of the layers and learning rate; the rates of cells and of Mamba are measured ones."""


def small_model(
    layers: str, *, depth: int = 1, width: int = 0, rate: float = 0.0, **settings: Any
) -> dict[str, Any]:
    """Returns the tables `model` and `optimiser` of a small model.

    Args:
        layers: a name of the zoo.
        depth: how many of them.
        width: features after the embedding; 0 for the usual number.
        rate: learning rate; 0 for the usual one.
        settings: of the layers, on top of the usual ones.
    """
    usual_width, usual, usual_rate = _SMALL[layers]
    return {
        "model": {
            "layers": layers,
            "depth": depth,
            "width": width or usual_width,
            "settings": {**usual, **settings},
        },
        "optimiser": {"rate": rate or usual_rate},
    }


def falling(model: dict[str, Any], *, hold: int = 0, warm_up: int = 100, **optimiser: Any) -> dict[str, Any]:
    """Returns the tables of a model whose rate rises, is held and falls along a cosine to the last update.

    Args:
        model: the tables of a model, as `small_model` gives them.
        hold: updates after the warm-up before the rate falls.
        warm_up: updates over which it rises.
        optimiser: further settings of the optimiser.
    """
    own = {**model["optimiser"], "warm_up": warm_up, "schedule": "cosine", **optimiser}
    return {**model, "optimiser": {**own, "hold": hold} if hold else own}


NEVER = {"threshold": 2.0, "patience": 1}
"""The stop rule of a run that goes on after the lengths of training are learned."""


def spec(
    task: str, model: dict[str, Any], *, settings: dict[str, Any] | None = None, **run: Any
) -> dict[str, Any]:
    """Returns the tables of a training spec.

    Args:
        task: name of the task.
        model: the tables of a model, as `small_model` gives them.
        settings: of the task.
        run: of the run.
    """
    return {"task": {"name": task, "settings": settings or {}}, **model, "run": run}
