"""A Mamba of 100 million parameters: imported and analysed, with CPU seconds and memory of each command."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTH, LAYERS, VOCABULARY = 768, 20, 32_000
LIMITS = ("--max-bytes", "2700000000", "--max-seconds", "1200")
"""Three tables of this size are 8 GiB."""


def write_model(folder: Path) -> int:
    """Writes a Mamba of transformers with random weights, and returns the number of its parameters."""
    import torch
    from transformers import MambaConfig, MambaForCausalLM

    torch.manual_seed(0)
    model = MambaForCausalLM(
        MambaConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, use_cache=False)
    )
    model.save_pretrained(folder)
    return sum(weight.numel() for weight in model.parameters())


def run(name: str, *words: str) -> str:
    """Runs a command in a process of its own and prints what it took; returns its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = subprocess.run(
        [sys.executable, "-m", "nerode", *words], capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = after.ru_maxrss / 2**20
    print(f"{name:<10} exit {found.returncode}  {seconds:6.1f} CPU s  peak {peak:.2f} GiB so far")
    if found.returncode:
        print(found.stderr.strip()[-2000:])
    return found.stdout


def main() -> None:
    """Writes the model, imports it and looks inside."""
    with tempfile.TemporaryDirectory() as place:
        folder, out = Path(place) / "mamba", Path(place) / "in"
        print(f"{write_model(folder):,} parameters")
        text = run("import", "import", str(folder), "-o", str(out), *LIMITS, "--json")
        if text:
            print(json.loads(text)["compared"], f"difference {json.loads(text)['difference']:.1e}")
        shown = run("analyse", "analyse", str(out), "--length", "16", *LIMITS)
        print("\n".join(shown.splitlines()[-30:]))


if __name__ == "__main__":
    main()
