from __future__ import annotations

import numpy as np
import pytest

from nerode.analysis.polish.learned import (
    average,
    block_defects,
    complete_table,
    nearest_orthogonal,
    read_learned,
)
from nerode.core import Budget
from tests.analysis.polish.planted import planted, points, regular, turned, turns


@pytest.mark.parametrize(
    ("name", "matrices"),
    [("S4", points("S4")), ("A5", points("A5")), ("S3", regular("S3")), ("Z12", turns(12, 5))],
)
def test_a_noisy_representation_becomes_one_near_by(name: str, matrices: np.ndarray) -> None:
    truth = turned(matrices, 1)
    found = average(read_learned(planted(name, [truth], noise=0.02)))
    (defect,) = found.defects
    assert defect.before > 0.01
    assert defect.after_max < 1e-12
    assert not defect.is_junk
    assert np.abs(found.table[:, 0] - truth).max() < 0.1


def test_a_block_of_random_rotations_is_junk_and_the_others_are_kept() -> None:
    rng = np.random.default_rng(0)
    random = nearest_orthogonal(rng.normal(size=(24, 4, 4)))
    found = average(read_learned(planted("S4", [random, turned(points("S4"), 0)], noise=0.01)))
    assert found.kept == (1,)
    assert found.defects[0].before > 1


def test_with_generators_the_table_is_made_of_products_along_words() -> None:
    truth = turned(points("S4"), 2)
    learned = read_learned(planted("S4", [truth], letters="generators"))
    assert len(learned.matrices) < 24
    assert complete_table(learned)[:, 0] == pytest.approx(truth, abs=1e-5)
    noisy = read_learned(planted("S4", [truth], letters="generators", noise=0.01))
    found = average(noisy)
    assert found.defects[0].before > 0.01
    assert found.defects[0].after_max < 1e-12


def test_the_defect_is_that_of_the_definition() -> None:
    learned = read_learned(planted("S3", [turned(points("S3"), 0)], noise=0.1))
    table, products = complete_table(learned), learned.lettered.products
    wrong = [
        np.linalg.norm(table[products[g, h], 0] - table[h, 0] @ table[g, 0])
        for g in range(6)
        for h in range(6)
    ]
    ((mean, largest),) = block_defects(table, learned.lettered, Budget())
    assert mean == pytest.approx(np.mean(wrong))
    assert largest == pytest.approx(max(wrong))
