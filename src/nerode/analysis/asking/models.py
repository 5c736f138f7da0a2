"""The one door for models that exist: modules, functions, folders, files, what training returned.

A model that can be carried letter by letter can be proved; one that only maps words to scores is a black box,
which can be learned and refuted.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nerode.analysis.subject import LoadedNetwork, asked_subject, load_subject, to_subject, trained_network
from nerode.core import FormatError, InputError, plural, read_fraction
from nerode.languages import (
    Language,
    LanguageQuestion,
    Legal,
    RegularLanguage,
    prefix_closure,
    with_alphabet,
)
from nerode.models import Model, TokenModule, adapt_module, fill_weights, hash_module, no_exit, require_model
from nerode.models.libraries import (
    FORMATS,
    LibraryFiles,
    choose_letters,
    compare_foreign,
    load_causal,
    longest_input,
    map_foreign,
    read_foreign,
    read_library_files,
    read_state,
    with_letters,
)
from nerode.network import Network
from nerode.proofs.replay import Subject, make_subject, outward_decoder
from nerode.records import RESULT, SUBJECT_FILE, Reading, RunRecord, TokenLetters

LEAST_PROBABILITY = "0.02"
"""The probability from which a letter may follow, unless another is asked for."""

Letters = str | Sequence[str] | Mapping[str, int]

_MOST_LETTERS = 64
"""Tokens of a vocabulary that are all taken for letters where none are named."""


def softmax(*, above: float | str = LEAST_PROBABILITY) -> Reading:
    """Returns the reading by which a letter may follow if its probability is at least a number."""
    return Reading(kind="softmax", threshold=str(above))


def read_reading(text: str) -> Reading | None:
    """Returns the reading of a text: "softmax", "softmax:0.1", "above:0" or "largest"; None for "largest".

    Raises:
        InputError: for another text.
    """
    kind, _, number = text.partition(":")
    if kind == "largest" and not number:
        return None
    if kind not in ("softmax", "above"):
        raise InputError(f"{text!r} is no reading; there are softmax, softmax:P, above:T and largest")
    if (size := number.removeprefix("-")).strip("0"):
        read_fraction(size, name="the threshold of the reading")
    if kind == "softmax":
        return softmax(above=number or LEAST_PROBABILITY)
    return Reading(kind="above", threshold=number or "0")


@dataclass(frozen=True, kw_only=True)
class _Given:
    """A module with what is known of its tokens.

    Attributes:
        name: for titles.
        module: a module or a function of tokens.
        letters: the letters with their tokens; None if nothing says.
        ends: whether the mark of the end, or that there is none, was said.
        longest: the largest number of tokens that it reads.
        cap: that its scores have; 0 for none.
        seen: what it is and how it is run, in words.
    """

    name: str
    module: Any
    letters: TokenLetters | None = None
    ends: bool = False
    longest: int | None = None
    cap: float = 0.0
    seen: str = ""


@no_exit()
def model(
    source: Any,
    *,
    letters: Letters | None = None,
    begin: int | str | None = None,
    end: int | str | None = None,
    longest: int | None = None,
    reading: Reading | str | None = None,
    weights: Path | str | Mapping[str, Tensor] | None = None,
    trust_code: bool = False,
) -> Subject:
    """Returns any model as a subject: it reads letters and gives scores, and a rule reads these.

    Args:
        source: an `nn.Module` or a function that maps tokens (batch, time) to scores (batch, time, scores),
            perhaps with a state; what `nerode.train` returns; a model of transformers, or its folder; a
            safetensors file of one of torch's cells; an ONNX file; a folder of nerode; with `weights`, the
            function that builds the module. What is a subject already is returned.
        letters: "abc", or names with tokens: {"a": 5, "b": 7}, "a=5,b=7". By default the letters are the
            first tokens, or those that a tokenizer names.
        begin: the token that is read before every word, "none" for none.
        end: the token whose score says that the word may end, "none" for none. By default the one after the
            letters if there is one score more than letters, or that of a tokenizer.
        longest: the largest number of letters that may be read.
        reading: how scores become answers: a `Reading`, or "softmax:0.02", "above:0", "largest". By default
            a letter may follow if its probability is at least 0.02.
        weights: a safetensors file or a state dict for the module that `source` builds.
        trust_code: whether code that a folder of nerode names may be imported.

    Raises:
        InputError: if the model cannot be run, or nothing says which letters it reads; FormatError for a
            folder or a file that does not read.
    """
    told = {"letters": letters, "begin": begin, "end": end, "reading": reading}
    if isinstance(source, LoadedNetwork | Subject | Network) or _is_run(source):
        return _known(source, told)
    if weights is not None:
        source = _built(source, weights)
    if isinstance(source, nn.Module) and hasattr(source, "training_spec") and letters is None:
        return _known((None, source), told)
    chosen = _Marks(letters=letters, begin=begin, end=end)
    if isinstance(source, str | Path):
        path = Path(source)
        if (path / RESULT).exists() or (path / SUBJECT_FILE).exists():
            found = load_subject(path, trust_code=trust_code)
            if found.network is not None or asked_subject(found) is not None:
                return _known(found, told)
            given = _of_saved(found, chosen)
        else:
            given = _of_path(path, chosen)
    elif hasattr(getattr(source, "config", None), "to_dict"):
        given = _of_library_object(source, chosen)
    elif isinstance(source, Mapping):
        files = LibraryFiles(path=Path("state dict"), config={}, weights=source)
        given = _of_foreign(files, chosen, name="state dict")
    else:
        name = getattr(source, "__name__", type(source).__name__)
        given = _Given(name=name, module=source, letters=chosen.numbered(), ends=end is not None)
    return _subject(given, longest=longest, reading=reading)


def _is_run(source: Any) -> bool:
    """Whether a value is what training returns: a record with a model, or a list of one of these."""
    pair = source[0] if isinstance(source, list) and len(source) == 1 else source
    return isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], RunRecord)


def _known(source: Any, told: Mapping[str, Any]) -> Subject:
    """A subject whose task or language is known, so that nobody has to tell how it is read."""
    if ignored := [name for name, value in told.items() if value is not None]:
        raise InputError(f"its task or language says how it is read; leave {', '.join(ignored)} out")
    source = source[0] if isinstance(source, list) else source
    match source:
        case Subject():
            return source
        case Network():
            about = source.origin.language
            return make_subject(about, network=source, about=about)
        case tuple():
            found = trained_network(source)
            return to_subject(found, weights=hash_module(found.model))
        case _:
            assert isinstance(source, LoadedNetwork)
            if source.network is not None:
                language = source.language
                question = None if language is None else LanguageQuestion(language)
                return make_subject(source.name, network=source.network, question=question)
            if (asked := asked_subject(source)) is not None:
                return asked
            raise InputError(f"nothing says what is asked of {source.name}; give its folder to nerode.model")


@dataclass(frozen=True, kw_only=True)
class _Marks:
    """The letters and marks as the user gives them."""

    letters: Letters | None
    begin: int | str | None
    end: int | str | None

    def numbered(self) -> TokenLetters | None:
        """The letters with tokens by number; None if no letter is named."""
        if self.letters is None:
            return None
        if isinstance(self.letters, Mapping):
            pairs = list(self.letters.items())
        elif isinstance(self.letters, str) and "=" in self.letters:
            parts = [part.strip().partition("=") for part in self.letters.split(",")]
            if not all(number.strip().isdecimal() for _, _, number in parts):
                raise InputError(f"the letters {self.letters!r} need numbers of tokens, as in a=12,b=15")
            pairs = [(name, int(number)) for name, _, number in parts]
        else:
            text = self.letters
            names = text.split(",") if isinstance(text, str) and "," in text else list(text)
            pairs = [(str(name), i) for i, name in enumerate(names)]
        if not pairs or len({name for name, _ in pairs}) < len(pairs):
            raise InputError(f"the letters {self.letters!r} are none, or name a letter twice")
        return TokenLetters(
            alphabet=tuple(name for name, _ in pairs),
            tokens=tuple(token for _, token in pairs),
            begin=_number(self.begin, "begin"),
            end=_number(self.end, "end"),
        )

    def of_files(self, files: LibraryFiles, vocabulary: int) -> TokenLetters:
        """The letters with the tokens of a tokenizer, if there is one; all tokens where none are named."""
        text = self.letters
        if isinstance(text, Mapping) or (text is not None and not files.tokens):
            numbered = self.numbered()
            assert numbered is not None
            return numbered
        if text is None:
            special = {files.config.get(f"{mark}_token_id") for mark in ("bos", "eos", "pad", "unk")}
            names = {n: i for n, i in files.tokens.items() if i not in special and not _is_special(n)}
            if not names or len(names) > _MOST_LETTERS:
                many = (
                    f"its {len(names):,} tokens are too many to be all letters" if names else "no tokenizer"
                )
                raise InputError(
                    f"{many}: name the tokens that are letters (letters='a=12,b=15', --letters a=12,b=15)"
                )
            text = ",".join(f"{name}={number}" for name, number in sorted(names.items(), key=lambda p: p[1]))
        elif not isinstance(text, str) or ("," not in text and "=" not in text and text not in files.tokens):
            text = ",".join(text)
        marks = [None if mark is None else str(mark) for mark in (self.begin, self.end)]
        return choose_letters(text, begin=marks[0], end=marks[1], files=files, vocabulary=vocabulary)


def _is_special(name: str) -> bool:
    """Whether a token is written like a mark: <s>, [PAD], <|endoftext|>."""
    return len(name) > 2 and (name[0], name[-1]) in (("<", ">"), ("[", "]"))


def _number(mark: int | str | None, name: str) -> int | None:
    if mark is None or mark == "none":
        return None
    if isinstance(mark, str) and not mark.isdecimal():
        raise InputError(f"{name} is {mark!r}; without a tokenizer a token is a number")
    return int(mark)


def _built(source: Any, weights: Path | str | Mapping[str, Tensor]) -> nn.Module:
    """The module that a builder makes, or the given one, with weights."""
    module = source if isinstance(source, nn.Module) else source()
    if not isinstance(module, nn.Module):
        raise InputError(f"the builder gives a {type(module).__name__}; it has to give an nn.Module")
    if isinstance(weights, Mapping):
        found, path = dict(weights), Path("state dict")
    else:
        path = Path(weights)
        found = read_state(path)
    fill_weights(module, found, path)
    return module


def _of_saved(found: LoadedNetwork, marks: _Marks) -> _Given:
    """A model of nerode's own format that no question was written for."""
    stored = found.subject
    letters = None if stored is None else stored.letters
    if letters is not None and letters.alphabet:
        # A saved model reads letters by number; the marks of the vocabulary that they come from are its own.
        end = len(letters.alphabet) if letters.end is not None else None
        letters = TokenLetters(alphabet=letters.alphabet, tokens=tuple(range(len(letters.alphabet))), end=end)
    given = marks.numbered() if marks.letters is not None else letters
    return _Given(name=found.name, module=found.model, letters=given, ends=marks.end is not None)


