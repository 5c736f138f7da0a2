"""The table of architectures: the kinds of layers of `architectures/` and their variants, by name."""

from __future__ import annotations

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
class LayerConfig:
    """One layer of a model: the name of the zoo and the settings that differ from its own."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def resolve(self) -> tuple[LayerKind, Any]:
        """Returns the kind of layer and its complete settings, or raises InputError."""
        kind = find_kind(self.name)
        given = {**kind.variants.get(self.name.lower(), {}), **self.settings}
        return kind, from_mapping(kind.settings, given, where=self.name)

    def complete(self) -> LayerConfig:
        """Returns the same layer with every setting written out, defaults included."""
        _, settings = self.resolve()
        return LayerConfig(name=self.name, settings=to_mapping(settings))


def _collect() -> Registry[LayerKind]:
    """Each kind under its own name and those of its variants, whose settings are checked here."""
    table: Registry[LayerKind] = Registry(
        "architecture of the zoo", hint="`nerode list architectures --train` lists them."
    )
    layers: Registry[LayerKind] = Registry("layer")
    for kind in (*KINDS, *add_plugins("layers", layers, LayerKind)):
        for name, settings in {kind.name: {}, **kind.variants}.items():
            from_mapping(kind.settings, settings, where=name)
            table.add(name, kind)
    return table


_ZOO = _collect()


def find_kind(name: str) -> LayerKind:
    """Returns the kind of layer of a name of the zoo, or raises UnknownName with the nearest."""
    return _ZOO[name.lower()]


def all_kinds() -> Registry[LayerKind]:
    """Returns the kind of layer of each name of the zoo, its own name or that of a variant."""
    return _ZOO
