"""`model/` beside a network: the weights of a real architecture, written, replayed and run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nerode.compiler import Options
from nerode.core import Budget, InputError, MissingExtra, NotCompilable, UnknownName, missing_extra
from nerode.languages import Language
from nerode.network import Network
from nerode.proofs import Claim, Failure, read_language
from nerode.records import ModelClaim
from nerode.report import claim_line
from nerode.verdict import Facts

if TYPE_CHECKING:
    from nerode.proofs.floats import RealModel

MODEL = "model"
"""The folder of the weights, inside that of the network."""

LETTERS = 10_000
"""Letters of the random words that a model is read on."""

SECONDS = 10.0
"""CPU time for the claims of a model."""


@dataclass(frozen=True, kw_only=True)
class WrittenModel:
    """The outcome for `model/`.

    Attributes:
        claims: what is known of the weights.
        facts: sizes, type and surroundings, by name.
        refused: why there is no model.
    """

    claims: tuple[Claim | ModelClaim, ...] = ()
    facts: dict[str, Any] | None = None
    refused: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The outcome for people, one line each."""
        if self.refused:
            return [f"model/ was not written: {'; '.join(self.refused)}"]
        if self.facts is None:
            return []
        text = "model/: {architecture}, {surroundings} surroundings, {layers} blocks of width {width}, "
        return [
            (text + "{parameters:,} parameters in {dtype}").format(**self.facts),
            *(claim_line(c) if isinstance(c, Claim) else f"  {c}" for c in self.claims),
            *([f"  {self.facts['unproved']}"] if "unproved" in self.facts else []),
        ]

    def to_json(self) -> dict[str, Any] | None:
        """Returns the outcome for programs; None where no model was asked for."""
        if self.refused:
            return {"refused": list(self.refused)}
        if self.facts is None:
            return None
        claims = [{"scope": c.scope, "dtype": c.dtype, "length": c.length} for c in self.claims]
        return {**self.facts, "claims": claims}


def write_model(
    folder: Path,
    network: Network,
    language: Language,
    options: Options,
    *,
    dtype: str,
    surroundings: Any,
    proofs: bool,
    facts: Facts | None = None,
) -> WrittenModel:
    """Writes the weights of the network's architecture into its folder, or says why it does not."""
    try:
        from nerode.proofs.floats import make_architecture, write_real_model
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        return WrittenModel(refused=(_without(missing),))
    except MissingExtra as missing:
        return WrittenModel(refused=(_without(missing),))
    from nerode.models.lower import is_decoder

    if is_decoder(network):
        return _write_decoder(folder, network, language, options.budget, dtype=dtype, proofs=proofs)
    import torch

    try:
        found = make_architecture(
            language,
            network.target,
            dtype=getattr(torch, dtype),
            facts=facts,
            budget=options.budget,
            seconds=min(SECONDS, max(0.0, options.budget.left())) if proofs else 0.0,
            surroundings=surroundings,
            options=replace(options, construction=None),
            longest=LETTERS,
        )
    except UnknownName:
        return WrittenModel(refused=(f"no layer of nerode computes what {network.target} computes",))
    except NotCompilable as refusal:
        return WrittenModel(refused=tuple(refusal.reasons))
    except InputError as error:
        return WrittenModel(refused=(str(error),))
    write_real_model(folder, found)
    return WrittenModel(claims=found.model.claims, facts=model_facts(found, network.target, dtype))


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The check of the certificates in `model/`.

    Attributes:
        claims: those that hold.
        failure: why one does not.
        skipped: why nothing was replayed, in a sentence.
    """

    claims: tuple[Claim, ...] = ()
    failure: Failure | None = None
    skipped: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was found against the weights."""
        return self.failure is None


def replay_model(folder: Path, budget: Budget) -> Replay | None:
    """Returns what a replay of the certificates of `model/` says; None if the folder has no model of its own.

    The decoder of a network with attention has its certificate beside the network, under `--dtype`.
    """
    if not any((folder / MODEL).glob("certificate.*.json")):
        return None
    try:
        from nerode.proofs.floats import replay_real_model
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        return Replay(skipped=f"the claims of model/ were not replayed: {missing}")
    certificates, failure = replay_real_model(folder, read_language(folder), budget=budget)
    return Replay(claims=tuple(c for found in certificates for c in found.claims), failure=failure)


def _without(missing: MissingExtra) -> str:
    return f"{missing}; the network and its proof need nothing else"


def model_facts(found: RealModel, architecture: str, dtype: str) -> dict[str, Any]:
    """Returns sizes, type and surroundings of a model, by name."""
    model = found.model
    return {
        "architecture": architecture,
        "surroundings": found.surroundings,
        "dtype": dtype,
        "layers": len(model.blocks),
        "width": model.config.width or model.config.letters,
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def _write_decoder(
    folder: Path, network: Network, language: Language, budget: Budget, *, dtype: str, proofs: bool
) -> WrittenModel:
    """Writes the softmax decoder of a network with attention, and its certificate."""
    from nerode.proofs.floats import RealModel, examine, store, write_decoder

    model = write_decoder(folder, network, dtype=dtype)
    facts = model_facts(RealModel(model=model, surroundings="zoo"), network.target, dtype)
    if not proofs:
        return WrittenModel(facts=facts)
    seen = examine(network, language, dtype=dtype, folder=folder, budget=budget.start())
    store(folder, seen)
    if seen.certificate is None:
        reason = seen.details.get("reason") or (seen.failure.what if seen.failure else "")
        facts["unproved"] = f"nothing is proved of the decoder in {dtype}: {reason}"
    return WrittenModel(claims=seen.claims, facts=facts)
