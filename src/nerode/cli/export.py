"""`nerode export`: a compiled network as an ONNX file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nerode.core import InputError
from nerode.proofs import read_network


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help="ONNX file to write (.onnx)."
)
@click.option("--dtype", default="float32", show_default=True, help="Float format: float32 or float64.")
@click.option(
    "--carry-state", is_flag=True, help="Make the state an input and an output, for words that come in parts."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def export(folder: Path, out: Path, dtype: str, carry_state: bool, as_json: bool) -> None:
    """Write the network in DIR as an ONNX graph: one Scan over the letters, correct at any length.

    \b
    nerode compile "(ab)*" --to diagonal -o ab/
    nerode export ab/ -o ab.onnx
    """
    network = read_network(folder)
    try:
        from nerode.models.onnx import write_onnx
    except ModuleNotFoundError as error:
        raise InputError(
            f"the package {error.name} is missing; install it with `pip install nerode[onnx]`"
        ) from None
    size = write_onnx(out, network, dtype=dtype, carry_state=carry_state)
    if as_json:
        click.echo(json.dumps({"out": str(out), "bytes": size, "dtype": dtype, "layers": network.depth}))
    else:
        click.echo(f"{out}: {size:,} bytes, {network.depth} layers in one Scan, {dtype}")
