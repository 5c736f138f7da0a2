"""Softmax decoders of compiled networks: the automaton's answers, forward and step, in several formats."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nerode.compiler import compile_language
from nerode.core import NotCompilable
from nerode.languages.bestiary import find_language
from nerode.models.architectures.attention import Attention, AttentionSettings
from nerode.models.config import ModelConfig
from nerode.models.folder import read_model, save_model
from nerode.models.lower.heads import network_to_decoder
from nerode.models.lower.lowering import lowerings
from nerode.models.model import build_model
from nerode.models.zoo import LayerConfig
from nerode.proofs.floats import make_architecture

NAMES = ["tomita-4", "flip-flop", "dyck-2-3", "012-star-02-star", "last-letter"]


def decoder(name, target="transformer-alibi", dtype=torch.float32):
    return network_to_decoder(compile_language(find_language(name), target), target, dtype=dtype)


def walk(dfa, length, rng, *, live):
    """A random word, mostly inside the language if `live`, and what is legal after each letter."""
    answers = np.hstack([dfa.legal, dfa.accepting[:, None]])
    word, legal, q = [], [], dfa.start
    for _ in range(length):
        choices = np.flatnonzero(dfa.legal[q]) if live else []
        word.append(int(rng.choice(choices)) if len(choices) else int(rng.integers(dfa.num_letters)))
        q = int(dfa.transitions[q, word[-1]])
        legal.append(answers[q])
    return torch.tensor([word]), np.array(legal)


def stepped(model, word):
    state, scores = model.initial_state(1), []
    for letter in word.unbind(1):
        score, state = model.step(letter, state)
        scores.append(score)
    return torch.cat(scores)


@pytest.mark.parametrize("target", ["transformer-alibi", "transformer-periodic"])
@pytest.mark.parametrize("name", NAMES)
def test_forward_and_step_give_the_answers_of_the_automaton(name, target):
    model, dfa = decoder(name, target), find_language(name).dfa()
    rng = np.random.default_rng(3)
    for live in (True, False):
        word, legal = walk(dfa, 60, rng, live=live)
        assert np.array_equal((model(word)[0][0] > 0.5).numpy(), legal)
        assert np.array_equal((stepped(model, word) > 0.5).numpy(), legal)
    empty = np.append(dfa.legal[dfa.start], dfa.accepting[dfa.start])
    assert np.array_equal((model.empty_scores() > 0.5).numpy(), empty)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_formats(dtype):
    model, dfa = decoder("flip-flop", "transformer-periodic", dtype), find_language("flip-flop").dfa()
    word, legal = walk(dfa, 150, np.random.default_rng(4), live=True)
    assert np.array_equal((model(word)[0][0] > 0.5).numpy(), legal)
    assert np.array_equal((stepped(model, word) > 0.5).numpy(), legal)


@pytest.mark.parametrize("pairs", [300, pytest.param(5_000, marks=pytest.mark.slow)])
def test_a_bit_is_held_over_many_letters(pairs):
    """Write, ignore, read: the case in which trained transformers fail."""
    language = find_language("flip-flop")
    model, code = decoder("flip-flop"), language.alphabet.encode
    for bit in "01":
        word = torch.tensor([[*code(f"w{bit}"), *(code("i0") + code("i1")) * (pairs // 2), *code("r")]])
        scores = model(word)[0][0, -1] > 0.5
        assert [s for s, yes in zip((*language.alphabet, "$"), scores, strict=True) if yes] == [bit]


def test_a_folder_gives_the_decoder_back(tmp_path):
    model = decoder("tomita-4", "transformer-periodic")
    save_model(tmp_path, model)
    again = read_model(tmp_path)
    assert again.config == model.config.complete()
    word = torch.tensor([[0, 0, 1, 0, 0, 0, 1]])
    assert torch.equal(again(word)[0], model(word)[0])


def test_languages_become_decoders_by_name():
    model = make_architecture(find_language("012-star-02-star"), "transformer-alibi", seconds=0.5).model
    assert model.config.beginning
    assert model.claims[0].length == 1 << 24
    assert all(isinstance(layer, Attention) for layer in model.layers)


def test_a_hybrid_without_a_construction_is_refused():
    [refusal] = lowerings(find_language("anbncn"), "mamba-attention")
    assert isinstance(refusal, NotCompilable)
    assert "the letter before is read, which needs positions" in refusal.reasons[0]


def test_without_positions_nothing_finds_the_latest_match():
    network = compile_language(find_language("flip-flop"), "transformer-alibi")
    with pytest.raises(NotCompilable, match="needs positions"):
        network_to_decoder(network, "transformer-nope")
    with pytest.raises(NotCompilable, match="no model of the zoo"):
        network_to_decoder(network, "transformer-hard")


@pytest.mark.parametrize("positions", ["none", "periodic", "sine"])
def test_a_beginning_mark_is_read_before_the_first_letter(positions):
    config = ModelConfig(
        layers=(LayerConfig(name="transformer-alibi", settings={"heads": 2, "slopes": (0.0, 0.5)}),) * 2,
        outputs=3,
        letters=4,
        width=8,
        beginning=True,
        positions=positions,
        period=3,
    )
    model = build_model(config, seed=1)
    word = torch.tensor([[1, 0, 3, 2, 2]])
    # The same weights without the mark, read with the mark as a first letter.
    tensors = model.state_dict()
    plain = build_model(ModelConfig(**{**_fields(config), "beginning": False, "letters": 5}), seed=1)
    plain.load_state_dict(tensors)
    whole = plain(torch.tensor([[4, *word[0].tolist()]]))[0][0]
    torch.testing.assert_close(model(word)[0][0], whole[1:])
    torch.testing.assert_close(stepped(model, word), whole[1:])
    torch.testing.assert_close(model.empty_scores(), whole[0])


def _fields(config):
    return {name: getattr(config, name) for name in config.__dataclass_fields__}


@pytest.mark.parametrize("slopes", [(1.0,), (-1.0, 1.0)])
def test_slopes_that_do_not_fit_are_refused(slopes):
    with pytest.raises(Exception, match="one slope of 0 or more per head"):
        AttentionSettings(heads=2, positions="alibi", slopes=slopes)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("majority", "transformer-nope"),
        ("dyck-1", "transformer-nope"),
        ("shuffle-2", "transformer-nope"),
        ("anbn", "transformer-alibi"),
        # More than a thousand million stacks: a head per depth finds the latest bracket opened there.
        ("dyck-8-10", "transformer-alibi"),
    ],
)
@pytest.mark.parametrize("length", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_heads_that_count(name, target, length):
    language = find_language(name)
    model = network_to_decoder(compile_language(language, target), target)
    rng = np.random.default_rng(6)
    for lawful in (True, False):
        word, expected, configuration = [], [], language.initial()
        for _ in range(length):
            choices = sorted(language.legal(configuration).symbols) if lawful else []
            word.append(int(rng.choice(choices or range(len(language.alphabet)))))
            configuration = language.advance(configuration, word[-1])
            legal = language.legal(configuration)
            expected.append([*(a in legal.symbols for a in range(len(language.alphabet))), legal.end])
        letters = torch.tensor([word])
        assert (model(letters)[0][0] > 0.5).tolist() == expected
        if length < 1_000:
            assert (stepped(model, letters) > 0.5).tolist() == expected


def test_counters_that_need_the_letter_before_need_positions():
    with pytest.raises(NotCompilable, match="needs positions"):
        compile_language(find_language("anbn"), "transformer-nope")


STAR_FREE = """tomita-1 tomita-2 tomita-4 tomita-7 aabbccddee ab-star-d-bc-star 012-star-02-star
flip-flop even-pairs repeat-01 first ab-star aab-star aabb-star contains-abaab contains-fibonacci-22
subsequence-abcdefgh last-letter set-reset last-but-8 offset-counting-10 d-2 d-3 d-4 d-12 dyck-2-3
dyck-2-5 dyck-8-10 ngram-seed u1 u2""".split()


@pytest.mark.slow
@pytest.mark.parametrize("name", STAR_FREE)
def test_words_of_ten_thousand_letters(name):
    """Random words, and words whose letters mostly change nothing; at once and letter by letter."""
    from benchmarks.attention import count_wrong

    assert count_wrong(decoder(name), find_language(name), 10_000) == (0, 0)


def test_the_list_of_star_free_languages_is_complete():
    from benchmarks.attention import star_free

    assert [name for name, _, _ in star_free(())] == STAR_FREE
