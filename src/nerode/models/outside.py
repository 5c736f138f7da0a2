"""Modules that were made elsewhere, as modules that read letters by number.

    TokenModule      letters become tokens; the mark of the beginning is read first
    CarriedModule    a module that maps (tokens, state) to scores and state, letter by letter
    WordModule       anything that maps tokens to scores at each position; its state is the word, and grows

Whatever a module brings beside its scores is not looked at. Each is tried on a few words before it is used.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from nerode.core import InputError, plural
from nerode.models.base import State
from nerode.models.own_models import is_stateful

_SAME = 1e-4
"""Difference of two ways to compute a score, as a share of the largest, that is taken for rounding."""


@contextmanager
def no_exit() -> Iterator[None]:
    """Turns the end of the program that a model asks for while it reads into an InputError."""
    try:
        yield
    except SystemExit as stop:
        raise InputError(
            f"the model asked to end the program (SystemExit: {stop}); it has to give scores"
        ) from stop


class TokenModule(nn.Module):
    """A module that reads tokens, as one that reads letters.

    Args:
        inner: maps tokens to scores and state, with `initial_state` and `step`.
        tokens: the token of each letter.
        begin: the token that is read before every word; None for none.
        cap: the scores become cap · tanh(score / cap); 0 for none.
    """

    def __init__(
        self, inner: nn.Module, tokens: Sequence[int], *, begin: int | None, cap: float = 0.0
    ) -> None:
        super().__init__()
        self.inner: Any = inner
        self.register_buffer("tokens", torch.tensor(list(tokens)), persistent=False)
        self.begin, self.cap = begin, cap
        self.grows = bool(getattr(inner, "grows", False))
        if not any(p.is_floating_point() for p in inner.parameters()):
            # A parameter says in which format a module computes.
            with torch.no_grad():
                scores, _ = self._first_step(tokens[0])
            self.anchor = nn.Parameter(torch.zeros(0, dtype=scores.dtype))

    def _first_step(self, token: int) -> tuple[Tensor, State]:
        found: tuple[Tensor, State] = self.inner.step(torch.tensor([token]), self.inner.initial_state(1))
        return found

    def initial_state(self, batch: int) -> State:
        """Returns the state before the first letter, after the mark of the beginning."""
        return self._begun(batch)[1]

    def empty_scores(self) -> Tensor | None:
        """Returns the scores before the first letter; None without a mark of the beginning."""
        return None if self.begin is None else self._capped(self._begun(1)[0])[0]

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the scores after one letter, and the state."""
        scores, after = self.inner.step(cast(Tensor, self.tokens)[x], state)
        return self._capped(scores), after

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Returns the scores along words, and the last state."""
        before = self.initial_state(len(x)) if state is None else state
        scores, after = self.inner(cast(Tensor, self.tokens)[x], before)
        return self._capped(scores), after

    def _begun(self, batch: int) -> tuple[Tensor, State]:
        state = self.inner.initial_state(batch)
        if self.begin is None:
            return torch.zeros(batch, 0), state
        return cast(tuple[Tensor, State], self.inner.step(torch.full((batch,), self.begin), state))

    def _capped(self, scores: Tensor) -> Tensor:
        return self.cap * torch.tanh(scores / self.cap) if self.cap else scores


class CarriedModule(nn.Module):
    """A module that maps (tokens, state) to scores and state, as one that reads a token at a time.

    Args:
        inner: the module; its state may be a tensor, or tuples, lists and mappings of tensors.
        leaves: the tensors of a state of two words.
        spec: the form of a state.
        axes: the axis of each tensor that is the batch.
    """

    def __init__(
        self, inner: nn.Module, leaves: Sequence[Tensor], spec: TreeSpec, axes: Sequence[int]
    ) -> None:
        super().__init__()
        self.inner, self._spec, self._axes = inner, spec, tuple(axes)
        self._shapes = [leaf.movedim(axis, 0).shape[1:] for leaf, axis in zip(leaves, axes, strict=True)]
        self._types = [leaf.dtype for leaf in leaves]

    def initial_state(self, batch: int) -> State:
        """Returns zeros, from which the module begins where it is given no state."""
        kinds = enumerate(zip(self._shapes, self._types, strict=True))
        return {str(i): torch.zeros(batch, *shape, dtype=dtype) for i, (shape, dtype) in kinds}

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the scores after one token, and the state."""
        scores, after = self(x[:, None], state)
        return scores[:, 0], after

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Returns the scores along words, and the last state."""
        before = self.initial_state(len(x)) if state is None else state
        moved = [before[str(i)].movedim(0, axis).contiguous() for i, axis in enumerate(self._axes)]
        scores, after = self.inner(x, tree_unflatten(moved, self._spec))
        parts = zip(tree_flatten(after)[0], self._axes, strict=True)
        return scores, {str(i): part.movedim(axis, 0).contiguous() for i, (part, axis) in enumerate(parts)}


class WordModule(nn.Module):
    """A module or a function from tokens (batch, time) to scores at each position; its state is all it read.

    Its weights have the names that the module gives them.

    Args:
        scored: the module or the function.
        longest: the largest number of tokens that it reads; None for any.
    """

    grows = True

    def __init__(self, scored: Any, *, longest: int | None = None) -> None:
        super().__init__()
        self.inner = scored if isinstance(scored, nn.Module) else None
        self._function, self._longest = None if self.inner is not None else scored, longest
        self._second = (None,) if _needs_state(scored) else ()
        of_library = hasattr(getattr(scored, "config", None), "model_type")
        self._options = {"use_cache": False} if of_library else {}

    def state_dict(self, *args: Any, **options: Any) -> Any:
        """Returns the weights of the module, those of a function being none."""
        if args or options or self.inner is None:
            return super().state_dict(*args, **options)
        return self.inner.state_dict()

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Replaces the weights of the module."""
        if self.inner is None:
            return super().load_state_dict(state_dict, strict, assign)
        return self.inner.load_state_dict(state_dict, strict, assign)

    def initial_state(self, batch: int) -> State:
        """Returns the empty words."""
        return {"read": torch.zeros(batch, 0, dtype=torch.int64)}

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Returns the scores after one more token, and the words."""
        scores, after = self(x[:, None], state)
        return scores[:, 0], after

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Returns the scores after each of some more tokens, and the words."""
        words = x if state is None else torch.cat([state["read"], x], dim=1)
        if self._longest is not None and words.shape[1] > self._longest:
            raise InputError(
                f"the model reads at most {plural(self._longest, 'token')}, not {words.shape[1]:,}"
            )
        return self._scores(words)[:, words.shape[1] - x.shape[1] :], {"read": words}

    def _scores(self, words: Tensor) -> Tensor:
        """The scores by a plain call, that of transformers, or one with an empty state."""
        scored: Any = self._function if self.inner is None else self.inner
        try:
            found = scored(words, *self._second, **self._options)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            text = (str(error).strip().splitlines() or [""])[0][:200]
            needs = "it has to map tokens (batch, time) to scores (batch, time, scores)"
            raise InputError(
                f"the model cannot read tokens of shape {tuple(words.shape)}: {type(error).__name__}: "
                f"{text}; {'it has to run on the CPU' if 'CUDA' in text else needs}"
            ) from None
        return _scores_of(found, words)


