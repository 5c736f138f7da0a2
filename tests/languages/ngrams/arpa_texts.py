"""ARPA texts for the tests, and a back-off reference that reads them in the plainest way."""

from __future__ import annotations

from hypothesis import strategies as st

GOOD = r"""A comment before the data.

\data\
ngram 1=5
ngram 2=4
ngram 3=2

\1-grams:
-1.0	<unk>
-99	<s>	-0.30103
-0.7	</s>
-0.5	a	-0.2
-0.6	b	0.1

\2-grams:
-0.25	<s> a	-0.4
-0.3	a b	-0.1
-0.4	b a
-0.9	b </s>

\3-grams:
-0.05	<s> a b
-0.15	a b a

\end\
"""


class Reference:
    """Back-off by recursion on tuples of strings, read without any check."""

    def __init__(self, text: str) -> None:
        self.entries: dict[tuple[str, ...], tuple[float, float]] = {}
        order = 0
        for line in text.split("\\data\\", 1)[1].splitlines():
            parts = line.split()
            if line.startswith("\\") and line.endswith("-grams:"):
                order = int(line[1:].split("-")[0])
            elif order and parts and not line.startswith("\\"):
                words = tuple(parts[1 : order + 1])
                self.entries[words] = (
                    float(parts[0]),
                    float(parts[order + 1]) if len(parts) > order + 1 else 0.0,
                )
        self.order = text.count("\nngram ")
        self.words = [w[0] for w in self.entries if len(w) == 1 and w[0] not in ("<s>", "</s>")]

    @staticmethod
    def value(log10: float) -> float:
        return 0.0 if log10 <= -99 else 10.0**log10

    def p(self, history: tuple[str, ...], word: str) -> float:
        if (*history, word) in self.entries:
            return self.value(self.entries[(*history, word)][0])
        weight = self.value(self.entries[history][1]) if history in self.entries else 1.0
        return weight * self.p(history[1:], word)

    def after(self, prefix: list[str]) -> tuple[str, ...]:
        history = ("<s>", *prefix)
        return history[max(0, len(history) - self.order + 1) :]


logs = st.integers(-9900, 0).map(lambda i: i / 100)
backoffs = st.integers(-9900, 200).map(lambda i: i / 100)


@st.composite
def arpa_texts(draw: st.DrawFn) -> str:
    """Well-formed texts of up to three orders over up to three words; not normalised."""
    words = ["<unk>", "a", "b", "c"][: draw(st.integers(1, 4))]
    order = draw(st.integers(1, 3))
    marks = ["</s>", "<s>"] if draw(st.booleans()) else ["</s>"]
    levels: list[list[tuple[str, ...]]] = [[(w,) for w in (*words, *marks)]]
    for _ in range(order - 1):
        possible = [(*ngram, w) for ngram in levels[-1] if ngram[-1] != "</s>" for w in (*words, "</s>")]
        if not possible:
            break
        levels.append(draw(st.lists(st.sampled_from(possible), unique=True, max_size=8)))
    lines = ["\\data\\", *(f"ngram {k}={len(level)}" for k, level in enumerate(levels, start=1))]
    for k, level in enumerate(levels, start=1):
        lines += ["", f"\\{k}-grams:"]
        for ngram in level:
            tail = f"\t{draw(backoffs)}" if k < len(levels) and draw(st.booleans()) else ""
            lines.append(f"{draw(logs)}\t{' '.join(ngram)}{tail}")
    return "\n".join([*lines, "", "\\end\\", ""])
