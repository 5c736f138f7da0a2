"""A compiled folder as one Coq file: the network, the language, and the theorems about them.

The file is a theorem where `coqc` accepts it; nothing here is trusted. Where the files of the folder are
small, their bytes are part of it, and a theorem says that the printed network and language are what they
contain. The library that it imports is `formal/` (`formal/build` compiles it).

`make formal` builds nerode-check, the checker that is itself proved. It reads network and language of a
folder by itself, takes hints alone of the certificate, and judges the claims once more.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from nerode.core import InputError
from nerode.kernel import (
    ANY_ORDER,
    CERTIFICATE_FILE,
    LANGUAGE_FILE,
    NETWORK_FILE,
    PREDICT,
    RECOGNISE,
    VALID_PREFIXES,
    Claim,
    check_folder,
)

Json = Any

TASKS = {PREDICT: "Predict", VALID_PREFIXES: "ValidPrefixes", RECOGNISE: "Recognise"}
FORMATS = {"float64": "binary64", "float32": "binary32", "bfloat16": "bfloat16", "float16": "binary16"}
POINTS, COUNTERS, CAPS, STACKS, INTEGERS = (
    "joint-closure",
    "counter-invariant",
    "saturating-closure",
    "stack-invariant",
    "integer-exactness",
)
_PROVED = (POINTS, COUNTERS, CAPS, STACKS)
MOST_BYTES = 20_000
"""Characters of network and language that are quoted; longer texts take coqc long to read."""


class NotPrintable(InputError):
    """A network or a proof that the Coq library has no meaning for, and what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"this folder cannot be written for Coq: {what}; {remedy}")


_VERIFY = "`nerode verify` checks it with the Python kernel"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoqFile:
    """The text of a Coq file, and the names of its theorems."""

    text: str
    theorems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Folder:
    network_text: str
    language_text: str
    network: Json
    language: Json
    claims: Sequence[Json]
    evidence: Mapping[str, Json]


def _read(folder: Path) -> _Folder:
    """Reads a folder whose certificate the kernel accepts; the only place that knows its files."""
    result = check_folder(folder)
    if result.failure is not None:
        raise InputError(f"the certificate in {folder} does not hold: {result.failure.what}")
    network, language, certificate = (
        # Ends of lines as they are: the hashes are those of the files.
        (folder / name).read_bytes().decode()
        for name in (NETWORK_FILE, LANGUAGE_FILE, CERTIFICATE_FILE)
    )
    stated = json.loads(certificate)
    parts = [part for part in stated.get("parts", [stated]) if part.get("about", "network") == "network"]
    claims = [claim for part in parts for claim in part["claims"]]
    evidence = {method: found for part in parts for method, found in part["evidence"].items()}
    return _Folder(network, language, json.loads(network), json.loads(language), claims, evidence)


