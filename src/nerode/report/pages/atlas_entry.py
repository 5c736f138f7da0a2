"""One language of the atlas as plain values, ready for the page and for the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nerode.algebra import Profile
from nerode.core import InputError, from_mapping
from nerode.network import network_parts
from nerode.report.notation import language_title
from nerode.report.pages.language import view_language
from nerode.report.pages.render import Bibliography, environment
from nerode.report.tables.verdicts import SENSE_TITLES, VerdictText, answer, families
from nerode.study import NetworkStudy, Study
from nerode.verdict import Sense, Verdict

LANGUAGE_KINDS = ("star-free", "solvable groups", "non-solvable", "not regular", "regular")
"""Classes of languages in the order of the atlas; the last one is for those whose groups are not known."""

NetworkParts = list[tuple[str, list[str]]]
"""The embedding, the layers and the decoder: a title each, and lines."""

_MOST_DRAWN = 24
"""A network with more lines than this is not drawn: one would not read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasNetwork:
    """A compiled network.

    Attributes:
        target: the class or architecture.
        also: others that get the same network.
        size: in words.
        lengths: for each float format the lengths at which it is proved correct.
        proofs: the claims, in a few words each.
    """

    target: str
    also: tuple[str, ...]
    size: str
    lengths: dict[str, str]
    proofs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasEntry:
    """One language of the atlas.

    Attributes:
        name: of the language.
        title: the name as people write it.
        kind: the class of languages that decides most verdicts, one of `LANGUAGE_KINDS`.
        group: a heading that it shares with its neighbours, may be empty.
        text: what a search looks through.
        task: what its verdicts are about.
        cells: for each architecture the answer in each sense, None where nothing was asked.
        summary: the line that is always seen, as markup.
        section: what is seen when it is opened, as markup.
        cited: keys of the works that it cites, in order.
        networks: the networks of all targets that have one.
        proved: how many networks have a certificate.
    """

    name: str
    title: str
    kind: str
    group: str
    text: str
    task: str
    cells: dict[str, tuple[VerdictText | None, ...]]
    summary: str
    section: str
    cited: tuple[str, ...]
    networks: tuple[AtlasNetwork, ...]
    proved: int


def entry_of(study: Study, *, group: str = "", sense: Sense = Sense.FINITE_PRECISION) -> AtlasEntry:
    """Returns a language as the page shows it.

    Args:
        study: what is known about it.
        group: a heading that it shares with its neighbours ("Tomita", "groups" …), may be empty.
        sense: the arithmetic whose reasons are shown first.
    """
    bibliography = Bibliography()
    language, verdicts = study.language, list(study.table)
    title, kind = language_title(language.name, language.convention), language_kind(study.profile)
    view = view_language(study, bibliography, compact=True)
    cells = _cells(verdicts)
    for verdict in verdicts:
        bibliography.cite(verdict.reference)
    template = environment().get_template("atlas_language.html.j2").module
    section = template.section(  # type: ignore[attr-defined]
        view,
        families([v for v in verdicts if v.sense is sense], sense=sense),
        study.networks,
        _drawing(study.networks),
    )
    return AtlasEntry(
        name=language.name,
        title=title,
        kind=kind,
        group=group,
        text=" ".join((language.name, title, kind, language.convention, language.kind, group)).lower(),
        task=next((v.task.value for v in verdicts), "predict"),
        cells=cells,
        summary=str(template.summary(view)),  # type: ignore[attr-defined]
        section=str(section),
        cited=tuple(bibliography.keys),
        networks=tuple(_network(item) for item in study.networks if item.network is not None),
        proved=sum(item.is_proved for item in study.networks),
    )


def language_kind(profile: Profile) -> str:
    """Returns the class of languages that decides most verdicts, one of `LANGUAGE_KINDS`."""
    if not profile.regular:
        return LANGUAGE_KINDS[3]
    if profile.star_free:
        return LANGUAGE_KINDS[0]
    if profile.star_free is None or profile.solvable is None:
        return LANGUAGE_KINDS[4]
    return LANGUAGE_KINDS[1 if profile.solvable else 2]


def entry_from_json(values: Mapping[str, object] | None) -> AtlasEntry | None:
    """Returns the entry with these values, None if they are not those of an entry."""
    try:
        return None if values is None else from_mapping(AtlasEntry, values)
    except InputError:
        return None


def _cells(verdicts: Sequence[Verdict]) -> dict[str, tuple[VerdictText | None, ...]]:
    found = {(v.architecture, v.sense): v for v in verdicts}
    return {
        name: tuple(_answer(found.get((name, sense))) for sense in SENSE_TITLES)
        for name in dict.fromkeys(v.architecture for v in verdicts)
    }


def _answer(verdict: Verdict | None) -> VerdictText | None:
    """A verdict as text, without what the page says elsewhere, so that the same answer is written once."""
    return None if verdict is None else replace(answer(verdict), sense="", model="")


def _network(item: NetworkStudy) -> AtlasNetwork:
    return AtlasNetwork(
        target=item.target,
        also=item.also,
        size=item.size,
        lengths=item.lengths,
        proofs=tuple(item.proofs) if item.is_proved else (),
    )


def _drawing(networks: Sequence[NetworkStudy]) -> tuple[str, NetworkParts] | None:
    """The target and the parts of the smallest proved network, if one can be read; None if there is none."""
    drawn = [
        (item.network.num_parameters, item.target, network_parts(item.network))
        for item in networks
        if item.network is not None and item.is_proved
    ]
    readable = [found for found in drawn if sum(len(lines) for _, lines in found[2]) <= _MOST_DRAWN]
    return min(readable, key=lambda found: found[:2])[1:] if readable else None
