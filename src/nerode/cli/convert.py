"""`nerode convert` and `nerode diff`: automata between formats, as expressions and tables, and compared."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from nerode.algebra import dfa_to_star_free, green, transition_monoid
from nerode.algebra.cascades import dfa_to_formula
from nerode.cli.options import PATH, Command, LanguageReading, budgeted, force_option, language_options
from nerode.core import Budget, InputError, claim_file, plural, write_atomically
from nerode.languages import (
    Dfa,
    complement,
    difference,
    distinguishing_word,
    intersection,
    left_quotient,
    minimise,
    over_one_alphabet,
    reverse,
    right_quotient,
    union,
)
from nerode.languages.formats import FORMATS, automaton_files, write_automaton
from nerode.languages.pastltl import to_text as formula_text
from nerode.languages.regex import dfa_to_regex, to_text as regex_text

OPERATIONS = {
    "and": intersection,
    "or": union,
    "minus": difference,
    "after": left_quotient,
    "before": right_quotient,
}


def monoid_tables(dfa: Dfa, budget: Budget) -> dict[str, Any]:
    """Returns the transition monoid as data: shortest words, products and Green's relations."""
    monoid = transition_monoid(dfa, budget)
    relations = green(monoid, budget)
    classes = {"r": relations.r_class, "l": relations.l_class, "d": relations.d_class}
    return {
        "format": "nerode-monoid",
        "alphabet": list(dfa.alphabet),
        "elements": [[dfa.alphabet.symbols[a] for a in monoid.word(x)] for x in range(len(monoid))],
        "identity": 0,
        "idempotents": relations.idempotents.tolist(),
        "green": {name: numbers.tolist() for name, numbers in classes.items()},
        "d_covers": [list(below) for below in relations.covers],
        "products": monoid.multiplication_table(budget).tolist(),
    }


def _text_of(form: str, dfa: Dfa, budget: Budget) -> str:
    if form == "regex":
        return regex_text(dfa_to_regex(dfa, budget))
    if form == "star-free":
        return regex_text(dfa_to_star_free(dfa, budget))
    if form == "ltl":
        return formula_text(dfa_to_formula(dfa, budget))
    if form == "monoid":
        return json.dumps(monoid_tables(dfa, budget), ensure_ascii=False)
    return FORMATS[form].write(dfa)


TEXTS = ("regex", "star-free", "ltl", "monoid", *FORMATS)
"""What can be printed of an automaton."""


def _automaton(text: str, reading: LanguageReading, budget: Budget) -> Dfa:
    language = reading.read(text, budget)
    if not language.regular:
        raise InputError(f"{language.name} is not regular; it has no automaton to convert or to compare")
    return language.dfa(budget)


@click.command(cls=Command)
@click.argument("language", metavar="LANG")
@click.option("--and", "and", metavar="LANG", multiple=True, help="Intersect with this language.")
@click.option("--or", "or", metavar="LANG", multiple=True, help="Unite with this language.")
@click.option("--minus", metavar="LANG", multiple=True, help="Take the words of this language away.")
@click.option("--after", metavar="LANG", multiple=True, help="Take what may follow a word of this language.")
@click.option(
    "--before", metavar="LANG", multiple=True, help="Take what may come before a word of this language."
)
@click.option("--reverse", "reversed_", is_flag=True, help="Read the words from right to left.")
@click.option("--complement", "complemented", is_flag=True, help="Take the complement, after the others.")
@click.option("--as", "form", type=click.Choice(TEXTS), help="Format; by default the end of the file name.")
@click.option("-o", "--out", type=PATH, help="File to write; without it, print.")
@language_options
@force_option
@budgeted()
def convert(
    language: str,
    complemented: bool,
    reversed_: bool,
    form: str | None,
    out: Path | None,
    force: bool,
    reading: LanguageReading,
    budget: Budget,
    **others: tuple[str, ...],
) -> None:
    """Write the minimal automaton of LANG in another format, or as an expression or a table.

    Formats: att, dot, jff, json (automata); regex (a regular expression); for star-free languages star-free
    (an expression with complements and no star) and ltl (a formula of past temporal logic); monoid (elements,
    products and Green's relations as JSON).

    \b
    nerode convert tomita-3 -o tomita-3.jff
    nerode convert model.dot --as regex
    nerode convert "(ab)*" --and "[ab]*bb[ab]*" --complement -o rest.att
    nerode convert "[ab]*a[ab]*" --as ltl
    nerode convert "(ab)*" --as star-free
    nerode convert "a*b*c" --before c --reverse --as regex
    """
    if form is None and out is None:
        raise InputError(f"nothing says in which format; give --as ({', '.join(TEXTS)}) or -o FILE")
    if out is not None:
        for place in automaton_files(out) if form is None else (out,):
            claim_file(place, force=force)
    found = _automaton(language, reading, budget)
    for name, operation in OPERATIONS.items():
        for other in others[name]:
            found = operation(found, _automaton(other, reading, budget), budget)
    found = reverse(found, budget) if reversed_ else found
    found = minimise(complement(found) if complemented else found)
    if form is None:
        assert out is not None
        written = write_automaton(found, out)
        click.echo(" and ".join(map(str, written)) + f": {plural(found.num_states, 'state')}")
        return
    text = _text_of(form, found, budget)
    if out is None:
        click.echo(text.rstrip("\n"))
        return
    write_atomically(out, text.rstrip("\n") + "\n")
    click.echo(f"{out}: {plural(found.num_states, 'state')} as {form}")


@click.command(cls=Command)
@click.argument("left", metavar="LANG")
@click.argument("right", metavar="LANG")
@language_options
@budgeted()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def diff(left: str, right: str, as_json: bool, reading: LanguageReading, budget: Budget) -> None:
    """Say whether two languages are equal; if not, print the shortest word that only one of them has.

    Exit status 0: equal; 1: different.

    \b
    nerode diff "(ab)*" abab.jff
    nerode diff tomita-3 tomita-4 --json
    """
    both = (_automaton(text, reading, budget) for text in (left, right))
    first, second = over_one_alphabet(*both)
    word = distinguishing_word(first, second, budget)
    if word is None:
        click.echo(json.dumps({"equal": True}) if as_json else "equal: both have the same words")
        return
    inside = first.accepts(word)
    has, lacks = (left, right) if inside else (right, left)
    if as_json:
        symbols = [first.alphabet.symbols[a] for a in word]
        click.echo(json.dumps({"equal": False, "word": symbols, "in": has}, ensure_ascii=False))
    else:
        shown = first.alphabet.decode(word) or "ε"
        click.echo(f"different: {shown} is in {has} and not in {lacks}; no shorter word tells them apart")
    sys.exit(1)
