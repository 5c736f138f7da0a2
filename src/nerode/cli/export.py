"""`nerode export`: a network or weights as ONNX, as another library loads them, or theorems in Coq."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nerode.cli.options import PATH, Command, budgeted, default_option, force_option, trust_option
from nerode.core import (
    Budget,
    InputError,
    claim_file,
    plural,
    write_atomically,
)
from nerode.network import Network
from nerode.proofs import MODEL_FOLDER, folder_to_coq, graph_claims, read_language, read_network
from nerode.records import REFUTED, SUBJECT_FILE, Folder, ModelClaim, claims_to_json

LIBRARIES = ("huggingface", "mamba-ssm", "fla", "torch")

WEIGHTS_TO = ("onnx", "huggingface", "torch")
"""Forms in which the weights of any folder leave."""

_CHECK_SECONDS = 60.0
"""For the certificates of the network or its model."""


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=PATH)
@click.option(
    "-o",
    "--out",
    type=PATH,
    required=True,
    help="ONNX (.onnx) or Coq file (.v) or, for another library, folder to write.",
)
@default_option(
    "--to",
    default="onnx",
    type=click.Choice(("onnx", "coq", *LIBRARIES)),
    help="ONNX graph, theorems in Coq, or a folder that a library loads.",
)
@default_option("--dtype", default="float32", help="ONNX of a compiled network: float32 or float64.")
@click.option(
    "--carry-state",
    is_flag=True,
    help="ONNX: make the state an input and an output, for words that come in parts.",
)
@click.option(
    "--refuted",
    is_flag=True,
    help="Write it even if a word is known on which it fails; the note or the metadata names the word.",
)
@force_option
@trust_option
@budgeted(counts=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def export(
    folder: Path,
    out: Path,
    to: str,
    dtype: str,
    carry_state: bool,
    refuted: bool,
    force: bool,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
) -> None:
    """Write the network in DIR in a form that another program loads, with its claims.

    DIR is a compiled network, a training run, an import or a mended model. Its proofs are replayed first;
    what was written is compared with it, all words up to length 8 and some long ones, by the other program
    where that is installed. Claims, reading and letters go with it: into the metadata of a graph, into
    nerode.json and a model card (README.md) of a folder.

    onnx: a Scan over words and letters. Inputs and outputs are in docs/export.md. Of a compiled network that
    of the exact network is written: what holds in the float format on any program is printed; if nothing
    does, the network is run in the format, and a graph that fails on some word is refused.

    huggingface: a folder that transformers loads with from_pretrained, with a tokenizer of one token per
    letter. A model that was imported goes back with its own config, also after it was mended. mamba-ssm and
    fla: the state dict of a compiled whole model (`compile --surroundings published`) under their names.

    torch: the state dict, and the step as a program of torch.export, which plain torch loads.

    coq: the network, the language and the theorems of the certificate as one readable file. It is a theorem
    where coqc accepts it (`make formal` installs Coq and compiles the library that the file imports).

    \b
    nerode compile "(ab)*" --to diagonal -o ab/
    nerode export ab/ -o ab.onnx
    nerode export ab/ --to coq -o ab.v
    nerode export runs/9b7ef0cf02d1bbd9 -o lstm.onnx
    nerode export mended/ --to huggingface -o mended-hf/
    """
    if to == "coq":
        _export_coq(folder, out, force=force, as_json=as_json)
        return
    place = Folder(folder)
    weights = SUBJECT_FILE in place and place.subject.network.kind != "exact"
    if weights and to not in WEIGHTS_TO:
        raise InputError(
            f"{to} takes compiled whole models; weights can be exported to {', '.join(WEIGHTS_TO)}"
        )
    if weights or to != "onnx":
        from nerode.cli.export_weights import export_weights

        if not weights and not (folder / MODEL_FOLDER).is_dir():
            raise InputError(
                f"{folder} has no {MODEL_FOLDER}/; `nerode compile LANG --to mamba --surroundings published` "
                "writes one"
            )
        export_weights(
            folder if weights else folder / MODEL_FOLDER,
            out,
            to,
            carry_state=carry_state,
            refuted=refuted,
            force=force,
            trust_code=trust_code,
            as_json=as_json,
            budget=budget,
        )
        return
    from nerode.models.exports import write_onnx

    claim_file(out, force=force)
    network = read_network(folder)
    claims = _graph_claims(folder, network, dtype, refuted=refuted)
    size = write_onnx(out, network, dtype=dtype, carry_state=carry_state, claims=claims)
    if as_json:
        item = {"out": str(out), "bytes": size, "dtype": dtype, "layers": network.depth}
        click.echo(json.dumps({**item, "claims": claims_to_json(claims)}, ensure_ascii=False))
    else:
        click.echo(f"{out}: {size:,} bytes, {plural(network.depth, 'layer')} in one Scan, {dtype}")
        for claim in claims:
            click.echo(str(claim) if claim.is_proof else f"{claim}: {claim.says}")


def _graph_claims(folder: Path, network: Network, dtype: str, *, refuted: bool) -> tuple[ModelClaim, ...]:
    """Proofs of a graph for every program, or else where the module of the network fails.

    Raises:
        InputError: if it is known to fail, and such a graph was not asked for.
    """
    from nerode.models.exports import ELEMENTS

    claims = graph_claims(folder, dtype=dtype, budget=Budget(seconds=_CHECK_SECONDS))
    if any(claim.dtype == dtype and claim.is_proof for claim in claims) or dtype not in ELEMENTS:
        return claims
    from nerode.proofs.floats import graph_failure

    found = graph_failure(network, read_language(folder), dtype=dtype)
    if found.scope == REFUTED and not refuted:
        remedy = "" if dtype == "float64" else "try --dtype float64, or "
        raise InputError(
            f"the graph would be wrong: {found.says}, on {found.word}; {remedy}compile the language to "
            "another architecture, or give --refuted to write the graph with that in its metadata"
        )
    return (*claims, found)


def _export_coq(folder: Path, out: Path, *, force: bool, as_json: bool) -> None:
    """Writes the theorems about a compiled network."""
    if not (out.suffix == ".v" and out.stem.isidentifier() and out.stem.isascii()):
        raise InputError(f"coqc needs a file name such as ab_star.v, not {out.name}")
    claim_file(out, force=force)
    found = folder_to_coq(folder)
    write_atomically(out, found.text)
    if as_json:
        item = {"out": str(out), "to": "coq", "bytes": out.stat().st_size, "theorems": list(found.theorems)}
        click.echo(json.dumps(item, ensure_ascii=False))
    else:
        click.echo(f"{out}: {', '.join(found.theorems)}")
        click.echo(f"to check it with Coq: make formal && coqc -Q out/formal Nerode {out}")
