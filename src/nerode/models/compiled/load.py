"""From a compiled network to a torch module: one of its own, or an ordinary model of the zoo.

An ordinary model has an embedding, blocks of layers and ReLU feed-forward parts on a residual stream, and a
head. A nonlinear cell stands alone: letters, the layer, a head that reads its state; ReLU units of the
readout become hidden units of the head. Where the layer itself ends with such units, as the state space model
of the n-gram paper does, there is no head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from nerode.compiler import Options, compile_language
from nerode.core import Budget, BudgetExceeded, InputError, NotCompilable, plural, started
from nerode.languages import Language, Legal
from nerode.models.base import LayerBlock, Surroundings
from nerode.models.compiled.attention_decoder import is_decoder, network_to_decoder
from nerode.models.compiled.decoder import Head, legal_table, make_head
from nerode.models.compiled.model import CompiledModel
from nerode.models.compiled.numbers import Converter
from nerode.models.compiled.plan import Plan, embedding_table, plan_stream, relu_surroundings
from nerode.models.folder import dtype_of
from nerode.models.kernels.arguments import dtype_name
from nerode.models.model import Model, ModelConfig, zero_model
from nerode.models.weight_writer import ONE, BlockPlan, WeightWriter, set_rows
from nerode.models.whole.blocks import has_whole_model, whole_model
from nerode.models.zoo import LayerConfig, find_member
from nerode.network import LogitDecoder, Network
from nerode.verdict import Facts, find_architecture, householder

HeadKind = Literal["linear", "relu", "none"]

_WIDEST = 600
"""Coordinates of a layer; the dense maps of a real architecture grow with their square."""


def writer_of(architecture: str) -> WeightWriter | None:
    """Returns what writes compiled weights into an architecture of the zoo, None if nothing does.

    Raises:
        UnknownName: if the zoo has no such architecture.
    """
    member = find_member(architecture)
    kind = member.kind
    if kind.writer is None or member.name not in (kind.name, *kind.written):
        return None
    return kind.writer(member.name)


def remembers(architecture: str) -> bool:
    """Returns whether an architecture can carry networks with the exclusive scan: by its convolution."""
    writer = writer_of(architecture)
    return writer is not None and writer.delays


def network_to_architecture(
    network: Network, architecture: str, *, dtype: torch.dtype = torch.float32
) -> Model:
    """Returns an ordinary model of the zoo that computes what the network computes.

    Its scores mean what those of `load_model` mean: above 1/2 is legal, or logits for a distribution.

    Args:
        network: compiled for this architecture; without the exclusive scan unless the architecture has a
            convolution, which then shows states one letter late.
        architecture: a name of the zoo.
        dtype: the type of its weights.

    Raises:
        UnknownName: if the zoo has no such architecture.
        NotCompilable: with the reason, if it cannot carry the network.
        InputError: for a type that is too narrow for the weights.
    """
    if is_decoder(network, architecture):
        return network_to_decoder(network, architecture, dtype=dtype)
    writer = writer_of(architecture)
    name = find_member(architecture).name
    if network.width > _WIDEST:
        raise NotCompilable(name, [f"{network.width} coordinates are too many for dense layers"])
    if writer is None:
        raise NotCompilable(name, ["nothing writes compiled weights into this architecture"])
    plan = plan_stream(network, name, sources=writer.sources, delays=writer.delays)
    if writer.alone:
        return _assemble_cell(plan, writer, dtype)
    logits = network.decoder.kind == "logits"
    if logits and len(plan.blocks) == 1 and writer.reads_out(plan.blocks[0], plan.reads):
        return _assemble_readout(plan, writer, dtype)
    return _assemble_stream(plan, writer, dtype)


def _assemble_stream(plan: Plan, writer: WeightWriter, dtype: torch.dtype) -> Model:
    """The model of a plan on a residual stream."""
    Converter(dtype)
    if dtype_name(dtype) not in writer.dtypes:
        raise InputError(
            f"{writer.architecture} keeps registers beyond the range of {dtype_name(dtype)}; use a wider type"
        )
    if not plan.blocks:
        # The letter alone decides; a model has a layer nevertheless, which adds nothing.
        plan.blocks.append(BlockPlan(letters=plan.letters))
    head = make_head(plan, {place: place for place in range(plan.width)}, writer.architecture)
    config = ModelConfig(
        layers=tuple(
            LayerConfig(name=writer.architecture, settings=writer.settings(block, plan.width))
            for block in plan.blocks
        ),
        surroundings=tuple(relu_surroundings(len(block.units), plan.width) for block in plan.blocks),
        outputs=head.outputs,
        letters=len(plan.network.alphabet),
        width=plan.width,
        head="relu" if head.hidden else "linear",
        head_width=len(head.hidden),
    )
    model = zero_model(config)
    with torch.no_grad():
        _embedding(model).copy_(embedding_table(plan))
        for module, block in zip(model.blocks, plan.blocks, strict=True):
            assert isinstance(module, LayerBlock)
            writer.fill(module.layer, block)
            _fill_units(module, block)
        head.fill(model.head)
    return _finish(model, dtype)


def _assemble_cell(plan: Plan, writer: WeightWriter, dtype: torch.dtype) -> Model:
    """The model of a network with one layer, whose state is all that the head reads."""
    if len(plan.blocks) != 1:
        raise NotCompilable(
            writer.architecture,
            [f"the network has {len(plan.blocks)} blocks; this architecture carries one layer"],
        )
    block, filled = plan.blocks[0], _filled(plan)
    settings = writer.settings(block, plan.width)
    # Of the blocks of a gated cell, h comes first and is all that is shown.
    shown = {place: i for i, place in enumerate(block.states[: settings["hidden"]])}
    head = make_head(plan, shown, writer.architecture, block.units)
    model = zero_model(_alone(plan, writer, settings, head, kind="relu" if head.hidden else "linear"))
    with torch.no_grad():
        _embedding(model).copy_(embedding_table(plan)[:, filled])
        writer.fill(model.layers[0], block)
        head.fill(model.head)
    return _finish(model, dtype)


def _assemble_readout(plan: Plan, writer: WeightWriter, dtype: torch.dtype) -> Model:
    """The model of a network with one layer, which computes the scores itself."""
    block, filled = plan.blocks[0], _filled(plan)
    columns = {place: i for i, (place, _) in enumerate(block.units)}
    head = make_head(plan, columns, writer.architecture)
    settings = writer.readout_settings(block, head.outputs)
    model = zero_model(_alone(plan, writer, settings, head, kind="none"))
    with torch.no_grad():
        _embedding(model).copy_(embedding_table(plan)[:, filled])
        writer.fill_readout(model.layers[0], block, head.last)
    return _finish(model, dtype)


def _filled(plan: Plan) -> list[int]:
    """The places that the embedding fills, which become the features of the only layer."""
    block = plan.blocks[0]
    filled = [place for place in range(block.states[0]) if place != ONE]
    block.columns = {place: i for i, place in enumerate(filled)}
    return filled


def _alone(
    plan: Plan, writer: WeightWriter, settings: dict[str, Any], head: Head, *, kind: HeadKind
) -> ModelConfig:
    return ModelConfig(
        layers=(LayerConfig(name=writer.architecture, settings=settings),),
        surroundings=Surroundings(),
        outputs=head.outputs,
        letters=len(plan.network.alphabet),
        width=len(plan.blocks[0].columns),
        head=kind,
        head_width=len(head.hidden) if kind == "relu" else 0,
    )


def _embedding(model: Model) -> Tensor:
    assert isinstance(model.embedding, nn.Embedding)
    return model.embedding.weight


def _finish(model: Model, dtype: torch.dtype) -> Model:
    """The model in a type, with frozen weights, all finite.

    Raises:
        InputError: if a weight is beyond the largest number of the type.
    """
    Converter(dtype)
    model = model.to(dtype).requires_grad_(False)
    for name, value in model.state_dict().items():
        if not torch.isfinite(value).all():
            raise InputError(f"the weight {name} is beyond the largest {dtype}; use a wider type")
    return model


def _fill_units(module: LayerBlock, block: BlockPlan) -> None:
    if module.feed_forward is None:
        return
    set_rows(module.feed_forward.up, [form for _, form in block.units])
    for number, (place, _) in enumerate(block.units):
        module.feed_forward.down.weight[place, number] = 1


def load_model(network: Network, *, dtype: torch.dtype = torch.float32) -> CompiledModel:
    """Returns the module that computes what the network computes, in floats of one type.

    Every weight is rounded to the nearest float; `inexact_weights` of the model lists those that changed.
    `network_to_architecture` makes a model of a real architecture instead.

    Args:
        network: what the compiler made.
        dtype: float64, float32, bfloat16 or float16.

    Raises:
        InputError: for another type, a weight beyond its largest number, or a complex state in half
            precision.
    """
    return CompiledModel(network, Converter(dtype))


_DIGITS = {torch.float64: 24, torch.float32: 11, torch.bfloat16: 4, torch.float16: 5}
"""Binary places of a retentive overwrite: the format holds the value before the last, and little more."""


Around = Literal["published", "zoo"]
"""What stands around the layers: the whole model as published, or the zoo's ReLU maps and learned start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedModel:
    """A model of a real architecture that does a language on a few words.

    Attributes:
        model: its claims are still to be found.
        surroundings: "published" or "zoo".
        network: what it was made from; None for a whole model, which is made from a cascade.
    """

    model: Model
    surroundings: Around
    network: Network | None