def _of_path(path: Path, marks: _Marks) -> _Given:
    """A model of another library on disk."""
    if path.suffix.lower() == ".onnx":
        return _of_onnx(path, marks)
    files = read_library_files(path)
    name = path.name or str(path)
    known = not files.config or any(row.describes(files.config) for row in FORMATS)
    reason = f"transformers' {files.config.get('model_type')}"
    if known:
        try:
            return _of_foreign(files, marks, name=name)
        except FormatError as error:
            if not files.config:
                raise
            reason = f"not imported: {error.what}"
    if importlib.util.find_spec("transformers") is None:
        raise InputError(
            f"{path}: the layers of {files.config.get('model_type')!r} are not in the zoo, and transformers "
            'is not installed to run them (pip install "nerode[hf]")'
        )
    try:
        module = load_causal(path)
    except FormatError:
        raise
    except (ValueError, RuntimeError, TypeError, KeyError, OSError) as error:
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FormatError(f"transformers cannot load it: {text}", path=path) from None
    return _of_transformers(module, files, marks, name=name, why=reason)


def _of_library_object(source: Any, marks: _Marks) -> _Given:
    """A model of transformers in memory: as one of the zoo where its layers are known, else as it is."""
    config, seen, weights = source.config.to_dict(), set[int](), {}
    for key, tensor in source.state_dict().items():
        if tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            weights[key] = tensor.detach().contiguous()
    name = type(source).__name__
    files = LibraryFiles(path=Path(name), config=config, weights=weights)
    why = f"transformers' {config.get('model_type')}"
    if any(row.describes(config) for row in FORMATS):
        try:
            return _of_foreign(files, marks, name=name, theirs=source)
        except (FormatError, _OtherScores) as error:
            why = f"not imported: {getattr(error, 'what', error)}"
    return _of_transformers(source, files, marks, name=name, why=why)


