"""The pytest plugin: a fixture that examines a model. Free of torch until it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def conformance() -> Callable[..., None]:
    """Returns a function that examines a model and fails with everything that does not hold.

    Use: `def test_mine(conformance): conformance(lambda: MyModel(8), features=8)`
    """

    def run(build: Callable[[], Any], **settings: Any) -> None:
        from nerode.conformance.checks import ModelUnderTest, examine

        failed = {name: why for name, why in examine(ModelUnderTest(build=build, **settings)).items() if why}
        if failed:
            pytest.fail("\n".join(f"{name}: {why}" for name, why in failed.items()), pytrace=False)

    return run
