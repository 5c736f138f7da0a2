from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import nerode.kernel
from nerode.core import FormatError
from nerode.kernel import PREDICT, Certificate, certificate_to_json, content_hash
from nerode.languages import describe_language, language_hash
from nerode.languages.bestiary import find_language
from nerode.network import network_hash, network_to_json
from nerode.proofs import CERTIFICATE_FILE, LANGUAGE_FILE, NETWORK_FILE, check, check_folder
from nerode.proofs.certification import certify_exact
from tests.cli.runner import run
from tests.proofs import networks

Parts = dict[str, object]


@pytest.fixture
def parts() -> Parts:
    language = find_language("tomita-7")
    network = networks.one_hot_network(language, language.dfa())
    certificate = certify_exact(network, language, task=PREDICT)
    assert isinstance(certificate, Certificate)
    return {
        NETWORK_FILE: network_to_json(network),
        LANGUAGE_FILE: describe_language(language),
        CERTIFICATE_FILE: certificate_to_json(certificate),
    }


def write(folder: Path, parts: Parts) -> Path:
    for name, data in parts.items():
        (folder / name).write_text(json.dumps(data), encoding="utf-8")
    return folder


def test_a_folder_is_checked(tmp_path: Path, parts: Parts) -> None:
    result = check_folder(write(tmp_path, parts))
    assert result.ok
    assert result.failure is None
    assert len(result.claims) == 5


def test_the_hashes_are_those_of_compiler_and_languages(parts: Parts) -> None:
    language = find_language("tomita-7")
    network = networks.one_hot_network(language, language.dfa())
    data = parts[CERTIFICATE_FILE]
    assert isinstance(data, dict)
    assert data["network"] == network_hash(network) == content_hash(parts[NETWORK_FILE])
    assert data["language"] == language_hash(language)


@pytest.mark.parametrize("rehashed", [True, False])
def test_numbers_that_are_too_long_are_refused_wherever_they_are(parts: Parts, rehashed: bool) -> None:
    """Before the first step, too, and in the search for a word that a wrong hash starts."""
    network = json.loads(json.dumps(parts[NETWORK_FILE]))
    certificate = json.loads(json.dumps(parts[CERTIFICATE_FILE]))
    network["layers"][0]["start"][0] = str(2**1000 + 1)
    if rehashed:
        certificate["network"] = content_hash(network)
    result = check(network, parts[LANGUAGE_FILE], certificate)
    assert not result.ok
    assert result.failure is not None
    assert ("bits" in result.failure.what) is rehashed


def test_how_the_files_are_laid_out_does_not_matter(tmp_path: Path, parts: Parts) -> None:
    for name, data in parts.items():
        (tmp_path / name).write_text(json.dumps(data, indent=3, sort_keys=True), encoding="utf-8")
    assert check_folder(tmp_path).ok


def test_a_certificate_for_another_language_is_refused(tmp_path: Path, parts: Parts) -> None:
    other = describe_language(find_language("tomita-4"))
    result = check_folder(write(tmp_path, {**parts, LANGUAGE_FILE: other}))
    assert not result.ok
    assert result.failure is not None
    assert result.failure.entry == "language"
    assert "another language" in result.failure.what
    # It also says where the two differ: tomita-4 forbids 000, tomita-7 is 0*1*0*1*.
    assert result.failure.refutation is not None
    assert result.failure.refutation.at <= 3


def test_a_changed_weight_is_refused_with_the_first_word(tmp_path: Path, parts: Parts) -> None:
    network = json.loads(json.dumps(parts[NETWORK_FILE]))
    network["decoder"]["scores"]["bias"][-1] = -1
    result = check_folder(write(tmp_path, {**parts, NETWORK_FILE: network}))
    assert not result.ok
    assert result.failure is not None
    assert result.failure.entry == "network"
    assert result.failure.refutation is not None
    assert result.failure.refutation.word == ("0",)
    assert "$" in result.failure.refutation.expected
    assert "$" not in result.failure.refutation.got


def test_another_alphabet_is_refused(parts: Parts) -> None:
    language = json.loads(json.dumps(parts[LANGUAGE_FILE]))
    language["definition"]["alphabet"] = ["1", "0"]
    certificate = {**parts[CERTIFICATE_FILE], "language": content_hash(language["definition"])}  # type: ignore[dict-item]
    result = check(parts[NETWORK_FILE], language, certificate)
    assert not result.ok
    assert result.failure is not None
    assert result.failure.entry == "network.alphabet"


@pytest.mark.parametrize("name", [NETWORK_FILE, LANGUAGE_FILE, CERTIFICATE_FILE])
def test_files_that_are_missing_cut_or_garbled_are_format_errors(
    tmp_path: Path, parts: Parts, name: str
) -> None:
    write(tmp_path, parts)
    path = tmp_path / name
    whole = path.read_bytes()
    version = b'"version": 2' if name == CERTIFICATE_FILE else b'"version": 1'
    for content in (
        whole[: len(whole) // 2],
        b"",
        b"\xff\xfe\x00",
        b"[" * 200_000,
        b"null",
        b"[]",
        b'{"format": 1}',
        whole.replace(version, version + b", " + version, 1),
        whole.replace(version, b'"version": NaN', 1),
        whole.replace(version, b'"version": ' + b"9" * 5000, 1),
        whole.replace(b'"format": "', b'"format": "\\ud800', 1),
    ):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=name):
            check_folder(tmp_path)
    path.unlink()
    with pytest.raises(FormatError, match=name):
        check_folder(tmp_path)


