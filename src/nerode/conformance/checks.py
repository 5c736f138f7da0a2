"""The model under test, and the checks: functions of it that raise AssertionError with what they saw.

Everything is compared in float64, where rounding cannot be mistaken for an error, and at lengths around the
borders of chunks: 1, 2, 3, 7, 64, 257. All checks together give a table of what failed, or a class of tests.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nerode.core import InputError

State = dict[str, Tensor]


RANGES = {
    "[0,1]": 0.0,
    "real, above -1/2": -0.5,
    "[-1,1]": -1.0,
    "real, at most 1": -math.inf,
    "unit disk": -1.0,
    "unit circle": -1.0,
}
"""The ranges that gates may be promised to lie in, with the least real value of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnderTest:
    """A model under examination.

    The model is an `nn.Module` with `initial_state(batch)`, `forward(x, state=None)` and `step(x, state)`,
    the last two returning outputs and state; a state is a dict of tensors whose first axis is the batch.
    Where it has them, `state_size`, `transition(x, state)` and `reference(x, state)` are examined too.

    Attributes:
        build: makes the model; called with nothing, under a fixed seed.
        letters: size of the vocabulary, for models that read letters.
        features: number of features, for models that read features.
        gates: where the eigenvalues of the transition must lie, one of `RANGES`; None for no promise.
        tolerance: largest relative difference in float64 that is taken for rounding.
        longest: the longest sequence to try, for models that are slow.
    """

    build: Callable[[], nn.Module]
    letters: int | None = None
    features: int | None = None
    gates: str | None = None
    tolerance: float = 1e-9
    longest: int = 257

    def __post_init__(self) -> None:
        if (self.letters is None) == (self.features is None):
            raise InputError("say what the model reads: letters=… or features=…")
        if self.gates not in (None, *RANGES):
            raise InputError(f"gates is {self.gates!r}; allowed are {', '.join(RANGES)}")

    def model(self, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> Any:
        """Returns the model with weights drawn from a seed, in evaluation mode."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.build().to(dtype).eval()

    def inputs(self, batch: int, time: int, *, seed: int = 1, dtype: torch.dtype = torch.float64) -> Tensor:
        """Returns random letters (batch, time) or features (batch, time, features)."""
        generator = torch.Generator().manual_seed(seed)
        if self.letters is not None:
            return torch.randint(0, self.letters, (batch, time), generator=generator)
        assert self.features is not None
        drawn = torch.randn(batch, time, self.features, generator=generator, dtype=torch.float64)
        return drawn.to(dtype)


def detached(state: State) -> State:
    """Returns the state without its history, as copies."""
    return {name: value.detach().clone() for name, value in state.items()}


def by_steps(model: Any, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
    """Returns what `forward` must return, by one step after the other."""
    state = model.initial_state(len(x)) if state is None else state
    outputs = []
    for position in x.unbind(1):
        output, state = model.step(position, state)
        outputs.append(output)
    return torch.stack(outputs, dim=1), state


LENGTHS = (1, 2, 3, 7, 64, 257)

COARSE = 25
"""Outputs in 16 bits may be off by so many units in the last place: 0.2 in bfloat16, 0.024 in float16."""

Check = Callable[[ModelUnderTest], None]


def check_step_is_forward(subject: ModelUnderTest) -> None:
    """A sequence at once gives what its positions give one by one, outputs and state."""
    model = subject.model()
    for length in _lengths(subject):
        x = subject.inputs(3, length)
        with torch.no_grad():
            whole, steps = model(x), by_steps(model, x)
        _same(whole[0], steps[0], subject, f"outputs of forward and step at length {length}")
        _same_states(whole[1], steps[1], subject, f"forward and step at length {length}")


def check_chunks(subject: ModelUnderTest) -> None:
    """A sequence may be cut anywhere."""
    model = subject.model()
    length = min(67, subject.longest)
    x = subject.inputs(2, length)
    with torch.no_grad():
        whole, after = model(x)
        for cuts in ([1], [length - 1], [2, 3], [1, 33, 64], list(range(1, min(length, 12)))):
            borders = [0, *(c for c in cuts if 0 < c < length), length]
            state, parts = None, []
            for first, last in itertools.pairwise(borders):
                if first < last:
                    part, state = model(x[:, first:last], state)
                    parts.append(part)
            _same(torch.cat(parts, dim=1), whole, subject, f"outputs when cut at {cuts}")
            _same_states(state or {}, after, subject, f"a sequence cut at {cuts} and the whole")


def check_gradients(subject: ModelUnderTest) -> None:
    """Gradients of the fast form are those of the loop of steps: weights, features and initial state."""
    for length in _lengths(subject):
        found = [_gradients(subject, length, fast=fast) for fast in (True, False)]
        for name in found[1]:
            _same(found[0][name], found[1][name], subject, f"gradient of {name} at length {length}", 100)


def check_numerical_gradients(subject: ModelUnderTest) -> None:
    """Gradients with respect to every weight agree with finite differences."""
    model = subject.model()
    names = [n for n, p in model.named_parameters() if p.requires_grad]
    weights = [p.detach().clone().requires_grad_() for _, p in model.named_parameters() if p.requires_grad]
    x = subject.inputs(2, 3)

    def run(*values: Tensor) -> Tensor:
        outputs, _ = torch.func.functional_call(model, dict(zip(names, values, strict=True)), (x,))
        return outputs  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(run, weights, eps=1e-6, atol=1e-5, rtol=1e-3, fast_mode=True)


def check_causality(subject: ModelUnderTest) -> None:
    """Later inputs change no earlier output."""
    model = subject.model()
    length = min(20, subject.longest)
    x = subject.inputs(2, length)
    other = subject.inputs(2, length, seed=2)
    with torch.no_grad():
        before, _ = model(x)
        for place in (1, length // 2, length - 1):
            changed = torch.cat([x[:, :place], other[:, place:]], dim=1)
            after, _ = model(changed)
            _same(after[:, :place], before[:, :place], subject, f"outputs before a change at {place}")


def check_batch(subject: ModelUnderTest) -> None:
    """A sequence gives the same alone and among others."""
    model = subject.model()
    x = subject.inputs(5, 9)
    with torch.no_grad():
        together, after = model(x)
        for row in (0, 4):
            alone, state = model(x[row : row + 1])
            _same(alone, together[row : row + 1], subject, f"outputs of row {row} alone")
            kept = {name: value[row : row + 1] for name, value in after.items()}
            _same_states(state, kept, subject, f"row {row} alone and in a batch")


def check_determinism(subject: ModelUnderTest) -> None:
    """The same call gives the same bits, for any number of threads; nothing is kept from call to call."""
    model = subject.model(dtype=torch.float32)
    x = subject.inputs(3, min(65, subject.longest), dtype=torch.float32)
    threads = torch.get_num_threads()
    try:
        runs = []
        for count in (1, 2, 1):
            torch.set_num_threads(count)
            with torch.no_grad():
                runs.append(model(x)[0])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(runs[0], runs[2]), "two calls of forward differ"
    assert torch.equal(runs[0], runs[1]), "forward gives other bits with two threads"


def check_given_state_is_kept(subject: ModelUnderTest) -> None:
    """Neither forward nor step changes the state that it is given."""
    model = subject.model()
    x = subject.inputs(2, 4)
    with torch.no_grad():
        _, state = model(x)
        kept = detached(state)
        model(x, state)
        _unchanged(state, kept, "forward")
        model.step(x[:, 0], state)
        _unchanged(state, kept, "step")


def check_state_size(subject: ModelUnderTest) -> None:
    """The declared size of the state is the number of numbers that are passed on, at every length."""
    model = subject.model()
    size = getattr(model, "state_size", None)
    if size is None:
        return
    for length in (1, 5):
        with torch.no_grad():
            _, state = model(subject.inputs(1, length))
        numbers = (v for v in state.values() if v.is_floating_point() or v.is_complex())
        seen = sum(v.numel() * (2 if v.is_complex() else 1) for v in numbers)
        assert seen == size, f"state_size is {size}; the state after {length} positions has {seen} numbers"


def check_saving(subject: ModelUnderTest) -> None:
    """Weights saved and loaded into a model with other weights give the same outputs."""
    from safetensors.torch import load, save

    model, other = subject.model(), subject.model(seed=5)
    saved = save({n: v.contiguous().clone() for n, v in model.state_dict().items()})
    other.load_state_dict(load(io.BytesIO(saved).getvalue()), strict=True)
    x = subject.inputs(2, 6)
    with torch.no_grad():
        assert torch.equal(model(x)[0], other(x)[0]), "a model with loaded weights gives other outputs"


def check_low_precision(subject: ModelUnderTest) -> None:
    """bfloat16 and float16 run everywhere, stay finite, and are near float64."""
    length = min(33, subject.longest)
    model = subject.model()
    with torch.no_grad():
        truth, _ = model(subject.inputs(2, length))
        for dtype in (torch.bfloat16, torch.float16):
            low = subject.model(dtype=dtype)
            outputs, state = low(subject.inputs(2, length, dtype=dtype))
            assert outputs.dtype == dtype, f"a {dtype} model gives {outputs.dtype}"
            assert all(torch.isfinite(v).all() for v in state.values()), f"the state in {dtype} is not finite"
            gap = (outputs.double() - truth).abs().max() / (1 + truth.abs().max())
            most = COARSE * torch.finfo(dtype).eps
            assert gap < most, (
                f"outputs in {dtype} are {gap:.2g} from those in float64; {most:.2g} is allowed"
            )


def check_transition(subject: ModelUnderTest) -> None:
    """Two runs on the same inputs from different states move apart exactly as the transition says."""
    model = subject.model()
    x = subject.inputs(2, 6)
    if not hasattr(model, "transition"):
        return
    with torch.no_grad():
        moves = model.transition(x)
        if moves is None:
            return
        first = model.initial_state(2)
        second = dict(first)
        generator = torch.Generator().manual_seed(3)
        noise = torch.randn(first[moves.state].shape, generator=generator, dtype=torch.float64)
        second[moves.state] = first[moves.state] + noise.to(first[moves.state].dtype)
        for time, position in enumerate(x.unbind(1)):
            expected = moves.apply(second[moves.state] - first[moves.state], time)
            _, first = model.step(position, first)
            _, second = model.step(position, second)
            _same(second[moves.state] - first[moves.state], expected, subject, f"transition at {time}", 100)
        if subject.gates is not None:
            _check_range(moves.eigenvalues(), subject.gates)


CHECKS: dict[str, Check] = {
    function.__name__.removeprefix("check_"): function
    for function in (
        check_step_is_forward,
        check_chunks,
        check_gradients,
        check_numerical_gradients,
        check_causality,
        check_batch,
        check_determinism,
        check_given_state_is_kept,
        check_state_size,
        check_saving,
        check_low_precision,
        check_transition,
    )
}


def _lengths(subject: ModelUnderTest) -> list[int]:
    return [length for length in LENGTHS if length <= subject.longest]


def _same(got: Tensor, wanted: Tensor, subject: ModelUnderTest, what: str, slack: float = 1.0) -> None:
    assert got.shape == wanted.shape, f"{what}: shapes {tuple(got.shape)} and {tuple(wanted.shape)}"
    got, wanted = got.detach(), wanted.detach()
    scale = 1 + float(wanted.abs().max()) if wanted.numel() else 1.0
    gap = float((got - wanted).abs().max()) if wanted.numel() else 0.0
    assert gap <= slack * subject.tolerance * scale, f"{what} differ by {gap:.3g} (scale {scale:.3g})"


def _same_states(got: State, wanted: State, subject: ModelUnderTest, what: str) -> None:
    assert got.keys() == wanted.keys(), f"the states of {what} are {sorted(got)} and {sorted(wanted)}"
    for name, value in wanted.items():
        if value.is_floating_point() or value.is_complex():
            _same(got[name], value, subject, f"state {name} of {what}")
        else:
            assert torch.equal(got[name], value), f"state {name} of {what} differs"


def _unchanged(state: State, kept: State, what: str) -> None:
    for name, value in kept.items():
        assert torch.equal(state[name], value), f"{what} changed the state {name!r} that it was given"


def _gradients(subject: ModelUnderTest, length: int, *, fast: bool) -> dict[str, Tensor]:
    """Gradients of a fixed random function of the outputs and of the state."""
    model = subject.model()
    x = subject.inputs(2, length)
    if x.is_floating_point():
        x.requires_grad_()
    with torch.no_grad():
        _, begin = model(subject.inputs(2, 3, seed=4))
    start = {n: v.detach().clone() for n, v in begin.items()}
    movable = {n: v.requires_grad_() for n, v in start.items() if v.is_floating_point() or v.is_complex()}
    outputs, state = model(x, start) if fast else by_steps(model, x, start)
    loss = _weighted(outputs, 0)
    for number, name in enumerate(sorted(state)):
        loss = loss + _weighted(state[name], number + 1)
    wanted = {**{f"weight {n}": p for n, p in model.named_parameters() if p.requires_grad}}
    wanted |= {f"state {n}": v for n, v in movable.items()}
    if x.is_floating_point():
        wanted["the inputs"] = x
    values = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True)
    return {
        n: torch.zeros_like(v) if g is None else g for (n, v), g in zip(wanted.items(), values, strict=True)
    }


def _weighted(value: Tensor, seed: int) -> Tensor:
    if not (value.is_floating_point() or value.is_complex()):
        return torch.zeros((), dtype=torch.float64)
    parts = torch.view_as_real(value) if value.is_complex() else value
    generator = torch.Generator().manual_seed(seed)
    return (parts * torch.randn(parts.shape, generator=generator, dtype=torch.float64)).sum()


def _check_range(values: Tensor, gates: str) -> None:
    slack = 1e-9
    if gates in ("unit disk", "unit circle"):
        assert float(values.abs().max()) <= 1 + slack, f"an eigenvalue lies outside the {gates}"
        least = float(values.abs().min())
        assert gates == "unit disk" or least >= 1 - slack, f"an eigenvalue has the modulus {least:.4g}"
        return
    imaginary = float(values.imag.abs().max()) if values.is_complex() else 0.0
    real: Any = values.real if values.is_complex() else values
    low = RANGES[gates]
    assert imaginary <= 1e-6, f"an eigenvalue has the imaginary part {imaginary:.3g}; the range is {gates}"
    assert float(real.min()) >= low - slack, f"an eigenvalue is {float(real.min()):.4g}, below {gates}"
    assert float(real.max()) <= 1 + slack, f"an eigenvalue is {float(real.max()):.4g}, above {gates}"


def examine(subject: ModelUnderTest) -> dict[str, str | None]:
    """Returns, for each check, None if it holds and otherwise what was seen."""
    found: dict[str, str | None] = {}
    for name, check in CHECKS.items():
        try:
            check(subject)
            found[name] = None
        except AssertionError as problem:
            found[name] = str(problem).split("\n", 1)[0]
        except Exception as problem:  # whatever an outside model raises is what was seen
            found[name] = f"{type(problem).__name__}: {problem}"
    return found


def suite(build: Callable[[], nn.Module], **settings: Any) -> type:
    """Returns a class with one test method for each check, for pytest to collect.

    Args:
        build: makes the model.
        **settings: the other fields of `ModelUnderTest`.
    """
    subject = ModelUnderTest(build=build, **settings)
    methods = {f"test_{name}": _method(name, subject) for name in CHECKS}
    return type("TestConformance", (), methods)


def _method(name: str, subject: ModelUnderTest) -> Callable[[Any], None]:
    check = CHECKS[name]

    def test(self: Any) -> None:
        check(subject)

    test.__doc__ = check.__doc__
    return test
