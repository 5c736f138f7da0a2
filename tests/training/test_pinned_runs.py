"""Plain runs keep their bits and their keys: ten runs of `pinned.json`, and the kept presets."""

import json
from pathlib import Path

import pytest

from nerode.records import read_toml
from nerode.training import run_key, specs_of_seeds
from tests.training.pinned import CASES, TABLE, arithmetic, pinned_row

PINNED = json.loads(TABLE.read_text())
PRESETS = Path(__file__).parents[2] / "experiments" / "presets"


@pytest.mark.parametrize("family", CASES)
def test_a_plain_run_keeps_its_key_its_weights_and_its_scores(family):
    found, wanted = pinned_row(family), PINNED["rows"][family]
    assert found["key"] == wanted["key"]
    if arithmetic() == PINNED["arithmetic"]:
        assert found == wanted
    else:
        # Another processor rounds otherwise; after 24 updates the scores are still near.
        for (length, token, *_), (known_length, known_token, *_) in zip(
            found["scores"], wanted["scores"], strict=True
        ):
            assert length == known_length
            assert token == pytest.approx(known_token, abs=0.15)


def test_the_presets_keep_their_keys():
    known = json.loads((PRESETS / "results.json").read_text())
    found = {
        name: [run_key(spec) for spec in specs_of_seeds(read_toml(PRESETS / f"{name}.toml"), seeds=[0, 1])]
        for name in sorted(known)
    }
    wanted = {name: [row["key"] for row in known[name][:2]] for name in found}
    assert {name: keys[: len(wanted[name])] for name, keys in found.items()} == wanted
