"""A language with everything that a page can show, and one that tries to break out of it."""

from __future__ import annotations

from collections.abc import Sequence

from nerode.algebra import CounterWitness, GroupInside, GroupStructure, Membership, Profile
from nerode.core import Reference
from nerode.languages import Dfa, Language, RegularLanguage
from nerode.study import Box, EggCell, Study
from nerode.verdict import ARCHITECTURES, Sense, Status, Verdict, VerdictTable, VerdictTask
from nerode.verdict.records import Provenance, Size
from tests.report.specimens import parity

Z2 = GroupStructure(
    name="Z2",
    order=2,
    degree=2,
    cyclic=True,
    abelian=True,
    nilpotent=True,
    solvable=True,
    simple=True,
    derived_length=1,
    exponent=2,
    factors=("Z2",),
)

PARITY = RegularLanguage(
    name="parity", automaton=parity(), convention="Words over {0, 1} with an even number of 1s."
)

PARITY_PROFILE = Profile(
    regular=True,
    num_states=2,
    star_free=False,
    counter=CounterWitness(prefix=(), loop=(1,), suffix=(), period=2),
    groups=(GroupInside(structure=Z2, points=(0, 1), generators=((1,),), scope="monoid"),),
    classes={
        "star-free": Membership(
            name="star-free",
            holds=False,
            identity="every group inside is trivial",
            method="automaton",
            reference=Reference("Schutzenberger1965"),
            witness={"v": (1,)},
            explanation="the powers of 1 do not settle",
        ),
        "commutative": Membership(
            name="commutative",
            holds=True,
            identity="xy = yx",
            method="automaton",
            reference=Reference("Pin1986"),
        ),
        "locally-testable": Membership(
            name="locally-testable",
            holds=None,
            identity="eSe is a semilattice",
            method="semigroup",
            reference=Reference("BrzozowskiSimon1973"),
            explanation="the budget was used up",
        ),
    },
    monoid_size=2,
    d_classes=1,
)

PARITY_BOXES = (
    Box(
        level=0,
        cells=((EggCell(words=("ε", "1"), size=2, idempotent=0),),),
        num_rows=1,
        num_columns=1,
        regular=True,
        group="Z2",
    ),
)


def study_of(
    language: Language,
    profile: Profile,
    verdicts: Sequence[Verdict] = (),
    *,
    dfa: Dfa | None = None,
    eggboxes: tuple[Box, ...] = (),
) -> Study:
    """A study with these parts."""
    table = VerdictTable(language=language.name, task=VerdictTask.PREDICT, dtype="", verdicts=tuple(verdicts))
    return Study(language=language, profile=profile, table=table, automaton=dfa, eggboxes=eggboxes)


def verdict(name: str, status: str, reason: str, *, sense: Sense = Sense.FINITE_PRECISION) -> Verdict:
    cited = status != "open"
    return Verdict(
        architecture=name,
        sense=sense,
        task=VerdictTask.PREDICT,
        status=Status(status),
        reason=reason,
        reference=Reference("Sarrof2024") if cited else None,
        provenance=Provenance.READ if cited else None,
        assumptions=("constant precision",) if cited else (),
        size=Size(layers=1, width=1) if status == "yes" else None,
        witness={"v": "1", "period": 2} if status == "no" else None,
        tried=() if cited else ("some-row: the language is not star-free",),
    )


def parity_verdicts() -> list[Verdict]:
    found = []
    for name in ("mamba", "gla", "mamba-signed", "lstm", "transformer"):
        status, reason = {
            "mamba": ("no", "contains the group Z2"),
            "gla": ("no", "contains the group Z2"),
            "transformer": ("open", "no theorem applies"),
        }.get(name, ("yes", "one sign flip"))
        found.append(verdict(name, status, reason))
        found.append(verdict(name, "open", "nothing known under noise", sense=Sense.ROBUST))
    return found


EVIL = "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"


def hostile_language() -> RegularLanguage:
    symbols = ["<b>", '"', "'", "&amp;", "</svg><script>document.title='pwned'</script>", "\u202e"]
    dfa = Dfa.build(symbols, lambda q, c: (q + symbols.index(c)) % 3, start=0, accept=[1])
    return RegularLanguage(name=EVIL, automaton=dfa, convention=EVIL)


def hostile_profile() -> Profile:
    membership = Membership(
        name=EVIL,
        holds=False,
        identity=EVIL,
        method=EVIL,
        reference=Reference("Pin1986"),
        witness={EVIL: (4, 0)},
        explanation=EVIL,
    )
    return Profile(
        regular=True,
        num_states=3,
        star_free=False,
        counter=CounterWitness(prefix=(4,), loop=(1,), suffix=(), period=3),
        classes={"x": membership},
        incomplete={EVIL: EVIL},
    )


def hostile_boxes() -> tuple[Box, ...]:
    cell = EggCell(words=(EVIL,), size=1, idempotent=0)
    return (Box(level=0, cells=((cell,),), num_rows=1, num_columns=1, regular=True, group=EVIL),)


def hostile_verdicts() -> list[Verdict]:
    return [
        Verdict(
            architecture="mamba",
            sense=Sense.FINITE_PRECISION,
            task=VerdictTask.PREDICT,
            status=Status.NO,
            reason=EVIL,
            reference=Reference("Sarrof2024"),
            assumptions=(EVIL, "</script><!--"),
            witness={EVIL: [EVIL]},
            tried=(EVIL,),
        )
    ]


def every_architecture(statuses: Sequence[str] = ("yes", "no", "open")) -> list[Verdict]:
    """A verdict for each architecture in each sense, so that pages have their real size."""
    return [
        verdict(name, statuses[(i + j) % len(statuses)], f"reason {i % 5} of {sense}", sense=sense)
        for i, name in enumerate(ARCHITECTURES)
        for j, sense in enumerate(Sense)
    ]
