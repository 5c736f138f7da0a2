"""Files of n-gram models as languages, by the ending of their name."""

from __future__ import annotations

from pathlib import Path

from nerode.core import FormatError, InputError
from nerode.languages.ngrams.arpa import read_arpa
from nerode.languages.ngrams.backoff import BackoffModel
from nerode.languages.ngrams.json_form import read_model
from nerode.languages.ngrams.language import NgramLanguage, ngram_language
from nerode.languages.ngrams.normalisation import find_impossible
from nerode.languages.ngrams.rules import read_rules


def read_ngram_language(path: Path | str, *, require_unknown: bool = True) -> NgramLanguage:
    """Returns the language of the model in a file: `.arpa`, `.json` (nerode-ngram) or `.rules`.

    A model that does not say how sentences begin may begin with any of its contexts.

    Args:
        path: the file.
        require_unknown: whether an ARPA file without <unk> is refused.

    Raises:
        FormatError: with the path, and the line where there is one, for a file that is not as its format has
            it, or an ARPA file whose back-off weights give a word a probability above 1.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".arpa":
        model = read_arpa(path, require_unknown=require_unknown)
        _refuse_impossible(model, path)
        return NgramLanguage(
            name=path.stem,
            model=model,
            convention="the sentences of positive probability under a back-off model",
        )
    if ending == ".json":
        return ngram_language(read_model(path), name=path.stem)
    if ending == ".rules":
        return ngram_language(read_rules(path), name=path.stem)
    raise InputError(f"{path}: {ending or 'no ending'} is no n-gram file; give .arpa, .json or .rules")


def _refuse_impossible(model: BackoffModel, path: Path) -> None:
    found = find_impossible(model)
    if found is not None:
        context, word, probability = found
        raise FormatError(
            f"the back-off weight of {model.show(context)!r} gives {model.show([word])!r} a probability of "
            f"{probability:.4g}, above 1",
            path=path,
            hint="Back-off weights spread what the n-grams of a context leave over; recompute them",
        )
