"""Language models of eight kinds, trained by cross-entropy elsewhere: what `ask` says, and what L* says.

    python -m benchmarks ask                              all kinds on all languages
    python -m benchmarks ask --kinds mamba,lstm           some kinds
    python -m benchmarks ask --languages 0,3              some languages

Each checkpoint is trained with plain transformers or torch, written by `save_pretrained` or as a state dict,
and asked from its folder. AALpy's L* asks the library's own model by the same reading, with its own test of
hypotheses; nothing of nerode is used there. Where it asks for too many words, it has fewer rounds. Rows that
are there are not made again.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aalpy
import numpy as np
import torch
from aalpy.oracles import RandomWMethodEqOracle
from safetensors.torch import save_file
from torch import Tensor, nn

import nerode as nr
from nerode.core import Budget, plural, write_atomically
from nerode.languages import Alphabet, Dfa, RegularLanguage, is_equivalent, minimise, resolve_language

FOLDER = Path("experiments/ask")
ROWS, PAGE = FOLDER / "results.jsonl", FOLDER / "README.md"

LANGUAGES = ("(a(b|cb))*d", "c*(ab*c)*a", "(aab|ba)*c", "(ab*c|b)*", "(ab|ac)*(b|d)a*")
KINDS = ("mamba", "mamba2", "recurrent_gemma", "xlstm", "gpt2", "llama", "lstm", "gru")

STEPS, LOOK, BATCH, LONGEST, WIDTH = 400, 20, 24, 18, 32
RATE = 1e-2
LEAST = 0.02
SECONDS = 2.0
ROUNDS, WORDS = (12, 4, 2, 1), 8_000
"""Rounds of L* at most: fewer where it asks for more words."""

Row = dict[str, Any]

HEAD = """# Checkpoints of other libraries, asked

Written by `python -m benchmarks ask`; do not edit. Each model has two layers of width 32 and was trained by
cross-entropy with plain transformers or torch on words of the language, then asked from its folder: a letter
may follow if its probability is at least 0.02. "L*": AALpy on the library's own model, in at most 12 rounds.
"Same": both automata have the same words. "Told": where they do not, `ask` is given L*'s automaton as the
language, and names a word after which the library's own model differs from it; the model is asked that word
anew. Each question had 2 CPU seconds, so that status and word differ a little from one machine to another.

"""


class Recurrent(nn.Module):
    """A torch cell between an embedding and a head, as tutorials write it."""

    def __init__(self, cell: type[nn.RNNBase], vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.cell = cell(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, vocabulary)

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        found, state = self.cell(self.embedding(x), state)
        return self.head(found), state


def build(kind: str, vocabulary: int) -> Any:
    """The untrained model of a kind."""
    import transformers as t

    small = {
        "vocab_size": vocabulary,
        "bos_token_id": 0,
        "eos_token_id": vocabulary - 1,
        "pad_token_id": None,
    }
    layers = {"hidden_size": WIDTH, "num_hidden_layers": 2}
    match kind:
        case "lstm" | "gru":
            return Recurrent(nn.LSTM if kind == "lstm" else nn.GRU, vocabulary)
        case "mamba":
            return t.MambaForCausalLM(t.MambaConfig(**small, **layers, state_size=8))
        case "mamba2":
            config = t.Mamba2Config(
                **small, **layers, state_size=8, num_heads=4, head_dim=16, n_groups=1, chunk_size=16
            )
            return t.Mamba2ForCausalLM(config)
        case "recurrent_gemma":
            config = t.RecurrentGemmaConfig(
                **small, hidden_size=WIDTH, num_hidden_layers=3, lru_width=WIDTH, num_attention_heads=4,
                num_key_value_heads=1, intermediate_size=2 * WIDTH, attention_window_size=16,
            )  # fmt: skip
            return t.RecurrentGemmaForCausalLM(config)
        case "xlstm":
            return t.xLSTMForCausalLM(t.xLSTMConfig(**small, **layers, num_heads=4))
        case "gpt2":
            config = t.GPT2Config(**small, n_embd=WIDTH, n_layer=2, n_head=4, n_positions=128)
            return t.GPT2LMHeadModel(config)
        case "llama":
            config = t.LlamaConfig(
                **small,
                **layers,
                intermediate_size=2 * WIDTH,
                num_attention_heads=4,
                max_position_embeddings=256,
            )
            return t.LlamaForCausalLM(config)
    raise ValueError(kind)


def logits_of(model: nn.Module) -> Callable[[Tensor], Tensor]:
    """The library's own scores."""
    if isinstance(model, Recurrent):
        return lambda x: model(x)[0]
    return lambda x: model(input_ids=x, use_cache=False).logits