def main_refusal(refusals: Sequence[NotCompilable]) -> NotCompilable:
    """Returns the refusal that says most: a theorem's, or a carrier's, or the compiler's, or the only one."""
    possible = [refusal for refusal in refusals if refusal.impossible]
    # The first refusal of an architecture with a whole model is about that.
    networks = refusals[1:] if has_whole_model(refusals[0].target) else refusals
    carried = [refusal for refusal in networks if not refusal.tried]
    return (possible or carried or networks or refusals)[0]


def candidate_models(
    language: Language,
    architecture: str,
    *,
    dtype: torch.dtype = torch.float32,
    facts: Facts | None = None,
    budget: Budget | None = None,
    surroundings: Around | None = None,
    options: Options | None = None,
) -> Iterator[CarriedModel | NotCompilable]:
    """Yields ordinary models of an architecture whose weights do a language.

    The whole model as published comes first, where there is a construction. In the zoo's surroundings, layers
    of real architectures do not see their state before the letter. Where there is a convolution, it
    remembers that state; elsewhere cascades keep it by retentive overwrites. For these each format first gets
    the gate that forgets soonest, so that the model has few states in it and `certify_module` can look at
    them all, and then the usual one, which leaves more room for roundings. Each model is tried on a few
    words; that is no proof. A way that fails yields the reason.

    Args:
        language: what it should do.
        architecture: a name of the zoo that the compiler knows as a target.
        dtype: the type of its weights.
        facts: what is known about the language; computed when None.
        budget: limits of the compiler.
        surroundings: the only ones to try; None for the published ones and then the zoo's.
        options: the user's choices for networks, whose ways to show a state are replaced.

    Raises:
        UnknownName: if there is no such architecture.
    """
    find_member(architecture)
    if surroundings != "zoo" and (surroundings == "published" or has_whole_model(architecture)):
        try:
            model = whole_model(language, architecture, dtype=dtype, budget=budget)
            yield _tried(CarriedModel(model=model, surroundings="published", network=None), language)
        except NotCompilable as refusal:
            yield refusal
        except BudgetExceeded as stop:
            yield NotCompilable(architecture, [f"the whole model: {stop}"])
    if surroundings == "published":
        return
    seen: list[Network] = []
    for way in _ways(architecture, dtype, options or Options()):
        try:
            network = compile_language(
                language, architecture, replace(way, budget=started(budget)), facts=facts
            )
            if network in seen:
                continue
            seen.append(network)
            model = network_to_architecture(network, architecture, dtype=dtype)
        except NotCompilable as refusal:
            yield _shortened(refusal, architecture)
            continue
        except BudgetExceeded as stop:
            yield NotCompilable(architecture, [str(stop)])
            continue
        yield _tried(CarriedModel(model=model, surroundings="zoo", network=network), language)


