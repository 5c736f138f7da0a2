"""Compiled artefacts: the weights of an architecture, the exact network that explains them, and proofs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nerode.compiler import Options, Program, compile_program
from nerode.core import (
    Budget,
    InputError,
    MissingExtra,
    NotCompilable,
    Shown,
    UnknownName,
    missing_extra,
    plural,
)
from nerode.kernel import Certificate, Claim, Refutation
from nerode.languages import Language, resolve_language, with_powers
from nerode.network import Network, describe_network
from nerode.proofs.certification import prove_network
from nerode.proofs.folder import claim_network_folder, write_folder
from nerode.proofs.proving import Unproved
from nerode.records import TESTED, ModelClaim
from nerode.verdict import find_architecture

if TYPE_CHECKING:
    from torch import nn

    from nerode.models.lower import BlockStyle, Explanation
    from nerode.proofs.floats import RealModel

_VALID = "fter every prefix of a word of the language"
"""Part of a claim that speaks of no other words."""

SECONDS = 10.0
"""CPU time for the claims of a model."""

COMPARING = 3.0
"""CPU time for the comparison of weights with their network."""


@dataclass(frozen=True, kw_only=True)
class ArchitectureWeights:
    """The weights of an architecture, or why there are none.

    Attributes:
        found: the weights with their network and claims.
        explanation: how they compare with that network.
        refused: why there are none.
        word: a word that refutes those that were made, for people.
    """

    found: RealModel | None = None
    explanation: Explanation | None = None
    refused: tuple[str, ...] = ()
    word: str = ""

    @property
    def claims(self) -> tuple[ModelClaim, ...]:
        """The claims about the weights."""
        return () if self.found is None else self.found.model.claims

    @property
    def size(self) -> dict[str, int | None] | None:
        """Layers, width, states and parameters; None without weights."""
        if self.found is None:
            return None
        model = self.found.model
        return {
            "layers": len(model.blocks),
            "width": model.config.width or model.config.letters,
            "states": model.state_size,
            "parameters": sum(p.numel() for p in model.parameters()),
        }

    @property
    def explained(self) -> dict[str, int] | None:
        """The words on which weights and network were compared, for programs."""
        if self.explanation is None:
            return None
        return {"length": self.explanation.length, "words": self.explanation.words}

    @property
    def lines(self) -> list[str]:
        """The weights for people, one line each."""
        if self.refused:
            return [f"no weights: {'; '.join(self.refused)}"]
        if self.found is None:
            return []
        size = "{surroundings} surroundings, {blocks} of width {width}{apart}, "
        weights = "{parameters:,} parameters in {dtype}"
        facts = model_facts(self.found)
        blocks, layers = facts["layers"], self.found.network.depth
        apart = f" for {plural(layers, 'recurrent layer')}" if 0 < layers < blocks else ""
        about = f"{self.found.network.origin.language} for {self.found.network.target}: "
        return [
            about + (size + weights).format(**facts, blocks=plural(blocks, "block"), apart=apart),
            *(_claim_text(claim) for claim in self.claims),
        ]

    def write(self, folder: Path, language: Language) -> None:
        """Writes the weights beside their network, if there are any."""
        if self.found is not None:
            from nerode.proofs.floats import write_real_model

            write_real_model(folder, self.found, language)

    def to_json(self) -> dict[str, Any] | None:
        """Returns the weights for programs; None where they were not asked for."""
        if self.refused:
            return {"refused": list(self.refused), **({"word": self.word} if self.word else {})}
        if self.found is None:
            return None
        claims = [{"scope": c.scope, "dtype": c.dtype, "length": c.length} for c in self.claims]
        return {**model_facts(self.found), "claims": claims}


def find_weights(
    program: Program,
    language: Language,
    options: Options,
    *,
    dtype: str,
    surroundings: BlockStyle | None,
    proofs: bool,
) -> ArchitectureWeights:
    """Returns the weights of a program's architecture, or why there are none."""
    try:
        import torch

        from nerode.models.lower import compare_answers
        from nerode.proofs.floats import make_architecture
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        return ArchitectureWeights(refused=(_without(missing),))
    except MissingExtra as missing:
        return ArchitectureWeights(refused=(_without(missing),))
    target = program.network.target
    try:
        found = make_architecture(
            language,
            target,
            dtype=getattr(torch, dtype),
            facts=program.facts,
            seconds=_for_proofs(options.budget) if proofs else 0.0,
            surroundings=surroundings,
            options=options,
        )
    except UnknownName:
        return ArchitectureWeights(refused=(f"no layer here computes what {target} computes",))
    except NotCompilable as refusal:
        return ArchitectureWeights(refused=tuple(refusal.reasons), word=refusal.word)
    except InputError as error:
        return ArchitectureWeights(refused=(str(error),))
    explanation = compare_answers(found.lowered, budget=Budget(seconds=COMPARING))
    if explanation.word is not None:
        word = with_powers([language.alphabet.symbols[letter] for letter in explanation.word])
        return ArchitectureWeights(
            refused=(f"the weights and their network answer otherwise after {word}",), word=word
        )
    return ArchitectureWeights(found=found, explanation=explanation)


def _claim_text(claim: ModelClaim) -> str:
    """A claim in a line; a test says that words were sampled."""
    if not claim.length:
        return f"{claim}: {claim.says}"
    if claim.scope == TESTED:
        return f"{claim} (sampled words)"
    return f"{claim}, on valid prefixes" if _VALID in claim.says else str(claim)


