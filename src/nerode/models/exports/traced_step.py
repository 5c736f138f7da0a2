"""One step of any module as ONNX nodes: traced by torch.export, computed in advance where no letter matters.

The step is traced for one word, so that its numbers do not depend on the words beside it. Values that depend
on weights alone are computed by torch and written as constants. A complex value is a pair of real ones.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind

from nerode.core import InputError
from nerode.models.base import State

ONNX_TYPES = {
    torch.float64: TensorProto.DOUBLE,
    torch.float32: TensorProto.FLOAT,
    torch.int64: TensorProto.INT64,
    torch.int32: TensorProto.INT32,
    torch.bool: TensorProto.BOOL,
}
"""The types of values that a graph can hold."""

_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


@dataclass(frozen=True)
class Name:
    """A value of the graph.

    Attributes:
        name: its name.
        shape: its axes; the first is the word.
        dtype: its type, a real one.
    """

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype


@dataclass(frozen=True)
class Complex:
    """A complex value of the graph."""

    real: Any
    imaginary: Any


Value = Any
"""A Name, a Complex, a tensor that no letter changes, a number, or a list of these."""


class _Step(nn.Module):
    """The step of a module with its state in order instead of by name."""

    def __init__(self, module: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.module = module
        self.names = names

    def forward(self, x: Tensor, state: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Returns the scores and the state after one position."""
        step: Any = getattr(self.module, "advance", None) or self.module.step
        scores, after = step(x, dict(zip(self.names, state, strict=True)))
        return (scores, *(after[name] for name in self.names))


def trace_step(module: nn.Module, x: Tensor, state: State) -> ExportedProgram:
    """Returns the program of one step, in the basic operations of torch.

    Args:
        module: with `step` (`advance` of a model of the zoo), in evaluation mode.
        x: one letter (1,) or one position of features (1, features).
        state: the start.

    Raises:
        InputError: if the step decides by the values of numbers, or does what torch cannot trace.
    """
    given = tuple(value.detach().clone().contiguous() for value in state.values())
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            program: ExportedProgram = export(_Step(module, list(state)), (x, given)).run_decompositions()
            return program
    except Exception as error:
        what = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"the step of {type(module).__name__} cannot be traced by torch.export: {what}; it has to be "
            "torch operations on tensors, without decisions by their values"
        ) from None


