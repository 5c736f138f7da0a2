"""On which arithmetic a bit-exact statement was found, and for which weights."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

import torch
from torch import nn


def describe_arithmetic() -> dict[str, str | int]:
    """Returns what the bits of a result may depend on besides the module and its input."""
    smallest = torch.tensor([torch.finfo(torch.float32).tiny])
    return {
        "torch": str(torch.__version__),
        "processor": platform.machine(),
        "model": _processor_model(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "denormals": "kept" if float(smallest / 2) else "flushed",
        "matmul": torch.get_float32_matmul_precision(),
        "onednn": "on" if torch.backends.mkldnn.enabled else "off",
        "native": os.environ.get("NERODE_NATIVE", "best"),
    }


def _processor_model() -> str:
    """The name of the processor, by which libraries choose their instructions; "" where it is not told."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


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