def folder_to_coq(folder: Path) -> CoqFile:
    """Returns a Coq file with the theorems that the certificate of a folder claims and `formal/` can prove.

    Raises:
        NotPrintable: if the network, the language or the method has no counterpart there.
        InputError: if the certificate does not hold.
    """
    parts = _read(folder)
    method = next((name for name in _PROVED if name in parts.evidence), None)
    if method is None:
        known = ", ".join(sorted(parts.evidence)) or "none"
        raise NotPrintable(
            f"its methods of proof ({known}) have no proof in formal/, which has {', '.join(_PROVED)}",
            _VERIFY,
        )
    evidence = parts.evidence[method]
    hints = _hints(method, evidence, parts.network)
    most = f"(N.to_nat {200_000 if method in (COUNTERS, STACKS) else 2 * evidence['cells'] + 100})"
    kind, lines = _language(parts.language["definition"])
    task = TASKS[evidence["task"]]
    diagonal = all(layer["recurrence"]["kind"] == "diagonal" for layer in parts.network["layers"])
    right = "automaton_right" if kind == "Automaton lang" else "right_after"
    claim = "automaton_claim {} {} net lang" if kind == "Automaton lang" else "correct_in {} {} net lang"
    theorems = {"correct_at_every_length": ("Exactly", claim.format("rational", task))}
    for stated in parts.claims if method == POINTS else ():
        if stated["method"] == INTEGERS and stated["length"] == "all" and TASKS.get(stated["task"]) == task:
            form = FORMATS[stated["dtype"]]
            statement = f"exact_in {form} (fun F => {claim.format('F', task)})"
            theorems[f"exact_in_{stated['dtype']}"] = (f"(StepByStep {form})", statement)
            if stated["scope"] == ANY_ORDER and diagonal:
                statement = f"exact_in_any_grouping {form} net ({right} {task} lang)"
                theorems[f"scans_in_{stated['dtype']}"] = (f"(AnyGrouping {form})", statement)
    body = [_header(parts), *_network(parts.network), "", *lines, ""]
    for name, (form, statement) in theorems.items():
        proof = f"apply (check_tries_sound {form} {task} net ({kind}) {hints} {most})."
        body += [
            f"Theorem {name} : {statement}.",
            f"Proof. {proof} vm_cast_no_check (eq_refl true). Qed.",
            "",
        ]
    names = list(theorems)
    if len(parts.network_text) + len(parts.language_text) <= MOST_BYTES:
        body += _bytes(parts, kind, task)
        names += ["the_files_say_so", "the_files_are_correct"]
    body += [f"Print Assumptions {name}." for name in names]
    return CoqFile(text="\n".join(body) + "\n", theorems=tuple(names))


def _header(parts: _Folder) -> str:
    name, construction = parts.language["name"], parts.network["origin"]["construction"]
    letters = ", ".join(f"{i} = {name}" for i, name in enumerate(parts.network["alphabet"]))
    return f"""(* {_comment(f"{name}: a network by the construction {construction}")}.
   Written by `nerode export --to coq`; a theorem where `coqc -Q out/formal Nerode FILE.v` accepts it.
   SHA-256 of the network file  {_sha256(parts.network_text)}
   SHA-256 of the language file {_sha256(parts.language_text)}
   Letters: {_comment(letters)}.
   `Row b [x i c; ...]` is b + c * input i + ...; formal/Network.v explains all the words. *)
From Nerode Require Import Certificate.
"""


def _bytes(parts: _Folder, kind: str, task: str) -> list[str]:
    """Theorems that tie the printed terms to the bytes of the files."""
    letters = _listing(f'"{_quoted(name)}"' for name in parts.network["alphabet"]) + "%string"
    return [
        f'Definition network_file : string := "{_quoted(parts.network_text)}"%string.',
        f'Definition language_file : string := "{_quoted(parts.language_text)}"%string.',
        "Theorem the_files_say_so :",
        f"  read_network network_file = Some (net, {letters}) /\\",
        f"  read_language language_file = Some ({kind}, {letters}).",
        "Proof. split; vm_compute; reflexivity. Qed.",
        f"Theorem the_files_are_correct : holds_of_files Exactly {task} network_file language_file.",
        "Proof.",
        f"  exists net, ({kind}), {letters}. destruct the_files_say_so as [N L].",
        "  split; [exact N|split; [exact L|exact correct_at_every_length]].",
        "Qed.",
        "",
    ]


def _network(data: Json) -> list[str]:
    alphabet, stream = data["alphabet"], list(data["embedding"]["directions"])
    lines = []
    for i, part in enumerate(data["layers"], start=1):
        lines += [f"Definition layer{i} := {_layer(part, stream)}."]
    decoder = data["decoder"]
    reads = _nats(stream.index(name) for name in decoder["reads"])
    if decoder["kind"] == "scores":
        answers = f"Scores {reads}\n    {_map(decoder['units'])}\n    {_map(decoder['scores'])}"
    elif decoder["kind"] == "points":
        pairs = zip(decoder["points"], decoder["answers"], strict=True)
        points = _listing(f"({_numbers(point)}, {_answer(names, alphabet)})" for point, names in pairs)
        answers = f"Points {reads}\n    {points}"
    else:
        raise NotPrintable("its decoder has distributions, and formal/ is about sets of letters", _VERIFY)
    layers = _listing(f"layer{i}" for i in range(1, len(data["layers"]) + 1))
    return [
        *lines,
        f"Definition net := Network {len(alphabet)}",
        f"  {_listing(map(_numbers, data['embedding']['vectors']))}",
        f"  {layers}",
        f"  ({answers})",
        f"  {_answer(decoder['empty'], alphabet)}.",
    ]


