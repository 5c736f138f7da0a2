"""Numbers that are affine forms of whole numbers in boxes: a float module and a network step on many at once.

A form is c₀ + Σ cₖ nₖ. The numbers nₖ are whole and lie in a box, one for each row of a batch. In a format of
p bits a sum of forms has no rounding in any order, fused or not, if all its terms are multiples of one g and
the sum of their sizes is at most 2ᵖ g; else its result is *loose*: no more is known of it than its ends. A
product with a loose number is loose, but for the product with 0. Functions are known where they round to 0, 1
or their argument (`_FLAT`). Where the sign of a form is not the same in the whole box, the row is *split*: it
asks for a smaller box, and what the step gives for it does not count.

A module of torch is run on forms by its own `step`: each function of torch that it calls is looked up here,
and one that is not known is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nerode.core import Exact, InputError
from nerode.network import Affine, Numbers, Recurrence, RecurrenceStep, Row

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NO_BIT = 4096
"""The exponent of the last bit of 0."""

_LEAST, _LARGEST = -100, 100
"""Exponents of numbers between which no format in question underflows or overflows, float16 aside."""

_FLAT = 128.0
"""From this size on σ, exp of a negative number, softplus and log σ are 0, 1 or their argument."""

_TINY = 2.0**-30
"""exp of a number below this is 1 in all formats but float64, which is refused."""

_TERMS = 13
"""A sum has fewer than 2^12 terms: all its roundings together are below 2^(13 - bits) of their sizes."""

_HELD = 53
"""Bits of the numbers of float64, with which coefficients are computed here."""


@dataclass(slots=True)
class Room:
    """Boxes of whole numbers, one per row, and where rows ask to be split.

    Attributes:
        low, high: the ends (rows, numbers).
        bits: of the format; 53 for exact arithmetic in float64.
        symbol: the number that a row wants to be split at, -1 for none.
        cut: the last number of the lower part.
        wild: rows in which a number may overflow; what is known of loose numbers holds in others.
    """

    low: Floats
    high: Floats
    bits: int
    symbol: Integers
    cut: Floats
    wild: Bools

    @classmethod
    def of(cls, low: Floats, high: Floats, bits: int) -> Room:
        """Returns boxes that do not ask for anything."""
        return cls(low, high, bits, np.full(len(low), -1), np.zeros(len(low)), np.zeros(len(low), dtype=bool))

    def exact(self) -> Room:
        """Returns the same boxes for exact arithmetic; what they ask for is shared."""
        return Room(self.low, self.high, 53, self.symbol, self.cut, self.wild)

    def ask(self, coef: Floats, where: Bools) -> None:
        """Splits rows at a number of a form whose sign is not known.

        Args:
            coef: forms (rows, …, 1 + numbers).
            where: of which the sign matters (rows, …).
        """
        flat, wanted = coef.reshape(len(coef), -1, coef.shape[-1]), where.reshape(len(coef), -1)
        for row in np.flatnonzero(wanted.any(1) & (self.symbol < 0)).tolist():
            form = flat[row, int(wanted[row].argmax())]
            width = self.high[row] - self.low[row]
            used = np.flatnonzero((form[1:] != 0) & (width > 0))
            if not len(used):
                raise InputError("a number without a choice has no sign")
            k = int(used[width[used].argmin()])
            middle = np.floor((self.low[row, k] + self.high[row, k]) / 2)
            if len(used) == 1:
                middle = self._fitting_cut(row, k, flat[row][wanted[row]])
            self.symbol[row] = k
            self.cut[row] = min(max(middle, self.low[row, k]), self.high[row, k] - 1)

    def _fitting_cut(self, row: int, k: int, forms: Floats) -> float:
        """The cut of a number that settles most of the signs that hang on it alone.

        A whole root may go to either part, since there the form has the sign of both.
        """
        others = (forms[:, 1:] != 0) & (self.high[row] > self.low[row])
        others[:, k] = False
        alone = forms[~others.any(1) & (forms[:, 1 + k] != 0)]
        fixed = np.where(np.arange(len(self.low[row])) == k, 0.0, self.low[row])
        roots = -(alone[:, 0] + alone[:, 1:] @ fixed) / alone[:, 1 + k]
        # Cuts are whole numbers c, between c and c + 1.
        cuts, settled = np.unique(np.concatenate([np.ceil(roots) - 1, np.floor(roots)]), return_counts=True)
        inside = (cuts >= self.low[row, k]) & (cuts < self.high[row, k])
        return float(cuts[inside][settled[inside].argmax()]) if inside.any() else float(np.floor(roots[0]))


class Forms:
    """An array of forms, one batch of rows first.

    Args:
        room: the boxes.
        coef: the forms (rows, …, 1 + numbers).
        loose: which entries are numbers of which only the ends are known (rows, …).
        low, high: those ends.
    """

    def __init__(
        self,
        room: Room,
        coef: Floats,
        loose: Bools | None = None,
        low: Floats | None = None,
        high: Floats | None = None,
    ) -> None:
        self.room, self.coef = room, coef
        self.loose = np.zeros(coef.shape[:-1], dtype=bool) if loose is None else loose
        self.low = np.zeros(coef.shape[:-1]) if low is None else low
        self.high = np.zeros(coef.shape[:-1]) if high is None else high

    @classmethod
    def constant(cls, room: Room, values: Floats) -> Forms:
        """Returns forms that are numbers."""
        coef = np.zeros((*values.shape, room.low.shape[1] + 1))
        coef[..., 0] = values
        return cls(room, coef)

    @property
    def shape(self) -> torch.Size:
        """The shape without the axis of coefficients."""
        return torch.Size(self.loose.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.loose.ndim

    def __len__(self) -> int:
        return len(self.coef)

    def ends(self) -> tuple[Floats, Floats]:
        """Returns the least and the greatest value of each entry."""
        first = last = self.coef[..., 0]
        if self.coef[..., 1:].any():
            axes = (len(self.coef), *[1] * (self.ndim - 1), self.room.low.shape[1])
            low, high, c = self.room.low.reshape(axes), self.room.high.reshape(axes), self.coef[..., 1:]
            up, down = np.maximum(c, 0), np.minimum(c, 0)
            first = self.coef[..., 0] + (up * low + down * high).sum(-1)
            last = self.coef[..., 0] + (up * high + down * low).sum(-1)
        return np.where(self.loose, self.low, first), np.where(self.loose, self.high, last)

    def size(self) -> Floats:
        """Returns the greatest absolute value of each entry."""
        low, high = self.ends()
        size: Floats = np.maximum(np.abs(low), np.abs(high))
        return size

    def spread(self) -> Floats:
        """Returns for each entry the sum of its coefficients' sizes, each times its number's greatest size.

        Where that is below 2^53 times the last bit, float64 makes no error with coefficients and ends.
        """
        sizes = np.abs(self.coef)
        found: Floats = sizes[..., 0]
        if sizes[..., 1:].any():
            axes = (len(sizes), *[1] * (self.ndim - 1), self.room.low.shape[1])
            most = np.maximum(np.maximum(np.abs(self.room.low), np.abs(self.room.high)), 1.0).reshape(axes)
            found = found + (sizes[..., 1:] * most).sum(-1)
        return found

    def last_bit(self) -> Integers:
        """Returns the exponent of which all values of an entry are multiples."""
        bits: Integers = last_bits(self.coef).min(-1)
        return bits

    def is_constant(self) -> Bools:
        """Returns which entries are one known number."""
        known: Bools = ~(self.coef[..., 1:] != 0).any(-1) & ~self.loose
        return known

    def __getitem__(self, index: Any) -> Forms:
        index = index if isinstance(index, tuple) else (index,)
        full = index if any(i is Ellipsis for i in index) else (*index, Ellipsis)
        ends = (self.low[full], self.high[full])
        return Forms(self.room, self.coef[(*full, slice(None))], self.loose[full], *ends)

    def reshaped(self, change: Callable[[Any], Any]) -> Forms:
        """Returns the forms with their entries moved, by what moves an array of their places."""
        places = change(np.arange(self.loose.size).reshape(self.loose.shape))
        flat = self.coef.reshape(-1, self.coef.shape[-1])
        parts = (part.reshape(-1)[places] for part in (self.loose, self.low, self.high))
        return Forms(self.room, flat[places], *parts)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        known = _FUNCTIONS.get(getattr(func, "__name__", ""))
        if known is None:
            raise InputError(f"it calls {getattr(func, '__name__', func)}, of which no lemma speaks")
        return known(*args, **(kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return lambda *args, **options: _FUNCTIONS[name](self, *args, **options)
        raise AttributeError(f"forms have no {name}")

    def __add__(self, other: Any) -> Forms:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Forms:
        return add(self, times(other, -1.0) if isinstance(other, Forms) else -other)

    def __rsub__(self, other: Any) -> Forms:
        return add(times(self, -1.0), other)

    def __neg__(self) -> Forms:
        return times(self, -1.0)

    def __mul__(self, other: Any) -> Forms:
        return times(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Forms:
        inverse = 1.0 / float(other)
        if inverse * float(other) != 1.0 or abs(np.frexp(inverse)[0]) != 0.5:
            raise InputError("it divides by a number that is no power of two")
        return times(self, inverse)


class LetterForms:
    """The letters of a batch, as the input of a module on forms."""

    def __init__(self, room: Room, letters: Integers) -> None:
        self.room, self.letters = room, letters

    def __getitem__(self, index: Any) -> LetterForms:
        return self

    def __len__(self) -> int:
        return len(self.letters)

    def long(self) -> LetterForms:
        """Returns the letters."""
        return self

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") != "embedding":
            raise InputError("it does not embed its letters by a table")
        letters, table = args[0], args[1]
        rows = array(table)[letters.letters]
        return Forms.constant(letters.room, rows[:, None])


def array(values: Any) -> Floats:
    """Returns the numbers of a tensor or an array; a whole format's numbers are numbers of float64."""
    if isinstance(values, Tensor):
        if values.is_complex():
            raise InputError("a weight is complex; forms are for real numbers")
        values = values.detach().double().numpy()
    found: Floats = np.asarray(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise InputError("a weight is not a finite number")
    return found


def last_bits(values: Floats) -> Integers:
    """Returns the exponents of the last bits of numbers; a large one for 0."""
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    bits: Integers = np.where(values == 0, _NO_BIT, exponent - 53 + np.frexp(np.maximum(lowest, 1))[1] - 1)
    return bits


def _checked(
    room: Room,
    coef: Floats,
    size: Floats,
    bit: Integers,
    loose: Bools,
    low: Floats,
    high: Floats,
    *,
    spread: Floats,
) -> Forms:
    """Forms that are sums without rounding; others are loose.

    Args:
        room: the boxes.
        coef: the sums.
        size: the sums of the sizes of their terms.
        bit: the exponents of which all terms are multiples.
        loose: sums with a loose term.
        low: the least values of the sums before rounding.
        high: the greatest.
        spread: the sums of the spreads of their terms, so that the coefficients themselves are exact.
    """
    fits = (size <= np.ldexp(1.0, np.clip(bit + room.bits, -1000, 1000))) | (size == 0)
    fits &= spread <= np.ldexp(1.0, np.clip(bit + _HELD, -1000, 1000))
    fits &= ((bit >= _LEAST) | (size == 0)) & (size <= 2.0**_LARGEST) & ~loose
    return _bounded(room, np.where(fits[..., None], coef, 0.0), ~fits, low, high, size)


def _bounded(room: Room, coef: Floats, loose: Bools, low: Floats, high: Floats, size: Floats) -> Forms:
    """Forms of which some are loose, with room for roundings of all their terms."""
    slack = np.where(loose, np.ldexp(size, _TERMS - room.bits) + 2.0**_LEAST, 0.0)
    ends = (np.where(loose, low - slack, 0.0), np.where(loose, high + slack, 0.0))
    wild = ~((ends[0] >= -(2.0**_LARGEST)) & (ends[1] <= 2.0**_LARGEST))
    if wild.any():
        rows: Bools = np.asarray(wild.reshape(wild.shape[0], -1).any(1))
        room.wild |= rows if len(rows) == len(room.wild) else rows.any()
    low, high = (np.nan_to_num(np.clip(end, -(2.0**_LARGEST), 2.0**_LARGEST)) for end in ends)
    return Forms(room, coef, loose, low, high)


def add(left: Any, right: Any) -> Forms:
    """Returns a sum of two."""
    room = left.room if isinstance(left, Forms) else right.room
    left, right = as_forms(room, left), as_forms(room, right)
    bit = np.minimum(left.last_bit(), right.last_bit())
    (a, b), (c, d) = left.ends(), right.ends()
    return _checked(
        room,
        left.coef + right.coef,
        left.size() + right.size(),
        bit,
        left.loose | right.loose,
        a + c,
        b + d,
        spread=left.spread() + right.spread(),
    )


def as_forms(room: Room, values: Any) -> Forms:
    """Returns numbers as forms."""
    return values if isinstance(values, Forms) else Forms.constant(room, array(values))


def times(left: Any, right: Any) -> Forms:
    """Returns products; one factor of each has to be a number."""
    room = left.room if isinstance(left, Forms) else right.room
    left, right = as_forms(room, left), as_forms(room, right)
    first, second = left.is_constant(), right.is_constant()
    first, second = np.broadcast_arrays(first, second)
    is_loose = left.loose | right.loose
    both = ~first & ~second & ~is_loose
    shape = both.shape
    a = np.broadcast_to(left.coef, (*shape, left.coef.shape[-1]))
    b = np.broadcast_to(right.coef, (*shape, right.coef.shape[-1]))
    if both.any():
        room.ask(a, both)
    # 0 times a finite number is 0.
    zero = (first & (a[..., 0] == 0)) | (second & (b[..., 0] == 0)) | both
    coef = np.where(first[..., None], a[..., :1] * b, np.where(second[..., None], b[..., :1] * a, 0.0))
    coef = np.where((zero | is_loose)[..., None], 0.0, coef)
    corners = np.stack([p * q for p in left.ends() for q in right.ends()])
    size = np.where(zero, 0.0, np.abs(corners).max(0))
    bit, spread = left.last_bit() + right.last_bit(), np.where(zero, 0.0, left.spread() * right.spread())
    return _checked(room, coef, size, bit, is_loose & ~zero, corners.min(0), corners.max(0), spread=spread)


def total(forms: Forms, dim: int = -1, keepdim: bool = False) -> Forms:
    """Returns sums over an axis, in any order."""
    axis = dim % forms.ndim
    _require_few(forms.shape[axis])
    size = forms.size().sum(axis, keepdims=keepdim)
    bit = forms.last_bit().min(axis, keepdims=keepdim)
    low, high = (end.sum(axis, keepdims=keepdim) for end in forms.ends())
    loose: Bools = np.asarray(forms.loose.any(axis, keepdims=keepdim))
    spread = forms.spread().sum(axis, keepdims=keepdim)
    coef = forms.coef.sum(axis, keepdims=keepdim)
    return _checked(forms.room, coef, size, bit, loose, low, high, spread=spread)


def _require_few(terms: int) -> None:
    if terms + 1 >= 1 << (_TERMS - 1):
        raise InputError(f"a sum has {terms:,} terms; the bound of roundings is for fewer than 2^12")


def linear(x: Forms, weight: Any, bias: Any = None) -> Forms:
    """Returns W x + b."""
    w = array(weight)
    _require_few(w.shape[1])
    exponents = last_bits(w)
    bit, loose, (low, high) = x.last_bit(), x.loose, x.ends()
    shape = (*x.loose.shape[:-1], len(w))
    out_bit, out_loose = np.full(shape, _NO_BIT), np.zeros(shape, dtype=bool)
    coef = np.zeros((*shape, x.coef.shape[-1]))
    for row, (numbers, least) in enumerate(zip(w, exponents, strict=True)):
        used = np.flatnonzero(numbers)
        if len(used):
            out_bit[..., row] = (bit[..., used] + least[used]).min(-1)
            out_loose[..., row] = loose[..., used].any(-1)
            coef[..., row, :] = np.einsum("...ik,i->...k", x.coef[..., used, :], numbers[used])
    up, down = np.maximum(w, 0).T, np.minimum(w, 0).T
    first, last = low @ up + high @ down, high @ up + low @ down
    sizes = np.maximum(np.abs(low), np.abs(high)) @ np.abs(w).T
    spread = x.spread() @ np.abs(w).T
    if bias is not None:
        b = array(bias)
        coef[..., 0] += b
        first, last, sizes, spread = first + b, last + b, sizes + np.abs(b), spread + np.abs(b)
        out_bit = np.minimum(out_bit, last_bits(b))
    return _checked(x.room, coef, sizes, out_bit, out_loose, first, last, spread=spread)


def _piecewise(
    x: Forms,
    *,
    same: Callable[[Floats, Floats], Any],
    values: Sequence[tuple[Callable[[Floats, Floats], Any], float]],
    image: Callable[[Floats, Floats], tuple[Floats, Floats]],
) -> Forms:
    """A function that is its argument or a number on whole boxes; elsewhere rows are split.

    Args:
        x: the arguments.
        same: where it is its argument, by the ends.
        values: where it is a number.
        image: ends of its values, where no more is known.
    """
    low, high = x.ends()
    keep = np.broadcast_to(np.asarray(same(low, high), dtype=bool), low.shape)
    coef = np.where((keep & ~x.loose)[..., None], x.coef, 0.0)
    done = keep.copy()
    for where, value in values:
        here = np.asarray(where(low, high), dtype=bool) & ~done
        coef[..., 0] = np.where(here, value, coef[..., 0])
        done |= here
    fixed = x.is_constant() | x.loose
    if (~done & ~fixed).any():
        x.room.ask(x.coef, ~done & ~fixed)
    loose = (~done & fixed) | (keep & x.loose)
    a, b = image(np.where(loose, low, 0.0), np.where(loose, high, 0.0))
    a, b = np.where(keep, low, a), np.where(keep, high, b)
    return _bounded(x.room, coef, loose, a, b, np.maximum(np.abs(a), np.abs(b)))


def _nowhere(low: Floats, high: Floats) -> bool:
    return False


def relu(x: Forms) -> Forms:
    """Returns max(x, 0)."""
    return _piecewise(
        x,
        same=lambda a, b: a >= 0,
        values=[(lambda a, b: b <= 0, 0.0)],
        image=lambda a, b: (np.maximum(a, 0), np.maximum(b, 0)),
    )


def silu(x: Forms, inplace: bool = False) -> Forms:
    """Returns x σ(x)."""
    return _piecewise(
        x,
        same=lambda a, b: a >= _FLAT / 4,
        values=[(lambda a, b: (a == 0) & (b == 0), 0.0), (lambda a, b: b <= -_FLAT, 0.0)],
        image=lambda a, b: (np.minimum(a, -1.0) * 0 - 1.0, np.maximum(b, 0)),
    )


def softplus(x: Forms, beta: float = 1, threshold: float = 20) -> Forms:
    """Returns log(1 + exp x), which torch computes as x above the threshold."""
    if beta != 1 or threshold != 20:
        raise InputError("it calls softplus with other settings than torch's own")
    return _piecewise(
        x,
        same=lambda a, b: a > threshold,
        values=[(lambda a, b: b <= -_FLAT, 0.0)],
        image=lambda a, b: (np.maximum(a, 0), np.maximum(b, 0) + 1),
    )


def sigmoid(x: Forms) -> Forms:
    """Returns σ(x)."""
    return _piecewise(
        x,
        same=_nowhere,
        values=[
            (lambda a, b: a >= _FLAT / 4, 1.0),
            (lambda a, b: b <= -_FLAT, 0.0),
            (lambda a, b: (a == 0) & (b == 0), 0.5),
        ],
        image=lambda a, b: (0 * a, 0 * b + 1),
    )


def logsigmoid(x: Forms) -> Forms:
    """Returns log σ(x)."""
    return _piecewise(
        x,
        same=lambda a, b: b <= -_FLAT / 4,
        values=[(lambda a, b: a >= _FLAT, 0.0)],
        image=lambda a, b: (np.minimum(a, 0) - 1, np.minimum(b, 0)),
    )


def exp(x: Forms) -> Forms:
    """Returns exp x; loose numbers are small or refused."""
    return _piecewise(
        x,
        same=_nowhere,
        values=[
            (lambda a, b: (a >= -_TINY) & (b <= _TINY), 1.0),
            (lambda a, b: b <= -_FLAT, 0.0),
        ],
        image=lambda a, b: (np.exp(np.minimum(a, 300.0)), np.exp(np.minimum(b, 300.0))),
    )


def _chunk(x: Forms, chunks: int, dim: int = 0) -> list[Forms]:
    count = x.loose.shape[dim]
    return _split(x, -(-count // chunks), dim)


def _split(x: Forms, sizes: Any, dim: int = 0) -> list[Forms]:
    count = x.loose.shape[dim]
    if isinstance(sizes, int):
        sizes = [min(sizes, count - first) for first in range(0, count, sizes)]
    edges = np.cumsum([0, *sizes])
    return [
        x.reshaped(lambda p, a=a, b=b: np.take(p, np.arange(a, b), axis=dim))  # type: ignore[misc]
        for a, b in itertools.pairwise(edges)
    ]


def concatenated(parts: Sequence[Any], dim: int = 0) -> Forms:
    """Returns forms one after the other along an axis."""
    room = next(part.room for part in parts if isinstance(part, Forms))
    forms = [as_forms(room, part) for part in parts]
    axis = dim % forms[0].ndim
    arrays = ([getattr(f, name) for f in forms] for name in ("coef", "loose", "low", "high"))
    return Forms(room, *(np.concatenate(part, axis=axis) for part in arrays))


def _shape(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else tuple(sizes)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "linear": linear,
    "add": add,
    "__add__": add,
    "__radd__": add,
    "sub": lambda x, y: x - y if isinstance(x, Forms) else y.__rsub__(x),
    "__sub__": lambda x, y: x - y if isinstance(x, Forms) else y.__rsub__(x),
    "rsub": lambda x, y: y - x if isinstance(y, Forms) else x.__rsub__(y),
    "__rsub__": lambda x, y: x.__rsub__(y),
    "mul": times,
    "__mul__": times,
    "__rmul__": times,
    "neg": lambda x: times(x, -1.0),
    "div": lambda x, y: x / y,
    "__truediv__": lambda x, y: x / y,
    "sum": total,
    "relu": lambda x, inplace=False: relu(x),
    "silu": silu,
    "softplus": softplus,
    "sigmoid": sigmoid,
    "logsigmoid": logsigmoid,
    "log_sigmoid": logsigmoid,
    "exp": exp,
    "cat": concatenated,
    "chunk": _chunk,
    "split": _split,
    "dropout": lambda x, p=0.5, training=True, inplace=False: _evaluated(x, training),
    "unflatten": lambda x, dim, sizes: x.reshaped(
        lambda p: p.reshape(*p.shape[: dim % p.ndim], *sizes, *p.shape[dim % p.ndim + 1 :])
    ),
    "flatten": lambda x, start_dim=0, end_dim=-1: x.reshaped(
        lambda p: p.reshape(*p.shape[: start_dim % p.ndim], -1, *p.shape[end_dim % p.ndim + 1 :])
    ),
    "reshape": lambda x, *sizes: x.reshaped(lambda p: p.reshape(_shape(sizes))),
    "view": lambda x, *sizes: x.reshaped(lambda p: p.reshape(_shape(sizes))),
    "unsqueeze": lambda x, dim: x.reshaped(lambda p: np.expand_dims(p, dim)),
    "squeeze": lambda x, dim: x.reshaped(lambda p: np.squeeze(p, dim)),
    "transpose": lambda x, a, b: x.reshaped(lambda p: np.swapaxes(p, a, b)),
    "contiguous": lambda x: x,
}
"""What each function of torch makes of forms; methods have the same names."""

_METHODS = frozenset(
    "relu silu sigmoid exp sum chunk split unflatten flatten reshape view unsqueeze squeeze transpose "
    "contiguous".split()
)


def _evaluated(x: Forms, training: bool) -> Forms:
    if training:
        raise InputError("it is not in evaluation mode")
    return x


class FormNumbers(Numbers[Forms]):
    """Forms as the numbers of a step of a network with a real linear state; a choice is an array."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def map(self, affine: Affine, place: str) -> Callable[[Forms], Forms]:
        """Returns an affine map."""
        weight, bias = dense(affine.rows, affine.num_inputs), _numbers(affine.bias)
        return lambda x: linear(x, weight, bias)

    def matrix(self, rows: Sequence[Row], place: str) -> Callable[[Forms, Forms], Forms]:
        """Returns (h, b) ↦ A h + b."""
        weight = dense(rows, len(rows))
        return lambda h, added: add(linear(h, weight), added)

    def vectors(self, table: Sequence[Sequence[Exact]], place: str) -> Callable[[Integers], Forms]:
        """Returns the map from choices to the vectors of a table."""
        values = np.array([_numbers(vector) for vector in table]).reshape(len(table), -1)
        return lambda letters: Forms.constant(self.room, values[letters])

    def picks(self, places: Sequence[int], place: str) -> Callable[[Forms], Forms]:
        """Returns the map that picks some entries."""
        columns = list(places)
        return lambda values: values[:, columns]

    def join(self, parts: Sequence[Forms]) -> Forms:
        """Returns vectors one after the other."""
        return concatenated(list(parts), 1)

    def split(self, values: Forms, count: int) -> list[Forms]:
        """Returns a vector in parts of equal length."""
        return _chunk(values, count, 1)

    def apply(self, function: str, values: Forms) -> Forms:
        """Returns relu of each entry."""
        if function != "relu":
            raise InputError(f"the network has units of {function}; forms are for ReLU")
        return relu(values)

    def times(self, left: Forms, right: Forms) -> Forms:
        """Returns products entry by entry."""
        return times(left, right)

    def gated(self, gate: Forms, values: Forms, added: Forms) -> Forms:
        """Returns gate · value + added."""
        return add(times(gate, values), added)

    def recurrence(self, record: Recurrence, *, is_complex: bool) -> RecurrenceStep[Forms]:
        """Returns the step of a recurrence with a real state."""
        if is_complex:
            raise InputError("a layer has a complex state; forms are for real states")
        return super().recurrence(record, is_complex=is_complex)

    def _refused(self, *args: Any, **options: Any) -> Any:
        raise InputError("the network has a recurrence that forms are not for")

    stateful = by_rows = one_hot = parts = over = mix = capped = _refused


def dense(rows: Sequence[Row], width: int) -> Floats:
    """Returns a matrix of exact numbers.

    Raises:
        InputError: for a number that float64 does not hold.
    """
    weight = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        for j, coefficient in row:
            weight[i, j] = number_of(coefficient)
    return weight


def _numbers(values: Sequence[Exact]) -> Floats:
    return np.array([number_of(value) for value in values], dtype=np.float64)


def number_of(value: Any) -> float:
    """Returns an exact number as one of float64, or raises InputError if it is none."""
    try:
        found = float(value)
    except TypeError:
        raise InputError("the network has an irrational number") from None
    if found != value:
        raise InputError(f"the network has the number {value}, which is no binary fraction")
    return found
