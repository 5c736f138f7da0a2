"""The weights of an architecture beside the network that explains them: found, written and replayed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nerode.compiler import Options, Program
from nerode.core import Budget, InputError, MissingExtra, NotCompilable, UnknownName, missing_extra, plural
from nerode.languages import Language
from nerode.records import TESTED, ModelClaim

if TYPE_CHECKING:
    from nerode.models.lower import BlockStyle, Explanation
    from nerode.proofs.floats import RealModel

MODEL = "model"
"""The folder of the weights, inside that of the network."""

_VALID = "fter every prefix of a word of the language"
"""Part of a claim that speaks of no other words."""

LETTERS = 10_000
"""Letters of the random words that a model is read on."""

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

        from nerode.models.lower import compare_answers, show_word
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
            seconds=min(SECONDS, max(0.0, options.budget.left() / 2)) if proofs else 0.0,
            surroundings=surroundings,
            options=options,
            longest=LETTERS,
        )
    except UnknownName:
        return ArchitectureWeights(refused=(f"no layer here computes what {target} computes",))
    except NotCompilable as refusal:
        return ArchitectureWeights(refused=tuple(refusal.reasons), word=refusal.word)
    except InputError as error:
        return ArchitectureWeights(refused=(str(error),))
    explanation = compare_answers(found.lowered, budget=Budget(seconds=COMPARING))
    if explanation.word is not None:
        word = show_word(explanation.word, language.alphabet) or "the empty word"
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
