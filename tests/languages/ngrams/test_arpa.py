from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from nerode.core import FormatError, NerodeError
from nerode.languages.ngrams import check_normalisation, format_arpa, parse_arpa, read_arpa, write_arpa
from tests.languages.ngrams.arpa_texts import GOOD, arpa_texts


def test_a_good_file(tmp_path: Path) -> None:
    path = tmp_path / "good.arpa"
    path.write_text(GOOD, encoding="utf-8")
    model = read_arpa(path)
    assert model.order == 3
    assert model.vocabulary.symbols == ("<unk>", "a", "b")
    assert model.unknown == 0
    windows = GOOD.replace("\n", "\r\n").replace("\t", "  ")
    assert parse_arpa(windows) == model


def test_written_files_read_back_digit_for_digit(tmp_path: Path) -> None:
    model = parse_arpa(GOOD.replace("-0.3\ta b", "-0.30000000000000004\ta b"))
    path = tmp_path / "again.arpa"
    write_arpa(model, path)
    assert read_arpa(path) == model
    assert model != parse_arpa(GOOD)


@given(arpa_texts())
def test_round_trip(text: str) -> None:
    model = parse_arpa(text)
    written = format_arpa(model)
    assert parse_arpa(written) == model
    assert format_arpa(parse_arpa(written)) == written


def test_the_other_spelling_of_unknown() -> None:
    model = parse_arpa(GOOD.replace("<unk>", "<UNK>"))
    assert model.unknown_name == "<UNK>"
    assert model.encode("zebra") == (0,)