def _layer(data: Json, stream: list[str]) -> str:
    if data["complex_state"]:
        raise NotPrintable("it has complex states", "compile to a class with real states, such as dense")
    if data.get("quotients") or set(data.get("functions", ())) - {"relu"}:
        raise NotPrintable("its readout has functions other than ReLU", _VERIFY)
    inputs = len(data["reads"]) + len(data["units"]["bias"])
    parts = [
        _nats(stream.index(name) for name in data["reads"]),
        _numbers(data["start"]),
        _map(data["units"]),
        f"({_move(data['recurrence'], inputs, len(data['state']))})",
        _flag(data["exposes_previous"]),
        _map(data["readout_units"]),
        _map(data["readout"]),
    ]
    stream += data["outputs"]
    return "Layer\n  " + "\n  ".join(parts)


def _move(data: Json, inputs: int, width: int) -> str:
    match data["kind"]:
        case "diagonal":
            return f"Gated {_map(data['gate'])} {_map(data['write'])}"
        case "attention":
            strict = _listing(_flag(kind != "mean") for kind in data["heads"])
            return f"Attention {strict} {_map(data['hold'])} {_map(data['values'])}"
        case "elman" if data["activation"] in ("relu", "clip"):
            return f"Affine {data['activation'].capitalize()} {_map(data['update'])}"
        case "time-invariant":
            write = data["write"]
            rows = [
                [*row, *_moved(extra, inputs)]
                for row, extra in zip(write["rows"], data["matrix"], strict=True)
            ]
            return f"Affine Linear {_rows(write['bias'], rows)}"
        case "householder" if "selector" not in data:
            factors = _listing(
                _listing(f"({_number(f['beta'])}%Q, {_numbers(f['vector'])})" for f in part)
                for part in data["factors"]
            )
            return f"Reflections {factors} {_listing(map(_numbers, data['writes']))}"
        case "letter-matrices":
            matrices = data["matrices"]
        case "permutation-diagonal":
            pairs = zip(data["images"], data["diagonals"], strict=True)
            matrices = [
                [
                    [(j, c) for j, (i, c) in enumerate(zip(image, diagonal, strict=True)) if i == row]
                    for row in range(width)
                ]
                for image, diagonal in pairs
            ]
        case "householder":
            raise NotPrintable("it has householder layers with a selector", _VERIFY)
        case kind:
            remedy = f"compile to elman-relu or a linear class; {_VERIFY}"
            raise NotPrintable(
                f"it has {kind} layers with tanh or sigmoid, whose values are not rational", remedy
            )
    maps = _listing(
        _rows(write, [_moved(row, inputs) for row in matrix])
        for matrix, write in zip(matrices, data["writes"], strict=True)
    )
    return f"BySelector {_map(data['selector'])} {maps}" if "selector" in data else f"ByLetter {maps}"


def _language(data: Json) -> tuple[str, list[str]]:
    """The language as a term of the library, and the definitions of `lang` that it uses."""
    match data["form"]:
        case "dfa":
            table = _listing(_listing(map(str, row)) for row in data["transitions"])
            accepting = _listing(map(str, data["accepting"]))
            start = f"({table}%N : list (list N)) {data['start']}%N {accepting}%N"
            return "Automaton lang", [f"Definition lang := Dfa {len(data['alphabet'])}", f"  {start}."]
        case "brackets":
            depth = "None" if data["depth"] is None else f"(Some {data['depth']}%nat)"
            shape = f"{len(data['pairs'])} {depth}"
            return f"Brackets {shape}", [f"Definition lang := brackets {shape}."]
        case "counters":
            rules = _listing(map(_rule, data["rules"]))
            increments = _listing(map(_integers, data["increments"]))
            made = f"CounterMachine {len(data['alphabet'])} {_integers(data['start'])} {increments}"
            lines = [f"Definition counters := {made}", f"  {rules}.", "Definition lang := counting counters."]
            return "Counting counters", lines
    raise NotPrintable(f"its language has the form {data['form']}", _VERIFY)