class Nodes:
    """The nodes and constants of a graph.

    Args:
        prefix: of the names of values.
    """

    def __init__(self, prefix: str) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._prefix = prefix
        self._known: dict[tuple[bytes, str, tuple[int, ...]], str] = {}
        self._shown: Any = None

    @property
    def shown(self) -> Tensor:
        """The shape and type of the value that is being made, as torch knows it."""
        shown: Tensor = self._shown[0] if isinstance(self._shown, list | tuple) else self._shown
        return shown

    def node(self, kind: str, *inputs: Value, like: Tensor | Name | None = None, **attributes: Any) -> Name:
        """Adds an operator with one output, whose shape and type are those of `like` or of `shown`."""
        like = self.shown if like is None else like
        name = f"{self._prefix}_{len(self.nodes)}"
        names = [self.name(value) for value in inputs]
        self.nodes.append(helper.make_node(kind, names, [name], **attributes))
        return Name(name, tuple(like.shape), like.dtype)

    def nodes_of(self, kind: str, count: int, *inputs: Value, **attributes: Any) -> list[str]:
        """Adds an operator with several outputs."""
        outputs = [f"{self._prefix}_{len(self.nodes)}_{i}" for i in range(count)]
        names = [self.name(value) for value in inputs]
        self.nodes.append(helper.make_node(kind, names, outputs, **attributes))
        return outputs

    def name(self, value: Value) -> str:
        """Returns the name of a value; a tensor becomes a constant."""
        if isinstance(value, Name):
            return value.name
        if not isinstance(value, Tensor):
            raise InputError(f"the step gives {type(value).__name__} where ONNX needs a tensor")
        if value.is_complex() or value.dtype not in ONNX_TYPES:
            raise InputError(f"the step has a constant of {value.dtype}, which its graph cannot hold")
        return self.constant(value.detach().contiguous().numpy())

    def constant(self, values: Any) -> str:
        """Adds a constant."""
        array = np.array(values)
        key = (array.tobytes(), str(array.dtype), array.shape)
        if key not in self._known:
            name = f"{self._prefix}_constant_{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(array, name))
            self._known[key] = name
        return self._known[key]

    def whole(self, *values: int) -> Tensor:
        """Returns whole numbers for shapes and axes."""
        return torch.tensor(values, dtype=torch.int64)

    def as_type(self, value: Value, dtype: torch.dtype) -> Value:
        """Returns a value in a type, numbers included."""
        if isinstance(value, Tensor):
            return value.to(dtype)
        if not isinstance(value, Name):
            return torch.tensor(value, dtype=dtype)
        if value.dtype == dtype:
            return value
        if dtype not in ONNX_TYPES:
            raise InputError(f"the step converts to {dtype}, which its graph cannot hold")
        like = torch.empty(value.shape, dtype=dtype, device="meta")
        return self.node("Cast", value, like=like, to=ONNX_TYPES[dtype])

    def select(self, value: Value, axis: int, index: int) -> Value:
        """Returns a value at one place of an axis."""
        if isinstance(value, Tensor):
            return value.select(axis, index)
        like = _on_meta(value).select(axis, index)
        at = torch.tensor(index % value.shape[axis])
        return self.node("Gather", value, at, like=like, axis=axis % len(value.shape))

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """Returns the same numbers in another shape."""
        if isinstance(value, Tensor):
            return value.reshape(tuple(shape))
        like = _on_meta(value).reshape(tuple(shape))
        if tuple(like.shape) == value.shape:
            return value
        return self.node("Reshape", value, self.whole(*like.shape), like=like)

    def concat(self, values: Sequence[Value], axis: int = 0) -> Value:
        """Returns values one after the other."""
        if not _is_dynamic(values):
            return torch.cat(list(values), axis)
        like = torch.cat([_on_meta(value) for value in values], axis)
        return self.node("Concat", *values, like=like, axis=axis % like.ndim)

    def binary(self, kind: str, left: Value, right: Value, dtype: torch.dtype) -> Name:
        """Adds an operator of two values, both in a type."""
        return self.node(kind, self.as_type(left, dtype), self.as_type(right, dtype))