def test_a_back_off_weight_of_zero_at_the_highest_order_is_harmless() -> None:
    assert parse_arpa(GOOD.replace("<s> a b\n", "<s> a b\t0.0\n")) == parse_arpa(GOOD)


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "message", "at"),
    [
        ("\\data\\", "data", r"ends before \\data", None),
        ("ngram 1=5\n", "", "2-grams stands in place of that of the 1-grams", "ngram 2=4"),
        ("ngram 2=4\n", "", "3-grams stands in place", "ngram 3=2"),
        ("ngram 2=4", "ngram 2=4\nngram 2=4", "2-grams stands in place", 6),
        ("ngram 2=4", "ngram two=4", "not a count", "ngram two"),
        ("ngram 2=4", "ngram 2=-4", "not a count", "ngram 2"),
        ("ngram 1=5\nngram 2=4\nngram 3=2\n", "", "no counts", "\\1-grams:"),
        ("ngram 1=5", "ngram 1=6", "there are 5 1-grams, but 6", "\\1-grams:"),
        ("ngram 2=4", "ngram 2=3", "there are 4 2-grams, but 3", "\\2-grams:"),
        ("ngram 3=2", "ngram 3=20", "there are 2 3-grams, but 20", "\\3-grams:"),
        ("\\2-grams:", "\\3-grams:", r"\\2-grams: is missing", "\\3-grams:"),
        ("\\1-grams:", "\\2-grams:", r"\\1-grams: is missing", "\\2-grams:"),
        ("ngram 3=2\n", "", "no count after", "\\3-grams:"),
        ("\\end\\", "", r"ends before \\end", None),
        ("\\end\\", "\\stop\\", r"\\end\\ is missing", "\\stop\\"),
        ("\\end\\", "\\end\\\n\nmore", "follows", "more"),
        ("-0.5\ta\t-0.2", "0.5\ta\t-0.2", "log-probability 0.5", "0.5\ta\t"),
        ("-0.5\ta\t-0.2", "nan\ta\t-0.2", "'nan' is not a number", "nan\ta"),
        ("-0.5\ta\t-0.2", "-1_0\ta\t-0.2", "not a number", "-1_0"),
        ("-0.5\ta\t-0.2", "x\ta\t-0.2", "'x' is not a number", "x\ta"),
        ("-0.5\ta\t-0.2", "-0.5\ta\tinf", "'inf' is not a number", "-0.5\ta"),
        ("-0.5\ta\t-0.2", "-0.5\ta\tq", "'q' is not a number", "-0.5\ta"),
        ("-0.5\ta\t-0.2", "-0.5\ta\t-0.2\t1", "4 parts", "-0.5\ta"),
        ("-0.4\tb a", "-0.4\tb", "2 parts", "-0.4\tb"),
        ("-0.05\t<s> a b", "-0.05\t<s> a b\t-0.1", "highest order", "-0.05"),
        ("-0.15\ta b a", "-0.15\tb b a", "no 2-gram", "-0.15"),
        ("-0.4\tb a", "-0.4\tb zebra", "'zebra' has no 1-gram", "-0.4\tb"),
        ("-0.4\tb a", "-0.4\ta b", "'a b' is given twice", "-0.4\ta b"),
        ("-0.6\tb\t0.1", "-0.6\ta\t0.1", "'a' has two 1-grams", "-0.6\ta"),
        ("-0.6\tb\t0.1", "-0.6\t$\t0.1", "rename it", "-0.6\t$"),
        ("-0.5\ta\t-0.2", "-0,5\ta\t-0.2", "'-0,5' is not a number", "-0,5"),
        ("-0.5\ta\t-0.2", "0x1\ta\t-0.2", "'0x1' is not a number", "0x1"),
        ("-0.5\ta\t-0.2", "--0.5\ta\t-0.2", "not a number", "--0.5"),
        ("-0.5\ta\t-0.2", "\u22120.5\ta\t-0.2", "not a number", "\u22120.5"),
        ("-0.5\ta\t-0.2", "-1e-999999999\ta\t-0.2", "not a number", "-1e-9"),
        ("-0.5\ta\t-0.2", "-\u0661\ta\t-0.2", "not a number", "-\u0661"),
        ("-0.5\ta\t-0.2", f"-{'1' * 99}\ta\t-0.2", "not a number", "-11111"),
        ("-0.5\ta\t-0.2", "1e-9\ta\t-0.2", "log-probability 1E-9", "1e-9"),
        ("-0.5\ta\t-0.2", "+inf\ta\t-0.2", "not a number", "+inf"),
        ("-0.5\ta\t-0.2", "-0.5\ta\t100", "back-off weight 100", "-0.5\ta\t100"),
        ("-0.5\ta\t-0.2", "-0.5\ta\tnan", "'nan' is not a number", "-0.5\ta"),
        ("-0.5\ta\t-0.2", "-0.5", "1 parts", "-0.5\n"),
        ("-0.5\ta\t-0.2", "-0.5\ta\u00a0a\t-0.2", "white space", "-0.5\ta"),
        ("-0.5\ta\t-0.2", "-0.5\ta\x07\t-0.2", "printed", "-0.5\ta"),
        ("-0.4\tb a", "ngram 2=4", "2 parts", 18),
        ("-0.4\tb a", "-0.4 b  a  x y", "5 parts", "-0.4 b"),
        ("\\2-grams:", "\\2-gram:", r"\\2-grams: is missing", "\\2-gram:"),
        ("\\3-grams:", "\\end\\\n\\3-grams:", r"\\3-grams: is missing", "\\end\\"),
        ("\\3-grams:", "\\2-grams:", r"\\3-grams: is missing", 21),
        ("ngram 1=5", "ngram 0=5", "0-grams stands in place", "ngram 0"),
        ("ngram 1=5", "ngram 1=9999999999999999", "not a count", "ngram 1"),
        ("ngram 1=5", "1=5", "not a count", "1=5"),
        ("-0.05\t<s> a b", "-0.05\ta <s> b", "no 2-gram", "-0.05"),
        ("-0.15\ta b a", "-0.15\ta b a b", "back-off weight|'b' is not a number", "-0.15"),
        ("-0.7\t</s>", "-0.7\tend", "no sentence can end", "-1.0\t<unk>"),
        ("-99\t<s>\t-0.30103", "-99\t</s>", "'</s>' is given twice", "-0.7\t</s>"),
    ],
)
def test_each_error_names_its_line(old: str, new: str, message: str, at: str | int | None) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    with pytest.raises(FormatError, match=message) as caught:
        parse_arpa(text)
    if at is None:
        assert caught.value.line == len(text.split("\n"))
    else:
        assert caught.value.line == (at if isinstance(at, int) else line_of(text, at))


def test_a_missing_unknown_word_can_be_refused() -> None:
    text = GOOD.replace("-1.0\t<unk>", "-1.0\tc")
    assert parse_arpa(text).unknown is None
    with pytest.raises(FormatError, match="no 1-gram <unk>") as caught:
        parse_arpa(text, require_unknown=True)
    assert caught.value.line == line_of(text, "-1.0\tc")


QUIRKS = {
    "SRILM writes -99 and leaves back-off weights out": (),
    "KenLM writes 0 for <s> and for back-off weights": (
        ("-99\t<s>", "0\t<s>"),
        ("-1.0\t<unk>", "-1.0\t<unk>\t0"),
        ("-0.7\t</s>", "-0.7\t</s>\t0"),
    ),
    "MITLM and others write -inf": (("-99\t<s>", "-inf\t<s>"),),
    "some write more zeros than -99": (("-99\t<s>", "-1000.5\t<s>"),),
    "IRSTLM has a title and wide headers": (
        ("A comment before the data.", "iARPA"),
        ("ngram 1=5", "ngram  1=      5"),
    ),
    "spaces for tabs": (("\t", " "),),
    "more blank lines": (("\n\n", "\n\n\n \t\n"),),
    "no blank lines": (("\n\n", "\n"),),
    "lines of Windows": (("\n", "\r\n"),),
    "a byte order mark": (("A comment", "\ufeffA comment"),),
    "zeros at the highest order": (("<s> a b\n", "<s> a b\t0\n"),),
    "exponents": (("-0.1\n", "-1e-01\n"), ("-0.25\t", "-2.5E-1\t"), ("0.1\n", "+.1\n")),
}
"""Ways in which toolkits write the same model."""


