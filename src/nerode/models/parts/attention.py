"""The parts of attention: positions in the scores, and causal attention inside chunks of fixed size.

Positions enter by rotations of queries and keys (RoPE) or by a penalty for distance (ALiBi). Inside chunks, a
position sees its own chunk up to itself, and no other. The state is the chunk that is not full yet: as many
slots as a chunk has positions, zeros in the empty ones.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from nerode.models.native.calls import multiplies_coarsely


def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Returns torch's softmax attention of heads (batch, heads, time, size)."""
    coarse = multiplies_coarsely(q, k, v, mask)
    if coarse:
        q, k, v = (part.bfloat16() for part in (q, k, v))
        mask = None if mask is None else mask.bfloat16()
    read = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale)
    return read.float() if coarse else read


def rotate(
    x: Float[Tensor, "batch time heads size"], first: int, base: float
) -> Float[Tensor, "batch time heads size"]:
    """Returns features whose neighbouring pairs are turned by an angle that grows with the position.

    Pair number i at position p is turned by p / base^(2i / size). The product of a query and a key turned
    like this depends on the distance of their positions only.

    Args:
        x: queries or keys; the last axis has an even size.
        first: the position of the first of them.
        base: how slowly the slowest pair turns.

    Implements: [Su2024]
    """
    time, size = x.shape[1], x.shape[3]
    # The angles are large at far positions: in float64 their sines keep all the digits of x.
    places = torch.arange(first, first + time, dtype=torch.float64, device=x.device)
    speeds = base ** (-torch.arange(0, size, 2, dtype=torch.float64, device=x.device) / size)
    return turn_pairs(x, (places[:, None] * speeds)[:, None, :])


def turn_pairs(x: Float[Tensor, "... size"], angles: Float[Tensor, "... pairs"]) -> Tensor:
    """Returns features whose neighbouring pairs are turned by these angles, each pair by its own."""
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1)
    return turned.flatten(-2)


def alibi_slopes(heads: int) -> Float[Tensor, " heads"]:
    """Returns how much each head takes off a score for each position of distance.

    For a power of two, 2^(-8/heads), 2^(-16/heads), …; otherwise the slopes of the power of two below, and
    every second slope of the power of two above for the heads that are left.

    Implements: [Press2022]
    """
    below = 1 << (heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (i + 1) / below) for i in range(below)]
    slopes += [2.0 ** (-4 * (2 * i + 1) / below) for i in range(heads - below)]
    return torch.tensor(slopes, dtype=torch.float64)


def attend_step(
    query: Float[Tensor, "batch heads size"],
    key: Float[Tensor, "batch heads size"],
    value: Float[Tensor, "batch heads values"],
    kept: tuple[Float[Tensor, "batch chunk heads size"], Float[Tensor, "batch chunk heads values"]],
    count: Int[Tensor, " batch"],
    base: float,
) -> tuple[Float[Tensor, "batch heads values"], tuple[Tensor, Tensor]]:
    """Returns what one position reads, and the keys and values of its chunk after it.

    Args:
        query: compared with the keys as it is, without a scale.
        key: of this position.
        value: of this position.
        kept: keys and values of the chunk so far.
        count: number of positions before this one.
        base: of the rotations of queries and keys by their place in the chunk.
    """
    chunk = kept[0].shape[1]
    slots = torch.arange(chunk, device=count.device)
    place = (count % chunk)[:, None]
    here = (slots == place)[..., None, None]
    full = (slots < place)[..., None, None]
    keys = kept[0] * full + key[:, None] * here
    values = kept[1] * full + value[:, None] * here
    turned = (rotate(query[:, None].expand(-1, chunk, -1, -1), 0, base) * here).sum(1)
    scores = (turned[:, None] * rotate(keys, 0, base)).sum(-1)
    scores = scores.masked_fill((slots > place)[..., None], -torch.inf)
    output = (scores.softmax(1)[..., None] * values).sum(1)
    open_still = (place < chunk - 1)[..., None, None]
    return output, (keys * open_still, values * open_still)


def attend(
    queries: Float[Tensor, "batch time heads size"],
    keys: Float[Tensor, "batch time heads size"],
    values: Float[Tensor, "batch time heads values"],
    kept: tuple[Float[Tensor, "batch chunk heads size"], Float[Tensor, "batch chunk heads values"]],
    count: Int[Tensor, " batch"],
    base: float,
) -> tuple[Float[Tensor, "batch time heads values"], tuple[Tensor, Tensor]]:
    """Returns what each position of a sequence reads, and the keys and values of the last chunk.

    Each sequence of the batch may stand at another place in its chunk.
    """
    batch, time = queries.shape[:2]
    chunk = kept[0].shape[1]
    begun = count % chunk
    needed = int(begun.max()) + time
    # One chunk that is not full needs no slots for what has not come.
    slots = needed if needed <= chunk else -(-needed // chunk) * chunk
    places = begun[:, None] + torch.arange(time, device=count.device)
    laid = [_lay_out(x, places, slots) for x in (queries, keys, values)]
    full = (torch.arange(chunk, device=count.device) < begun[:, None])[..., None, None]
    for number, before in enumerate(kept, start=1):
        laid[number] = laid[number] + pad(before * full, (0, 0, 0, 0, 0, slots - chunk))
    size = min(chunk, slots)
    q, k, v = (x.reshape(-1, size, *x.shape[2:]) for x in laid)
    q, k = rotate(q, 0, base), rotate(k, 0, base)
    read = fused_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True, scale=1.0)
    read = read.transpose(1, 2).reshape(batch, slots, *values.shape[2:])
    after = begun + time
    last = (after - after % chunk)[:, None] + torch.arange(chunk, device=count.device)
    rest = tuple(_pick(pad(x, (0, 0, 0, 0, 0, chunk)), last) for x in laid[1:])
    return _pick(read, places), (rest[0], rest[1])


def _lay_out(x: Tensor, places: Tensor, slots: int) -> Tensor:
    """The positions of x put into slots, the others zero."""
    empty = x.new_zeros(len(x), slots, *x.shape[2:])
    return empty.scatter(1, places[..., None, None].expand_as(x), x)


def _pick(x: Tensor, places: Tensor) -> Tensor:
    """The slots of x at some places."""
    return x.gather(1, places[..., None, None].expand(-1, -1, *x.shape[2:]))
