"""Whole models in other libraries: loaded by transformers, compared with the automaton, sampled from."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from nerode.core import InputError
from nerode.languages import Language, resolve_language
from nerode.models import Model, read_model, save_model
from nerode.models.exports import Compared, write_library_folder
from nerode.models.exports.library_forms import BEGIN, END, EXPORT_FORMS, FIRST, transformers_mamba
from nerode.proofs.floats import make_architecture
from nerode.records import NetworkEntry, SubjectRecord, TokenLetters
from tests.models.walks import lawful_word, legal_table, published_model

transformers = pytest.importorskip("transformers")


CLASSES = {
    "mamba": "MambaForCausalLM",
    "mamba-2": "Mamba2ForCausalLM",
    "griffin": "RecurrentGemmaForCausalLM",
}


def exported(name: str, architecture: str, out: Path, *, to: str = "huggingface") -> Language:
    language = resolve_language(name)
    stored = out.parent / "stored"
    save_model(stored, published_model(language, architecture))
    found = written(out, read_model(stored), language, to=to)
    assert (found is not None and found.same_bits) == (to == "huggingface")
    return language


def written(out: Path, model: Model, language: Language, *, to: str = "huggingface") -> Compared | None:
    letters = TokenLetters.numbered(language.alphabet.symbols)
    subject = SubjectRecord(network=NetworkEntry(kind="zoo"), letters=letters)
    return write_library_folder(
        out,
        model,
        subject,
        to=to,
        decode=lambda scores: scores > 0.5,
        note={},
        card=lambda loading, _: loading,
    )


@torch.no_grad()
def answers_of(model: Any, words: torch.Tensor) -> torch.Tensor:
    """What a model of tokens says after each prefix (words, time + 1, letters + 1)."""
    begin = torch.full((len(words), 1), BEGIN)
    return as_answers(model(torch.cat([begin, words + FIRST], dim=1), use_cache=False).logits)


def as_answers(logits: torch.Tensor) -> torch.Tensor:
    """Which letters may follow, and last whether the word may end, by the signs of logits."""
    legal = logits > 0
    return torch.cat([legal[..., FIRST:], legal[..., END : END + 1]], dim=-1)


def agrees(model: Any, language: Language, words: torch.Tensor) -> bool:
    return all(
        torch.equal(answers_of(model, part)[:, 1:], legal_table(language, part)) for part in words.split(512)
    )


@torch.no_grad()
def agrees_along_a_tree(model: Any, language: Language, length: int, *, below: int = 5) -> bool:
    """Whether all words of a length are answered as the language says, prefixes read once with the cache.

    The first letters of a word are read whole; of the last `below` ones each is one step, as in `generate`.
    """
    letters = torch.arange(len(language.alphabet))
    for prefix in itertools.product(letters.tolist(), repeat=length - below):
        words = torch.tensor([prefix], dtype=torch.int64)
        start = torch.cat([torch.tensor([[BEGIN]]), words + FIRST], dim=1)
        given = new_cache(model)
        out = model(start, use_cache=True, **given)
        given = given or {"cache_params": out.cache_params}
        if not torch.equal(as_answers(out.logits)[:, 1:], legal_table(language, words)):
            return False
        for _ in range(below):
            rows = torch.arange(len(words)).repeat_interleave(len(letters))
            last = letters.repeat(len(words))[:, None]
            words = torch.cat([words[rows], last], dim=1)
            follow(model, next(iter(given.values())), rows)
            out = model(last + FIRST, use_cache=True, **given)
            if not torch.equal(as_answers(out.logits), legal_table(language, words)[:, -1:]):
                return False
    return True


def new_cache(model: Any) -> dict[str, Any]:
    """A cache for RecurrentGemma, which does not hand out its own; nothing for Mamba, which does."""
    if model.config.model_type != "recurrent_gemma":
        return {}
    return {"past_key_values": transformers.DynamicCache(config=model.config)}


def follow(model: Any, cache: Any, rows: torch.Tensor) -> None:
    """Gives a cache one row for each word that goes on."""
    cache.reorder_cache(rows)
    # RecurrentGemma keeps its registers in the layers, and in its cache only what it attends to.
    for layer in model.modules():
        for name in ("conv1d_state", "recurrent_states"):
            if isinstance(state := getattr(layer, name, None), torch.Tensor):
                setattr(layer, name, state[rows])


def sampled(
    model: Any, tokenizer: Any, count: int, longest: int, prompts: Sequence[str] = ("",)
) -> list[tuple[str, bool]]:
    """Sampled words, and whether each has ended."""
    torch.manual_seed(0)
    start = tokenizer(list(prompts) * count, return_tensors="pt", padding=True)
    rows = model.generate(**start, do_sample=True, max_new_tokens=longest)
    texts = tokenizer.batch_decode(rows, skip_special_tokens=True)
    new = rows[:, start.input_ids.shape[1] :].tolist()
    return [(text, 1 in row) for text, row in zip(texts, new, strict=True)]


def check(
    folder: Path, language: Language, *, short: int, long: int, samples: int, architecture: str
) -> None:
    model = getattr(transformers, CLASSES[architecture]).from_pretrained(folder).eval()
    letters = range(len(language.alphabet))
    # Mamba-2 of transformers keeps a number per head and pair of letters, RecurrentGemma loops over letters:
    # whole words take 15 and 7 times as long.
    whole = short if architecture == "mamba" else min(short, 4)
    assert agrees(model, language, torch.tensor(list(itertools.product(letters, repeat=whole))))
    assert whole == short or agrees_along_a_tree(model, language, short)
    random = torch.randint(0, len(letters), (2, long), generator=torch.Generator().manual_seed(1))
    assert agrees(model, language, random)
    assert agrees(model, language, torch.tensor([lawful_word(language, long)]))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = sampled(model, tokenizer, samples, 200)
    assert sum(ended for _, ended in found) > 0.9 * samples
    # A second call begins anew, prompts of several lengths are padded on the left.
    prompts = ["", language.alphabet.decode(lawful_word(language, 4))]
    for text, ended in found + sampled(model, tokenizer, 2, 200, prompts):
        word = language.alphabet.encode(text)
        legal = language.legal_along(word)[-1]
        assert legal.end if ended else legal.symbols


@pytest.mark.parametrize(
    ("name", "architecture"), [("tomita-4", "mamba"), ("(ab)*", "mamba-2"), ("(ab)*", "griffin")]
)
def test_transformers_loads_and_samples_words(name: str, architecture: str, tmp_path: Path) -> None:
    language = exported(name, architecture, tmp_path / "out")
    check(tmp_path / "out", language, short=6, long=300, samples=40, architecture=architecture)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("architecture", list(CLASSES))
@pytest.mark.parametrize("name", ["tomita-4", "flip-flop", "dyck-2-3"])
def test_every_short_word_and_a_thousand_samples(name: str, architecture: str, tmp_path: Path) -> None:
    """All words of eight letters, so that every prefix is one."""
    language = exported(name, architecture, tmp_path / "out")
    check(tmp_path / "out", language, short=8, long=2000, samples=1000, architecture=architecture)


def test_the_tokenizer_has_one_token_per_letter(tmp_path: Path) -> None:
    exported("tomita-4", "mamba", tmp_path / "out")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer("01 1").input_ids == [0, 2, 3, 3]
    assert tokenizer.decode([0, 2, 3, 3, 1], skip_special_tokens=True) == "011"
    with pytest.raises(Exception, match="UNK"):
        tokenizer("2")


def test_mamba_ssm_has_its_own_names(tmp_path: Path) -> None:
    exported("tomita-1", "mamba", tmp_path / "ssm", to="mamba-ssm")
    exported("tomita-1", "mamba", tmp_path / "fla", to="fla")
    weights = load_file(tmp_path / "ssm" / "model.safetensors")
    config = json.loads((tmp_path / "ssm" / "config.json").read_text())
    width, cfg = config["d_model"], config["ssm_cfg"]
    inner = cfg["expand"] * width
    prefix = "backbone.layers.0.mixer."
    shapes = {name.removeprefix(prefix): tuple(w.shape) for name, w in weights.items() if prefix in name}
    assert shapes == {
        "in_proj.weight": (2 * inner, width),
        "conv1d.weight": (inner, 1, cfg["d_conv"]),
        "conv1d.bias": (inner,),
        "x_proj.weight": (cfg["dt_rank"] + 2 * cfg["d_state"], inner),
        "dt_proj.weight": (inner, cfg["dt_rank"]),
        "dt_proj.bias": (inner,),
        "A_log": (inner, cfg["d_state"]),
        "D": (inner,),
        "out_proj.weight": (width, inner),
    }
    others = {name: tuple(w.shape) for name, w in weights.items() if "mixer" not in name}
    assert others == {
        "backbone.embedding.weight": (config["vocab_size"], width),
        "backbone.layers.0.norm.weight": (width,),
        "backbone.norm_f.weight": (width,),
        "lm_head.weight": (config["vocab_size"], width),
    }
    assert "backbone.embeddings.weight" in load_file(tmp_path / "fla" / "model.safetensors")


def test_mamba_ssm_has_the_shapes_of_its_mamba_2(tmp_path: Path) -> None:
    exported("tomita-1", "mamba-2", tmp_path / "ssm", to="mamba-ssm")
    weights = load_file(tmp_path / "ssm" / "model.safetensors")
    config = json.loads((tmp_path / "ssm" / "config.json").read_text())
    width, cfg = config["d_model"], config["ssm_cfg"]
    inner = cfg["expand"] * width
    heads, convolved = inner // cfg["headdim"], inner + 2 * cfg["ngroups"] * cfg["d_state"]
    prefix = "backbone.layers.0.mixer."
    assert cfg["layer"] == "Mamba2"
    assert {name.removeprefix(prefix): tuple(w.shape) for name, w in weights.items() if prefix in name} == {
        "in_proj.weight": (inner + convolved + heads, width),
        "conv1d.weight": (convolved, 1, cfg["d_conv"]),
        "conv1d.bias": (convolved,),
        "dt_bias": (heads,),
        "A_log": (heads,),
        "D": (heads,),
        "norm.weight": (inner,),
        "out_proj.weight": (width, inner),
    }


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    language = resolve_language("tomita-1")
    zoo = make_architecture(language, "mamba", surroundings="zoo", seconds=0).model
    with pytest.raises(InputError, match="--surroundings published"):
        written(tmp_path / "a", zoo, language)
    with pytest.raises(InputError, match="transformers has no language model of gla"):
        written(tmp_path / "a", make_architecture(language, "gla", seconds=0).model, language)
    with pytest.raises(InputError, match="fla has no language model of mamba-2"):
        written(tmp_path / "a", published_model(language, "mamba-2"), language, to="fla")

    def damaged(tokens: Model) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        weights, config = transformers_mamba(tokens)
        return weights | {"lm_head.weight": -weights["lm_head.weight"]}, config

    monkeypatch.setitem(EXPORT_FORMS["huggingface"], "mamba", damaged)
    with pytest.raises(
        InputError, match="answers otherwise than nerode's module after 0; nothing was written"
    ):
        written(tmp_path / "a", published_model(language, "mamba"), language)
    assert not (tmp_path / "a").exists()
