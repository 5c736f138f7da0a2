"""On which arithmetic a bit-exact statement was found, and for which weights."""

from __future__ import annotations

import hashlib
import os
import platform

import torch
from torch import nn


def describe_arithmetic() -> dict[str, str | int]:
    """Returns what the bits of a result may depend on besides the module and its input."""
    smallest = torch.tensor([torch.finfo(torch.float32).tiny])
    return {
        "torch": str(torch.__version__),
        "processor": platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "denormals": "kept" if float(smallest / 2) else "flushed",
        "matmul": torch.get_float32_matmul_precision(),
        "native": os.environ.get("NERODE_NATIVE", "best"),
    }


def fingerprint(module: object) -> str:
    """Returns the SHA-256 of the class, the parameters and the buffers of a module."""
    digest = hashlib.sha256(f"{type(module).__module__}.{type(module).__qualname__}\n".encode())
    if isinstance(module, nn.Module):
        for name, tensor in sorted(module.state_dict().items()):
            if not isinstance(tensor, torch.Tensor):
                continue
            dense = tensor.to_dense() if tensor.layout is not torch.strided else tensor
            flat = dense.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            if flat.numel():
                digest.update(flat.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
