"""Models that were mended, verified and taken away: their answers in onnxruntime and transformers.

An imported Mamba, a trained LSTM and a user's own cell. Each is mended, verified by `nerode verify`,
exported, loaded by the other program, and asked all words up to length 8 and 1,000 long ones.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from nerode.languages import Language, resolve_language
from tests.cli.runner import run

LANGUAGE = "set-reset"
SHORT, LONG, LENGTH = 8, 1_000, 120

OWN = '''
import torch
from torch import nn


class Latch(nn.Module):
    """h = g h + (1 - g) c, where the letter chooses the gate g and the candidate c."""

    def __init__(self, letters, outputs, width=4):
        super().__init__()
        self.reads = nn.Embedding(letters, 2 * width)
        self.gate, self.write = nn.Sigmoid(), nn.Tanh()
        self.head = nn.Linear(width, outputs)
        self.width = width

    def initial_state(self, batch):
        return {"h": -self.head.weight.new_ones(batch, self.width)}

    def step(self, x, state):
        keep, write = self.reads(x).chunk(2, dim=-1)
        gate = self.gate(keep)
        h = gate * state["h"] + (1 - gate) * self.write(write)
        return self.head(h), {"h": h}

    def forward(self, x, state=None):
        state = self.initial_state(len(x)) if state is None else state
        scores = []
        for letter in x.unbind(1):
            found, state = self.step(letter, state)
            scores.append(found)
        return torch.stack(scores, 1), state


def build(task):
    return Latch(task.letters, task.outputs)
'''


@dataclass(frozen=True, kw_only=True)
class TakenAway:
    """One model in another program.

    Attributes:
        name: of the model.
        program: that read it.
        short: words up to length 8 whose every answer is that of the language.
        long: the same for long words.
        claims: that travelled with it, as `nerode verify` states them.
    """

    name: str
    program: str
    short: str
    long: str
    claims: bool

    @property
    def met(self) -> bool:
        """Whether every word was answered correctly, and the claims are those that were verified."""
        return self.claims and all(
            part.split(" of ")[0] == part.split(" of ")[1] for part in (self.short, self.long)
        )


def mamba(place: Path) -> list[str]:
    """Returns the words that mend a Mamba of transformers, which was imported."""
    import transformers

    torch.manual_seed(0)
    config = transformers.MambaConfig(
        vocab_size=6, hidden_size=16, state_size=8, num_hidden_layers=1, tie_word_embeddings=False
    )
    transformers.MambaForCausalLM(config).save_pretrained(place / "given")
    letters = ("--letters", "0=2,1=3,h=4", "--begin", "0", "--end", "1", "--language", LANGUAGE)
    done("import", str(place / "given"), *letters, "-o", str(place / "imported"))
    return [str(place / "imported")]


def lstm(place: Path) -> list[str]:
    """Returns the words that mend an LSTM, which was trained here for two updates."""
    settings = [
        word
        for name in ("settings.learned_start=true", "settings.hidden=16", "surroundings.residual=false")
        for word in ("--set", f"model.{name}")
    ]
    done(
        *("train", f"predict-{LANGUAGE}", "--arch", "lstm", "--steps", "2", "--jobs", "1", "--lengths", "40"),
        *("--settle", "off", "--out", str(place / "runs"), *settings),
    )
    (folder,) = (path.parent for path in (place / "runs").glob("*/result.json"))
    return [str(folder)]


def own(place: Path) -> list[str]:
    """Returns the words that mend a cell of the user's own, given as a state dict."""
    (place / "latch.py").write_text(OWN)
    rows = torch.tensor([[-40.0] * 4 + [-20.0] * 4, [-40.0] * 4 + [20.0] * 4, [40.0] * 4 + [1.0] * 4])
    head = 0.1 * torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
    weights = {"reads.weight": rows, "head.weight": head, "head.bias": torch.zeros(4)}
    save_file(weights, place / "latch.safetensors")
    return [str(place / "latch.safetensors"), "--model", "latch:build", "--language", LANGUAGE]