def test_oversized_files_are_refused_unread(
    tmp_path: Path, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, parts)
    monkeypatch.setitem(nerode.kernel.MAX_BYTES, CERTIFICATE_FILE, 100)
    with pytest.raises(FormatError, match="larger than 100 bytes"):
        check_folder(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        check_folder(tmp_path / "nowhere")


def test_unknown_methods_and_idle_evidence_are_refused(parts: Parts) -> None:
    data = json.loads(json.dumps(parts[CERTIFICATE_FILE]))
    network, language = parts[NETWORK_FILE], parts[LANGUAGE_FILE]
    faith = {**data, "claims": [{**data["claims"][0], "method": "faith"}]}
    assert not check(network, language, faith).ok
    idle = {**data, "evidence": {**data["evidence"], "identity-word": {}}}
    assert not check(network, language, idle).ok
    bare = {**data, "evidence": {}}
    assert not check(network, language, bare).ok


def test_evidence_is_recomputed(parts: Parts) -> None:
    data = json.loads(json.dumps(parts[CERTIFICATE_FILE]))
    evidence = data["evidence"]["joint-closure"]
    for change in (
        {"cells": evidence["cells"] - 1},
        {"cells": evidence["cells"] + 1},
        {"cells": "5"},
        {"cells": -1},
        {"digest": "0" * 64},
        {"task": "recognise"},
        {"task": "please"},
        {"more": 1},
    ):
        changed = {**data, "evidence": {**data["evidence"], "joint-closure": {**evidence, **change}}}
        result = check(parts[NETWORK_FILE], parts[LANGUAGE_FILE], changed)
        assert not result.ok
        assert result.failure is not None
        assert result.failure.entry.startswith(("evidence.joint-closure", "claims"))
        assert result.failure.refutation is None
    lost = {**data, "evidence": {**data["evidence"], "integer-exactness": {"proof": "counter-invariant"}}}
    assert not check(parts[NETWORK_FILE], parts[LANGUAGE_FILE], lost).ok


def test_claims_stronger_than_the_evidence_are_refused(parts: Parts) -> None:
    data = json.loads(json.dumps(parts[CERTIFICATE_FILE]))
    claim = data["claims"][0]
    for change in (
        {"covers": claim["covers"].replace("exactly", "perhaps")},
        {"task": "recognise"},
        {"eps": "1/2"},
        {"scope": "all lengths under noise below eps", "eps": "1/10"},
    ):
        changed = {**data, "claims": [{**claim, **change}, *data["claims"][1:]]}
        assert not check(parts[NETWORK_FILE], parts[LANGUAGE_FILE], changed).ok


def test_fewer_claims_are_accepted(parts: Parts) -> None:
    data = json.loads(json.dumps(parts[CERTIFICATE_FILE]))
    single = {
        **data,
        "claims": data["claims"][:1],
        "evidence": {"joint-closure": data["evidence"]["joint-closure"]},
    }
    result = check(parts[NETWORK_FILE], parts[LANGUAGE_FILE], single)
    assert result.ok
    assert len(result.claims) == 1


def test_a_certificate_written_by_hand_is_accepted() -> None:
    """Only the format matters: nothing here was made by the prover."""
    language = describe_language(find_language("parity"))
    network = network_to_json(networks.parity_network(find_language("parity")))
    certificate = {
        "format": "nerode-certificate",
        "version": 2,
        "network": content_hash(network),
        "language": content_hash(language["definition"]),
        "claims": [
            {
                "scope": "all lengths in exact arithmetic",
                "dtype": None,
                "length": "all",
                "eps": None,
                "method": "counter-invariant",
                "task": "recognise",
                "covers": (
                    "In exact arithmetic: after every word over the alphabet the network says exactly "
                    "whether it is in the language; what it says about next symbols is not covered."
                ),
            }
        ],
        # No counters at all: then the cells are the joint configurations themselves.
        "evidence": {
            "counter-invariant": {
                "task": "recognise",
                "cells": 2,
                "digest": hashlib.sha256(b"0 1\n1 0\n").hexdigest(),
            }
        },
    }
    result = check(network, language, certificate)
    assert result.ok, result.failure


def test_checking_loads_neither_compiler_nor_torch(tmp_path: Path, parts: Parts) -> None:
    write(tmp_path, parts)
    program = (
        "import sys\n"
        "from nerode.kernel import check_folder\n"
        f"assert check_folder({str(tmp_path)!r}).ok\n"
        "bad = [m for m in sys.modules if m == 'torch' or m.startswith(('nerode.compiler', 'nerode.models',"
        " 'nerode.algebra', 'nerode.verdict', 'nerode.report'))]\n"
        "print(bad)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_answer_before_the_first_letter_is_checked(parts: Parts) -> None:
    language = find_language("tomita-7")
    network = networks.one_hot_network(language, language.dfa())
    wrong = replace(network, decoder=replace(network.decoder, empty=networks.Legal(frozenset(), True)))
    data = network_to_json(wrong)
    certificate = {**parts[CERTIFICATE_FILE], "network": content_hash(data)}  # type: ignore[dict-item]
    result = check(data, parts[LANGUAGE_FILE], certificate)
    assert not result.ok
    assert result.failure is not None
    assert result.failure.refutation is not None
    assert result.failure.refutation.word == ()


def test_a_folder_of_an_older_version_is_refused(tmp_path: Path, parts: Parts) -> None:
    old = run("verify", str(write(tmp_path, parts)))
    assert old.code == 2
    assert "subject.json: there is no such file. Older folders are not read" in old.err
    assert "nerode compile" in old.err