@pytest.mark.parametrize("quirk", QUIRKS)
def test_the_same_model_as_toolkits_write_it(quirk: str) -> None:
    text = GOOD
    for old, new in QUIRKS[quirk]:
        assert old in text
        text = text.replace(old, new)
    plain, found = parse_arpa(GOOD), parse_arpa(text)
    assert found.vocabulary == plain.vocabulary
    for prefix in ("", "a", "b", "a b", "b a b", "zebra a"):
        assert found.next_distribution(prefix) == plain.next_distribution(prefix)


def test_pruned_ends_are_backed_off_to() -> None:
    """The 2-gram `b a` of the 3-gram `a b a` may be pruned; its first words may not."""
    text = GOOD.replace("ngram 2=4", "ngram 2=3").replace("-0.4\tb a\n", "")
    model = parse_arpa(text)
    a, b = model.encode("a b")
    assert model.log10_next((a, b), a) == -0.15
    assert model.log10_next((b, b), a) == pytest.approx(0.1 - 0.5)


def test_numbers_keep_all_their_digits() -> None:
    digits = "-0.30102999566398119521373889472449302676818988146210854131"
    model = parse_arpa(GOOD.replace("-0.5\ta", f"{digits}\ta"))
    assert f"{digits}\ta" in format_arpa(model)


@pytest.mark.parametrize("text", ["", "\n\n", "\\data\\", "\\data\\\nngram 1=0\n\\1-grams:\n\\end\\"])
def test_empty_files(text: str) -> None:
    with pytest.raises(FormatError):
        parse_arpa(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.arpa", tmp_path):
        with pytest.raises(FormatError):
            read_arpa(path)
    (tmp_path / "x.arpa").write_bytes(GOOD.replace("zebra", "b").encode().replace(b"\tb a", b"\tb \xff"))
    with pytest.raises(FormatError, match="UTF-8"):
        read_arpa(tmp_path / "x.arpa")


def use(text: str) -> None:
    """Reads a text and, if it is a model, asks it everything; nothing but a NerodeError may come out."""
    try:
        model = parse_arpa(text)
        check_normalisation(model)
        for context in model.contexts:
            model.distribution(context)
        model.perplexity([[0] if len(model.vocabulary) else []])
        assert parse_arpa(format_arpa(model)) == model
    except NerodeError:
        pass


@given(st.data())
def test_mutated_files_raise_only_our_errors(data: st.DataObject) -> None:
    text = GOOD
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.integers(0, 12)))
        pieces = st.sampled_from(
            [
                "-",
                "0",
                "9e999",
                "1e308",
                "-inf",
                "nan",
                "\\",
                "\n",
                "\t",
                "<s>",
                "</s>",
                "$",
                "=",
                "a",
                "\x85",
                "\u2028",
            ]
        )
        text = text[:start] + data.draw(pieces) + text[stop:]
    use(text)


@given(st.data())
def test_shuffled_lines_raise_only_our_errors(data: st.DataObject) -> None:
    lines = GOOD.split("\n")
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=30))
    use("\n".join(["\\data\\", *chosen]))


@given(st.text(max_size=200))
def test_any_text_raises_only_our_errors(text: str) -> None:
    use(text)
    use("\\data\\\n" + text)


def test_a_hundred_thousand_ngrams(capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(1)
    words = [f"w{i}" for i in range(3000)]
    levels: list[list[str]] = [["<unk>", "<s>", "</s>", *words]]
    bigrams = list(dict.fromkeys((rng.choice(words), rng.choice(words)) for _ in range(40_000)))
    trigrams = dict.fromkeys((*rng.choice(bigrams), rng.choice(words)) for _ in range(60_000))
    levels += [[" ".join(g) for g in bigrams], [" ".join(g) for g in trigrams]]
    lines = ["\\data\\", *(f"ngram {k}={len(level)}" for k, level in enumerate(levels, start=1))]
    for k, level in enumerate(levels, start=1):
        lines += [f"\\{k}-grams:", *(f"-3.5\t{g}" + ("\t-0.1" if k < 3 else "") for g in level)]
    text = "\n".join([*lines, "\\end\\"])
    started = time.perf_counter()
    model = parse_arpa(text)
    read = time.perf_counter()
    report = check_normalisation(model)
    with capsys.disabled():
        print(
            f"\n{sum(model.num_ngrams):,} n-grams: read in {read - started:.2f} s, "
            f"normalisation in {time.perf_counter() - read:.2f} s"
        )
    assert model.num_ngrams == tuple(map(len, levels))
    assert report.num_contexts == 1 + len(levels[0]) - 1 + len(bigrams)