def _of_transformers(module: Any, files: LibraryFiles, marks: _Marks, *, name: str, why: str) -> _Given:
    """A model of transformers as a black box."""
    letters = marks.of_files(files, int(files.config.get("vocab_size") or 0))
    return _Given(
        name=name,
        module=module,
        letters=letters,
        ends=letters.end is not None or marks.end is not None,
        longest=longest_input(files.config),
        seen=f"{why}, run by transformers",
    )


class _OtherScores(Exception):
    """An import gives other scores than the model in memory."""


def _named_layers(model: Model) -> str:
    """The layers of a model by their names, and what its positions are where its embedding adds them."""
    names = ", ".join(dict.fromkeys(layer.name for layer in model.config.layers))
    if model.config.positions == "none":
        return names
    return (
        f"{names.replace('transformer-nope', 'transformer')} with {model.config.positions} absolute positions"
    )


def _of_foreign(files: LibraryFiles, marks: _Marks, *, name: str, theirs: Any = None) -> _Given:
    """A model of another library as one of the zoo, compared with the library."""
    foreign = read_foreign(files.path) if not files.weights else map_foreign(files)
    numbers = TokenLetters.numbered([str(i) for i in range(foreign.vocabulary)])
    inside = with_letters(foreign, numbers)
    layers = _named_layers(inside)
    if theirs is None:
        difference, compared = compare_foreign(foreign)
        share = "" if difference is None else f", scores equal to those of {compared} to {difference:.0e}"
        seen = f"nerode's {layers}{share or f' ({compared})'}"
    else:
        words = torch.arange(min(32, foreign.vocabulary))[None]
        with torch.no_grad():
            ours, wanted = inside(words)[0], theirs(words, use_cache=False).logits
        ours = (
            foreign.described.cap * torch.tanh(ours / foreign.described.cap)
            if foreign.described.cap
            else ours
        )
        apart = float((ours - wanted).abs().max() / wanted.abs().max().clamp(min=1e-30))
        if not apart <= 1e-4:
            raise _OtherScores(f"nerode's {layers} gives scores that differ by {apart:.1g} of the largest")
        seen = f"nerode's {layers}, scores equal to those of the module to {apart:.0e}"
    letters = marks.of_files(files, foreign.vocabulary)
    ends = letters.end is not None or marks.end is not None
    return _Given(
        name=name,
        module=inside,
        letters=letters,
        ends=ends,
        longest=longest_input(files.config),
        cap=foreign.described.cap,
        seen=seen,
    )