class OnnxStep(Nodes):
    """The nodes of a traced step.

    Args:
        program: of `trace_step`.
        prefix: of the names of values.
    """

    def __init__(self, program: ExportedProgram, prefix: str = "step") -> None:
        super().__init__(prefix)
        self._program = program

    @torch.no_grad()
    def run(self, inputs: Sequence[Value]) -> list[Value]:
        """Returns the outputs of the program for these inputs.

        Raises:
            InputError: for an operation that has no counterpart here.
        """
        signature, program = self._program.graph_signature, self._program
        values: dict[Any, Value] = {}
        given = iter(inputs)
        targets = {spec.arg.name: spec for spec in signature.input_specs if hasattr(spec.arg, "name")}
        for node in program.graph.nodes:
            if node.op == "placeholder":
                spec = targets[node.name]
                if spec.kind == InputKind.USER_INPUT:
                    values[node] = next(given)
                elif spec.target in program.state_dict:
                    values[node] = program.state_dict[spec.target].detach()
                else:
                    values[node] = program.constants.get(spec.target or "")
            elif node.op == "output":
                kinds = [spec.kind for spec in signature.output_specs]
                outputs = zip(node.args[0], kinds, strict=True)
                return [self._seen(values, out) for out, kind in outputs if kind == OutputKind.USER_OUTPUT]
            else:
                self._shown = node.meta.get("val")
                args = self._seen(values, node.args)
                options = self._seen(values, dict(node.kwargs))
                values[node] = self._apply(node.target, args, options)
        raise AssertionError("a program has outputs")

    def _seen(self, values: dict[Any, Value], argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node):
            return values[argument]
        if isinstance(argument, list | tuple):
            return [self._seen(values, part) for part in argument]
        if isinstance(argument, dict):
            return {key: self._seen(values, part) for key, part in argument.items()}
        return argument

    def _apply(self, target: Any, args: list[Value], options: dict[str, Value]) -> Value:
        name = getattr(target, "__name__", str(target)).partition(".")[0]
        if target is operator.getitem:
            return args[0][args[1]]
        if name == "with_effects":
            found = self._apply(args[1], args[2:], options)
            return [None, *(found if isinstance(found, list | tuple) else [found])]
        if name.startswith(("_assert", "sym_constrain")):
            return None
        if not _is_dynamic([args, options]):
            return target(*args, **options)
        if any(isinstance(value, Complex) for value in _flat(args)) or _is_complex(self._shown):
            return self._complex(name, args, options)
        rule = RULES.get(name)
        if rule is None:
            raise InputError(f"the step uses {target}, which has no ONNX counterpart here")
        return rule(self, *args, **options)

    def _complex(self, name: str, args: list[Value], options: dict[str, Value]) -> Value:
        """An operation with a complex argument or result, in pairs of real ones."""
        if name in ("complex", "polar", "view_as_complex"):
            if name == "complex":
                return Complex(*args)
            if name == "polar":
                size, angle = args
                turned = (self.real(part, angle) for part in ("cos", "sin"))
                return Complex(*(self.real("mul", size, part) for part in turned))
            last = len(args[0].shape) - 1
            return Complex(*(self.select(args[0], last, i) for i in (0, 1)))
        if name in ("clone", "alias", "_to_copy"):
            return args[0]
        parts = [_pair(value) for value in args]
        (a, b), *others = parts
        if name == "view_as_real":
            both = [self.reshape(part, [*part.shape, 1]) for part in (a, b)]
            return self.concat(both, len(both[0].shape) - 1)
        if name == "_conj":
            return Complex(a, self.real("neg", b))
        if name in ("add", "sub") and not options:
            (c, d) = others[0]
            return Complex(self.real(name, a, c), self.real(name, b, d))
        if name in ("mul", "mm", "bmm"):
            return Complex(*self._product(name, (a, b), others[0]))
        if name in _LINEAR:
            return Complex(*(self.real(name, part, *args[1:], **options) for part in (a, b)))
        if name == "cat":
            sides = [[_pair(value)[i] for value in args[0]] for i in (0, 1)]
            return Complex(*(self.concat(side, *args[1:]) for side in sides))
        raise InputError(f"the step uses {name} of complex numbers, which is not written to ONNX here")

    def _product(
        self, times: str, left: tuple[Value, Value], right: tuple[Value, Value]
    ) -> tuple[Value, Value]:
        (a, b), (c, d) = left, right
        # With a real factor the products with 0 are left out.
        if _is_zero(d):
            return self.real(times, a, c), self.real(times, b, c)
        if _is_zero(b):
            return self.real(times, a, c), self.real(times, a, d)
        real = self.real("sub", self.real(times, a, c), self.real(times, b, d))
        return real, self.real("add", self.real(times, a, d), self.real(times, b, c))

    def real(self, name: str, *args: Value, **options: Value) -> Value:
        """Returns an operation on real parts; their shapes are found by torch."""
        operation = getattr(torch.ops.aten, name)
        if not _is_dynamic([args, options]):
            return operation(*args, **options)
        kept, self._shown = self._shown, operation(*map(_on_meta, args), **options)
        try:
            return RULES[name](self, *args, **options)
        finally:
            self._shown = kept


_LINEAR = ("unsqueeze", "squeeze", "view", "permute", "select", "slice", "expand", "sum", "reshape", "clone")
"""Operations that act on real and imaginary parts alike."""


def _flat(argument: Any) -> list[Any]:
    if isinstance(argument, dict):
        argument = list(argument.values())
    if isinstance(argument, list | tuple):
        return [value for part in argument for value in _flat(part)]
    return [argument]


def _is_dynamic(argument: Any) -> bool:
    return any(isinstance(value, Name | Complex) for value in _flat(argument))


def _is_complex(shown: Any) -> bool:
    return isinstance(shown, Tensor) and shown.is_complex()


def _is_zero(value: Value) -> bool:
    return isinstance(value, Tensor) and not bool(value.any())