def _shortened(refusal: NotCompilable, architecture: str) -> NotCompilable:
    """A refusal of the compiler without the constructions that are for other languages."""
    if refusal.impossible or not refusal.tried:
        return refusal
    names: dict[str, list[str]] = {}
    for name, reason in refusal.tried.items():
        names.setdefault(reason, []).append(name)
    reasons = [f"{reason} ({', '.join(found)})" for reason, found in names.items()]
    if not remembers(architecture):
        reasons[-1] += (
            f". The layer of {architecture} shows its state after the letter only; take an architecture with "
            "a short convolution, such as mamba-signed or deltanet-signed, or write the network alone with "
            "--to CLASS"
        )
    return NotCompilable(refusal.target, reasons, tried=refusal.tried)


def _tried(found: CarriedModel, language: Language) -> CarriedModel | NotCompilable:
    """The model, or where it is wrong on a few words."""
    if found.network is not None and isinstance(found.network.decoder, LogitDecoder):
        return found
    error = first_error(found.model, language)
    if error is None:
        return found
    dtype = dtype_of(found.model)
    name = found.model.config.layers[0].name
    reason = f"its roundings in {dtype} give a wrong answer after {plural(error, 'letter')}"
    return NotCompilable(name, [reason + _in_float64(found, language, name)])


