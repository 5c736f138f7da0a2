"""Trains a Llama of one layer on words of (ab|c)*d with plain transformers, and saves it as tiny-llama."""

import random

import torch
import transformers

torch.manual_seed(0)
choose = random.Random(0)


def word():
    """Returns the tokens of a random word."""
    parts = [choose.choice([[1, 2], [3]]) for _ in range(choose.choice([0, 1, 1, 2, 3, 4, 6]))]
    return [0, *(token for part in parts for token in part), 4, 5]


settings = {
    "vocab_size": 6,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings, max_position_embeddings=64))
optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(100):
    words = [word() for _ in range(24)]
    longest = max(map(len, words))
    tokens = torch.tensor([w + [0] * (longest - len(w)) for w in words])
    labels = torch.tensor([w + [-100] * (longest - len(w)) for w in words])
    optimiser.zero_grad()
    model(input_ids=tokens, labels=labels).loss.backward()
    optimiser.step()
model.eval().save_pretrained("tiny-llama")