def _pair(value: Value) -> tuple[Value, Value]:
    if isinstance(value, Complex):
        return value.real, value.imaginary
    if isinstance(value, Tensor) and value.is_complex():
        return value.real, value.imag
    if isinstance(value, Name):
        return value, torch.zeros((), dtype=value.dtype)
    value = torch.as_tensor(value)
    return value, torch.zeros_like(value)


def _on_meta(value: Value) -> Value:
    if isinstance(value, Name):
        return torch.empty(value.shape, dtype=value.dtype, device="meta")
    return value.to("meta") if isinstance(value, Tensor) else value


Rule = Callable[..., Value]


def _plain(kind: str, **attributes: Any) -> Rule:
    return lambda step, x: step.node(kind, step.as_type(x, step.shown.dtype), **attributes)


def _arithmetic(kind: str) -> Rule:
    def rule(step: OnnxStep, left: Value, right: Value, alpha: float = 1, **_: Any) -> Value:
        dtype = step.shown.dtype
        if alpha != 1:
            right = step.binary("Mul", right, alpha, dtype) if isinstance(right, Name) else right * alpha
        return step.binary(kind, left, right, dtype)

    return rule


def _comparison(kind: str) -> Rule:
    def rule(step: OnnxStep, left: Value, right: Value) -> Value:
        types = [value.dtype for value in (left, right) if isinstance(value, Name | Tensor)]
        dtype = types[0] if len(types) == 1 else torch.promote_types(*types)
        if dtype == torch.int64 and isinstance(right, float):
            dtype = torch.float64
        return step.binary(kind, left, right, dtype)

    return rule


def _affine(
    step: OnnxStep, bias: Value, left: Value, right: Value, beta: float = 1, alpha: float = 1
) -> Value:
    if (beta, alpha) != (1, 1):
        raise InputError("the step scales a product and its bias, which is not written to ONNX here")
    return step.node("Add", step.node("MatMul", left, right), bias)


def _reduced(kind: str) -> Rule:
    def rule(step: OnnxStep, x: Value, axes: Any = None, keep: bool = False, **_: Any) -> Value:
        axes = range(len(x.shape)) if axes in (None, []) else axes
        axes = [axes] if isinstance(axes, int) else axes
        places = step.whole(*(axis % len(x.shape) for axis in axes))
        return step.node(kind, step.as_type(x, step.shown.dtype), places, keepdims=int(keep))

    return rule


def _power(step: OnnxStep, base: Value, exponent: Value) -> Value:
    if exponent == 2:
        return step.node("Mul", base, base)
    return step.binary("Pow", base, exponent, step.shown.dtype)


def _log_of_one_plus(step: OnnxStep, x: Value) -> Value:
    """Returns log(1 + x), also where 1 + x is rounded: log(u) · x / (u - 1) with u = 1 + x."""
    one = torch.ones((), dtype=x.dtype)
    u = step.node("Add", x, one)
    less = step.node("Sub", u, one)
    like = torch.empty(x.shape, dtype=torch.bool, device="meta")
    exact = step.node("Equal", less, torch.zeros((), dtype=x.dtype), like=like)
    quotient = step.node("Div", x, step.node("Where", exact, one, less))
    found = step.node("Mul", step.node("Log", u), quotient)
    return step.node("Where", exact, x, found)


def _clamp(step: OnnxStep, x: Value, least: Any = None, most: Any = None) -> Value:
    for kind, bound in (("Max", least), ("Min", most)):
        x = x if bound is None else step.binary(kind, x, bound, step.shown.dtype)
    return x


def _gelu(step: OnnxStep, x: Value, approximate: str = "none") -> Value:
    half, one = (torch.tensor(v, dtype=x.dtype) for v in (0.5, 1.0))
    if approximate == "none":
        root = torch.tensor(math.sqrt(0.5), dtype=x.dtype)
        inner = step.node("Erf", step.node("Mul", x, root))
    else:
        cube = step.node("Mul", step.node("Mul", x, x), x)
        summed = step.node("Add", x, step.node("Mul", cube, torch.tensor(0.044715, dtype=x.dtype)))
        scaled = step.node("Mul", summed, torch.tensor(math.sqrt(2 / math.pi), dtype=x.dtype))
        inner = step.node("Tanh", scaled)
    return step.node("Mul", step.node("Mul", x, half), step.node("Add", inner, one))