def adapt_module(module: Any, tokens: Sequence[int], *, longest: int | None = None) -> nn.Module:
    """Returns a module or a function as one with `initial_state`, `step` and `forward` that reads tokens.

    A state of a fixed size is carried where the module has one: by its own `step`, or as what it returns
    beside its scores and takes again. Otherwise only words can be asked.

    Args:
        module: maps tokens (batch, time) to scores (batch, time, scores), perhaps with a state.
        tokens: some that it reads.
        longest: the largest number of tokens that it reads; None for any.

    Raises:
        InputError: if it does not run on the tokens, or its scores have another form.
    """
    if not callable(module):
        raise InputError(f"a {type(module).__name__} is no model; give a module, a function or a folder")
    inner = module if isinstance(module, nn.Module) else None
    if inner is not None:
        inner.eval()
        if any(p.device.type != "cpu" for p in inner.parameters()):
            raise InputError("the weights of the module are not on the CPU; move it with `module.cpu()`")
        if is_stateful(inner):
            return inner
        carried = _carried(inner, tokens, longest)
        if carried is not None:
            return carried
    return WordModule(module, longest=longest)


def _needs_state(module: Any) -> bool:
    """Whether a module has to be given a second argument."""
    plain = _arguments(module)
    return len(plain) > 1 and plain[1].default is plain[1].empty


def takes_state(module: nn.Module) -> bool:
    """Returns whether a module can be given a second argument, which may be a state."""
    return len(_arguments(module)) != 1


def _arguments(module: Any) -> list[inspect.Parameter]:
    """The arguments by position of a module or a function; none if they cannot be told."""
    try:
        found = inspect.signature(module.forward if isinstance(module, nn.Module) else module).parameters
    except (TypeError, ValueError):
        return []
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in found.values()):
        return []
    return [p for p in found.values() if p.kind in places]


def _scores_of(found: Any, words: Tensor) -> Tensor:
    """The scores in what a model gives: a tensor, the first of several, or `logits`."""
    if hasattr(found, "logits"):
        found = found.logits
    elif isinstance(found, tuple | list) and found:
        found = found[0]
    shape = tuple(found.shape) if isinstance(found, Tensor) else None
    if not isinstance(found, Tensor) or len(found.shape) != 3 or shape is None or shape[:2] != words.shape:
        given = f"scores of shape {shape}" if shape is not None else f"a {type(found).__name__}"
        raise InputError(
            f"for tokens of shape {tuple(words.shape)} the model gives {given}; it has to give scores at "
            "each position, of shape (batch, time, scores), batch first"
        )
    return found if found.is_floating_point() else found.float()


