from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from nerode.compiler import compile_language
from nerode.explorer.floats import float_steps
from nerode.explorer.jobs import run_job
from nerode.languages import resolve_language
from nerode.models.network_module import load_model
from nerode.network import Interpreter

CASES = [
    ("(ab)*", "mamba"),
    ("(aa)*", "diagonal-signed"),
    ("flip-flop", "lstm"),
    ("tomita-3", "elman-tanh"),
    ("tomita-3", "gru"),
    ("tomita-5", "slstm"),
    ("S3", "permutation-diagonal"),
    ("S3", "deltaproduct-signed"),
    ("Z60", "diagonal-complex"),
    ("tomita-6", "dense"),
    ("dyck-2-3", "diagonal"),
    ("anbn", "diagonal"),
    ("tomita-6", "elman-relu"),
]


def ask(job: str, **payload: Any) -> dict[str, Any]:
    answer = run_job(job, payload)
    assert "error" not in answer, answer
    return answer


def some_word(name: str, length: int = 24) -> str:
    return str(ask("word", language={"text": name}, length=length, seed=3)["word"])


@pytest.mark.parametrize(("name", "target"), CASES)
@pytest.mark.parametrize("kind", ["member", "any"])
def test_the_panels_agree(name: str, target: str, kind: str) -> None:
    language = resolve_language(name)
    word = ask("word", language={"text": name}, length=20, kind=kind, seed=5)["word"]
    found = ask("trace", language={"text": name}, target=target, word=word)
    expected = [legal.names(language.alphabet) for legal in language.legal_along(word)]
    assert [found["legal"]["values"][i] for i in found["legal"]["at"]] == expected
    said = [found["network"]["legal"]["values"][i] for i in found["network"]["legal"]["at"]]
    assert [s for s, e in zip(said, expected, strict=True) if e] == [e for e in expected if e]
    assert found["network"]["wrong"] == []


def test_prefixes_that_begin_no_word_are_not_compared() -> None:
    found = ask("trace", language={"text": "(ab)*"}, target="mamba", word="abbab")
    assert found["network"]["compared"] == 3
    found = ask("trace", language={"text": "(ab)*"}, target="mamba", word="abab")
    assert found["network"]["compared"] == 5


@pytest.mark.parametrize("name", ["tomita-3", "flip-flop", "S3", "(a|b)*a(a|b)"])
def test_elements_do_what_the_prefix_does(name: str) -> None:
    language = resolve_language(name)
    dfa = language.dfa()
    word = language.alphabet.encode(some_word(name))
    found = ask("trace", language={"text": name}, word=language.alphabet.decode(word))
    boxes = ask("language", language={"text": name})["eggs"]

    def image(letters: tuple[int, ...]) -> list[int]:
        states = np.arange(dfa.num_states)
        for letter in letters:
            states = dfa.transitions[states, letter]
        return states.tolist()

    for position, (number, state) in enumerate(
        zip(found["elements"]["at"], found["states"]["at"], strict=True)
    ):
        place = found["elements"]["values"][number]
        prefix = word[:position]
        assert image(language.alphabet.encode(place["word"])) == image(prefix)
        assert found["states"]["values"][state] == image(prefix)[dfa.start]
        rows = boxes[place["box"]]["cells"]
        if place["row"] < len(rows) and place["column"] < len(rows[0]):
            cell = rows[place["row"]][place["column"]]
            assert place["word"] in cell["words"] or cell["left_out"]


@pytest.mark.parametrize(("name", "target"), CASES)
def test_states_are_those_of_interpreter_and_module(name: str, target: str) -> None:
    language = resolve_language(name)
    network = compile_language(language, target)
    word = language.alphabet.encode(some_word(name))
    exact = ask("trace", language={"text": name}, target=target, word=language.alphabet.decode(word))[
        "network"
    ]
    interpreter = Interpreter(network)
    configuration = interpreter.start()
    states = [configuration]
    for letter in word:
        configuration, _ = interpreter.step(configuration, letter)
        states.append(configuration)
    scan = load_model(network, dtype=torch.float64).trace(torch.tensor([word])).states
    floats = float_steps(network, word, dtype="float64", noise=0.0, seed=0)
    for number, layer in enumerate(exact["layers"]):
        shown = np.array([[complex(*v) if isinstance(v, list) else v for v in h] for h in layer["h"]])
        wanted = np.array([[complex(v) for v in state[number]] for state in states])
        np.testing.assert_allclose(shown, wanted, atol=2e-5)
        stepped = [
            [complex(*v) if isinstance(v, list) else v for v in step.states[number]] for step in floats[1:]
        ]
        np.testing.assert_allclose(np.array(stepped), scan[f"{number}.h"][0].numpy(), atol=2e-5)