def draw(dfa: Dfa, rng: random.Random) -> list[int]:
    """The tokens of a word with its marks; at each place every letter that may follow, and the end, alike."""
    state, word, live = int(dfa.start), [0], dfa.live
    while len(word) < LONGEST:
        letters = [a for a in range(len(dfa.alphabet)) if live[dfa.transitions[state, a]]]
        choices = [*letters, -1] if dfa.accepting[state] else letters
        letter = rng.choice(choices)
        if letter < 0:
            return [*word, len(dfa.alphabet) + 1]
        word.append(letter + 1)
        state = int(dfa.transitions[state, letter])
    return word


def train(kind: str, dfa: Dfa, seed: int) -> nn.Module:
    """A model trained by cross-entropy, until fresh words are predicted well."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = build(kind, len(dfa.alphabet) + 2).train()
    scores, optimiser = logits_of(model), torch.optim.Adam(model.parameters(), lr=RATE)
    for step in range(1, STEPS + 1):
        tokens, targets, _ = batch(dfa, rng)
        loss = nn.functional.cross_entropy(scores(tokens).flatten(0, 1), targets.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % LOOK == 0 and predicts(model.eval(), dfa, rng):
            break
        model.train()
    return model.eval()


def batch(dfa: Dfa, rng: random.Random) -> tuple[Tensor, Tensor, Tensor]:
    """Words, what follows each of their tokens, and whether each letter and the end may follow there."""
    words = [draw(dfa, rng) for _ in range(BATCH)]
    longest = max(map(len, words)) - 1
    may = torch.zeros(BATCH, longest, len(dfa.alphabet) + 1, dtype=torch.bool)
    for row, word in enumerate(words):
        state = int(dfa.start)
        for place, token in enumerate(word[:-1]):
            state = int(dfa.transitions[state, token - 1]) if place else state
            may[row, place, :-1] = torch.tensor(dfa.live[dfa.transitions[state]])
            may[row, place, -1] = bool(dfa.accepting[state])
    tokens = torch.tensor([word[:-1] + [0] * (longest + 1 - len(word)) for word in words])
    targets = torch.tensor([word[1:] + [-100] * (longest + 1 - len(word)) for word in words])
    return tokens, targets, may


@torch.no_grad()
def predicts(model: nn.Module, dfa: Dfa, rng: random.Random) -> bool:
    """Whether on drawn words what may follow has twice the least probability, and the rest less than half."""
    tokens, targets, may = batch(dfa, rng)
    shares = logits_of(model)(tokens).softmax(-1)[..., 1:]
    good = torch.where(may, shares > 2 * LEAST, shares < LEAST / 2).all(-1)
    return bool(good[targets >= 0].all())


class TooManyWordsError(Exception):
    """L* asks for more words than `WORDS`: the model is no small automaton."""


class Follows(aalpy.SUL):
    """What may follow a word, by the library's own probabilities; after a letter that may not, nothing."""

    def __init__(self, scores: Callable[[Tensor], Tensor], letters: int) -> None:
        super().__init__()
        self._scores, self._letters, self._known = scores, letters, dict[tuple[int, ...], str]()
        self._asked = 0

    def pre(self) -> None:
        self._word: tuple[int, ...] = ()

    def post(self) -> None:
        pass

    def step(self, letter: int | None) -> str:
        if letter is not None:
            self._word = (*self._word, letter)
        return self.answer(self._word)

    def answer(self, word: tuple[int, ...]) -> str:
        if word not in self._known:
            if word and str(word[-1]) not in self.answer(word[:-1]).split():
                self._known[word] = ""
            else:
                self._asked += 1
                if self._asked > WORDS:
                    raise TooManyWordsError
                tokens = torch.tensor([[0, *(a + 1 for a in word)]])
                with torch.no_grad():
                    shares = self._scores(tokens)[0, -1].double().softmax(-1)
                names = [*map(str, range(self._letters)), "$"]
                may = zip(names, shares[1:].tolist(), strict=True)
                self._known[word] = " ".join(name for name, share in may if share >= LEAST)
        return self._known[word]


def learn(model: nn.Module, alphabet: Alphabet, seed: int) -> tuple[Dfa, Follows]:
    """The automaton that AALpy's L* learns of the library's model."""
    letters = list(range(len(alphabet)))
    for rounds in ROUNDS:
        system = Follows(logits_of(model), len(letters))
        random.seed(seed)
        oracle = RandomWMethodEqOracle(letters, system, walks_per_state=300, walk_len=20)
        try:
            learned = aalpy.run_Lstar(
                letters, system, oracle, automaton_type="moore", print_level=0, max_learning_rounds=rounds
            )
            break
        except TooManyWordsError:
            continue
    system = Follows(logits_of(model), len(letters))
    number = {id(state): i for i, state in enumerate(learned.states)}
    table = [[number[id(state.transitions[a])] for a in letters] for state in learned.states]
    dfa = Dfa(
        alphabet=alphabet,
        transitions=np.array(table, dtype=np.int32),
        start=number[id(learned.initial_state)],
        accepting=np.array(["$" in state.output.split() for state in learned.states]),
    )
    return minimise(dfa), system