@torch.no_grad()
def _carried(module: nn.Module, tokens: Sequence[int], longest: int | None) -> CarriedModule | None:
    """A module whose state can be carried; None if it gives none, or does not begin from zeros."""
    if hasattr(getattr(module, "config", None), "model_type"):
        return None
    try:
        pairs = [module(torch.full((batch, 1), tokens[0]), None) for batch in (2, 3)]
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            return None
        (leaves, spec), (others, again) = (tree_flatten(state) for _, state in pairs)
        if spec != again or not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
            return None
        axes = [_batch_axis(a, b) for a, b in zip(leaves, others, strict=True)]
        if any(axis is None for axis in axes):
            return None
        found = CarriedModule(module, leaves, spec, [axis for axis in axes if axis is not None])
        for token in dict.fromkeys(tokens):
            word = torch.tensor([[token, tokens[0]]])[:, :longest]
            scores, _ = module(word, None)
            if not torch.equal(_scores_of(scores, word), found(word)[0]):
                return None
    except (Exception, SystemExit):  # what a module of a user does with a second argument is its own affair
        return None
    return found


def _batch_axis(of_two: Tensor, of_three: Tensor) -> int | None:
    """The one axis that is 2 for two words and 3 for three; None if there is none."""
    if of_two.dim() != of_three.dim():
        return None
    differ = [i for i, (a, b) in enumerate(zip(of_two.shape, of_three.shape, strict=True)) if a != b]
    good = len(differ) == 1 and (of_two.shape[differ[0]], of_three.shape[differ[0]]) == (2, 3)
    return differ[0] if good else None


@torch.no_grad()
def require_model(module: nn.Module, letters: int, *, shares: bool, longest: int | None) -> int:
    """Returns how many scores a module gives that reads letters by number; it is tried on a few words.

    Args:
        module: with `initial_state`, `step` and `forward`.
        letters: how many there are.
        shares: whether the scores are read as probabilities, so that -inf is one.
        longest: the largest number of letters that it reads.

    Raises:
        InputError: if it gives other scores for the same word, looks ahead, keeps a state of its own, changes
            its weights, or gives what is no number.
    """
    length = min(9, longest or 9)
    words = torch.randint(0, letters, (2, length), generator=torch.Generator().manual_seed(0))
    before = hash_module(module)
    scores, again = module(words)[0], module(words)[0]
    if hash_module(module) != before:
        raise InputError("the model changes its weights or buffers when it reads; make it leave them alone")
    bad = scores.isnan() | (scores == torch.inf) | ((scores == -torch.inf) & (not shares))
    if bad.any():
        row, place, _ = bad.nonzero()[0].tolist()
        word = " ".join(map(str, words[row, : place + 1].tolist()))
        raise InputError(
            f"after the letters {word} a score is no finite number; such a model answers nothing"
        )
    if not torch.equal(scores, again):
        raise InputError(
            "the model gives other scores when it reads the same word again; it must not draw random "
            "numbers, nor keep a state of its own between words (`model.eval()` has been called)"
        )
    alone, part = module(words[1:])[0], module(words[:, : max(1, length // 2)])[0]
    if not _is_near(part, scores[:, : part.shape[1]]):
        raise InputError(
            "the scores at a position depend on later letters (a bidirectional layer, or no causal mask); "
            "such a model cannot be asked what may follow"
        )
    if not _is_near(alone, scores[1:]):
        raise InputError(
            "the scores of a word depend on the words beside it in the batch; nothing can be said"
        )
    state, rows = module.initial_state(len(words)), []  # type: ignore[operator]
    for column in words.T:
        row_scores, state = module.step(column, state)  # type: ignore[operator]
        rows.append(row_scores)
    if not _is_near(torch.stack(rows, dim=1), scores):
        raise InputError("`step` and `forward` of the model give other scores for the same word")
    return int(scores.shape[-1])


def _is_near(left: Tensor, right: Tensor) -> bool:
    finite = left.isfinite() & right.isfinite()
    size = right[finite].abs().max().clamp(min=1.0) if finite.any() else torch.tensor(1.0)
    return bool(((left - right).abs()[finite] <= _SAME * size).all()) and bool((left == right)[~finite].all())


def hash_module(module: nn.Module) -> str:
    """Returns the SHA-256 of the names, types, shapes and bytes of all weights and buffers, stored or not."""
    digest = hashlib.sha256()
    for name, tensor in sorted(
        [*module.named_parameters(), *module.named_buffers()], key=lambda pair: pair[0]
    ):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
    return digest.hexdigest()