def _rule(data: Json) -> str:
    after = "None" if data["after"] is None else f"(Some {_integers(data['after'])})"
    places = " ".join(_nats(data[key]) for key in ("zero", "positive", "symbols"))
    return f"Rule {after} {places} {_flag(data['end'])}"


def _hints(method: str, evidence: Json, network: Json) -> str:
    """The cells to try: points, counters, tallies with caps or stacks, as `Check.read_hints` has them."""
    if method == POINTS:
        return "[AsPoints]"
    if method == CAPS:
        caps = _by_place(evidence["caps"], network, lambda cap: f"Some {cap}%Z")
        return f"[WithCaps {caps}]"
    stack = {"slots", "codes", "merged"} if method == STACKS else set()
    unknown = sorted(set(evidence) - {"counters", "affine", "cells", "digest", "task"} - stack)
    if unknown:
        raise NotPrintable(f"its {method} uses {', '.join(unknown)}, not proved in formal/", _VERIFY)
    counters = evidence.get("counters", [])
    increments = [[c["increments"][a] for c in counters] for a in range(len(network["alphabet"]))]
    points = _listing("({}, {})".format(*c["points"]) for c in counters) + "%Z"
    forms = evidence.get("affine", {})
    shapes = _by_place(forms, network, lambda f: f"Some ({_number(f[0])}%Q, trim {_numbers(f[1])})")
    added, start = _listing(map(_integers, increments)), _integers(c["start"] for c in counters)
    made = f"{'WithStack' if stack else 'WithCounters'} {added} {start} cuts {shapes}"
    if stack:
        layers = enumerate(network["layers"])
        places = {f"{i + 1}:{x}": f"({i}, {j})" for i, part in layers for j, x in enumerate(part["state"])}
        slots = _listing(places[at] for slot in evidence["slots"] for at in slot)
        made += f"\n    {slots}%nat {_listing(map(_numbers, evidence['codes']))}"
    return f"(tries (fun cuts => {made}) {added} {points})"


def _by_place(entries: Mapping[str, Json], network: Json, printed: Callable[[Json], str]) -> str:
    """One entry for each coordinate of each layer, from those that are named "layer:coordinate"."""
    layers = enumerate(network["layers"], start=1)
    places = [[f"{i}:{name}" for name in part["state"]] for i, part in layers]
    return _listing(
        _listing(printed(entries[at]) if at in entries else "None" for at in layer) for layer in places
    )


def _moved(row: Iterable[tuple[int, Json]], inputs: int) -> list[tuple[int, Json]]:
    """The entries of a row of a matrix; the state comes after the inputs of a layer."""
    return [(inputs + column, c) for column, c in row]


def _map(data: Json) -> str:
    return _rows(data["bias"], data["rows"])


def _rows(bias: Sequence[Json], rows: Sequence[Sequence[tuple[int, Json]]]) -> str:
    terms = (_listing(f"x {i} {_number(c)}" for i, c in row) for row in rows)
    return _listing(f"Row {_number(b)} {row}" for b, row in zip(bias, terms, strict=True))


def _number(data: Json) -> str:
    if isinstance(data, str) and "e(" in data:
        remedy = "compile with --exact-floats, or to permutation-diagonal or dense"
        raise NotPrintable("its weights have roots of unity", remedy)
    value = Fraction(data)
    if value.denominator == 1:
        return str(value) if value >= 0 else f"({value})"
    return f"({value.numerator} # {value.denominator})"


def _numbers(data: Iterable[Json]) -> str:
    return f"{_listing(map(_number, data))}%Q"


