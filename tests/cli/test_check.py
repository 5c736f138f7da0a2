import csv
import io
import json
import subprocess
import sys

import pytest

from tests.cli.runner import run

KEYS = {
    "language": {"name", "kind", "regular", "alphabet", "states", "convention"},
    "algebra": {"star_free", "monoid_size", "d_classes", "groups", "classes", "witness"},
}
VERDICT_KEYS = {"architecture", "sense", "status", "reason", "reference", "assumptions", "size", "witness"}


def check(*arguments):
    outcome = run("check", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_json_keeps_its_contract():
    (found,) = check("(aa)*")
    for part, keys in KEYS.items():
        assert keys <= found[part].keys()
    for verdict in found["verdicts"]:
        assert verdict.keys() >= VERDICT_KEYS
        assert verdict["status"] in ("yes", "no", "open")
    assert (
        found["language"] | {"name": "(aa)*", "kind": "regular", "regular": True, "alphabet": ["a"]}
        == found["language"]
    )
    assert found["language"]["states"] == 2
    assert found["algebra"]["star_free"] is False
    assert found["algebra"]["monoid_size"] == 2
    assert [g["name"] for g in found["algebra"]["groups"]] == ["Z2"]
    assert found["algebra"]["groups"][0]["solvable"] is True
    assert {"group", "u", "v", "x"} <= next(
        v for v in found["verdicts"] if v["architecture"] == "mamba" and v["sense"] == "finite-precision"
    )["witness"].keys()


def test_several_languages_give_one_object_a_line():
    found = check("parity", "flip-flop", "dyck-8-10", "--arch", "mamba,lstm")
    assert [f["language"]["name"] for f in found] == ["parity", "flip-flop", "dyck-8-10"]
    assert {v["architecture"] for v in found[0]["verdicts"]} == {"mamba", "lstm"}


def test_a_language_too_large_to_build_says_what_is_missing():
    (found,) = check("dyck-8-10", "--arch", "mamba")
    assert found["language"]["states"] == 1_227_133_514
    assert found["algebra"]["star_free"] is True
    assert found["algebra"]["monoid_size"] is None
    assert "monoid_size" in found["incomplete"]


def test_a_language_that_is_not_regular():
    (found,) = check("anbn", "--arch", "gla")
    assert found["language"]["regular"] is False
    assert found["algebra"]["star_free"] is None


def test_formula():
    (found,) = check("H ((a -> Z b) & (b -> Y a)) & !a", "--ltl", "--arch", "mamba")
    (regex,) = check("(ab)*", "--arch", "mamba")
    assert found["language"]["states"] == regex["language"]["states"]
    assert found["algebra"]["star_free"] is True


def test_terminal_view_names_the_witness_and_the_next_step():
    outcome = run("check", "parity", "--details")
    assert outcome.code == 0
    assert "not star-free (contains Z2)" in outcome.out
    assert "mamba" in outcome.out
    assert "assumes:" in outcome.out
    assert "nerode explain parity" in outcome.out


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_answer_fits_on_a_screen_and_the_whole_table_is_asked_for(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    short, whole = run("check", "(aa)*").out.splitlines(), run("check", "(aa)*", "--all").out.splitlines()
    assert len(short) <= 14
    assert len(whole) > 48
    for said in ("can ", "cannot ", "open ", "Next:"):
        assert any(line.startswith(said) for line in short)


def test_fail_on_no():
    assert run("check", "parity", "--arch", "mamba", "--fail-on-no").code == 1
    assert run("check", "parity", "--arch", "lstm", "--fail-on-no").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("(a",), "column"),
        (("",), "empty"),
        (("a{3,2}",), "column 2"),
        (("a{1000000000}",), "column"),
        (("tomita-9",), "tomita-"),
        (("pariti",), "parity"),
        (("(a|b)*", "--arch", "mambo"), "mamba"),
        (("missing.att",), "missing.att"),
        (("(ab)*", "--ltl", "--regex"), "exclude"),
        (("parity", "--alphabet", "01"), "alphabet"),
        (("(ab)*", "--max-states", "0"), "positive"),
        (("(" * 10_000 + "a",), "column"),
    ],
)
def test_bad_input_is_one_clear_error(arguments, message):
    outcome = run("check", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    assert len(outcome.err) < 1000


def test_ten_thousand_parentheses():
    assert run("check", "(" * 10_000 + "a" + ")" * 10_000, "--arch", "mamba").code == 0


def test_the_budget_stops_an_explosion():
    outcome = run("check", "(a|b)*a(a|b){24}")
    assert outcome.code == 2
    assert "states" in outcome.err
    assert "--max-states" in outcome.err


def test_one_bad_language_does_not_hide_the_others():
    outcome = run("check", "parity", "(a", "--arch", "mamba", "--json")
    assert outcome.code == 2
    assert json.loads(outcome.out)["language"]["name"] == "parity"
    assert "(a" in outcome.err


def test_unknown_command_names_the_nearest():
    outcome = run("chek", "parity")
    assert outcome.code == 2
    assert "check" in outcome.err


def test_check_never_imports_torch():
    code = (
        "import sys; from nerode.cli.main import main\n"
        "try: main(['check', '(aa)*', '--json'])\n"
        "except SystemExit: pass\n"
        "bad = [m for m in ('torch', 'sympy', 'matplotlib') if m in sys.modules]\n"
        "print(bad, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("command", ["languages", "architectures"])
def test_listings(command):
    shown = run(command)
    assert shown.code == 0
    rows = [json.loads(line) for line in run(command, "--json").out.splitlines()]
    assert rows
    assert all(row["name"] in shown.out for row in rows)


def test_one_suite():
    rows = run("list", "languages", "--suite", "bhattamishra-27", "--json").out.splitlines()
    assert len(rows) == 27
    assert run("list", "languages", "--suite", "nonsense").code == 2


def test_the_next_command_names_the_language_as_it_was_asked_for(tmp_path):
    path = tmp_path / "mine.att"
    path.write_text("0 1 a\n1 0 a\n0\n")
    assert f"nerode explain {path} -o page.html" in run("check", str(path), "--arch", "lstm").out.replace(
        "\n", ""
    )
    shown = run("check", "H (b -> Y a)", "--ltl", "--alphabet", "ab", "--arch", "lstm").out
    assert 'nerode explain "H (b -> Y a)" --ltl --alphabet ab -o page.html' in shown


def test_verdicts_come_as_tables_for_papers():
    asked = ("parity", "tomita-1", "--arch", "mamba,lstm")
    latex = run("check", *asked, "--as", "tex").out
    assert r"parity & $\times$ & $\checkmark$ \\" in latex
    assert r"tomita-1 & $\checkmark$ & $\checkmark$ \\" in latex
    assert latex.startswith("% needs \\usepackage{booktabs,amssymb}")
    assert "| parity | ✗ | ✓ |" in run("check", *asked, "--as", "md").out
    rows = list(csv.DictReader(io.StringIO(run("check", *asked, "--as", "csv").out)))
    assert len(rows) == 2 * 2 * 4
    assert {row["status"] for row in rows if row["sense"] == "finite-precision"} == {"yes", "no"}
    assert all(row["reference"] for row in rows if row["status"] != "open")
    assert run("check", *asked, "--as", "tex", "--json").code == 2
