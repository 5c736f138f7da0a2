"""Files of n-gram models as languages, by the ending of their name."""

from __future__ import annotations

from pathlib import Path

from nerode.core.errors import InputError
from nerode.languages.ngrams.arpa import read_arpa
from nerode.languages.ngrams.json_form import read_model
from nerode.languages.ngrams.language import NgramLanguage, ngram_language
from nerode.languages.ngrams.rules import read_rules


def read_ngram_language(path: Path | str, *, require_unknown: bool = True) -> NgramLanguage:
    """Returns the language of the model in a file: `.arpa`, `.json` (nerode-ngram) or `.rules`.

    A model that does not say how sentences begin may begin with any of its contexts.

    Args:
        path: the file.
        require_unknown: whether an ARPA file without <unk> is refused.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".arpa":
        return NgramLanguage(
            name=path.stem,
            model=read_arpa(path, require_unknown=require_unknown),
            convention="the sentences of positive probability under a back-off model",
        )
    if ending == ".json":
        return ngram_language(read_model(path), name=path.stem)
    if ending == ".rules":
        return ngram_language(read_rules(path), name=path.stem)
    raise InputError(f"{path}: {ending or 'no ending'} is no n-gram file; give .arpa, .json or .rules")
