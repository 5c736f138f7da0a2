"""`nerode compile`: the network itself, with exact weights and a proof."""

from __future__ import annotations

import json
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from nerode.cli.options import budget_options, language_options, make_budget, read_language
from nerode.compiler import NgramOptions, Options, compile_language
from nerode.core import InputError, NotCompilable
from nerode.network import Network, describe_network
from nerode.proofs import Certificate, Refutation, Unproved, write_folder
from nerode.report import claim_line
from nerode.study import prove_network


@click.command(name="compile")
@click.argument("language", metavar="LANG")
@click.option(
    "--to", "target", metavar="TARGET", required=True, help="Class or named architecture to compile for."
)
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder to write.")
@click.option(
    "--construction", metavar="NAME", help="Use this construction instead of the first that applies."
)
@click.option(
    "--no-exclusive-scan", is_flag=True, help="Do not let layers read their state before the letter."
)
@click.option(
    "--retention",
    default="1/4",
    show_default=True,
    help="Without an exclusive scan: the gate of an overwrite that keeps the value before it.",
)
@click.option(
    "--eps",
    default="1/1000",
    show_default=True,
    help="N-gram models: largest L1 distance of the distributions.",
)
@click.option("--width", type=int, help="N-gram models: width of the embedding.")
@click.option(
    "--normaliser", default="softmax", show_default=True, help="N-gram models: softmax, sparsemax or hardmax."
)
@click.option(
    "--variant", default="structural", show_default=True, help="N-gram models: structural or conditioned."
)
@click.option(
    "--unknown", is_flag=True, help="N-gram models: predict the end after unknown contexts (one more neuron)."
)
@click.option("--no-certificate", is_flag=True, help="Do not look for a proof.")
@language_options
@budget_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compile_command(language: str, target: str, output: Path | None, as_json: bool, **options: Any) -> None:
    """Compile LANG into exact weights for TARGET, and prove them correct at every length.

    \b
    nerode compile "(aa)*" --to diagonal-signed -o parity/
    nerode compile flip-flop --to mamba -o flip-flop/
    nerode compile ngram-seed --to ssm --eps 1e-6 --width 10 -o ngram/
    """
    budget = make_budget(options)
    found = read_language(
        language, ltl=options["ltl"], regex=options["regex"], alphabet=options["alphabet"], budget=budget
    )
    chosen = Options(
        exclusive_scan=not options["no_exclusive_scan"],
        retention=_fraction("retention", options["retention"]),
        construction=options["construction"],
        ngrams=NgramOptions(
            eps=_fraction("eps", options["eps"]),
            embedding_width=options["width"],
            normaliser=options["normaliser"],
            variant=options["variant"],
            unknown_contexts=options["unknown"],
        ),
        budget=budget.start(),
    )
    try:
        network = compile_language(found, target, chosen)
    except NotCompilable as refusal:
        _refuse(refusal, found.name, as_json)
        sys.exit(1)
    verdict: Certificate | Refutation | Unproved | None = None
    if not options["no_certificate"]:
        verdict = prove_network(network, found, budget)
    certificate = verdict if isinstance(verdict, Certificate) else None
    if output is not None and not isinstance(verdict, Refutation):
        write_folder(output, network, found, certificate, budget=budget)
    if as_json:
        click.echo(json.dumps(_compile_object(network, certificate, output), ensure_ascii=False))
    else:
        click.echo(describe_network(network))
        click.echo(_proof_text(verdict))
        if output is not None and not isinstance(verdict, Refutation):
            click.echo(f"Next: nerode verify {output}   or   nerode run {output} WORD")
    if isinstance(verdict, Refutation):
        sys.exit(1)


def _refuse(refusal: NotCompilable, language: str, as_json: bool) -> None:
    """Says why there is no network; only a theorem may say that there can be none."""
    if as_json:
        item = {
            "target": refusal.target,
            "refused": list(refusal.reasons),
            "impossible": refusal.impossible,
        }
        click.echo(json.dumps(item, ensure_ascii=False))
        return
    target = refusal.target
    if refusal.impossible:
        first = f"{target} cannot do {language}:"
    else:
        first = f"no construction here makes {target} do {language}; no theorem here says that it cannot:"
    click.echo("\n".join([first, *(f"  {reason}" for reason in refusal.reasons)]), err=True)


def _compile_object(network: Network, certificate: Certificate | None, output: Path | None) -> dict[str, Any]:
    return {
        "target": network.target,
        "construction": network.origin.construction,
        "layers": network.depth,
        "width": network.width,
        "states": network.state_size,
        "bits": _bits(certificate),
        "parameters": network.num_parameters,
        "route": network.origin.route,
        "reference": str(network.origin.reference),
        "claims": [] if certificate is None else [claim.scope for claim in certificate.claims],
        "out": None if output is None else str(output),
    }


def _bits(certificate: Certificate | None) -> int | None:
    """Bits of memory: the logarithm of the number of joint configurations, where they are finite."""
    if certificate is None:
        return None
    counts = [e["configurations"] for e in certificate.evidence.values() if "configurations" in e]
    return math.ceil(math.log2(counts[0])) if counts else None


def _proof_text(verdict: Certificate | Refutation | Unproved | None) -> str:
    match verdict:
        case Certificate():
            return "\n".join(claim_line(claim) for claim in verdict.claims)
        case Refutation():
            word = " ".join(verdict.word) or "ε"
            answer = f"expected {set(verdict.expected)}, got {set(verdict.got)}"
            return f"WRONG after {word}: {answer}. Please report this."
        case Unproved():
            return f"no proof found: {verdict.reason}"
        case None:
            return "no proof was looked for"


def _fraction(name: str, text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{name} = {text!r} is not a number; write 1/1000 or 1e-3") from None
