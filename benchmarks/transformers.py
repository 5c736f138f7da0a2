"""Unmodified models of transformers and xlstm on a CPU: as they come, and under `nerode.accelerate()`.

One thread, processor time, the paths in turns. A step is forward, loss and the gradients of all weights.
`--write` puts the table into docs/accelerate.md.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers.models.qwen3_next.modeling_qwen3_next import torch_chunk_gated_delta_rule

from benchmarks._rows import Work, record, times
from nerode.core import write_atomically
from nerode.models.acceleration import accelerated
from nerode.models.acceleration.replacements import delta_rule

PAGE = Path(__file__).parents[1] / "docs" / "accelerate.md"
BEGIN, END = "<!-- begin: python -m benchmarks transformers --write -->", "<!-- end -->"
LETTERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model, and what is fed to it.

    Attributes:
        name: of the row.
        model: makes it.
        batch, length: of the input.
        peer: the path of the library that is measured.
        repeats: turns.
    """

    name: str
    model: Callable[[], nn.Module]
    batch: int
    length: int
    peer: str = "default"
    repeats: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was seen of a case.

    Attributes:
        name, peer: as in the case.
        seconds: (theirs, ours) of a step and of a forward pass.
        outputs, gradients: the largest differences, as parts of the largest output and gradient.
        same_tokens: whether `generate` gives the same; None where there is none.
    """

    name: str
    peer: str
    seconds: dict[str, tuple[float, float]]
    outputs: float
    gradients: float
    same_tokens: bool | None


def mamba(width: int, layers: int = 2, *, parallel: bool = False) -> nn.Module:
    config = transformers.MambaConfig(
        vocab_size=LETTERS, hidden_size=width, num_hidden_layers=layers, use_mambapy=parallel
    )
    return transformers.MambaForCausalLM(config)


def falcon_mamba(width: int) -> nn.Module:
    config = transformers.FalconMambaConfig(
        vocab_size=LETTERS, hidden_size=width, num_hidden_layers=2, use_mambapy=False
    )
    return transformers.FalconMambaForCausalLM(config)


def mamba2(width: int) -> nn.Module:
    config = transformers.Mamba2Config(
        vocab_size=LETTERS,
        hidden_size=width,
        num_hidden_layers=2,
        num_heads=8,
        head_dim=width // 4,
        state_size=64,
        n_groups=1,
        chunk_size=64,
    )
    return transformers.Mamba2ForCausalLM(config)


def recurrent_gemma(width: int) -> nn.Module:
    config = transformers.RecurrentGemmaConfig(
        vocab_size=LETTERS,
        hidden_size=width,
        lru_width=width,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=2 * width,
    )
    return transformers.RecurrentGemmaForCausalLM(config)


def qwen3_next(width: int) -> nn.Module:
    config = transformers.Qwen3NextConfig(
        vocab_size=LETTERS,
        hidden_size=width,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        intermediate_size=2 * width,
        linear_num_value_heads=4,
        linear_num_key_heads=2,
        linear_key_head_dim=32,
        linear_value_head_dim=32,
        num_experts=2,
        num_experts_per_tok=1,
        moe_intermediate_size=32,
        shared_expert_intermediate_size=32,
        decoder_sparse_step=1,
    )
    return transformers.Qwen3NextForCausalLM(config)


def rwkv(width: int) -> nn.Module:
    config = transformers.RwkvConfig(
        vocab_size=LETTERS, hidden_size=width, num_hidden_layers=2, context_length=512
    )
    return transformers.RwkvForCausalLM(config)


def xlstm(width: int) -> nn.Module:
    config = transformers.xLSTMConfig(
        vocab_size=LETTERS,
        hidden_size=width,
        num_hidden_layers=2,
        num_heads=4,
        qk_dim_factor=1.0,
        chunkwise_kernel="chunkwise--native_autograd",
        sequence_kernel="native_sequence__native",
        step_kernel="native",
    )
    return transformers.xLSTMForCausalLM(config)


def package_layer(kind: str, width: int, length: int) -> nn.Module:
    """A layer of the package xlstm, in its published block's form."""
    from xlstm.blocks.mlstm.layer import mLSTMLayer, mLSTMLayerConfig
    from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig

    if kind == "mlstm":
        own = mLSTMLayer(mLSTMLayerConfig(embedding_dim=width, num_heads=4, context_length=length))
    else:
        own = sLSTMLayer(
            sLSTMLayerConfig(embedding_dim=width, num_heads=4, backend="vanilla", dtype="float32")
        )
    own.reset_parameters()
    return own


