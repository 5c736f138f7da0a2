"""`nerode audit`: layers of other libraries beside ours, with the same weights, forward and backward."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.options import Command, FiniteRange, budgeted, default_option
from nerode.core import DTYPES, InputError

if TYPE_CHECKING:
    from nerode.models.audit import Audit, Gap, Peer

_DIGITS = 6
"""A peer keeps its whole sequence for the backward pass: longer ones fit no machine."""


@click.command(cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@default_option("--lengths", metavar="N,N", default="1,2,3,7,64,257", help="Lengths of the sequences.")
@default_option(
    "--dtype", type=click.Choice(list(DTYPES)), default="float32", help="Float format of weights and inputs."
)
@click.option(
    "--tolerance",
    type=FiniteRange(min=0, min_open=True),
    help="Largest relative difference; 1e-5 in float32 and 1e-10 in float64 by default.",
)
@default_option(
    "--seed", type=click.IntRange(min=0, max=(1 << 32) - 1), default=0, help="Seed of weights and inputs."
)
@click.option("--list", "listing", is_flag=True, help="List the peers and whether they can be run here.")
@budgeted(seconds=600.0, counts=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per peer, one per line.")
def audit(
    names: tuple[str, ...],
    lengths: str,
    dtype: str,
    tolerance: float | None,
    seed: int,
    listing: bool,
    as_json: bool,
) -> None:
    """Compare layers of other libraries with ours; exit 1 if one differs.

    NAME is a peer, such as transformers-mamba or xlstm-slstm; without names, all that can be run here. Both
    layers get the same weights and inputs. Outputs and gradients are held against our layer in float64.

    \b
    nerode audit --list
    nerode audit transformers-mamba xlstm-slstm --dtype float64
    """
    wanted = _read_lengths(lengths)
    peers = _choose(names, must_run=not listing)
    if listing:
        _list(peers, as_json)
        return
    import torch

    from nerode.models.audit import audit_peer

    found, left = [], []
    for number, peer in enumerate(peers, start=1):
        _say(f"{peer.name} ({number} of {len(peers)})")
        obstacle = peer.obstacle()
        if obstacle is not None:
            left.append((peer, obstacle))
            if as_json:
                item = {**_identity(peer), "verdict": None, "obstacle": obstacle}
                click.echo(json.dumps(item, ensure_ascii=False))
            continue
        found.append(
            audit_peer(peer, lengths=wanted, dtype=getattr(torch, dtype), seed=seed, tolerance=tolerance)
        )
        if as_json:
            click.echo(json.dumps(_object(found[-1], dtype), ensure_ascii=False))
    _say("")
    if not as_json:
        _print(found, left)
    sys.exit(0 if all(one.same for one in found) else 1)


def _say(line: str) -> None:
    """Shows on a terminal what is being done; the next line takes its place."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{line}", err=True, nl=False)


def _read_lengths(text: str) -> tuple[int, ...]:
    parts = [part.strip().lstrip("0") for part in text.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() and len(part) <= _DIGITS for part in parts):
        raise InputError(
            f"--lengths was given {text[:80]!r}; give whole numbers from 1 on and below 10^{_DIGITS}, such "
            "as 1,7,257"
        )
    return tuple(int(part) for part in parts)


def _choose(names: tuple[str, ...], *, must_run: bool) -> list[Peer]:
    """The peers of these names, or all; with `must_run`, one that was named and cannot run is an error."""
    from nerode.models.audit import all_peers

    table = all_peers()
    peers = [table[name.lower()] for name in dict.fromkeys(names)]
    peers = peers or sorted(table.values(), key=lambda peer: (peer.cuda, peer.name))
    for peer in peers if names and must_run else ():
        obstacle = peer.obstacle()
        if obstacle is not None:
            raise InputError(f"the peer {peer.name} cannot be run: {obstacle}")
    return peers


def _list(peers: list[Peer], as_json: bool) -> None:
    if as_json:
        for peer in peers:
            item = {**_identity(peer), "obstacle": peer.obstacle()}
            click.echo(json.dumps(item, ensure_ascii=False))
        return
    from nerode.report import make_console, name_table

    rows = [
        (peer.name, peer.layer, peer.ours, peer.obstacle() or f"{peer.library} {peer.version}")
        for peer in peers
    ]
    make_console().print(name_table(("peer", "layer", "ours", "here"), rows))


def _print(found: list[Audit], left: list[tuple[Peer, str]]) -> None:
    from nerode.report import make_console, name_table

    console = make_console()
    rows = [
        (
            one.peer.name,
            one.peer.version or "",
            _number(one.forward),
            _number(one.backward),
            one.where or "–",
            one.verdict,
        )
        for one in found
    ]
    if rows:
        heading = ("peer", "version", "forward", "backward", "first position that differs", "verdict")
        console.print(name_table(heading, rows))
    for one in found:
        if one.peer.note:
            console.print(f"{one.peer.name}: {one.peer.note}", style="dim")
    for peer, obstacle in left:
        console.print(f"not audited: {peer.name} ({obstacle})", style="dim")


def _number(share: float) -> str:
    return f"{share:.0e}" if math.isfinite(share) else "–"


def _identity(peer: Peer) -> dict[str, Any]:
    return {
        "peer": peer.name,
        "library": peer.library,
        "version": peer.version,
        "layer": peer.layer,
        "ours": peer.ours,
        "note": peer.note or None,
    }


def _object(one: Audit, dtype: str) -> dict[str, Any]:
    return {
        **_identity(one.peer),
        "dtype": dtype,
        "forward": _share(one.forward),
        "backward": _share(one.backward),
        "first": one.where or None,
        "verdict": one.verdict,
        "lengths": [
            {
                "length": c.length,
                "same": c.same,
                "tolerance": c.tolerance,
                "outputs": _gap(c.outputs),
                "gradient_of_inputs": _gap(c.inputs),
                "gradients_of_weights": {name: _gap(gap) for name, gap in c.weights.items()},
                "troubles": list(c.troubles),
            }
            for c in one.comparisons
        ],
    }


def _gap(gap: Gap | None) -> dict[str, Any] | None:
    """A gap with its positions, where it has them."""
    if gap is None:
        return None
    places = {name: getattr(gap, name) for name in ("at", "first", "last") if hasattr(gap, name)}
    return {"largest": _share(gap.largest), "own": _share(gap.own), "allowed": _share(gap.allowed), **places}


def _share(number: float) -> float | None:
    """JSON has no infinity; null stands for a difference without bound."""
    return number if math.isfinite(number) else None