def _in_float64(found: CarriedModel, language: Language, architecture: str) -> str:
    """The end of a sentence: whether the widest type would do on the same words."""
    if dtype_of(found.model) == "float64" or found.network is None:
        return "; no type here is wide enough" if found.network is not None else "; use a wider type"
    try:
        wide = network_to_architecture(found.network, architecture, dtype=torch.float64)
    except (NotCompilable, InputError):
        return ""
    error = first_error(wide, language)
    if error is None:
        return "; float64 gives none on these words: use --dtype float64"
    return f", in float64 after {error:,}; no type here is wide enough"


def _ways(architecture: str, dtype: torch.dtype, options: Options) -> list[Options]:
    """Ways to show the state before the letter, the one with the fewest float states first.

    Reflections by whole numbers come before all others: floats do not round them.
    """
    digits = Fraction(1, 2 ** _DIGITS.get(dtype, 2))
    plain = replace(options, exclusive_scan=False, retention=Fraction(1, 4))
    ways = [replace(plain, retention=digits), plain]
    if remembers(architecture):
        ways = [replace(options, exclusive_scan=True), replace(options, sign_resets=False), *ways]
    if householder(find_architecture(architecture).properties):
        ways = [replace(ways[0], exact_floats=True), *ways]
    return ways


_WORDS, _LENGTH = 4, 256


@torch.no_grad()
def first_error(model: Model, language: Language, *, seed: int = 0) -> int | None:
    """Returns the position of a wrong answer on a few random prefixes of words, or None if all are correct.

    Args:
        model: its scores are above 1/2 where a symbol, or the end as the last one, may follow.
        language: what it should do.
        seed: of the letters.
    """
    for number in range(_WORDS):
        random = np.random.default_rng([seed, number])
        word: list[int] = []
        expected: list[Legal] = []
        configuration = language.initial()
        while len(word) < _LENGTH and (choices := sorted(language.legal(configuration).symbols)):
            word.append(int(random.choice(choices)))
            configuration = language.advance(configuration, word[-1])
            expected.append(language.legal(configuration))
        if not word:
            return None
        scores, _ = model(torch.tensor([word]))
        wrong = ((scores[0] > 0.5) != legal_table(expected, len(language.alphabet))).any(-1).nonzero()
        if len(wrong):
            return int(wrong[0]) + 1
    return None
