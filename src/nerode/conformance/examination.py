"""All checks at once: as a table of what failed, or as a class of tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from nerode.conformance.checks import CHECKS
from nerode.conformance.subject import Subject


def examine(subject: Subject) -> dict[str, str | None]:
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
        **settings: the other fields of `Subject`.
    """
    subject = Subject(build=build, **settings)
    methods = {f"test_{name}": _method(name, subject) for name in CHECKS}
    return type("TestConformance", (), methods)


def _method(name: str, subject: Subject) -> Callable[[Any], None]:
    check = CHECKS[name]

    def test(self: Any) -> None:
        check(subject)

    test.__doc__ = check.__doc__
    return test
