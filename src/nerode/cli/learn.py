"""`nerode learn`: the language that words show, a network for it, and a proof that the two are equal."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import click

from nerode.cli.compile import artefact_lines, artefact_object
from nerode.cli.options import FOLDER, Command, budgeted, default_option, force_option
from nerode.compiler import Options, compile_program
from nerode.core import Budget, InputError, NerodeError, NotCompilable, plural, write_atomically
from nerode.kernel import VALID_PREFIXES
from nerode.languages import RegularLanguage, describe_language
from nerode.proofs.artefacts import prove_program
from nerode.report import quote

_OF_OTHERS = "of prefixes that no word of the language continues nothing is said"
"""A part of every claim about valid prefixes alone."""

_MOST_STATES, _LONGEST_FORMULA = 40, 400
"""Of an automaton whose formula is searched, and characters of one that is shown."""

_TRAINED = 0.6
"""Share of the seconds in which a network is trained on the words alone."""

LANGUAGE_FILE = "language.json"
"""The learned language, in a folder of runs."""

LEARNED_FILE = "learned.json"
"""What is known of the language that was learned, in the folder of its network."""


@click.command(
    cls=Command, sections={"Words": ("labels", "alphabet", "separator", "noisy", "ask", "states", "held_out")}
)
@click.argument("words", type=click.Path(path_type=Path))
@default_option("--arch", "target", default="mamba", metavar="TARGET", help="Class or architecture.")
@click.option("-o", "--output", type=FOLDER, help="Folder to write.")
@click.option(
    "--labels",
    type=click.Choice(("end", "prefix", "next", "none")),
    help="Labels of whole words, of every prefix, the letters that may follow each prefix, or raw words. "
    "Default: end, or none where no line has a tab.",
)
@click.option("--alphabet", metavar="LETTERS", help="Letters: ab01, or push,pop. Default: those that occur.")
@click.option("--separator", help="Between letters. Default: a space where a word has one, or nothing.")
@click.option("--noisy", is_flag=True, help="Some labels, or some raw words, may be wrong.")
@click.option("--ask", is_flag=True, help="Ask for the labels that decide between automata.")
@default_option("--states", type=click.IntRange(min=1), default=60, help="Largest number of states.")
@default_option(
    "--held-out", type=click.FloatRange(0, 1, max_open=True), default=0.1, help="Share of words held out."
)
@default_option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the choice of held-out words.")
@click.option(
    "--train",
    is_flag=False,
    flag_value="language",
    type=click.Choice(("language", "words")),
    help="Train TARGET through exact gates instead of compiling: with the learned language as its "
    "teacher, or on the words alone.",
)
@default_option("--dtype", type=click.Choice(("float32", "float64")), default="float32", help="Float format.")
@force_option
@budgeted()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def learn(
    words: Path, target: str, output: Path | None, as_json: bool, budget: Budget, **options: Any
) -> None:
    """Learn a language from WORDS, compile it for TARGET, and prove that network and language are equal.

    WORDS has a word per line, a tab and a label: 1 or 0, + or -, accept or reject. Nothing says that the
    language is the true one: what the words do not decide is printed. Exit 0 says that network and learned
    language are equal at every length, exit 1 that there is no such proof. A network that is trained on the
    words alone has a language of its own, which may be another one.

    \b
    nerode learn words.tsv --arch mamba -o learned/
    nerode learn log.txt --labels none --alphabet open,close,read
    nerode learn words.tsv --noisy
    nerode learn words.tsv --arch mamba --train -o runs/
    nerode learn words.tsv --arch mamba --train words -o fitted/
    """
    from nerode.analysis.learning import LearnSettings, learn_language, read_words
    from nerode.languages import Alphabet

    if options["train"] and output is None:
        raise InputError("--train writes a run; say where with -o")
    if options["train"] == "words" and options["noisy"]:
        raise InputError("--train words takes every label as it is; leave out --noisy")
    letters = options["alphabet"]
    alphabet = None if letters is None else Alphabet(tuple(letters.split(",") if "," in letters else letters))
    samples = read_words(words, labels=options["labels"], alphabet=alphabet, separator=options["separator"])
    settings = LearnSettings(
        noisy=options["noisy"], held_out=options["held_out"], states=options["states"], seed=options["seed"]
    )
    if options["ask"] and as_json:
        raise InputError("--ask asks at the terminal; leave out --json")
    found = learn_language(samples, settings, ask=_ask if options["ask"] else None, name=words.stem)
    language = found.language
    item: dict[str, Any] = {
        "reading": None,
        "learned": {
            "states": language.num_states(),
            **_names(language, budget),
            "proved": False,
            "file": None,
            "evidence": found.evidence.to_json(),
        },
    }
    if not as_json:
        click.echo(f"learned: {item['learned']['expression']}")
        click.echo(f"  {', '.join(item['learned']['classes']) or 'in none of the classes that nerode knows'}")
        if item["learned"]["ltl"]:
            click.echo(f"  in past temporal logic: {item['learned']['ltl']}")
        click.echo("\n".join(f"  {line}" for line in found.evidence.sentences()))
    if options["train"] == "words":
        assert output is not None
        _fit(samples, found, target, output, item, budget, as_json)
        return
    if options["train"]:
        assert output is not None
        _train(language, samples.labels, target, output, item, as_json)
        return
    try:
        program = compile_program(language, target, Options(budget=budget))
    except NotCompilable as refusal:
        item |= {"settlement": None, "refused": list(refusal.reasons)}
        _refuse(refusal, item, as_json, words)
        sys.exit(1)
    made = prove_program(program, language, Options(budget=budget), dtype=options["dtype"])
    compiled = artefact_object(made, output)
    about = "weights" if made.weights.found is not None else "network"
    claims = [claim for claim in compiled["claims"] if claim["about"] == about]
    proved = any(map(_is_equality, claims)) and not made.is_wrong
    if output is not None:
        made.write(output, budget)
        write_atomically(
            output / LEARNED_FILE, json.dumps(item["learned"], ensure_ascii=False, indent=1).encode()
        )
    item["learned"] |= {"proved": proved, "file": None if output is None else str(output / LEARNED_FILE)}
    status = "refuted" if made.is_wrong else "proved" if proved else "unsettled"
    item["settlement"] = {"status": status, "claims": compiled["claims"], "out": compiled["out"]}
    if as_json:
        click.echo(json.dumps(item, ensure_ascii=False))
    else:
        click.echo("\n".join(artefact_lines(made, output)))
    if not proved:
        sys.exit(1)


def _names(language: RegularLanguage, budget: Budget) -> dict[str, Any]:
    """The expression, formula and classes of a language, as far as the budget goes."""
    from nerode.algebra import profile

    found = profile(language, budget=budget)
    formula = None
    if found.star_free and language.num_states() <= _MOST_STATES:
        with contextlib.suppress(NerodeError):
            formula = language.to_ltl(budget)
    return {
        "expression": language.to_regex(budget),
        "ltl": formula if formula is not None and len(formula) <= _LONGEST_FORMULA else None,
        "star_free": found.star_free,
        "classes": [name for name, item in found.classes.items() if item.holds],
    }


def _train(
    language: RegularLanguage, labels: str, target: str, output: Path, item: dict[str, Any], as_json: bool
) -> None:
    """Trains a network with the learned language as its teacher and settles it; exit 1 without a proof."""
    from nerode.cli.settling import SETTLE_SECONDS, settle_runs
    from nerode.cli.train import certified_specs
    from nerode.records import claim_store, run_name
    from nerode.report import settlement_lines
    from nerode.training import run_all

    claim_store(output)
    file = output / LANGUAGE_FILE
    write_atomically(file, json.dumps(describe_language(language), ensure_ascii=False).encode())
    task = "language-recognition" if labels in ("end", "prefix") else "language-prediction"
    tables = {"task": {"name": task, "settings": {"language": str(file)}}}
    specs = certified_specs(task, target, range(1), tables)
    runs = []
    if specs:
        ((_, record),) = run_all(specs, output, jobs=1, on_progress=lambda number, event: None)
        runs = settle_runs([(record, output / run_name(record.key))], SETTLE_SECONDS, named=())
    settled = runs[0].settled if runs else None
    proved = settled is not None and settled.status == "proved"
    item["learned"] |= {"proved": proved, "file": str(file)}
    item["settlement"] = None if settled is None else settled.to_json()
    if as_json:
        click.echo(json.dumps(item, ensure_ascii=False))
    elif settled is not None:
        click.echo("\n".join(settlement_lines(settled, name=str(runs[0].folder))))
    if not proved:
        sys.exit(1)


def _fit(
    samples: Any, found: Any, target: str, output: Path, item: dict[str, Any], budget: Budget, as_json: bool
) -> None:
    """Trains a network on the words alone and settles it about its own automaton.

    Exit 1 if there is no proof, or its language is not the learned one.
    """
    from nerode.analysis.learning import fit_words, write_fitted
    from nerode.report import settlement_lines

    language, evidence = found.language, found.evidence
    fitted = fit_words(
        samples,
        target,
        empty=language.accepts(()),
        least=evidence.states if evidence.smallest else None,
        seconds=_TRAINED * budget.left(),
    )
    if fitted is None:
        item |= {"settlement": None, "trained": None}
        click.echo(
            json.dumps(item, ensure_ascii=False)
            if as_json
            else f"no {target} was found whose automaton agrees with all words; raise --max-seconds"
        )
        sys.exit(1)
    origin = {"trained_on": plural(len(samples), "labelled word"), "attempts": fitted.attempts}
    settled = write_fitted(output, fitted, origin=origin, budget=budget)
    write_atomically(
        output / LEARNED_FILE, json.dumps(item["learned"], ensure_ascii=False, indent=1).encode()
    )
    proved = settled.status == "proved" and fitted.differs(language) is None
    item["learned"] |= {"proved": proved, "file": str(output / LEARNED_FILE)}
    item |= {"settlement": settled.to_json(), "trained": fitted.to_json(language)}
    if as_json:
        click.echo(json.dumps(item, ensure_ascii=False))
    else:
        click.echo("\n".join(f"  {line}" for line in fitted.sentences(language)))
        click.echo("\n".join(settlement_lines(settled, name=str(output))))
    if not proved:
        sys.exit(1)


def _is_equality(claim: dict[str, Any]) -> bool:
    """Whether a claim says that network and language are equal on all words, not on valid prefixes alone."""
    text = f"{claim.get('says', '')} {claim.get('covers', '')}"
    partial = claim.get("task") == VALID_PREFIXES or _OF_OTHERS in text
    return claim["length"] == "all" and not partial


def _refuse(refusal: NotCompilable, item: dict[str, Any], as_json: bool, words: Path) -> None:
    """Says why the learned language has no network."""
    if as_json:
        click.echo(json.dumps(item, ensure_ascii=False))
        return
    able = "cannot do it" if refusal.impossible else "has no construction for it here"
    click.echo(f"{refusal.target} {able}: {'; '.join(refusal.reasons)}", err=True)
    # An LSTM has cells for every automaton; more labels may decide for a language that this target can do.
    again = f"nerode learn {quote(str(words))} --arch"
    other = "" if refusal.target == "lstm" else f"{again} lstm   or   "
    click.echo(f"Next: {other}{again} {refusal.target} --ask", err=True)


def _ask(word: tuple[str, ...]) -> bool:
    return click.confirm(f"is {' '.join(word) or 'the empty word'!r} in the language?")
