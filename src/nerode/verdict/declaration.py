"""Declarations: the class of theory that a user says an own model is of, and what its weights say to that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from nerode.core import InputError, UnknownName
from nerode.verdict.architectures import ARCHITECTURES, Architecture, find_architecture
from nerode.verdict.classes import Gates, MemoryKind, Transition

T = TypeVar("T")

_TRANSITIONS = {
    "diagonal": Transition.DIAGONAL,
    "householder": Transition.HOUSEHOLDER,
    "permutation-diagonal": Transition.PERMUTATION_DIAGONAL,
    "dense": Transition.DENSE,
}
_GATES: dict[Any, Gates] = {
    (0, 1): Gates.NONNEGATIVE,
    (-1, 1): Gates.SIGNED,
    "[0,1]": Gates.NONNEGATIVE,
    "[-1,1]": Gates.SIGNED,
    "unit disk": Gates.COMPLEX,
    "unit circle": Gates.UNIT,
    "free": Gates.FREE,
}
_SLACK = 1e-4
"""Rounding of a measured eigenvalue."""


def describe(
    module: T | None = None,
    /,
    *,
    theory: str | None = None,
    transition: str | None = None,
    gates: tuple[float, float] | str | None = None,
    input_dependent: bool = True,
    write: str = "free",
) -> Any:
    """Declares the theoretical class of your own model, by its name or by its properties.

    The name is kept as the attribute `theory` of the module, where training finds it. It is a declaration:
    `nerode train` and `nerode report --language` hold measured gates and transitions against it.

    Args:
        module: the module, or its class; without it a decorator for one is returned.
        theory: a name of `nerode list architectures` ("diagonal-signed"), instead of all that follows.
        transition: "diagonal", "householder", "permutation-diagonal" or "dense".
        gates: where the eigenvalues lie: (0, 1), (-1, 1), "unit disk", "unit circle" or "free".
        input_dependent: whether the transition depends on the current letter.
        write: "free", or "tied" where one number sets both the gate and what is written.

    Returns:
        The module, or the decorator.

    Raises:
        InputError: if no class of the table has these properties; UnknownName for an unknown name.
    """
    name = (
        find_architecture(theory).name
        if theory is not None
        else _find(transition, gates, input_dependent=input_dependent, write=write)
    )

    def mark(owner: Any) -> Any:
        owner.theory = name
        return owner

    return mark if module is None else mark(module)


def _find(
    transition: str | None, gates: tuple[float, float] | str | None, *, input_dependent: bool, write: str
) -> str:
    key = tuple(gates) if isinstance(gates, tuple | list) else gates
    if transition not in _TRANSITIONS or key not in _GATES or write not in ("free", "tied"):
        raise InputError(
            f"transition={transition!r}, gates={gates!r}, write={write!r} describe no class; transitions are "
            f"{', '.join(_TRANSITIONS)}, gates (0, 1), (-1, 1), 'unit disk', 'unit circle' or 'free', writes "
            "'free' or 'tied'; or give theory, a name of `nerode list architectures`"
        )
    wanted = (_TRANSITIONS[transition], _GATES[key], input_dependent, write == "free")
    rows = [
        row
        for row in (ARCHITECTURES[name] for name in ARCHITECTURES)
        if row.properties.recurrence is MemoryKind.LINEAR and _properties(row) == wanted
    ]
    if not rows:
        raise InputError(
            f"the table of theory has no linear class that is {transition}, gates in {wanted[1].value}, "
            f"{'input-dependent' if input_dependent else 'time-invariant'}, write {write}; `nerode list "
            "architectures` lists what it has"
        )
    return min(rows, key=lambda row: not row.is_class).name


def _properties(row: Architecture) -> tuple[Transition, Gates, bool, bool]:
    p = row.properties
    return p.transition, p.gates, p.input_dependent, p.free_write


def contradiction(row: Architecture, measured: Mapping[str, Any]) -> str:
    """Returns what measured transitions say against a declared class, in words; empty if nothing.

    Args:
        row: the declared row.
        measured: as `nerode.models.measure_transitions` gives it; empty says nothing.
    """
    declared = row.properties
    if not measured or declared.recurrence is not MemoryKind.LINEAR:
        return ""
    form = measured["form"]
    least, modulus = float(measured["least"]), float(measured["modulus"])
    imaginary, largest = float(measured["imaginary"]), float(measured["largest"])
    said = f"it is declared as {row.name} ({declared.describe()})"
    if declared.transition is Transition.DIAGONAL and form in ("householder", "dense"):
        return f"{said}, but its transition() is {form}"
    if not declared.input_dependent and measured["varies"] and form != "derivative":
        return f"{said}, but its transition varies with the letter"
    real = declared.gates in (Gates.NONNEGATIVE, Gates.ABOVE_MINUS_HALF, Gates.SIGNED, Gates.AT_MOST_ONE)
    if real and imaginary > _SLACK:
        return f"{said}, but an eigenvalue with the imaginary part {imaginary:.4g} was measured"
    lowest = {Gates.NONNEGATIVE: 0.0, Gates.ABOVE_MINUS_HALF: -0.5, Gates.SIGNED: -1.0}.get(declared.gates)
    if lowest is not None and least < lowest - _SLACK:
        return f"{said}, but a gate of {least:.4g} was measured"
    if real and largest > 1 + _SLACK:
        return f"{said}, but a gate of {largest:.4g} was measured"
    if declared.gates in (Gates.COMPLEX, Gates.UNIT) and modulus > 1 + _SLACK:
        return f"{said}, but an eigenvalue of modulus {modulus:.4g} was measured"
    return ""


def declaration_trouble(theory: str, measured: Mapping[str, Any]) -> str:
    """Returns why theory says nothing of an own model: no declaration, or one that its weights contradict.

    Args:
        theory: the declared name; empty for none.
        measured: what was measured of its transitions.
    """
    if not theory:
        return "no class of theory is declared for it (model.theory in the spec, or nerode.describe)"
    try:
        return contradiction(find_architecture(theory), measured)
    except UnknownName as error:
        return str(error)
