import pytest

from nerode.compiler.pipeline import compile_language
from nerode.languages.bestiary import find_language
from nerode.languages.pastltl import formula_language
from nerode.network.affine import Affine
from nerode.network.cells import GatedCell, Squashed
from nerode.network.choices import ByChoice
from nerode.network.text import describe_network
from nerode.network.writing import StateNames
from tests.compiler.agreement import build
from tests.compiler.requests import build_named

FLIP_FLOP = """\
flip-flop for mamba
  layers        2, of width 3, 2
  parameters    {parameters} numbers that are not zero
  construction  flip-flop-predictor (Sarrof et al. 2024)
  route         layer 1 holds the instruction, layer 2 the written bit; only for prefixes of valid words

Layer 1, instruction: diagonal, width 3, shows the state before the letter
  h[w] ← [x=w]
  h[r] ← [x=r]
  h[i] ← [x=i]
  [after w] = h'[w]

Layer 2, bit: diagonal, width 2
  u1 = relu([x=0] + [after w] - 1)
  u2 = relu([x=1] + [after w] - 1)
  h[stored 0] ← (1 - u1 - u2)·h[stored 0] + u1
  h[stored 1] ← (1 - u1 - u2)·h[stored 1] + u2
  [stored 0] = h[stored 0]
  [stored 1] = h[stored 1]

Decoder: legal where the score is above 1/2 ($ is the end)
  at the start: w $
  u1 = relu([x=r] + [stored 0] - 1)
  u2 = relu([x=r] + [stored 1] - 1)
  w = [x=0] + [x=1]
  r = [x=0] + [x=1]
  i = [x=0] + [x=1]
  0 = [x=w] + [x=i] + u1
  1 = [x=w] + [x=i] + u2
  $ = [x=0] + [x=1]"""


def test_a_network_can_be_read():
    network = build_named("flip-flop-predictor", "flip-flop", "mamba")
    assert describe_network(network) == FLIP_FLOP.format(parameters=network.num_parameters)


def lines(name, target):
    return describe_network(compile_language(find_language(name), target)).splitlines()


def test_fixed_matrices_are_grids():
    text = describe_network(build_named("window", "last-but-3", "ssm"))
    assert "  h ← A h + write, A =" in text.splitlines()
    assert "    x-1=a      1      .      .      ." in text.splitlines()
    assert "  write x-0=a = [x=a]" in text.splitlines()


def test_an_embedding_that_is_not_one_hot_is_shown():
    found = lines("dyck-2-3", "gla")
    place = found.index("Embedding")
    assert found[place + 1 : place + 5] == [
        "  ( = [open]",
        "  ) = [close]",
        "  [ = [open] + [kind.0]",
        "  ] = [close] + [kind.0]",
    ]
    assert "  h[depth] ← h[depth] + [open] - [close]" in found


def test_fixed_diagonal_gates_are_written_coordinate_by_coordinate():
    found = describe_network(build_named("window-parts-time-invariant", "tomita-4", "s4d")).splitlines()
    assert "  h[dead] ← h[dead] + u1" in found


@pytest.mark.parametrize(
    ("name", "target", "expected"),
    [
        ("s3", "householder", "h ← product of I - β v vᵀ/(vᵀ v), the first factor first"),
        ("s3", "permutation-diagonal", "on (23): h[h2] → h[h3], h[h3] → h[h2]"),
        ("tomita-3", "dense", "on 0: h ← A h, A ="),
        ("z3", "diagonal-complex", "start: h = (1)"),
        ("z3", "diagonal-complex", "[re turn] = re h[turn]"),
    ],
)
def test_other_recurrences(name, target, expected):
    assert expected in [line.strip() for line in lines(name, target)]


def test_nearest_points_are_listed_with_their_answers():
    found = lines("parity", "diagonal-signed")
    place = found.index("Decoder: the answer of the nearest point")
    assert found[place + 2 :] == ["  reads [sign]", "  (1): 0 1 $", "  (-1): 0 1"]


def test_a_large_network_stays_short():
    text = describe_network(compile_language(find_language("dyck-8-10"), "gla"))
    assert len(text.splitlines()) < 200
    assert "… and " in text
    assert max(map(len, text.splitlines())) < 300


def written(recurrence, state, inputs):
    return recurrence.lines(
        StateNames(state=state, inputs=inputs, marked_inputs=[f"[{x}]" for x in inputs], letters=["a"])
    )


def test_an_elman_layer_reads_its_own_state():
    update = Affine(num_inputs=3, bias=(0, -1), rows=(((0, 1), (1, 1)), ((2, -2),)))
    assert written(Squashed(activation="clip", update=update), ["p", "q"], ["a"]) == [
        "h[p] = clip([a] + h'[p])",
        "h[q] = clip(-2·h'[q] - 1)",
    ]


def test_gates_of_a_cell_are_named():
    gate = Affine(num_inputs=2, bias=(3,), rows=(((1, -1),),))
    assert written(GatedCell(cell="gru", gates=(gate, gate, gate)), ["p"], ["a"])[1:] == [
        "reset p = 3 - h'[p]",
        "update p = 3 - h'[p]",
        "candidate p = 3 - h'[p]",
    ]


def test_a_shift_that_drops_is_described():
    recurrence = ByChoice.from_images(images=((1, 0),), diagonals=((1, 0),), writes=((1, 0),))
    assert written(recurrence, ["p", "q"], []) == ["on a: h[p] → h[q], h[q] dropped + (1, 0)"]


def test_the_start_of_a_register_is_shown():
    network = build("past-ltl", formula_language("H a", "ab"), "diagonal")
    assert "  start: h = (1)" in describe_network(network).splitlines()
