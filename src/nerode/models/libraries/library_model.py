"""A model of another library as one of the zoo: its settings, and where each of its weights lies here."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from nerode.core import InputError
from nerode.models.config import ModelConfig
from nerode.models.libraries.places import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryModel:
    """A model of another library, described as one of the zoo.

    Attributes:
        config: the model of the zoo.
        places: where each weight lies.
        optional: weights of the library that may be left over, because others say the same.
        longest: the largest number of tokens for which the library's model is this function; None for any.
        assumed: what the weights do not say and was taken, in words; "" for nothing.
        cap: the library gives cap · tanh(score / cap); 0 for the scores themselves. The cap changes no sign
            and no order, and is left to the library.
    """

    config: ModelConfig
    places: tuple[Place, ...]
    optional: tuple[str, ...] = ()
    longest: int | None = None
    assumed: str = ""
    cap: float = 0.0


Shapes = Mapping[str, tuple[int, ...]]
Scorer = Callable[[Tensor], Tensor]
"""Letters (batch, time), or features (batch, time, features), to scores (batch, time, outputs)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryFormat:
    """A kind of model of another library.

    Attributes:
        name: kebab-case.
        library: the library, as pip and Python call it.
        architecture: the name that theory and the zoo know its layers by.
        describes: whether a config.json is of this kind.
        read: what the model is here, by its config and the shapes of its weights.
        load: the library's own model of a folder, for the comparison.
    """

    name: str
    library: str
    architecture: str
    describes: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Settings, Shapes], LibraryModel]
    load: Callable[[Path, Mapping[str, Any], Mapping[str, Tensor]], tuple[nn.Module, Scorer]]


class Settings:
    """The config of a library's model, each entry asked for by name and checked."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def whole(self, *names: str, default: int | None = None) -> int:
        """Returns a whole number of 1 or more, under the first name that is there."""
        value = self._find(names, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{names[0]} is {value!r}; it has to be a whole number of 1 or more")
        return value

    def number(self, *names: str, default: float) -> float:
        """Returns a number of 0 or more."""
        value = self._find(names, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise InputError(f"{names[0]} is {value!r}; it has to be a number of 0 or more")
        return float(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """Returns whether an option is set."""
        value = self._find((name,), default)
        if not isinstance(value, bool):
            raise InputError(f"{name} is {value!r}; it has to be true or false")
        return value

    def texts(self, name: str, *, default: list[str]) -> list[str]:
        """Returns a list of names."""
        value = self._find((name,), default)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value) or not value:
            raise InputError(f"{name} is {value!r}; it has to be a list of names")
        return value

    def table(self, name: str) -> Settings:
        """Returns the settings of a part, empty if there are none."""
        value = self._find((name,), {})
        if not isinstance(value, Mapping):
            raise InputError(f"{name} is {value!r}; it has to be a table")
        return Settings(value)

    def require(self, name: str, *allowed: Any, why: str = "the layer of the zoo has no other form") -> None:
        """Raises InputError unless an entry is absent or has one of these values."""
        value = self._data.get(name)
        if value is not None and value not in allowed:
            raise InputError(f"{name} is {value!r}; {why}: {', '.join(map(repr, allowed))}")

    def get(self, name: str) -> Any:
        """Returns an entry as it is, None if there is none."""
        return self._data.get(name)

    def _find(self, names: tuple[str, ...], default: Any) -> Any:
        for name in names:
            if self._data.get(name) is not None:
                return self._data[name]
        if default is None:
            raise InputError(f"{names[0]} is missing from the config")
        return default


@contextlib.contextmanager
def silence_libraries() -> Iterator[None]:
    """Silences warnings of libraries (slow paths, odd settings), which concern those who train."""
    before = logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(before)