CASES: dict[str, tuple[Callable[[Path], list[str]], tuple[str, ...]]] = {
    "imported Mamba": (mamba, ("huggingface", "onnx")),
    "trained LSTM": (lstm, ("onnx",)),
    "own cell": (own, ("onnx",)),
}


def take_away(name: str, place: Path) -> Iterator[TakenAway]:
    """Yields what other programs answer with a model of `CASES` that was mended."""
    make, forms = CASES[name]
    with inside(place):
        given = make(place)
        trust = ["--trust-code"] if "--model" in given else []
        done("mend", *given, "-o", "mended", "--max-seconds", "120")
        verified = json.loads(done("verify", "mended", "--json", *trust))
        assert verified["ok"], verified
        for form in forms:
            out = "out.onnx" if form == "onnx" else "out"
            item = json.loads(done("export", "mended", "--to", form, "-o", out, "--json", *trust))
            scores, program, note = (load_onnx if form == "onnx" else load_huggingface)(place / out)
            stated = [
                {key: claim[key] for key in ("scope", "dtype", "length")} for claim in verified["claims"]
            ]
            found = [{key: claim[key] for key in ("scope", "dtype", "length")} for claim in note]
            short, long = words(len(item["letters"]))
            language = resolve_language(LANGUAGE)
            yield TakenAway(
                name=name,
                program=program,
                short=right(scores, short, language),
                long=right(scores, [long], language),
                claims=found == stated and bool(found),
            )


def load_onnx(path: Path) -> tuple[Any, str, Any]:
    """Returns the scores of a graph, the program, and the claims in its metadata."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    claims = json.loads(session.get_modelmeta().custom_metadata_map["claims"])
    return (
        lambda given: session.run(["scores"], {"letters": given})[0],
        f"onnxruntime {onnxruntime.__version__}",
        claims,
    )


def load_huggingface(path: Path) -> tuple[Any, str, Any]:
    """Returns the scores of plain transformers, the program, and the claims in the note."""
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(path).eval()
    note = json.loads((path / "nerode.json").read_text())
    tokens = note["tokens"]

    @torch.no_grad()
    def scores(given: Any) -> Any:
        read = torch.tensor(tokens["letters"])[torch.from_numpy(given)]
        read = torch.cat([torch.full((len(read), 1), tokens["begin"]), read], 1)
        return model(read).logits[:, 1:, tokens["scores"]].numpy()

    return scores, f"transformers {transformers.__version__}", note["claims"]


def words(letters: int) -> tuple[list[Any], Any]:
    """Returns all short words by length, and long ones."""
    short = [
        np.stack(np.unravel_index(np.arange(letters**n), (letters,) * n), axis=1) for n in range(1, SHORT + 1)
    ]
    return short, np.random.default_rng(1).integers(0, letters, (LONG, LENGTH))


def right(scores: Any, groups: list[Any], language: Language) -> str:
    """Returns how many words are answered as the language says after every letter, of how many."""
    passed = total = 0
    for group in groups:
        for part in np.array_split(group, max(1, len(group) // 500)):
            for word, row in zip(part.tolist(), scores(part) > 0, strict=True):
                legal = language.legal_along(word)[1:]
                wanted = [[*(a in x.symbols for a in range(len(language.alphabet))), x.end] for x in legal]
                passed += row.tolist() == wanted
                total += 1
    return f"{passed:,} of {total:,}"


def done(*command: str) -> str:
    """Returns what a command prints; it has to succeed."""
    outcome = run(*command)
    assert outcome.code == 0, (command, outcome.err, outcome.out)
    return outcome.out


@contextmanager
def inside(place: Path) -> Iterator[None]:
    """Runs in a folder whose modules can be imported."""
    before = os.getcwd()
    os.chdir(place)
    sys.path.insert(0, str(place))
    try:
        yield
    finally:
        os.chdir(before)
        sys.path.remove(str(place))
        sys.modules.pop("latch", None)


def main() -> None:
    for name in CASES:
        with tempfile.TemporaryDirectory() as place:
            for row in take_away(name, Path(place)):
                print(
                    f"{row.name:16} {row.program:20} words to length {SHORT}: {row.short:16} "
                    f"of {LENGTH} letters: {row.long:16} claims {'as verified' if row.claims else 'LOST'}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