def _of_onnx(path: Path, marks: _Marks) -> _Given:
    """An ONNX file that maps tokens (batch, time) to scores (batch, time, scores)."""
    if importlib.util.find_spec("onnxruntime") is None:
        raise InputError(f"{path} needs onnxruntime to run (pip install onnxruntime)")
    import onnxruntime  # type: ignore[import-untyped,unused-ignore]

    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no common class
        raise FormatError(f"onnxruntime cannot load it: {str(error).splitlines()[0]}", path=path) from None
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(inputs) != 1:
        names = ", ".join(row.name for row in inputs)
        raise FormatError(
            f"has the inputs {names}; a graph with one input is read, tokens (batch, time). Of a network "
            "that nerode exported, ask its own folder",
            path=path,
        )

    def scores(words: Tensor) -> Tensor:
        found = session.run([outputs[0].name], {inputs[0].name: words.numpy()})
        return torch.from_numpy(found[0])

    given = marks.numbered()
    return _Given(
        name=path.name, module=scores, letters=given, ends=marks.end is not None, seen="onnxruntime"
    )


def _subject(given: _Given, *, longest: int | None, reading: Reading | str | None) -> Subject:
    """The subject of a module with its letters."""
    letters = given.letters
    if letters is None or not letters.alphabet:
        raise InputError(
            f"nothing says which letters {given.name} reads; name them (letters='abc', --letters abc)"
        )
    if longest is not None and longest < 1:
        raise InputError(f"longest is {longest}; give 1 or more letters, or None")
    known = None if given.longest is None else given.longest - (letters.begin is not None)
    longest = min((n for n in (longest, known) if n is not None), default=None)
    reads = [*letters.tokens, *([] if letters.begin is None else [letters.begin])]
    tokens = None if longest is None else longest + (letters.begin is not None)
    inside = adapt_module(given.module, reads, longest=tokens)
    plain = letters.begin is None and letters.tokens == tuple(range(len(letters.tokens))) and not given.cap
    fits = isinstance(inside, Model) and inside.config.letters == len(letters.tokens)
    module = (
        inside if plain and fits else TokenModule(inside, letters.tokens, begin=letters.begin, cap=given.cap)
    )
    shares = reading is None or (isinstance(reading, str) and reading.startswith("softmax"))
    shares = shares or (isinstance(reading, Reading) and reading.kind == "softmax")
    scores = require_model(module, len(letters.tokens), shares=shares, longest=longest)
    letters, columns = _columns(given, letters, scores)
    letters = replace(letters, longest=longest)
    read = _reading(reading, columns, len(letters.tokens), scores)
    empty = _empty_answer(module, read) if isinstance(module, TokenModule) else None
    found = make_subject(
        given.name,
        module=module.eval(),
        letters=letters,
        reading=read,
        empty=empty,
        weights=hash_module(module),
    )
    box = "words in, scores out: a black box" if getattr(module, "grows", False) else "a state of fixed size"
    origin = {"kind": "given", "seen": f"{given.seen}; {box}" if given.seen else box}
    return replace(found, record=replace(found.record, origin=origin))