def _nats(data: Iterable[int]) -> str:
    return f"{_listing(map(str, data))}%nat"


def _integers(data: Iterable[int]) -> str:
    return f"{_listing(map(str, data))}%Z"


def _flag(value: bool) -> str:
    return str(value).lower()


def _answer(names: Sequence[str], alphabet: Sequence[str]) -> str:
    return _listing(_flag(letter in names) for letter in (*alphabet, "$"))


def _listing(items: Iterable[str]) -> str:
    return f"[{'; '.join(items)}]"


def _quoted(text: str) -> str:
    return text.replace('"', '""')


def _comment(text: str) -> str:
    """A text inside a comment, where quotes, `(*` and `*)` mean something."""
    return text.replace('"', "''").replace("(*", "( *").replace("*)", "* )")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


FORMAL_METHODS = (POINTS, COUNTERS, CAPS, STACKS)
"""Methods of exact claims that have a proof in `formal/`."""

FORMAL, CHECKED = "formal", "checked"
"""The two levels of a claim."""

CHECKER = "nerode-check"
_BUILT = Path("out", "formal", CHECKER)
_TASKS = {PREDICT: "predict", VALID_PREFIXES: "valid", RECOGNISE: "recognise"}
_SECONDS = 600


def find_checker() -> Path:
    """Returns the program: on the path, or where `make formal` puts it.

    Raises:
        InputError: with how to get it.
    """
    found = shutil.which(CHECKER)
    if found is not None:
        return Path(found)
    if _BUILT.exists():
        return _BUILT.absolute()
    raise InputError(
        f"{CHECKER}, the checker that is proved in Coq, is not here; in a clone of the repository "
        f"`make formal` builds {_BUILT} (it needs Coq: apt-get install --no-install-recommends coq ocaml-nox)"
    )


_MATRICES = ("time-invariant", "letter-matrices", "householder", "permutation-diagonal")
"""The recurrences whose parallel scans multiply matrices."""


def scans_matrices(folder: Path) -> bool:
    """Returns whether a network has matrices that a scan multiplies; `formal/` has diagonal scans alone."""
    layers = json.loads((folder / NETWORK_FILE).read_bytes())["layers"]
    return any(layer["recurrence"]["kind"] in _MATRICES for layer in layers)


def formal_senses(claim: Claim, *, matrices: bool) -> tuple[str, ...]:
    """Returns the senses in which nerode-check has to accept a claim; none if it does not speak of it.

    Args:
        claim: of the kernel.
        matrices: whether scans of the network multiply matrices.
    """
    if claim.scope == ANY_ORDER and matrices:
        return ()
    if claim.length != "all" or claim.task not in _TASKS:
        return ()
    if claim.method in FORMAL_METHODS and claim.dtype is None:
        return ("exact",)
    if claim.method != INTEGERS or claim.dtype is None:
        return ()
    return (claim.dtype, f"{claim.dtype}/scan") if claim.scope == ANY_ORDER else (claim.dtype,)


def levels(folder: Path, claims: Sequence[Claim]) -> list[str]:
    """Returns for each claim of a folder "formal" if nerode-check accepts it, "checked" otherwise.

    Raises:
        InputError: if the program is not here, or does not end as it should.
    """
    program, known = find_checker(), dict[tuple[str, str], bool]()
    matrices = scans_matrices(folder)

    def accepts(task: str, sense: str) -> bool:
        if (task, sense) not in known:
            words = [str(program), "--task", task, "--format", sense, str(folder.absolute())]
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise InputError(f"{program} did not end: {error}") from None
            known[task, sense] = done.returncode == 0 and done.stdout.rstrip("\n").endswith(": proved")
        return known[task, sense]

    def judged() -> Iterator[str]:
        for claim in claims:
            senses = formal_senses(claim, matrices=matrices)
            accepted = bool(senses) and all(accepts(_TASKS[claim.task], sense) for sense in senses)
            yield FORMAL if accepted else CHECKED

    return list(judged())