CASES = (
    Case(name="Mamba, width 64", model=lambda: mamba(64), batch=8, length=128),
    Case(
        name="Mamba, width 64",
        model=lambda: mamba(64, parallel=True),
        batch=8,
        length=128,
        peer="mambapy path",
    ),
    Case(name="Mamba, width 256", model=lambda: mamba(256), batch=4, length=256, repeats=1),
    Case(
        name="Mamba, width 256",
        model=lambda: mamba(256, parallel=True),
        batch=4,
        length=256,
        peer="mambapy path",
        repeats=3,
    ),
    Case(name="Falcon-Mamba, width 64", model=lambda: falcon_mamba(64), batch=8, length=128),
    Case(name="Mamba-2, width 128", model=lambda: mamba2(128), batch=8, length=256),
    Case(name="RecurrentGemma, width 128", model=lambda: recurrent_gemma(128), batch=8, length=256),
    Case(name="Qwen3-Next, width 128", model=lambda: qwen3_next(128), batch=8, length=256),
    Case(name="RWKV-4, width 128", model=lambda: rwkv(128), batch=8, length=256),
    Case(name="xLSTM, width 128", model=lambda: xlstm(128), batch=8, length=256),
    Case(
        name="mLSTM layer of xlstm, width 64",
        model=lambda: package_layer("mlstm", 64, 512),
        batch=8,
        length=512,
        repeats=3,
    ),
    Case(
        name="sLSTM layer of xlstm, width 64",
        model=lambda: package_layer("slstm", 64, 256),
        batch=8,
        length=256,
    ),
)


def forward(model: nn.Module, x: Tensor) -> Tensor:
    """The logits of letters, or the outputs of a layer."""
    if x.is_floating_point():
        found = model(x)
        result: Tensor = found[0] if isinstance(found, tuple) else found
        return result
    logits: Tensor = model(input_ids=x, use_cache=False).logits
    return logits


def gradients(model: nn.Module, x: Tensor) -> list[Tensor]:
    """The gradients of all weights; of the next letter's loss where there are letters."""
    y = forward(model, x)
    loss = y.square().mean()
    if not x.is_floating_point():
        loss = nn.functional.cross_entropy(y[:, :-1].flatten(0, 1), x[:, 1:].flatten())
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


def difference(first: Sequence[Tensor], second: Sequence[Tensor]) -> float:
    """The largest difference of numbers, as a part of the largest of the first."""
    largest = max(tensor.abs().max().item() for tensor in first)
    return max((a - b).abs().max().item() for a, b in zip(first, second, strict=True)) / largest


def on_kernels(work: Work) -> Work:
    def run() -> object:
        with accelerated():
            return work()

    return run


def measure(case: Case) -> Outcome:
    """Returns what is seen of a case, and records its step."""
    torch.manual_seed(0)
    model = case.model()
    letters = hasattr(model, "generate")
    x = torch.randint(0, LETTERS, (case.batch, case.length))
    x = x if letters else torch.randn(case.batch, case.length, 64)
    plain: dict[str, Callable[[], list[Tensor]]] = {
        "step": lambda: gradients(model, x),
        "forward": lambda: _without_gradients(model, x),
    }
    model.train()
    differences = {name: difference(work(), on_kernels(work)()) for name, work in plain.items()}  # type: ignore[arg-type]
    seconds: dict[str, tuple[float, float]] = {}
    for name, work in plain.items():
        model.train(name == "step")
        spent = times({"ours": on_kernels(work), "theirs": work}, case.repeats)
        seconds[name] = (statistics.median(spent["theirs"]), statistics.median(spent["ours"]))
        if name == "step":
            record(f"transformers: {case.name}", case.peer, spent["ours"], spent["theirs"])
    same = None
    if letters:
        model.eval()
        prompt = x[:2, :9]
        generate: Any = partial(model.generate, prompt, max_new_tokens=16, do_sample=False)  # type: ignore[arg-type]
        same = torch.equal(generate(), on_kernels(generate)())
    return Outcome(
        name=f"{case.name}, batch {case.batch}, length {case.length}",
        peer=case.peer,
        seconds=seconds,
        outputs=differences["forward"],
        gradients=differences["step"],
        same_tokens=same,
    )


