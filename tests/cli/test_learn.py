"""`nerode learn`: from a file of words to a folder that verifies."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from nerode.cli.learn import _is_equality
from nerode.kernel import PREDICT, VALID_PREFIXES
from nerode.kernel.claims import DONE
from nerode.languages import resolve_language
from tests.cli.runner import run


def _file(tmp_path, expression: str, longest: int):
    language = resolve_language(expression)
    words = ["".join(w) for n in range(longest + 1) for w in itertools.product("ab", repeat=n)]
    path = tmp_path / "words.tsv"
    path.write_text("".join(f"{word}\t{int(language.accepts(word))}\n" for word in words))
    return path


def _run(*arguments):
    return run(*map(str, arguments))


def test_words_become_a_folder_that_verifies(tmp_path):
    path, out = _file(tmp_path, "(ab)*", 5), tmp_path / "out"
    result = _run("learn", path, "--arch", "mamba", "-o", out, "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["learned"]["proved"] is True
    assert found["learned"]["expression"] == "(ab)*"
    assert found["learned"]["evidence"]["unique"] is True
    assert found["settlement"]["status"] == "proved"
    assert _run("verify", out).code == 0
    assert json.loads((out / "learned.json").read_text())["evidence"]["words"] == 63


def test_words_with_spaces_are_words_over_letters_of_several_characters(tmp_path):
    pairs = [" ".join(pair) for pair in itertools.product(("in", "out"), repeat=2)]
    words = ["", "in", "out", *pairs, *map(" ".join, itertools.product(pairs, repeat=2))]
    lines = [f"{word}\t{int(word.replace('in out', '').strip() == '')}\n" for word in words]
    (tmp_path / "log.tsv").write_text("".join(lines))
    told = run("learn", str(tmp_path / "log.tsv"), "--held-out", "0", "-o", str(tmp_path / "out"))
    assert told.code == 0, told.err
    assert "learned: (<in><out>)*" in told.out


def test_the_language_is_named(tmp_path):
    found = json.loads(_run("learn", _file(tmp_path, "(ab)*", 5), "--json").out)["learned"]
    assert "star-free" in found["classes"]
    assert resolve_language(found["ltl"], ltl=True).accepts("abab")
    shown = _run("learn", _file(tmp_path, "(a|ba*b)*", 6), "--arch", "diagonal-signed").out
    assert "quasi-aperiodic" not in shown
    assert "solvable" in shown
    assert "temporal logic" not in shown


def test_a_network_is_trained_with_the_learned_language_as_its_teacher(tmp_path):
    path, out = _file(tmp_path, "(a|ba*b)*", 6), tmp_path / "runs"
    result = _run("learn", path, "--arch", "deltanet-signed", "--train", "-o", out, "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["learned"]["proved"] is True
    assert found["settlement"]["status"] == "proved"
    (folder,) = [path.parent for path in out.glob("*/result.json")]
    assert _run("verify", folder).code == 0
    refused = _run("learn", path, "--arch", "mamba", "--train", "-o", tmp_path / "none")
    assert refused.code == 1
    assert "mamba is not trained: theory excludes a proof" in refused.err
    assert _run("learn", path, "--train").code == 2


def test_a_network_is_trained_on_the_words_alone(tmp_path):
    path, out = _file(tmp_path, "(a|b)*ab", 6), tmp_path / "fitted"
    result = _run("learn", path, "--arch", "mamba", "--train", "words", "-o", out, "--json")
    found = json.loads(result.out)
    trained = found["trained"]
    assert result.code == (0 if trained["is_learned"] else 1)
    assert found["learned"]["proved"] is trained["is_learned"]
    assert trained["states"] >= found["learned"]["states"] == 3
    assert (trained["differs"] is None) == trained["is_learned"]
    assert found["settlement"]["status"] == "proved"
    assert _run("verify", out).code == 0
    assert _run("learn", path, "--train", "words").code == 2
    refused = _run("learn", path, "--arch", "s4d", "--train", "words", "-o", tmp_path / "none")
    assert refused.code == 2
    assert "exact gates" in refused.err
    noisy = _run("learn", path, "--train", "words", "--noisy", "-o", tmp_path / "none")
    assert noisy.code == 2
    assert "takes every label as it is" in noisy.err


def test_an_architecture_that_cannot_is_named_before_any_network(tmp_path):
    result = _run("learn", _file(tmp_path, "(a|ba*b)*", 5), "--arch", "mamba")
    assert result.code == 1
    assert "mamba cannot do it" in result.err
    assert re.search(r"Next: nerode learn \S+ --arch lstm", result.err)
    assert "learned:" in result.out


def test_questions_are_asked_at_the_terminal(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("\t1\na\t0\nab\t1\nb\t0\n")
    language = resolve_language("(ab)*")
    asked = []

    def answer(text, **_):
        word = text.split("'")[1]
        asked.append(word)
        return language.accepts("" if word == "the empty word" else word.replace(" ", ""))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.confirm", answer)
        result = _run("learn", path, "--ask", "--arch", "diagonal-signed")
    assert asked
    assert "learned: (ab)*" in result.out


def test_a_claim_about_valid_prefixes_alone_is_no_equality():
    whole = {"length": "all", "covers": DONE[PREDICT], "task": PREDICT}
    assert _is_equality(whole)
    assert not _is_equality(whole | {"length": 100})
    assert not _is_equality({"length": "all", "covers": DONE[VALID_PREFIXES], "task": VALID_PREFIXES})
    assert not _is_equality({"length": "all", "says": f"In floats: {DONE[VALID_PREFIXES]}."})


def test_ask_needs_a_terminal(tmp_path):
    result = _run("learn", _file(tmp_path, "(ab)*", 3), "--ask", "--json")
    assert result.code == 2


def test_a_missing_file_is_one_sentence(tmp_path):
    result = _run("learn", tmp_path / "none.tsv")
    assert result.code == 2
    assert "cannot read" in result.err