@pytest.mark.parametrize(("name", "target"), [c for c in CASES if c[1] not in ("diagonal-complex",)])
def test_what_is_shown_moves_the_state(name: str, target: str) -> None:
    """Gates and writes, put together by hand, give the next state."""
    found = ask("trace", language={"text": name}, target=target, word=some_word(name))["network"]
    drawn = ask("network", language={"text": name}, target=target)
    for layer, about in zip(found["layers"], drawn["layers"], strict=True):
        for before, after, drive in zip(layer["h"], layer["h"][1:], layer["drives"][1:], strict=False):
            h, new = np.array(before), np.array(after)
            parts = {name: np.array(values) for name, values in drive.items()}
            if about["kind"] == "diagonal":
                np.testing.assert_allclose(parts["gate"] * h + parts["write"], new, atol=1e-4)
            elif about["activation"] == "tanh":
                np.testing.assert_allclose(np.tanh(parts["sum"]), new, atol=1e-4)
            elif about["activation"] == "relu":
                np.testing.assert_allclose(np.maximum(parts["sum"], 0), new, atol=1e-4)
            elif about["cell"] == "gru":
                mixed = (1 - parts["update"]) * h + parts["update"] * parts["candidate"]
                np.testing.assert_allclose(mixed, new, atol=1e-4)
            elif about["cell"] == "lstm":
                c, c_new = np.split(h, 2)[1], np.split(new, 2)[1]
                np.testing.assert_allclose(
                    parts["forget"] * c + parts["input"] * parts["cell"], c_new, atol=1e-4
                )


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_without_noise_it_is_the_module(dtype: str) -> None:
    network = compile_language(resolve_language("tomita-3"), "gru")
    word = network.alphabet.encode("110100111")
    steps = float_steps(network, word, dtype=dtype, noise=0.0, seed=0)
    model = load_model(network, dtype=getattr(torch, dtype))
    state = model.initial_state(1)
    for letter, step in zip(word, steps[1:], strict=True):
        scores, state = model.step(torch.tensor([letter]), state)
        legal = model.legal(scores)[0].tolist()
        assert [i in step.legal.symbols for i in range(2)] + [step.legal.end] == legal
        np.testing.assert_allclose(step.states[0], state["0.h"][0].tolist(), rtol=1e-5)


def test_noise_is_bounded_and_repeats() -> None:
    network = compile_language(resolve_language("flip-flop"), "mamba")
    word = network.alphabet.encode("w0")
    quiet = float_steps(network, word, dtype="float64", noise=0.0, seed=0)
    runs = [float_steps(network, word, dtype="float64", noise=0.1, seed=s) for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    difference = np.abs(np.array(runs[0][1].states[0]) - np.array(quiet[1].states[0]))
    assert 0 < difference.max() <= 0.1


def test_noise_breaks_the_linear_latch_and_not_the_tanh_latch() -> None:
    proof = ask("proof", language={"text": "flip-flop"}, target="elman-tanh")
    assert "all lengths under noise below 0.141" in proof["claims"]
    word = "w1" + "i0" * 150 + "r1"
    for seed in range(5):
        order = {"language": {"text": "flip-flop"}, "word": word, "noise": 0.1, "seed": seed}
        linear = ask("trace", target="mamba", arithmetic="float64", **order)
        tanh = ask("trace", target="elman-tanh", arithmetic="float64", **order)
        assert linear["network"]["wrong"]
        assert tanh["network"]["wrong"] == []


def test_letters_that_are_none() -> None:
    answer = run_job("trace", {"language": {"text": "(ab)*"}, "word": "abc"})
    assert "'c' at position 3" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise": 0.1}, "exact arithmetic has no noise"),
        ({"noise": -1.0, "arithmetic": "float32"}, "outside"),
        ({"noise": float("nan"), "arithmetic": "float32"}, "outside"),
        ({"seed": -1}, "the seed -1 is outside 0"),
        ({"arithmetic": "float8"}, "allowed are"),
        ({"word": "ab" * 1001}, "too long to step through"),
        ({"target": "mambo"}, "did you mean"),
    ],
)
def test_orders_that_are_refused(change: dict[str, Any], message: str) -> None:
    answer = run_job("trace", {"language": {"text": "(ab)*"}, "word": "ab", "target": "mamba", **change})
    assert message in answer["error"]["message"]


def test_words_have_the_wished_length() -> None:
    for length, seed in itertools.product((0, 1, 8, 31), (0, 1)):
        found = ask("word", language={"text": "(ab)*"}, length=length, seed=seed)
        assert found["length"] == length - length % 2
        assert resolve_language("(ab)*").accepts(found["word"])
    assert "no word" in run_job("word", {"language": {"text": "(abc)"}, "length": 200})["error"]["message"]


@pytest.mark.parametrize("seed", [-1, 2**63, 10**30])
def test_a_seed_that_no_generator_takes_is_refused(seed: int) -> None:
    language = {"text": "(ab)*"}
    noisy = {"language": language, "target": "mamba", "word": "ab", "arithmetic": "float32", "seed": seed}
    for job, payload in (("trace", noisy), ("word", {"language": language, "length": 2, "seed": seed})):
        assert f"the seed {seed} is outside" in run_job(job, payload)["error"]["message"]
    largest = {**noisy, "noise": 0.5, "seed": 2**63 - 1}
    assert "network" in run_job("trace", largest)


@pytest.mark.parametrize("arithmetic", ["exact", "float32"])
def test_heads_say_where_they_look(arithmetic: str) -> None:
    """The latest letter that is not 2; the mark before the first of them."""
    found = ask(
        "trace",
        language={"text": "012-star-02-star"},
        target="transformer-alibi",
        word="202210",
        arithmetic=arithmetic,
    )["network"]
    looks = [drive.get("looks") for drive in found["layers"][0]["drives"]]
    assert looks == [None, [0.0], [2.0], [2.0], [2.0], [5.0], [6.0]]
    named = {target["name"] for target in ask("language", language={"text": "flip-flop"})["targets"]}
    assert {"transformer-alibi", "transformer-nope", "mamba-attention"} <= named
    assert "transformer" not in named


def test_heads_that_average_look_everywhere() -> None:
    found = ask("trace", language={"text": "majority"}, target="transformer-nope", word="011")["network"]
    assert found["layers"][0]["drives"][2]["looks"] == ["all"]
