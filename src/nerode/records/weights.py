"""The hash of weights: over the sorted names, types, shapes and bytes of tensors."""

from __future__ import annotations

import hashlib
import json


def hash_tensors(content: bytes) -> str:
    """Returns the SHA-256 of the tensors in the bytes of a safetensors file.

    Raises:
        ValueError, KeyError, TypeError, AttributeError or RecursionError: if they are no such file.
    """
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    digest = hashlib.sha256()
    for name in sorted(header.keys() - {"__metadata__"}):
        entry = header[name]
        first, last = (8 + size + int(offset) for offset in entry["data_offsets"])
        digest.update(f"{name} {entry['dtype']} {entry['shape']}\n".encode())
        digest.update(content[first:last])
    return digest.hexdigest()
