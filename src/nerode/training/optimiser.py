"""The optimiser of a run: groups of parameters as the architectures ask for, and the rate at each step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from nerode.core import InputError
from nerode.records import OptimiserSpec


def parameter_groups(model: nn.Module, spec: OptimiserSpec) -> list[dict[str, Any]]:
    """Returns the parameters by how they are trained: as usual, without decay, and slowly.

    A module marks its own in `undecayed_parameters` and `slow_parameters`.

    Raises:
        InputError: if `decay_only` names a weight that there is not, or one that never decays.
    """
    undecayed = _marked(model, "undecayed_parameters")
    slow = _marked(model, "slow_parameters")
    undecayed |= _spared(model, spec.decay_only, undecayed | slow)
    kinds: dict[str, list[nn.Parameter]] = {"usual": [], "undecayed": [], "slow": []}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            kinds["slow" if name in slow else "undecayed" if name in undecayed else "usual"].append(parameter)
    rates = {"usual": spec.rate, "undecayed": spec.rate, "slow": min(spec.rate, spec.slow_rate)}
    return [
        {"params": found, "lr": rates[kind], "top": rates[kind], "weight_decay": _decay(kind, spec)}
        for kind, found in kinds.items()
        if found
    ]


def _decay(kind: str, spec: OptimiserSpec) -> float:
    return spec.decay if kind == "usual" else 0.0


def _marked(model: nn.Module, attribute: str) -> set[str]:
    return {
        f"{place}.{name}" if place else name
        for place, module in model.named_modules()
        for name in getattr(module, attribute, ())
    }


def _spared(model: nn.Module, chosen: Sequence[str], never: set[str]) -> set[str]:
    """The weights that do not decay because only others are to; none if none was chosen."""
    if not chosen:
        return set()
    names = [name for name, _ in model.named_parameters() if name not in never]
    decaying = {name for name in names for own in chosen if name == own or name.endswith(f".{own}")}
    for own in chosen:
        if not any(name == own or name.endswith(f".{own}") for name in decaying):
            leaves = sorted({name.rpartition(".")[2] for name in names})
            raise InputError(
                f"optimiser.decay_only names {own!r}, which no weight that may decay is called; "
                f"there are {', '.join(leaves)}"
            )
    return set(names) - decaying


def make_optimiser(model: nn.Module, spec: OptimiserSpec) -> torch.optim.Optimizer:
    """Returns the optimiser of a model."""
    groups = parameter_groups(model, spec)
    if spec.name == "sgd":
        return torch.optim.SGD(groups, momentum=spec.momentum)
    # One kernel for all of a tensor: small models would spend their time in Python otherwise.
    fused = not any(p.is_complex() for group in groups for p in group["params"])
    method = torch.optim.AdamW if spec.name == "adamw" else torch.optim.Adam
    return method(groups, betas=spec.betas, fused=fused)


@torch.no_grad()
def update_weights(optimiser: torch.optim.Optimizer) -> None:
    """Makes one update.

    It is `optimiser.step()`; where that ends in one call of a fused kernel for each group, the call is made
    here. What torch checks before took as long as three kernels of a small model.
    """
    calls = _fused_calls(optimiser)
    if calls is None:
        optimiser.step()
        return
    for kernel, lists, options in calls:
        torch._foreach_add_(lists[-1], 1)
        kernel(*lists, **options)


def _fused_calls(optimiser: torch.optim.Optimizer) -> list[tuple[Any, list[Any], dict[str, Any]]] | None:
    """The calls of fused kernels in an update; None where torch has to prepare them, as at the first one."""
    if type(optimiser) not in (torch.optim.Adam, torch.optim.AdamW):
        return None
    found: list[tuple[Any, list[Any], dict[str, Any]]] = []
    for group in optimiser.param_groups:
        weights = [weight for weight in group["params"] if weight.grad is not None]
        states = [optimiser.state.get(weight) for weight in weights]
        plain = all(weight.dtype == weights[0].dtype and weight.device.type == "cpu" for weight in weights)
        if not (group["fused"] and plain and all(states)):
            return None
        if not weights:
            continue
        kept = [[state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step")]  # type: ignore[index]
        lists = [weights, [weight.grad for weight in weights], *kept[:2], [], kept[2]]
        options = {name: group[name] for name in ("amsgrad", "lr", "weight_decay", "eps", "maximize")}
        options |= dict(zip(("beta1", "beta2"), group["betas"], strict=True))
        kernel = torch._fused_adamw_ if group["decoupled_weight_decay"] else torch._fused_adam_
        found.append((kernel, lists, options | {"grad_scale": None, "found_inf": None}))
    return found


@torch.no_grad()
def clip_gradients(weights: Sequence[nn.Parameter], limit: float) -> torch.Tensor:
    """Returns the norm of all gradients together, and scales them down to a limit.

    It is `nn.utils.clip_grad_norm_`, without the search for groups of types where all have one.
    """
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    if len({(gradient.dtype, gradient.device) for gradient in gradients}) != 1:
        return nn.utils.clip_grad_norm_(weights, limit)
    norm: torch.Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients, 2.0)), 2.0)
    torch._foreach_mul_(gradients, torch.clamp(limit / (norm + 1e-6), max=1.0))
    return norm


def rate_factor(spec: OptimiserSpec, step: float, steps: int) -> float:
    """Returns the factor of the rates at a step, the first of which is 0.

    It rises linearly over the warm-up and is held; with "cosine" it then falls to the floor along half a
    cosine.
    """
    if step < spec.warm_up:
        return (step + 1) / spec.warm_up
    if spec.schedule == "constant":
        return 1.0
    begun = spec.warm_up + spec.hold
    along = (step - begun) / max(1, steps - begun)
    fallen = 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, along))))
    return spec.floor + (1 - spec.floor) * fallen


def set_rates(optimiser: torch.optim.Optimizer, factor: float) -> None:
    """Sets the rate of each group to its own, times the factor."""
    for group in optimiser.param_groups:
        group["lr"] = group["top"] * factor
