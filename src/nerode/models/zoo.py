"""The table of architectures: the kinds of layers of `architectures/` and their variants, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nerode.core import Registry, add_plugins, from_mapping, to_mapping
from nerode.models.architectures import (
    attention,
    complex_diagonal,
    deltanet,
    elman,
    gla,
    griffin,
    gru,
    h3,
    hgrn2,
    ids4,
    local_attention,
    lru,
    lssl,
    lstm,
    mamba,
    mamba2,
    megalodon,
    mingru,
    mlstm,
    nru,
    orthogonal,
    pd_ssm,
    retnet,
    rwkv4,
    rwkv6,
    rwkv7,
    s4,
    s4d,
    slstm,
    ssm,
    ttt_linear,
)
from nerode.models.base import LayerKind

KINDS: tuple[LayerKind, ...] = (
    attention.KIND,
    complex_diagonal.KIND,
    deltanet.DELTANET,
    deltanet.DELTAPRODUCT,
    elman.KIND,
    deltanet.GATED_DELTANET,
    gla.KIND,
    griffin.KIND,
    gru.KIND,
    h3.KIND,
    hgrn2.KIND,
    ids4.KIND,
    local_attention.KIND,
    lru.KIND,
    lssl.KIND,
    lstm.KIND,
    mamba.KIND,
    mamba2.KIND,
    megalodon.KIND,
    mingru.KIND,
    mlstm.KIND,
    nru.KIND,
    orthogonal.KIND,
    pd_ssm.KIND,
    retnet.KIND,
    rwkv4.TIME_MIX,
    rwkv6.KIND,
    rwkv7.KIND,
    rwkv4.CHANNEL_MIX,
    s4.KIND,
    s4d.KIND,
    slstm.KIND,
    ssm.KIND,
    ttt_linear.KIND,
)
"""All kinds of layers, one row per architecture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A name of the zoo: a kind of layer with some of its settings fixed.

    Attributes:
        name: kebab-case.
        kind: the kind of layer.
        settings: the settings that differ from the defaults of the kind.
    """

    name: str
    kind: LayerKind
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerConfig:
    """One layer of a model: the name of a member and the settings that differ from its own."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def resolve(self) -> tuple[LayerKind, Any]:
        """Returns the kind of layer and its complete settings, or raises InputError."""
        member = find_member(self.name)
        given = {**member.settings, **self.settings}
        return member.kind, from_mapping(member.kind.settings, given, where=self.name)

    def complete(self) -> LayerConfig:
        """Returns the same layer with every setting written out, defaults included."""
        _, settings = self.resolve()
        return LayerConfig(name=self.name, settings=to_mapping(settings))


def _collect() -> Registry[Member]:
    """Each kind under its own name, and its variants under theirs; their settings are checked here."""
    table: Registry[Member] = Registry(
        "architecture of the zoo", hint="`nerode list architectures --train` lists them."
    )
    layers: Registry[LayerKind] = Registry("layer")
    for kind in (*KINDS, *add_plugins("layers", layers, LayerKind)):
        for name, settings in {kind.name: {}, **kind.variants}.items():
            from_mapping(kind.settings, settings, where=name)
            table.add(name, Member(name=name, kind=kind, settings=settings))
    return table


_MEMBERS = _collect()


def find_member(name: str) -> Member:
    """Returns the row of a name, or raises UnknownName with the nearest."""
    return _MEMBERS[name.lower()]


def all_members() -> Registry[Member]:
    """Returns the whole table."""
    return _MEMBERS