def measure(kind: str, index: int) -> Row:
    """Trains a checkpoint, asks it from its folder, and compares."""
    text, seed = LANGUAGES[index], 100 * index + KINDS.index(kind)
    wanted = minimise(resolve_language(text).dfa())
    begun = time.process_time()
    model = train(kind, wanted, seed)
    trained = time.process_time() - begun
    count = len(wanted.alphabet)
    letters = {name: i + 1 for i, name in enumerate(wanted.alphabet.symbols)}
    how: dict[str, Any] = {"letters": letters, "begin": 0, "end": count + 1}
    with tempfile.TemporaryDirectory() as place:
        if isinstance(model, Recurrent):
            path = Path(place) / "model.safetensors"
            save_file(model.state_dict(), path)
            cell = type(model.cell)
            source: Any = lambda: Recurrent(cell, count + 2)  # noqa: E731
            how["weights"] = path
        else:
            source = Path(place) / kind
            model.save_pretrained(source)
        begun = time.process_time()
        found = nr.ask(source, budget=Budget(seconds=SECONDS), **how)
        asked = time.process_time() - begun
        begun = time.process_time()
        other, system = learn(model, wanted.alphabet, seed)
        other_seconds = time.process_time() - begun
        assert found.learned is not None
        same = is_equivalent(found.learned.language.dfa(), other)
        told = None
        if not same:
            language = RegularLanguage(name="of L*", automaton=other, convention="learned by AALpy")
            told = nr.ask(source, language, budget=Budget(seconds=SECONDS), **how).settlement.word
    word = found.settlement.word
    return {
        "kind": kind,
        "language": text,
        "seed": seed,
        "found": found.learned.expression,
        "states": found.learned.states,
        "trained_on": is_equivalent(found.learned.language.dfa(), wanted),
        "status": found.settlement.status,
        "word": None if word is None else list(word),
        "tested": found.settlement.tested,
        "seen": found.seen,
        "lstar_states": other.num_states,
        "same": same,
        "told": None if told is None else list(told),
        "shown": None if same else differs(system, other, told, wanted.alphabet),
        "cpu_seconds": {"train": round(trained, 1), "ask": round(asked, 1), "lstar": round(other_seconds, 1)},
    }


def differs(system: Follows, other: Dfa, word: Sequence[str] | None, alphabet: Alphabet) -> bool:
    """Whether the model and L*'s automaton answer a word otherwise; the model is asked anew."""
    if word is None:
        return False
    letters = tuple(alphabet.encode(word))
    for length in range(len(letters) + 1):
        state = int(other.start)
        for letter in letters[:length]:
            state = int(other.transitions[state, letter])
        may = [str(a) for a in range(len(alphabet)) if other.live[other.transitions[state, a]]]
        if " ".join([*may, *(["$"] if other.accepting[state] else [])]) != system.answer(letters[:length]):
            return True
    return False


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ask")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--languages", default=",".join(map(str, range(len(LANGUAGES)))))
    given = parser.parse_args(list(arguments))
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    made = {(row["kind"], row["language"]) for row in rows}
    for index in map(int, given.languages.split(",")):
        for kind in given.kinds.split(","):
            if (kind, LANGUAGES[index]) in made:
                continue
            row = measure(kind, index)
            rows.append(row)
            print(json.dumps(row), flush=True)
            order = sorted(rows, key=lambda r: (KINDS.index(r["kind"]), LANGUAGES.index(r["language"])))
            write_atomically(ROWS, "".join(json.dumps(each) + "\n" for each in order))
            write_atomically(PAGE, page(order))


def page(rows: Sequence[Row]) -> str:
    """The page of all rows."""
    good = sum(bool(row["same"] or row["shown"]) for row in rows)
    seconds = sorted(row["cpu_seconds"]["ask"] for row in rows)
    lines = [
        HEAD
        + f"{len(rows)} checkpoints; in {sum(row['same'] for row in rows)} both automata are the same, in "
        f"{good} they are, or a word is told. The automaton is that of the training language in "
        f"{sum(row['trained_on'] for row in rows)}. CPU seconds of `ask`: median "
        f"{seconds[len(seconds) // 2]}, most {seconds[-1]}.\n",
        "| model | language | found | states | status | word | L* states | same | told | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        found = row["found"] or "–"
        found = found if len(found) <= 60 else found[:57] + "…"
        word = "" if row["word"] is None else plural(len(row["word"]), "letter")
        told = plural(len(row["told"]), "letter") if row["shown"] else "no" if row["shown"] is False else ""
        cells = (
            row["kind"], f"`{row['language']}`", f"`{found}`", row["states"], row["status"], word,
            row["lstar_states"], "yes" if row["same"] else "no", told,
            row["cpu_seconds"]["ask"],
        )  # fmt: skip
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