def _without_gradients(model: nn.Module, x: Tensor) -> list[Tensor]:
    with torch.no_grad():
        return [forward(model, x)]


def measure_rule(batch: int, length: int, heads: int, size: int) -> Outcome:
    """The gated delta rule of Qwen3-Next alone, its function against ours."""
    torch.manual_seed(0)
    shape = (batch, length, heads)
    q, k, v = (torch.randn(*shape, size, requires_grad=True) for _ in range(3))
    g = (-torch.rand(*shape)).requires_grad_()
    beta = torch.rand(*shape, requires_grad=True)
    leaves = (q, k, v, g, beta)
    ours: Any = partial(delta_rule, torch_chunk_gated_delta_rule)

    def pass_forward(rule: Any) -> list[Tensor]:
        with torch.no_grad():
            return [rule(*leaves, use_qk_l2norm_in_kernel=True)[0]]

    def step(rule: Any) -> list[Tensor]:
        y = rule(*leaves, use_qk_l2norm_in_kernel=True)[0]
        return list(torch.autograd.grad(y.square().mean(), leaves))

    seconds = {}
    for name, work in (("step", step), ("forward", pass_forward)):
        spent = times(
            {"ours": lambda w=work: w(ours), "theirs": lambda w=work: w(torch_chunk_gated_delta_rule)}
        )  # type: ignore[misc]
        seconds[name] = (statistics.median(spent["theirs"]), statistics.median(spent["ours"]))
        title = f"delta rule, {heads} heads of {size}, batch {batch}, length {length}"
        if name == "step":
            record(f"transformers: {title}", "default", spent["ours"], spent["theirs"])
    return Outcome(
        name=title,
        peer="default",
        seconds=seconds,
        outputs=difference(pass_forward(torch_chunk_gated_delta_rule), pass_forward(ours)),
        gradients=difference(step(torch_chunk_gated_delta_rule), step(ours)),
        same_tokens=None,
    )


RULES = ((8, 128, 4, 32), (1, 512, 8, 64), (1, 1024, 16, 128))


def outcomes(names: str) -> Iterator[Outcome]:
    for case in CASES:
        if names in case.name:
            yield measure(case)
    for sizes in RULES:
        if names in "delta rule":
            yield measure_rule(*sizes)


HEAD = (
    "| unmodified model | path of the library | step before | step with nerode | | forward before "
    "| with nerode | | outputs differ by | gradients differ by | same tokens |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
)


def line(seen: Outcome) -> str:
    """Returns a row of the table."""
    cells = [seen.name, seen.peer]
    for theirs, ours in seen.seconds.values():
        cells += [f"{theirs * 1e3:,.1f} ms", f"{ours * 1e3:,.1f} ms", f"{theirs / ours:.1f}×"]
    tokens = {None: "–", True: "yes", False: "no"}[seen.same_tokens]
    return f"| {' | '.join([*cells, f'{seen.outputs:.0e}', f'{seen.gradients:.0e}', tokens])} |"


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks transformers", description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    given = parser.parse_args(list(options))
    if given.write and given.only:
        parser.error("--write needs all rows; leave --only out")
    transformers.logging.set_verbosity_error()
    warnings.filterwarnings("ignore", module="xlstm|mlstm_kernels")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = []
        for seen in outcomes(given.only):
            found.append(line(seen))
            print(found[-1], flush=True)
    finally:
        torch.set_num_threads(threads)
    if given.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        table = "\n".join([BEGIN, "", *HEAD, *found, "", END])
        write_atomically(PAGE, before + table + rest.partition(END)[2])
        print(PAGE)
