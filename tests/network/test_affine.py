from fractions import Fraction

from nerode.core import root_of_unity
from nerode.network.affine import (
    MOST_COLUMNS,
    MOST_LINES,
    MOST_TERMS,
    Affine,
    shorten,
    write_grid,
    write_map,
    write_row,
    write_vector,
)

NAMES = ["[a]", "[b]", "[c]"]


def test_rows_are_sums():
    assert write_row(((0, 1), (2, -1)), 0, NAMES) == "[a] - [c]"
    assert write_row(((1, 2),), -1, NAMES) == "2·[b] - 1"
    assert write_row(((0, -1),), 1, NAMES) == "1 - [a]"
    assert write_row(((0, -1),), -1, NAMES) == "-[a] - 1"
    assert write_row((), Fraction(1, 4), NAMES) == "1/4"
    assert write_row((), 0, NAMES) == "0"
    assert write_row(((0, Fraction(-1, 2)),), 0, NAMES) == "-1/2·[a]"
    assert write_row(((0, root_of_unity(1, 3)),), 0, NAMES) == "(e(1/3))·[a]"


def test_long_rows_say_how_long_they_are():
    names = [f"x{i}" for i in range(40)]
    text = write_row(tuple((i, 1) for i in range(40)), 0, names)
    assert text.startswith("x0 + x1 + ")
    assert text.endswith("… (40 terms)")
    assert text.count("+") == MOST_TERMS - 1


def test_maps_have_a_line_for_each_row():
    affine = Affine(num_inputs=3, bias=(0, -1), rows=(((0, 1),), ((1, 1), (2, 1))))
    assert write_map(affine, ["p", "q"], NAMES) == ["p = [a]", "q = [b] + [c] - 1"]
    assert write_map(affine, ["u1", "u2"], NAMES, around="relu")[1] == "u2 = relu([b] + [c] - 1)"


def test_grids_align_their_columns():
    grid = write_grid([((1, -1),), ((0, 1), (1, Fraction(1, 2)))], ["p", "long"])
    assert grid == ["      p  long", "p     .    -1", "long  1   1/2"]


def test_large_matrices_are_written_row_by_row():
    n = MOST_COLUMNS + 1
    names = [f"q{i}" for i in range(n)]
    lines = write_grid([((i, 1),) for i in range(n)], names)
    assert lines[0] == "q0 ← q0"
    assert len(lines) == n


def test_vectors_and_lists_are_cut():
    assert write_vector((1, Fraction(-1, 2))) == "(1, -1/2)"
    assert write_vector((0,) * 30).endswith(", …)")
    assert len(shorten(["line"] * MOST_LINES)) == MOST_LINES
    assert shorten(["line"] * (MOST_LINES + 5))[-1] == "… and 6 more"