def _columns(
    given: _Given, letters: TokenLetters, scores: int
) -> tuple[TokenLetters, tuple[int, ...] | None]:
    """The column of each letter and of the end; None for one or two scores that say in or out."""
    count = len(letters.tokens)
    if letters.end is None and not given.ends:
        if scores <= 2 < count + 1 or scores == 1:
            return letters, None
        if scores == count + 1 and letters.tokens == tuple(range(count)):
            letters = replace(letters, end=count)
        elif scores > count + (letters.begin is not None):
            raise InputError(
                f"{given.name} gives {plural(scores, 'score')} for {plural(count, 'letter')}; name the token "
                "of the end (end=5, --end 5), or say that there is none (end='none', --end none)"
            )
    columns = (*letters.tokens, -1 if letters.end is None else letters.end)
    if max(columns) >= scores:
        raise InputError(f"{given.name} gives {plural(scores, 'score')}, and token {max(columns)} has none")
    return letters, columns


def _reading(
    wanted: Reading | str | None, columns: tuple[int, ...] | None, letters: int, scores: int
) -> Reading:
    """The reading with its columns: what was asked for, or else probabilities."""
    nothing = (False,) * letters
    if columns is None:
        if wanted is not None:
            raise InputError("one or two scores say whether a word is in the language; leave the reading out")
        table = ((*nothing, False), (*nothing, True))
        return Reading(kind="above", columns=(0,), table=table) if scores == 1 else Reading.of_classes(table)
    given = read_reading(wanted) if isinstance(wanted, str) else softmax() if wanted is None else wanted
    if given is not None and given.kind != "largest":
        return replace(given, columns=columns)
    ended = columns[-1] < 0
    rows = [(*(i == j for j in range(letters)), ended) for i in range(letters)]
    rows += [] if ended else [(*nothing, True)]
    return Reading(kind="largest", columns=columns, table=tuple(rows))


def _empty_answer(module: TokenModule, reading: Reading) -> Legal | None:
    """The answer of a model with a mark of the beginning before the first letter."""
    with torch.no_grad():
        scores = module.empty_scores()
    if scores is None:
        return None
    bits = outward_decoder(reading)(scores[None])[0].tolist()
    if 2 in bits:
        return None
    return Legal(frozenset(i for i, bit in enumerate(bits[:-1]) if bit), bool(bits[-1]))


def asks_end(reading: Reading | None) -> bool:
    """Whether scores are read as membership alone."""
    return reading is not None and bool(reading.table) and not any(any(row[:-1]) for row in reading.table)


def with_language(subject: Subject, language: Language) -> Subject:
    """Returns a subject that is asked about a language.

    Models whose answers are probabilities, or the largest score, are asked about valid prefixes: they cannot
    say that nothing may follow.

    Raises:
        InputError: if the language has letters that the model does not read.
    """
    reading, alphabet = subject.reading, subject.letters.alphabet
    if subject.network is not None and subject.module is None:
        alphabet = subject.network.alphabet.symbols
    elif not alphabet and subject.question is not None:
        alphabet = subject.question.alphabet.symbols
    title = language.name
    if reading is not None and reading.columns and reading.columns[-1] < 0:
        if not language.regular:
            raise InputError("the model has no mark of the end; name it to ask about a language that counts")
        closed = prefix_closure(language.dfa())
        language = RegularLanguage(name=f"prefixes of {title}", automaton=closed, convention="prefixes")
        title = language.name
    if language.alphabet.symbols != alphabet:
        more = [name for name in language.alphabet.symbols if name not in alphabet]
        if more or not language.regular:
            raise InputError(
                f"{language.name} is about the letters {language.alphabet.describe()}, the model reads "
                f"{' '.join(alphabet)}; name its letters, in the order of the language"
            )
        dfa = with_alphabet(language.dfa(), type(language.alphabet)(alphabet))
        language = RegularLanguage(name=language.name, automaton=dfa, convention=language.convention)
    probable = reading is not None and (
        reading.kind == "softmax" or (reading.kind == "largest" and not asks_end(reading))
    )
    if asks_end(reading):
        question = LanguageQuestion(language, "end", "all")
    else:
        question = LanguageQuestion(language, "next", "valid" if probable else "strongest")
    return replace(subject, question=question, title=title, language=None, answers=None)