def _layer_norm(step: OnnxStep, x: Value, shape: list[int], weight: Value, bias: Value, eps: float) -> Value:
    last = step.whole(*range(len(x.shape) - len(shape), len(x.shape)))
    like = _on_meta(x).mean(tuple(last.tolist()), keepdim=True)
    centred = step.node("Sub", x, step.node("ReduceMean", x, last, like=like, keepdims=1))
    squares = step.node("ReduceMean", step.node("Mul", centred, centred), last, like=like, keepdims=1)
    root = step.node(
        "Sqrt", step.node("Add", squares, torch.tensor(eps, dtype=x.dtype), like=like), like=like
    )
    y = step.node("Div", centred, root)
    y = y if weight is None else step.node("Mul", y, weight)
    return (y if bias is None else step.node("Add", y, bias),)


def _norm(
    step: OnnxStep, x: Value, order: float = 2, axes: Any = None, keep: bool = False, **_: Any
) -> Value:
    if order == 2:
        return _reduced("ReduceL2")(step, x, axes, keep)
    if order in (math.inf, -math.inf, 0):
        raise InputError(f"the step uses the norm of order {order}, which is not written to ONNX here")
    powers = step.node("Pow", step.node("Abs", x, like=x), torch.tensor(order, dtype=x.dtype), like=x)
    total = _reduced("ReduceSum")(step, powers, axes, keep)
    return step.node("Pow", total, torch.tensor(1 / order, dtype=x.dtype))


def _frexp(step: OnnxStep, x: Value) -> Value:
    """Mantissa and exponent; next to a power of 2 they may be those of its other side."""
    one, two = (torch.tensor(v, dtype=x.dtype) for v in (1.0, 2.0))
    like = torch.empty(x.shape, dtype=torch.bool, device="meta")
    zero = step.node("Equal", x, torch.zeros((), dtype=x.dtype), like=like)
    size = step.node("Where", zero, one, step.node("Abs", x, like=x), like=x)
    scaled = step.node(
        "Mul", step.node("Log", size, like=x), torch.tensor(1 / math.log(2), dtype=x.dtype), like=x
    )
    exponent = step.node("Add", step.node("Floor", scaled, like=x), one, like=x)
    mantissa = step.node("Div", x, step.node("Pow", two, exponent, like=x), like=x)
    whole = step.node("Where", zero, torch.zeros((), dtype=x.dtype), exponent, like=x)
    return mantissa, step.as_type(whole, torch.int32)


def _variance(
    step: OnnxStep, x: Value, axes: Any = None, *, correction: Any = 1, keepdim: bool = False
) -> Value:
    axes = list(range(len(x.shape))) if axes is None else axes
    places = step.whole(*(axis % len(x.shape) for axis in axes))
    like = _on_meta(x).mean(tuple(axes), keepdim=True)
    centred = step.node("Sub", x, step.node("ReduceMean", x, places, like=like, keepdims=1), like=x)
    squares = step.node("Mul", centred, centred, like=x)
    count = math.prod(x.shape[axis] for axis in axes) - (1 if correction is None else correction)
    total = step.node("ReduceSum", squares, places, keepdims=int(keepdim))
    return step.node("Div", total, torch.tensor(float(count), dtype=x.dtype))


def _slice(step: OnnxStep, x: Value, axis: int = 0, start: Any = None, end: Any = None, by: int = 1) -> Value:
    if tuple(step.shown.shape) == x.shape:
        return x
    bounds = (
        step.whole(start or 0),
        step.whole(min(end if end is not None else x.shape[axis], x.shape[axis])),
    )
    return step.node("Slice", x, *bounds, step.whole(axis % len(x.shape)), step.whole(by))


def _split(step: OnnxStep, x: Value, sizes: list[int], axis: int = 0) -> Value:
    names = step.nodes_of("Split", len(sizes), x, step.whole(*sizes), axis=axis % len(x.shape))
    shape = list(x.shape)
    found = []
    for name, size in zip(names, sizes, strict=True):
        shape[axis] = size
        found.append(Name(name, tuple(shape), x.dtype))
    return found


