"""States as rows of bytes."""

import numpy as np
import pytest
import torch

from nerode.core import InputError
from nerode.proofs.runner import TYPES, from_rows, layout_of, nan_rows, to_rows


def state_of_all_types(batch):
    generator = torch.Generator().manual_seed(1)
    numbers = torch.randn(batch, 2, 3, generator=generator, dtype=torch.float64)
    state = {}
    for name, dtype in TYPES.items():
        state[name] = (
            (numbers * 3).to(dtype) if not dtype.is_complex else torch.complex(numbers, -numbers).to(dtype)
        )
    state["scalar"] = torch.arange(batch)
    state["nothing"] = torch.zeros(batch, 0)
    return state


def test_every_type_comes_back_bit_for_bit():
    state = state_of_all_types(5)
    back = from_rows(to_rows(state, 5), layout_of(state))
    assert sorted(back) == sorted(state)
    for name, tensor in state.items():
        assert back[name].dtype == tensor.dtype
        assert back[name].shape == tensor.shape
        assert torch.equal(back[name], tensor)


def test_a_row_is_the_state_of_one_word():
    state = state_of_all_types(4)
    alone = {name: tensor[2:3] for name, tensor in state.items()}
    assert (to_rows(state, 4)[2] == to_rows(alone, 1)[0]).all()


def test_zeros_of_both_signs_are_two_states():
    rows = to_rows({"h": torch.tensor([[0.0], [-0.0]])}, 2)
    assert (rows[0] != rows[1]).any()


def test_strides_and_conjugates_do_not_matter():
    plain = torch.randn(3, 4, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    assert (to_rows({"h": plain.conj().conj()}, 3) == to_rows({"h": plain}, 3)).all()
    assert (to_rows({"h": plain.conj()}, 3) == to_rows({"h": plain.conj().resolve_conj()}, 3)).all()
    assert (to_rows({"h": plain.T.contiguous().T}, 3) == to_rows({"h": plain}, 3)).all()


def test_a_state_without_tensors():
    assert to_rows({}, 3).shape == (3, 0)
    assert from_rows(np.zeros((3, 0), dtype=np.uint8), ()) == {}


def test_nan_is_found_in_its_row():
    state = {"h": torch.tensor([[1.0, 2.0], [float("nan"), 0.0], [float("inf"), 0.0]]), "n": torch.arange(3)}
    assert nan_rows(state, 3).tolist() == [False, True, False]


def test_a_type_that_is_not_compared_is_refused():
    with pytest.raises(InputError, match="uint8"):
        layout_of({"h": torch.zeros(1, 1, dtype=torch.uint8)})
