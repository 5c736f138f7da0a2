from __future__ import annotations

from pathlib import Path

import pytest

from nerode.core import FormatError, InputError
from nerode.languages.dfa import Dfa
from nerode.languages.formats import FORMATS, format_of, read_automaton, read_language, write_automaton
from nerode.languages.minimisation import minimise

DATA = Path(__file__).parent / "data"
SUFFIXES = [suffix for row in FORMATS.values() for suffix in row.suffixes]


def parity(symbols: str = "ba", num_states: int = 2) -> Dfa:
    return Dfa.build(symbols, lambda q, s: (q + (s == "b")) % num_states, start=0, accept=[1])


def test_no_suffix_belongs_to_two_formats() -> None:
    assert len(SUFFIXES) == len(set(SUFFIXES))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_end_of_the_name_decides(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"Some.Name{suffix.upper()}"
    files = write_automaton(parity(), path)
    assert path in files
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert read_automaton(path) == parity()
    language = read_language(str(path))
    assert language.name == "Some.Name"
    assert language.convention == f"words accepted by the automaton in {path.name}"
    assert language.automaton == minimise(parity())


def test_the_symbol_table_lies_beside_an_att_file(tmp_path: Path) -> None:
    files = write_automaton(parity(), tmp_path / "x.fst.txt")
    assert [path.name for path in files] == ["x.fst.txt", "x.syms"]
    assert files[1].read_text() == "<eps>\t0\nb\t1\na\t2\n"
    files[1].unlink()
    assert read_automaton(files[0]).alphabet.symbols == ("a", "b")


@pytest.mark.parametrize("name", ["x.txt", "x", "x.arpa", "json", "x.att.bak"])
def test_other_ends_are_refused_with_the_list(tmp_path: Path, name: str) -> None:
    for action in (read_automaton, read_language, format_of, lambda path: write_automaton(parity(), path)):
        with pytest.raises(InputError, match=r"\.att, \.fst\.txt, \.dot, \.gv, \.jff, \.json"):
            action(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_files_name_the_path(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(FormatError, match=f"x{suffix}: there is no such file"):
        read_automaton(tmp_path / f"x{suffix}")


def test_symbols_belong_to_att_files() -> None:
    with pytest.raises(InputError, match="no symbol table"):
        read_automaton(DATA / "aalpy.dot", symbols=DATA / "five-letters.txt")
    with pytest.raises(FormatError, match=r"none\.syms: there is no such file"):
        read_automaton(DATA / "no-aa-no-first-c.att", symbols=DATA / "none.syms")


def test_an_alphabet_may_be_given_once_for_every_format(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        path = tmp_path / f"x{suffix}"
        write_automaton(parity(), path)
        dfa = read_automaton(path, alphabet=iter("abc"))
        assert dfa.alphabet.symbols == ("a", "b", "c")
        assert dfa.accepts("ab")
        assert not dfa.accepts("abc")
        with pytest.raises(InputError, match="twice"):
            read_automaton(path, alphabet="aab")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("symbol", ["\ufffe", "a\uffff", "a" * 201])
def test_symbols_that_files_cannot_carry_are_refused_before_anything_is_written(
    tmp_path: Path, suffix: str, symbol: str
) -> None:
    dfa = Dfa.build([symbol], lambda q, s: q, start=0, accept=[0])
    with pytest.raises(InputError, match="cannot be written"):
        write_automaton(dfa, tmp_path / f"x{suffix}")
    assert not list(tmp_path.iterdir())
