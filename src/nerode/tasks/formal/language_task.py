"""The base of all tasks about a formal language: settings, splits, length bins, words kept for training.

A language with very few words is listed, and split by the place of a word in the list.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nerode.core import InputError, stream
from nerode.languages import Alphabet, Dfa, Language, Word, resolve_language
from nerode.languages.bestiary import BESTIARY
from nerode.tasks.formal.source import MOST_STATES, AutomatonWords, WordSource, word_source
from nerode.tasks.task import Batch, Integers, Memory, Split, Task, require_range, walk

MOST_WORDS = 500
"""Words, in the range of training, up to which they are listed."""

_HELD_OUT: dict[int, Split] = {2: "validation", 4: "test"}
"""Of every five words, which are not for training."""


def list_words(language: Language, shortest: int, longest: int, most: int = MOST_WORDS) -> list[Word] | None:
    """Returns all words from one length to another, by length and letters; None if there are too many.

    Too many are more than `most` words, or more than `most` prefixes of one length.
    """
    prefixes: dict[Word, Any] = {(): language.initial()}
    found: list[Word] = []
    for length in range(longest + 1):
        legal = {word: language.legal(state) for word, state in prefixes.items()}
        if length >= shortest:
            found += sorted(word for word in prefixes if legal[word].end)
        # The last prefixes need not be continued.
        prefixes = {
            (*word, symbol): language.advance(state, symbol)
            for word, state in prefixes.items()
            for symbol in (legal[word].symbols if length < longest else ())
        }
        if len(prefixes) > most or len(found) > most:
            return None
    return found


class FewWords:
    """Listed words and the split of each: of every five, three are trained on.

    A hash would leave splits of a dozen words empty. The place in the list is as good: it depends on the
    word alone, given the language and the range of training. With one word a length, as in 1*, a length
    belongs to one split only; validation and tests are then at lengths between those of training.
    """

    def __init__(self, words: Iterable[Word]) -> None:
        self._splits: dict[Word, Split] = {
            word: _HELD_OUT.get(place % 5, "train") for place, word in enumerate(words)
        }
        lists: dict[tuple[Split, int], list[Word]] = {}
        for word, split in self._splits.items():
            lists.setdefault((split, len(word)), []).append(word)
        self._words = {key: np.array(words, dtype=np.int64) for key, words in lists.items()}

    def split_of(self, word: Word) -> Split | None:
        """Returns the split of a word, None if it is not listed."""
        return self._splits.get(word)

    def words(self, split: Split, length: int) -> Integers | None:
        """Returns the words of a split that have a length, None if there is none."""
        return self._words.get((split, length))


_TRIES = 50
"""Lengths of a bin that are tried before it counts as empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthBin:
    """The lengths from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise InputError(f"lengths from {self.low} to {self.high} are not a range from 1 on")

    @property
    def name(self) -> str:
        """The bin as papers write it, like "51-100"."""
        return f"{self.low}-{self.high}"


def length_bins(shortest: int, longest: int, *, longer: tuple[int, ...] = (1, 2, 9)) -> tuple[LengthBin, ...]:
    """Returns the bin of training and longer ones of `longest` lengths each.

    Args:
        shortest: shortest length of training.
        longest: longest length of training.
        longer: which of the longer bins, the first being 1: with 50, 1 is 51-100 and 9 is 451-500.
    """
    after = [LengthBin(low=k * longest + 1, high=(k + 1) * longest) for k in longer]
    return (LengthBin(low=shortest, high=longest), *after)


_BLOCK = 128
"""Words that are drawn together."""

_ROWS = 64
"""Most words that a batch takes from one block."""

_LABELS_KEPT = 32
"""Outputs up to which the labels of words are kept with the words."""

Block = tuple[npt.NDArray[Any], ...]
"""Words, or words with their targets and masks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageSettings:
    """Settings of a task of a formal language.

    Attributes:
        language: a name of the bestiary, a regular expression, or a file.
        shortest: shortest length of training.
        longest: longest length of training.
        pool: about how many words of each length are trained on; 0 for new ones at each step, which is slow
            for languages whose words are drawn one by one.
    """

    language: str = "tomita-3"
    shortest: int = 1
    longest: int = 50
    pool: int = 512

    def __post_init__(self) -> None:
        require_range(self.shortest, self.longest)
        if self.pool < 0:
            raise InputError(f"pool is {self.pool}; give 0 for new words at each step, or a number of words")


