"""`nerode compile`: the weights of an architecture and the exact network that explains them, with proofs."""

from __future__ import annotations

import json
import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.cli.options import (
    FOLDER,
    Command,
    LanguageReading,
    budgeted,
    default_option,
    force_option,
    language_options,
)
from nerode.compiler import NgramOptions, Options, compile_program
from nerode.core import DTYPES, Budget, InputError, NotCompilable, defer_registrations, read_fraction
from nerode.languages import Language
from nerode.languages.ngrams import NgramLanguage
from nerode.network import LogitDecoder, Network, describe_network
from nerode.proofs import (
    NETWORK_FILE,
    Certificate,
    Refutation,
    Unproved,
    claim_network_folder,
    claim_to_json,
)
from nerode.proofs.artefacts import CompiledProgram, prove_program
from nerode.report import claim_line
from nerode.verdict import find_architecture

if TYPE_CHECKING:
    pass


class _Target(click.types.StringParamType):
    """The name of a class or an architecture."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        """Returns what to give."""
        return "Name a class or an architecture: `nerode check LANG` says which can do the language."


@click.command(
    name="compile",
    cls=Command,
    sections={
        "Named architectures": ("dtype", "surroundings", "length"),
        "N-gram models": ("eps", "width", "normaliser", "variant", "unknown", "normalise", "support"),
    },
)
@click.argument("language", metavar="LANG")
@click.option(
    "--to",
    "target",
    metavar="TARGET",
    type=_Target(),
    required=True,
    help="Class or architecture to compile for; `nerode list architectures` lists both.",
)
@click.option("-o", "--output", type=FOLDER, help="Folder to write.")
@click.option(
    "--construction", metavar="NAME", help="Use this construction instead of the first that applies."
)
@default_option(
    "--task",
    default="recognise",
    type=click.Choice(("recognise", "predict")),
    help="predict: prefixes of valid words are enough, and the network is smaller where a construction for "
    "those exists.",
)
@click.option(
    "--no-exclusive-scan", is_flag=True, help="Do not let layers read their state before the letter."
)
@click.option(
    "--exact-floats",
    is_flag=True,
    help="Prefer reflections by whole numbers, which floats do not round, to fewer of them.",
)
@default_option(
    "--retention",
    default="1/4",
    help="Without an exclusive scan: the gate of an overwrite that keeps the value before it.",
)
@default_option("--eps", default="1/1000", help="Largest L1 distance of the distributions.")
@click.option("--width", type=int, help="Width of the embedding.")
@default_option("--normaliser", default="softmax", help="softmax, sparsemax or hardmax.")
@default_option("--variant", default="structural", help="structural or conditioned.")
@click.option("--unknown", is_flag=True, help="Predict the end after unknown contexts (one more neuron).")
@default_option(
    "--dtype",
    default="float32",
    type=click.Choice(tuple(DTYPES)),
    help="Float format of the weights.",
)
@click.option(
    "--surroundings",
    type=click.Choice(("published", "zoo")),
    help="The whole model as published (norms, zero initial state, a beginning token, a linear head), or its "
    "layers between ReLU maps with a start of their own. Default: published where a construction exists "
    "and its claims are no weaker.",
)
@click.option(
    "--normalise",
    is_flag=True,
    help="Divide the probabilities of an ARPA file by their sum where it is not 1.",
)
@click.option(
    "--support",
    is_flag=True,
    help="Compile the sentences of positive probability only, without probabilities.",
)
@click.option(
    "--length",
    type=click.IntRange(min=1),
    help="Attention: number of letters up to which the decoder has to be proved in --dtype.",
)
@click.option("--no-certificate", is_flag=True, help="Do not look for a proof.")
@language_options
@force_option
@budgeted()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compile_command(
    language: str,
    target: str,
    output: Path | None,
    as_json: bool,
    reading: LanguageReading,
    budget: Budget,
    **options: Any,
) -> None:
    """Compile LANG into weights for TARGET, and prove them correct at every length.

    For a named architecture DIR/model/ has its weights, and DIR the exact network that they are made from.
    For a class, or an architecture without a layer here, there is only the
    exact network. Weights that fail on a
    word of at most 10,000 letters are not written; exit 1 then names the word.

    \b
    nerode compile "(aa)*" --to diagonal-signed -o parity/
    nerode compile flip-flop --to mamba -o flip-flop/
    nerode compile dyck-8-10 --task predict --to mamba -o brackets/
    nerode compile tomita-4 --to gla --surroundings zoo --dtype bfloat16 -o tomita/
    nerode compile ngram-seed --to ssm --eps 1e-6 --width 10 -o ngram/
    nerode compile model.arpa --to ssm -o model/
    """
    defer_registrations()
    if output is not None:
        claim_network_folder(output, force=options["force"])
    found = _asked(reading.read(language, budget), normalise=options["normalise"], support=options["support"])
    chosen = Options(
        exclusive_scan=not options["no_exclusive_scan"],
        retention=read_fraction(options["retention"], name="--retention"),
        exact_floats=options["exact_floats"],
        construction=options["construction"],
        predicts=options["task"] == "predict",
        ngrams=NgramOptions(
            eps=read_fraction(options["eps"], name="--eps"),
            embedding_width=options["width"],
            normaliser=options["normaliser"],
            variant=options["variant"],
            unknown_contexts=options["unknown"],
        ),
        budget=budget,
    )
    named = not find_architecture(target).is_class
    if options["surroundings"] is not None and not named:
        raise InputError(f"--surroundings is for a named architecture; {target} is a class")
    try:
        program = compile_program(found, target, chosen)
        if options["length"] is not None:
            _require_length(program.network, found, options["length"], options["dtype"], budget)
    except NotCompilable as refusal:
        _refuse(refusal, found.name, as_json, asked=reading.named_again(language))
        sys.exit(1)
    made = prove_program(
        program,
        found,
        chosen,
        dtype=options["dtype"],
        surroundings=options["surroundings"],
        proofs=not options["no_certificate"],
    )
    if output is not None:
        made.write(output, budget)
    if as_json:
        item = artefact_object(made, output)
        click.echo(json.dumps(item, ensure_ascii=False))
    else:
        click.echo("\n".join(artefact_lines(made, output)))
    if made.is_wrong:
        sys.exit(1)


def artefact_lines(made: CompiledProgram, output: Path | None) -> list[str]:
    """Returns what is known of the artefact; weights first, then the network that explains them."""
    network, weights = made.network, made.weights
    proof = _proof_text(made.verdict).splitlines()
    if isinstance(made.language, NgramLanguage) and not isinstance(network.decoder, LogitDecoder):
        proof.insert(
            0,
            f"Note: {network.target} says which words may follow, not with which probability; "
            "--to ssm and --to elman-relu give the probabilities, --support says that they are not "
            "wanted",
        )
    if weights.found is None:
        lines = [describe_network(network), *proof, *weights.lines]
    else:
        lines = [
            *weights.lines,
            f"explained by {NETWORK_FILE} ({weights.explanation})",
            describe_network(network),
            *(f"the exact network: {line}" for line in proof),
        ]
    if output is None or isinstance(made.verdict, Refutation):
        return lines
    letter = shlex.quote(network.alphabet.symbols[0])
    return [*lines, f"Next: nerode verify {output}   or   nerode run {output} {letter}"]


def _asked(language: Language, *, normalise: bool, support: bool) -> Language:
    """The language that the options of n-gram models ask for."""
    if not normalise and not support:
        return language
    if normalise and support:
        raise InputError("--support asks for sentences without probabilities; leave out --normalise")
    if not isinstance(language, NgramLanguage):
        raise InputError(f"--normalise and --support are for n-gram models; {language.name} has none")
    if support:
        return language.support()
    return language.normalised()


def _require_length(network: Network, language: Language, length: int, dtype: str, budget: Budget) -> None:
    """Raises NotCompilable, with the formats that would do, unless the decoder is proved as far as asked."""
    from nerode.models.lower import is_decoder

    if not is_decoder(network):
        raise InputError(
            f"--length is for decoders with attention, whose proofs in floats may end; {network.target} has "
            "none here"
        )
    from nerode.proofs.floats import decoder_length

    reached = {}
    for name in dict.fromkeys((dtype, "float32", "float64")):
        reached[name] = decoder_length(network, language, dtype=name, budget=budget)
        if name == dtype and (reached[name] == "all" or _at_least(reached[name], length)):
            return
    far = [name for name, found in reached.items() if found == "all" or _at_least(found, length)]
    text = f"is proved up to {reached[dtype]:,} letters" if reached[dtype] else "has no proof"
    more = f"use --dtype {far[0]}" if far else "no format here reaches it"
    raise NotCompilable(network.target, [f"in {dtype} the decoder {text}, {length:,} are asked for; {more}"])


def _at_least(reached: int | str | None, length: int) -> bool:
    return isinstance(reached, int) and reached >= length


def _refuse(refusal: NotCompilable, language: str, as_json: bool, *, asked: str) -> None:
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
    lines = [first, *(f"  {reason}" for reason in refusal.reasons), f"Next: nerode check {asked}"]
    click.echo("\n".join(lines), err=True)


def artefact_object(made: CompiledProgram, output: Path | None) -> dict[str, Any]:
    """Returns the object of `nerode compile --json`."""
    network, certificate, weights = made.network, made.certificate, made.weights
    size = {
        "layers": network.depth,
        "width": network.width,
        "states": network.state_size,
        "parameters": network.num_parameters,
    }
    known = certificate.claims if certificate else ()
    return {
        "target": network.target,
        "construction": network.origin.construction,
        **(weights.size or size),
        "bits": _bits(certificate),
        "route": network.origin.route,
        "reference": str(network.origin.reference),
        "claims": [
            *({**claim.to_json(), "about": "weights"} for claim in weights.claims),
            *({**claim_to_json(claim), "about": "network"} for claim in known),
        ],
        "network": size,
        "explained": weights.explained,
        "model": weights.to_json(),
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
            return "no proof was searched for"
