"""The table of architectures: one row for each kind of layer, filled by the files of `architectures/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from nerode.core import Reference, Registry, from_mapping, to_mapping
from nerode.models.base import Layer
from nerode.models.surroundings import Surroundings


class Builder(Protocol):
    """What makes a layer: its class, called with the width of its input and its settings."""

    def __call__(self, inputs: int, settings: Any, /) -> Layer:
        """Returns the layer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of layer.

    Attributes:
        name: kebab-case, as the verdict's table of architectures calls it where it has it.
        title: as it is written in the literature.
        settings: the dataclass of its settings; all have defaults.
        build: makes the layer.
        equation: its recurrence in one line.
        reference: where it was published.
        surroundings: norm, residual and feed-forward part around the layer, as published.
    """

    name: str
    title: str
    settings: type
    build: Builder
    equation: str
    reference: Reference
    surroundings: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A name of the zoo: a kind of layer with some of its settings fixed.

    Attributes:
        name: kebab-case.
        kind: the kind of layer.
        settings: the settings that differ from the defaults of the kind.
    """

    name: str
    kind: Kind
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerConfig:
    """One layer of a model: the name of a member and the settings that differ from its own."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def resolve(self) -> tuple[Kind, Any]:
        """Returns the kind of layer and its complete settings, or raises InputError."""
        member = find_member(self.name)
        given = {**member.settings, **self.settings}
        return member.kind, from_mapping(member.kind.settings, given, where=self.name)

    def complete(self) -> LayerConfig:
        """Returns the same layer with every setting written out, defaults included."""
        _, settings = self.resolve()
        return LayerConfig(name=self.name, settings=to_mapping(settings))


ZOO: Registry[Member] = Registry("architecture of the zoo", hint="`nerode architectures --train` lists them.")


def register(kind: Kind, **variants: Mapping[str, Any]) -> Kind:
    """Adds a kind under its own name, and each variant under its name (with `-` for `_`)."""
    ZOO.add(kind.name, Member(name=kind.name, kind=kind, settings={}))
    for name, settings in variants.items():
        name = name.replace("_", "-")
        from_mapping(kind.settings, settings, where=name)
        ZOO.add(name, Member(name=name, kind=kind, settings=settings))
    return kind


def find_member(name: str) -> Member:
    """Returns the row of a name, or raises UnknownName with the nearest."""
    import nerode.models.architectures  # noqa: F401  (fills the table)

    return ZOO[name.lower()]


def all_members() -> Registry[Member]:
    """Returns the whole table."""
    import nerode.models.architectures  # noqa: F401  (fills the table)

    return ZOO