class FormalLanguageTask(Task):
    """Words of a language with labels.

    Words to train on come from a pool that depends on the language and the length alone; others are drawn
    anew. Which split a word belongs to depends on its content, so that the pool needs no care. A language
    with few words in the range of training is split by a list of them (see `few_words`): lengths that have
    no word in a split are refused, and validation takes the lengths that have some.
    """

    def __init__(self, settings: LanguageSettings, *, few: bool = True) -> None:
        """Makes the task.

        Args:
            settings: which language, and the range of training.
            few: whether the task draws words of the language only, so that there may be few of them.
        """
        self.settings = settings
        self.language = resolve_language(settings.language)
        self.alphabet = self.language.alphabet.symbols
        self.letters = len(self.alphabet)
        self.source: WordSource = word_source(self.language)
        self.memory = Memory.COUNTING if self.language.kind == "counter" else Memory.STATEFUL
        self.training_lengths = (settings.shortest, settings.longest)
        self._few = _few(self.drawn_from(), self.drawn_from().alphabet, settings) if few else None
        self._blocks: dict[tuple[int, int], Block] = {}

    def drawn_from(self) -> Language:
        """Returns the language that all words of this task are in."""
        return self.language

    def words(self, length: int, count: int, rng: np.random.Generator) -> Integers:
        """Returns words (words, time) whatever their split, or raises InputError if none has this length."""
        return self.source.words(length, count, rng)

    def has(self, length: int) -> bool:
        """Returns whether there are words of a length, whatever their split."""
        return self.source.has(length)

    def has_one_word(self, length: int) -> bool:
        """Returns whether the words are those of equal blocks, of which a length has one at most."""
        return (
            self.drawn_from() is self.language and getattr(self.language, "family", "") == "counting-blocks"
        )

    @abstractmethod
    def label(self, words: Integers) -> Batch:
        """Returns words with their targets."""

    @property
    def bins(self) -> tuple[LengthBin, ...]:
        """The length bins of the papers: that of training, the two after it, and the tenth."""
        return length_bins(self.settings.shortest, self.settings.longest)

    @property
    def test_lengths(self) -> tuple[int, ...]:  # type: ignore[override]
        """For each of the bins the longest length that has words to test."""
        return tuple(n for n in map(self._longest_in, self.bins) if n is not None)

    def sample(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns labelled words of a length, whatever their split."""
        return self.label(self.words(length, count, rng))

    def draw(self, split: Split, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns `count` words of one split.

        Raises:
            InputError: if the length is not trained on, or the split has no word of this length.
        """
        if not self.trains_on(length):
            return super().draw(split, length, count, rng)
        if self._few is not None:
            listed = self._few.words(split, length)
            if listed is None:
                raise InputError(
                    f"{self.name} has no word of length {length} in the {split} split; choose another length"
                )
            return self.label(listed[rng.integers(0, len(listed), count)])
        if split == "train" and count <= self._num_blocks * _ROWS:
            return self._from_pool(length, count, rng)
        return super().draw(split, length, count, rng)

    def split_of(self, batch: Batch) -> list[Split]:
        """Returns the split of each word, from its content alone."""
        if self._few is None:
            return super().split_of(batch)
        listed = [self._few.split_of(tuple(word)) for word in batch.inputs.tolist()]
        return [split or "test" for split in listed]

    def automaton(self) -> Dfa:
        """Returns the automaton of the language, or raises InputError if words are not walked by one."""
        if not isinstance(self.source, AutomatonWords):
            raise InputError(
                f"{self.language.name} has no automaton of at most {MOST_STATES:,} states; take a regular "
                "language"
            )
        return self.source.dfa

    def leads_back(self, batch: Batch) -> npt.NDArray[np.bool_]:
        """Returns which words lead the automaton of the language back to its start.

        Raises:
            InputError: if the language has none.
        """
        dfa = self.automaton()
        states = walk(dfa.transitions, batch.inputs.numpy(), start=dfa.start)
        found: npt.NDArray[np.bool_] = states[:, -1] == dfa.start
        return found

    def draw_held(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Returns at most `count` words of training in which a loop of the automaton takes half of the word.

        A loop is one letter or two that lead from a state back to it. Inserted into a word, it changes
        neither membership nor what follows.

        Raises:
            InputError: if the language has no automaton, or its automaton no loop.
        """
        dfa = self.automaton()
        loops = [found for size in (1, 2) if any(found := _loops(dfa, size))]
        if not loops:
            raise InputError(f"no one or two letters lead a state of {self.language.name} back to itself")
        held: list[Word] = []
        for _ in range(_TRIES):
            chosen = loops[int(rng.integers(len(loops)))]
            size = len(next(own[0] for own in chosen if own))
            if length <= size:
                continue
            least, most = -(-length // (2 * size)), (length - 1) // size
            copies = int(rng.integers(min(least, most), most + 1))
            if not self.has(length - copies * size):
                continue
            words = self.words(length - copies * size, 2 * count, rng)
            first = np.full((len(words), 1), dfa.start, dtype=np.int64)
            states = np.concatenate([first, walk(dfa.transitions, words, start=dfa.start)], axis=1)
            for word, along in zip(words.tolist(), states.tolist(), strict=True):
                places = [place for place, state in enumerate(along) if chosen[state]]
                if places:
                    place = places[int(rng.integers(len(places)))]
                    options = chosen[along[place]]
                    loop = options[int(rng.integers(len(options)))]
                    held.append((*word[:place], *loop * copies, *word[place:]))
            break
        batch = self.label(np.array(held, dtype=np.int64).reshape(-1, length))
        return batch.rows([row for row, split in enumerate(self.split_of(batch)) if split == "train"][:count])

    @property
    def _num_blocks(self) -> int:
        return -(-self.settings.pool // _BLOCK)

    def _from_pool(self, length: int, count: int, rng: np.random.Generator) -> Batch:
        """Draws rows of a random block and, if there are many, of those after it; no row comes twice."""
        first = int(rng.integers(self._num_blocks))
        parts = []
        for number, begun in enumerate(range(0, count, _ROWS)):
            block = self._block(length, (first + number) % self._num_blocks)
            rows = rng.permutation(_BLOCK)[: min(_ROWS, count - begun)]
            parts.append(tuple(part[rows] for part in block))
        drawn = parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))
        if len(drawn) == 1:
            return self.label(drawn[0])
        return Batch.of(*drawn)

    def _block(self, length: int, number: int) -> Block:
        found = self._blocks.get((length, number))
        if found is None:
            rng = stream(0, "pool", self.name, self.language.name, length, number)
            batch = super().draw("train", length, _BLOCK, rng)
            found = (batch.inputs.numpy(),)
            if self.outputs <= _LABELS_KEPT:
                found = (*found, batch.targets.numpy(), batch.mask.numpy())
            self._blocks[length, number] = found
        return found

    def _longest_in(self, lengths: LengthBin) -> int | None:
        for length in range(lengths.high, lengths.low - 1, -1):
            if self.has(length) and (not self.trains_on(length) or self._tests(length)):
                return length
        return None

    def _tests(self, length: int) -> bool:
        try:
            self.draw("test", length, 1, stream(0, "has", length))
        except InputError:
            return False
        return True


@functools.lru_cache(maxsize=64)
def _few(language: Language, letters: Alphabet, settings: LanguageSettings) -> FewWords | None:
    """The listed words of a language that has few; kept, since every seed of a table asks for them.

    Languages with the same words are equal, but their letters may have other numbers.
    """
    words = list_words(language, settings.shortest, settings.longest)
    if words is None:
        return None
    if not words:
        raise InputError(
            f"{language.name} has no word from length {settings.shortest} to {settings.longest}; "
            "give a longer range"
        )
    return FewWords(words)


def _loops(dfa: Dfa, size: int) -> list[list[Word]]:
    """For each state the words of a size, 1 or 2, that lead back to it and are no shorter loop twice."""
    after = dfa.transitions.tolist()
    letters = range(len(after[0]))
    if size == 1:
        return [[(a,) for a in letters if row[a] == state] for state, row in enumerate(after)]
    return [
        [(a, b) for a in letters for b in letters if row[a] != state and after[row[a]][b] == state]
        for state, row in enumerate(after)
    ]


def all_positions(words: Integers) -> npt.NDArray[np.bool_]:
    """Returns the mask of all positions."""
    return np.ones(words.shape, dtype=np.bool_)


def presets(prefix: str, *, without: Iterable[str] = ()) -> dict[str, Mapping[str, Any]]:
    """Returns a preset for each language of the bestiary: its name after a prefix."""
    left_out = set(without)
    return {f"{prefix}-{name}": {"language": name} for name in BESTIARY if name not in left_out}