def _for_proofs(budget: Budget) -> float:
    """CPU seconds for claims of a model: `SECONDS`, or half of what a budget has beyond the usual."""
    half, usual = max(0.0, budget.left() / 2), Budget().seconds / 2
    return max(min(SECONDS, half), half - usual)


def _without(missing: MissingExtra) -> str:
    return f"{missing}; the network and its proof need nothing else"


def model_facts(found: RealModel) -> dict[str, Any]:
    """Returns sizes, type and surroundings of a model, by name."""
    model = found.model
    return {
        "architecture": found.network.target,
        "surroundings": found.lowered.block,
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        "layers": len(model.blocks),
        "width": model.config.width or model.config.letters,
        "parameters": sum(p.numel() for p in model.parameters()),
    }


@dataclass(frozen=True, kw_only=True)
class CompiledProgram(Shown):
    """An exact network with its proof, and the weights that it explains, if there are some.

    Attributes:
        language: that it is for.
        network: the exact one.
        verdict: a certificate of it, a word that it gets wrong, or what is known; None if none was asked for.
        weights: of the architecture.
    """

    language: Language
    network: Network
    verdict: Certificate | Refutation | Unproved | None
    weights: ArchitectureWeights

    @property
    def certificate(self) -> Certificate | None:
        """The certificate of the network."""
        return self.verdict if isinstance(self.verdict, Certificate) else None

    @property
    def is_wrong(self) -> bool:
        """Whether a word is known that network or weights get wrong."""
        return isinstance(self.verdict, Refutation) or bool(self.weights.word)

    @property
    def model(self) -> nn.Module:
        """The weights as a torch module.

        Raises:
            InputError: if there are none.
        """
        if self.weights.found is None:
            why = "; ".join(self.weights.refused) or f"{self.network.target} is a class; name an architecture"
            raise InputError(f"there are no weights ({why}); `nerode.load_model` runs the exact network")
        return self.weights.found.model

    @property
    def claims(self) -> tuple[ModelClaim, ...] | tuple[Claim, ...]:
        """The claims about the weights, or about the network where there are none."""
        if self.weights.found is not None:
            return self.weights.claims
        return self.certificate.claims if self.certificate else ()

    def save(self, folder: Path | str, *, force: bool = False, budget: Budget | None = None) -> None:
        """Writes the folder, which every command takes, unless the network is wrong.

        Raises:
            InputError: if another folder is there, unless forced.
        """
        claim_network_folder(Path(folder), force=force)
        self.write(Path(folder), budget)

    def write(self, folder: Path, budget: Budget | None = None) -> None:
        """Writes a folder that is claimed already."""
        if not isinstance(self.verdict, Refutation):
            write_folder(folder, self.network, self.language, self.certificate, budget=budget)
            self.weights.write(folder, self.language)

    def shown(self) -> tuple[list[str], None]:
        """Returns the sizes and what is proved, one line each."""
        if self.weights.found is not None:
            return self.weights.lines, None
        known = self.certificate.claims if self.certificate else ()
        proved = [f"✓ {claim.scope.replace('a dtype', claim.dtype or '')}" for claim in known]
        return [describe_network(self.network), *proved], None

    def __str__(self) -> str:
        """The same as text."""
        return "\n".join(self.shown()[0])


def prove_program(
    program: Program,
    language: Language,
    options: Options,
    *,
    dtype: str,
    surroundings: BlockStyle | None = None,
    proofs: bool = True,
) -> CompiledProgram:
    """Returns a compiled network with its proof, and the weights of its architecture if it has a layer here.

    Args:
        program: what was compiled.
        language: for which.
        options: with which; they have the budget.
        dtype: of the weights.
        surroundings: of the layers, as `--surroundings`.
        proofs: whether to look for proofs.
    """
    budget, weights = options.budget or Budget(), ArchitectureWeights()
    if not find_architecture(program.network.target).is_class:
        weights = find_weights(
            program, language, options, dtype=dtype, surroundings=surroundings, proofs=proofs
        )
    network = program.network if weights.found is None else weights.found.network
    # The weights are the artefact: a search for a proof of their network must not use up its time.
    limits = budget if weights.found is None else budget.part(seconds=SECONDS)
    verdict = prove_network(network, language, limits) if proofs else None
    return CompiledProgram(language=language, network=network, verdict=verdict, weights=weights)


def compile_artefact(
    language: Language | str,
    to: str,
    *,
    task: Literal["recognise", "predict"] = "recognise",
    dtype: str = "float32",
    surroundings: BlockStyle | None = None,
    options: Options | None = None,
) -> CompiledProgram:
    """Returns weights with which an architecture computes a language, and their proof: `nerode compile`.

    What comes back has `model`, a torch module; `network`, the exact network that explains it; `claims`; and
    `save(folder)`, which writes what every command takes. Printed, it says sizes and what is proved.

    Args:
        language: or its name, expression or file.
        to: an architecture; of a class there is an exact network alone.
        task: "predict" if prefixes of valid words are enough, where the network is smaller for these.
        dtype: float format of the weights.
        surroundings: "published" for the whole model as published, "zoo" for its layers between ReLU maps.
        options: of the compiler.

    Raises:
        NotCompilable: if there is no network, with all reasons.
    """
    found = resolve_language(language) if isinstance(language, str) else language
    chosen = replace(options or Options(), predicts=task == "predict")
    return prove_program(
        compile_program(found, to, chosen), found, chosen, dtype=dtype, surroundings=surroundings
    )
