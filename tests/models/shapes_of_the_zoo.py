"""Run as a program: every member of the zoo under a checker of shapes; prints what was checked."""

from __future__ import annotations

import torch
from jaxtyping import install_import_hook

from tests.models.shape_checker import checked

with install_import_hook("nerode.models", "tests.models.shape_checker.check"):
    import nerode.models.architectures  # noqa: F401  (otherwise imported later, without the checker)
    from nerode.models.config import ModelConfig
    from nerode.models.model import build_model
    from nerode.models.parts.attention import rotate
    from nerode.models.zoo import LayerConfig, all_kinds

from tests.models.test_conformance import SMALL, WIDTH


def main() -> None:
    for name in all_kinds():
        kind, settings = LayerConfig(name=name, settings=SMALL.get(name, {})).resolve()
        layer = kind.build(WIDTH, settings)
        x = torch.randn(2, 5, WIDTH)
        _, state = layer(x)
        layer(x, state)
        layer.step(x[:, 0], state)
        layer.trace(x)
        layer.transition(x)
    model = build_model(ModelConfig(layers=(LayerConfig(name="mamba"),), letters=3, outputs=2, width=4))
    letters = torch.randint(0, 3, (2, 5))
    _, state = model(letters)
    model.step(letters[:, 0], state)
    try:
        rotate(torch.randn(5, 2, 4), 0, 10_000.0)
    except TypeError:
        print("a wrong shape is found")
    print(*sorted(checked), sep="\n")


if __name__ == "__main__":
    main()
