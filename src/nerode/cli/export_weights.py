"""`nerode export` of weights: trained, imported, mended and given models, with what is known of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nerode.core import Budget, InputError, claim_file, claim_folder, plural, to_mapping, write_atomically
from nerode.proofs import MODEL_FOLDER, Claim, read_float_certificate, read_language
from nerode.records import (
    REFUTED,
    WEIGHTS,
    ModelClaim,
    Settlement,
    claims_to_json,
    read_settlement,
    unexamined,
)

if TYPE_CHECKING:
    from nerode.models.exports import Compared
    from nerode.proofs.replay import Replayed, Subject

NOTE_FORMAT = "nerode-export"

_COMPARING = 3.0
"""CPU seconds in which longer words are begun."""


def export_weights(
    folder: Path,
    out: Path,
    to: str,
    *,
    carry_state: bool,
    refuted: bool,
    force: bool,
    trust_code: bool,
    as_json: bool,
    budget: Budget,
) -> None:
    """Writes the weights of a folder for onnxruntime, transformers or torch, with their claims.

    Raises:
        InputError: if they cannot be written, or are known to be wrong and nobody asked for them.
    """
    from nerode.models.exports import (
        NOTE_FILE,
        compare,
        module_to_onnx,
        session_scores,
        write_library_folder,
        write_torch_folder,
    )
    from nerode.proofs.floats import decoder
    from nerode.proofs.replay import open_subject
    from nerode.training import folder_builder

    subject = open_subject(folder, build=folder_builder(folder) if trust_code else None)
    module, record = subject.module, subject.record
    assert module is not None
    if not record.letters.alphabet:
        raise InputError(f"{folder} names no letters; import it again, or train it on a task with letters")
    proofs, claims = replayed_claims(folder, subject, budget=budget, converted=to not in ("onnx", "torch"))
    about = _about(subject, proofs)
    wrong = next((claim for claim in claims if claim.scope == REFUTED), None)
    if wrong is not None and not refuted:
        raise InputError(
            f"the model is wrong: {wrong.says} (on {wrong.word}); mend it (`nerode mend {folder} -o DIR`), "
            "or give --refuted to write it with that in its note"
        )
    note = _note(subject, claims, about)
    compared: dict[str, Any] = {
        "alphabet": record.letters.alphabet,
        "decode": None if subject.reading is None else decoder(subject.reading),
        "budget": Budget(seconds=min(_COMPARING, budget.left())),
    }

    def card(loading: str, found: Compared | None) -> str:
        return model_card(subject, proofs, claims, about, loading=loading, compared=found, to=to)

    found: Compared | None = None
    if to == "onnx":
        claim_file(out, force=force)
        facts: dict[str, Any] = dict(note)
        graph = module_to_onnx(module, carry_state=False, facts=facts).SerializeToString()
        running = session_scores(graph)
        if running is not None:
            found = compare(running[0], module, program=running[1], **compared)
        facts["compared"] = "" if found is None else str(found)
        facts["card"] = card(_LOADING_STREAM if carry_state else _LOADING_ONNX, found)
        content = module_to_onnx(module, carry_state=carry_state, facts=facts).SerializeToString()
        write_atomically(out, content)
    else:
        claim_folder(out, holds=(NOTE_FILE,), form=NOTE_FORMAT, of="an exported model", force=force)
        if to == "torch":
            short = {"long": 2, "length": 100, "short": 5} | compared
            found = write_torch_folder(out, module, record, note=note, card=card, compared=short)
        else:
            model = _zoo_model(module)
            rest = {"budget": compared["budget"]}
            found = write_library_folder(
                out, model, record, to=to, decode=compared["decode"], note=note, card=card, compared=rest
            )
    if as_json:
        item = {
            "out": str(out),
            "to": to,
            "reading": str(subject.reading),
            "letters": dict(zip(record.letters.alphabet, record.letters.tokens, strict=True)),
            "compared": None if found is None else {**to_mapping(found), "says": str(found)},
            "claims": claims_to_json(claims),
        }
        click.echo(json.dumps(item, ensure_ascii=False))
        return
    click.echo(f"{out}: {plural(len(record.letters.alphabet), 'letter')}, {_answers(subject)}")
    for claim in claims:
        click.echo(f"{claim}: {about}" if claim.is_proof else f"{claim}: {claim.says}")
    if found is None:
        missing = "needs a GPU" if to in ("mamba-ssm", "fla") else "is not installed"
        click.echo(f"not compared: {_PROGRAMS.get(to, to)} {missing}")
    else:
        click.echo(
            f"compared with {found}; {found.letters_per_second:,} letters per CPU second, side by side"
        )


_PROGRAMS = {"onnx": "onnxruntime", "huggingface": "transformers"}


def _zoo_model(module: Any) -> Any:
    from nerode.models import Model

    if not isinstance(module, Model):
        raise InputError(
            f"transformers has no architecture for {type(module).__name__}; --to onnx and --to torch take it"
        )
    return module


def replayed_claims(
    folder: Path, subject: Subject, *, budget: Budget, converted: bool = False
) -> tuple[tuple[Claim, ...], tuple[ModelClaim, ...]]:
    """Returns the proofs about the weights in a folder, replayed here, and all that is known of them.

    Args:
        folder: the folder.
        subject: what is in it.
        budget: of the replay.
        converted: whether proofs about compiled weights in narrower formats count, as a library loads them.
    """
    from nerode.proofs.floats import known
    from nerode.proofs.replay import replay_settled, replay_weights

    dtype = subject.record.network.dtype
    settled: Settlement | None = read_settlement(folder)
    written = folder.resolve()
    if settled is None and written.name == MODEL_FOLDER and read_float_certificate(written, str(dtype)):
        replays = list(replay_weights(written.parent, read_language(written.parent), budget=budget))
        _require(folder, replays)
        proofs = tuple(
            claim
            for seen in map(_alone, replays)
            for claim in seen.claims
            if converted or claim.dtype == dtype
        )
        return proofs, known(proofs)
    if settled is None or settled.status == "unsettled":
        reason = "Nobody asked." if settled is None else f"{settled.reason}."
        return (), (unexamined(f"Nothing is proved of these weights. {reason}", dtype=dtype),)
    if settled.status == "refuted":
        from nerode.analysis.settle import fails_again

        assert settled.word is not None
        if not fails_again(subject, settled):
            raise InputError(
                f"{folder} holds a settlement that the model does not confirm: it answers its word "
                "otherwise; nothing was written. `nerode prove` makes a new one"
            )
        after = plural(len(settled.word), "letter")
        says = f"it says {settled.got} after a word of {after}, not {settled.expected}"
        word = " ".join(settled.word) if len(settled.word) <= 60 else f"{' '.join(settled.word[:60])} …"
        claim = ModelClaim(scope=REFUTED, says=says, dtype=dtype, length=len(settled.word), word=word)
        return (), (claim,)
    found = replay_settled(folder, subject, budget=budget)
    _require(folder, [found])
    proofs = _alone(found).claims
    return proofs, known(proofs) or (unexamined("What is proved holds in batches alone.", dtype=dtype),)


def _alone(seen: Replayed) -> Replayed:
    """A replay without its claims if they are about batches alone: exported programs read single words."""
    return seen if seen.details.get("alone", True) else replace(seen, claims=())


def _require(folder: Path, replays: Sequence[Replayed]) -> None:
    """Raises InputError if a certificate in a folder does not hold."""
    if failure := next((seen.failure for seen in replays if seen.failure), None):
        raise InputError(f"a certificate in {folder} does not hold: {failure.what}; nothing was written")


def write_card(folder: Path, *, trusted: bool, budget: Budget) -> None:
    """Writes the model card of a mended folder beside its weights, whose proof is replayed first."""
    from nerode.proofs.replay import open_subject
    from nerode.training import folder_builder

    subject = open_subject(folder, build=folder_builder(folder) if trusted else None)
    proofs, claims = replayed_claims(folder, subject, budget=budget)
    about = _about(subject, proofs)
    loading = _LOADING_FOLDER if subject.record.network.kind == "zoo" else _LOADING_STATE
    write_atomically(folder / "README.md", model_card(subject, proofs, claims, about, loading=loading))


def _answers(subject: Subject) -> str:
    if subject.reading is None:
        return "nothing says how its scores are read"
    return f"answers are {subject.reading}"


def _about(subject: Subject, proofs: Sequence[Claim]) -> str:
    formats = sorted({str(claim.dtype) for claim in proofs} or {str(subject.record.network.dtype)})
    return f"nerode's module with these weights, one word at a time, step by step in {', '.join(formats)}"


def _note(subject: Subject, claims: tuple[ModelClaim, ...], about: str) -> dict[str, Any]:
    """The content of nerode.json, and of the metadata of a graph."""
    record = subject.record
    return {
        "format": NOTE_FORMAT,
        "version": 1,
        "subject": record.hash,
        "weights": subject.weights,
        "language": subject.about,
        "alphabet": "\n".join(record.letters.alphabet),
        "reading": None if record.reading is None else to_mapping(record.reading),
        "claims": claims_to_json(claims),
        "about": about,
    }


def model_card(
    subject: Subject,
    proofs: tuple[Claim, ...],
    claims: tuple[ModelClaim, ...],
    about: str,
    *,
    loading: str,
    compared: Compared | None = None,
    to: str = "",
) -> str:
    """Returns the text of a model card: what the model does, what may be relied on, how it is loaded."""
    from nerode.report import reliance_markdown, reliance_rows

    record = subject.record
    rows = reliance_rows(proofs, about=WEIGHTS, lifted=True)
    if to:
        rows.append(_program_row(to, compared))
    lines = [
        f"# {subject.about or subject.name}",
        "",
        f"A {record.network.target or 'model'} over the letters {', '.join(record.letters.alphabet)}, read "
        f"letter by letter; {_answers(subject)}. Weights: {subject.weights}.",
        "",
        "## What may be relied on",
        "",
        reliance_markdown(rows),
        "",
        f"Proofs are about {about}." if proofs else "Nothing is proved of this model.",
        *(f"{claim}: {claim.says}" for claim in claims if not claim.is_proof),
        *(["Another program may round otherwise; the last row says what it was compared on."] if to else []),
        "",
        "## Loading it",
        "",
        f"```python\n{loading.strip()}\n```",
        "",
    ]
    return "\n".join(lines)


def _program_row(to: str, compared: Compared | None) -> tuple[str, ...]:
    if compared is None:
        return (_PROGRAMS.get(to, to), "nothing was compared", "–", "–", "–")
    more = f", {compared.long} random ones of {compared.length:,}" if compared.long else ""
    return (
        compared.program,
        f"{compared.what} as nerode's module (tested)",
        f"all up to {compared.short} letters{more}",
        "its own",
        "the comparison",
    )


_LOADING_FOLDER = """
from nerode.models import read_model

model = read_model("DIR")  # `nerode export DIR` writes it for onnxruntime, transformers and plain torch
"""

_LOADING_STATE = """
import safetensors.torch

model.load_state_dict(safetensors.torch.load_file("DIR/model.safetensors"))  # of your own module
"""

_LOADING_ONNX = """
import onnxruntime

model = onnxruntime.InferenceSession("FILE.onnx")
scores, *state = model.run(None, {"letters": [[0, 1]]})  # int64 (batch, time); letters by their number
"""

_LOADING_STREAM = """
import json, numpy, onnxruntime

model = onnxruntime.InferenceSession("FILE.onnx")
facts = model.get_modelmeta().custom_metadata_map
start = json.loads(facts["start"])  # of each part of the state, for one word
state = {f"state_{i}": numpy.array([part], dtype) for i, (part, dtype) in enumerate(start)}
scores, *after = model.run(None, {"letters": [[0, 1]], **state})
state = {f"state_{i}": part for i, part in enumerate(after)}  # for the letters that follow
"""