def _index(step: OnnxStep, x: Value, places: list[Value]) -> Value:
    given = [i for i, place in enumerate(places) if place is not None]
    if len(given) != 1:
        raise InputError("the step reads a tensor at places along several axes, which is not written here")
    return step.node("Gather", x, places[given[0]], axis=given[0])


def _remainder(step: OnnxStep, x: Value, by: Value) -> Value:
    dtype = step.shown.dtype
    if not dtype.is_floating_point:
        return step.binary("Mod", x, by, dtype)
    by = step.as_type(by, dtype)
    quotient = step.node("Floor", step.node("Div", x, by))
    return step.node("Sub", x, step.node("Mul", quotient, by))


def _any(step: OnnxStep, x: Value, axes: Any = None, keep: bool = False) -> Value:
    axes = range(len(x.shape)) if axes is None else [axes] if isinstance(axes, int) else axes
    places = step.whole(*(axis % len(x.shape) for axis in axes))
    number = step.as_type(x, torch.int64)
    total = step.node("ReduceMax", number, places, like=step.shown, keepdims=int(keep))
    return step.as_type(Name(total.name, total.shape, torch.int64), torch.bool)


def _pad(step: OnnxStep, x: Value, pads: list[int], value: float = 0.0) -> Value:
    rank = len(x.shape)
    begins, ends = [0] * rank, [0] * rank
    for i in range(len(pads) // 2):
        begins[rank - 1 - i], ends[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    return step.node("Pad", x, step.whole(*begins, *ends), torch.tensor(value, dtype=x.dtype))


def _flip(step: OnnxStep, x: Value, axes: list[int]) -> Value:
    for axis in axes:
        backwards = torch.arange(x.shape[axis] - 1, -1, -1)
        x = step.node("Gather", x, backwards, axis=axis % len(x.shape))
    return x


def _argmax(step: OnnxStep, x: Value, axis: int | None = None, keep: bool = False) -> Value:
    if axis is None:
        x, axis = step.reshape(x, [-1]), 0
    return step.node("ArgMax", x, axis=axis % len(x.shape), keepdims=int(keep))


def _scatter(step: OnnxStep, x: Value, axis: int, index: Value, source: Value) -> Value:
    if not isinstance(source, Name | Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype)
    return step.node("ScatterElements", x, index, source, axis=axis % len(x.shape))


def _scatter_add(step: OnnxStep, x: Value, axis: int, index: Value, source: Value) -> Value:
    axis %= len(x.shape)
    return step.node("ScatterElements", x, index, source, axis=axis, reduction="add")


def _same(step: OnnxStep, x: Value, *_: Any, **__: Any) -> Value:
    return step.as_type(x, step.shown.dtype)


def _filled(step: OnnxStep, x: Value, value: Any, **_: Any) -> Value:
    return torch.full(x.shape, value, dtype=step.shown.dtype)


RULES: dict[str, Rule] = {
    **{name: _arithmetic(kind) for name, kind in {"add": "Add", "sub": "Sub", "mul": "Mul"}.items()},
    "div": _arithmetic("Div"),
    **{
        name: _plain(kind)
        for name, kind in {
            "neg": "Neg",
            "exp": "Exp",
            "log": "Log",
            "sqrt": "Sqrt",
            "reciprocal": "Reciprocal",
            "tanh": "Tanh",
            "sigmoid": "Sigmoid",
            "relu": "Relu",
            "erf": "Erf",
            "sin": "Sin",
            "cos": "Cos",
            "abs": "Abs",
            "floor": "Floor",
            "ceil": "Ceil",
            "round": "Round",
            "sign": "Sign",
            "elu": "Elu",
            "softplus": "Softplus",
        }.items()
    },
    **{
        name: _comparison(kind)
        for name, kind in {
            "eq": "Equal",
            "gt": "Greater",
            "ge": "GreaterOrEqual",
            "lt": "Less",
            "le": "LessOrEqual",
        }.items()
    },
    "ne": lambda step, a, b: step.node("Not", _comparison("Equal")(step, a, b)),
    "logical_not": lambda step, x: step.node("Not", step.as_type(x, torch.bool)),
    "bitwise_not": lambda step, x: step.node("Not", step.as_type(x, torch.bool)),
    "logical_and": lambda step, a, b: step.binary("And", a, b, torch.bool),
    "bitwise_and": lambda step, a, b: step.binary("And", a, b, torch.bool),
    "logical_or": lambda step, a, b: step.binary("Or", a, b, torch.bool),
    "bitwise_or": lambda step, a, b: step.binary("Or", a, b, torch.bool),
    "maximum": lambda step, a, b: step.binary("Max", a, b, step.shown.dtype),
    "minimum": lambda step, a, b: step.binary("Min", a, b, step.shown.dtype),
    "rsqrt": lambda step, x: step.node("Reciprocal", step.node("Sqrt", x)),
    "square": lambda step, x: step.node("Mul", x, x),
    "expm1": lambda step, x: step.node("Sub", step.node("Exp", x), torch.ones((), dtype=x.dtype)),
    "log1p": _log_of_one_plus,
    "pow": _power,
    "clamp": _clamp,
    "clamp_min": lambda step, x, least: _clamp(step, x, least),
    "hardtanh": lambda step, x, least=-1.0, most=1.0: _clamp(step, x, least, most),
    "leaky_relu": lambda step, x, slope=0.01: step.node("LeakyRelu", x, alpha=slope),
    "gelu": _gelu,
    "where": lambda step, which, a, b: step.node(
        "Where", which, *(step.as_type(value, step.shown.dtype) for value in (a, b))
    ),
    "mm": lambda step, a, b: step.node("MatMul", a, b),
    "bmm": lambda step, a, b: step.node("MatMul", a, b),
    "mv": lambda step, a, b: step.node("MatMul", a, b),
    "dot": lambda step, a, b: step.node("MatMul", a, b),
    "addmm": _affine,
    "_softmax": lambda step, x, axis, half=False: step.node("Softmax", x, axis=axis % len(x.shape)),
    "_log_softmax": lambda step, x, axis, half=False: step.node("LogSoftmax", x, axis=axis % len(x.shape)),
    **{
        name: _reduced(kind)
        for name, kind in {
            "sum": "ReduceSum",
            "mean": "ReduceMean",
            "amax": "ReduceMax",
            "amin": "ReduceMin",
            "prod": "ReduceProd",
        }.items()
    },
    "any": _any,
    "argmax": _argmax,
    "var": _variance,
    "linalg_vector_norm": _norm,
    "frexp": _frexp,
    "native_layer_norm": _layer_norm,
    "cumsum": lambda step, x, axis, **_: step.node("CumSum", x, torch.tensor(axis % len(x.shape))),
    "cat": lambda step, values, axis=0: step.concat(values, axis),
    "split_with_sizes": _split,
    "slice": _slice,
    "select": lambda step, x, axis, index: step.select(x, axis, index),
    "index": _index,
    "index_select": lambda step, x, axis, places: step.node("Gather", x, places, axis=axis % len(x.shape)),
    "gather": lambda step, x, axis, places, **_: step.node(
        "GatherElements", x, places, axis=axis % len(x.shape)
    ),
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "embedding": lambda step, table, places, *_, **__: step.node("Gather", table, places, axis=0),
    **dict.fromkeys(
        ("unsqueeze", "squeeze", "view", "reshape", "_unsafe_view"),
        lambda step, x, *_: step.reshape(x, step.shown.shape),
    ),
    "permute": lambda step, x, axes: step.node("Transpose", x, perm=[axis % len(x.shape) for axis in axes]),
    "expand": lambda step, x, *_, **__: step.node("Expand", x, step.whole(*step.shown.shape)),
    "constant_pad_nd": _pad,
    "flip": _flip,
    "remainder": _remainder,
    **dict.fromkeys(("clone", "alias", "detach", "_to_copy", "lift_fresh_copy", "contiguous"), _same),
    "full_like": _filled,
    "zeros_like": lambda step, x, **_: _filled(step, x, 0),
    "ones_like": lambda step, x, **_: _filled(step, x, 1),
}
"""The ONNX form of each basic operation of torch, by its name."""
