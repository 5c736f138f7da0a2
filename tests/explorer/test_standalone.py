from __future__ import annotations

import base64
import re
from importlib import resources

from nerode.explorer.jobs import run_job
from nerode.explorer.standalone import MODULES, STYLES, bundle, read_static

_IMPORTED = re.compile(r'^import \{(.*?)\} from "\./(.*?)";$', re.MULTILINE)
_DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
_UNPACKED = re.compile(r"^const (?:\{|\[)", re.MULTILINE)


def test_every_module_is_listed_after_what_it_imports() -> None:
    files = {f.name for f in resources.files("nerode.explorer").joinpath("static").iterdir()}
    course = {"course.js", "course.css", "exercise.js"}
    assert files == {*MODULES, *STYLES, *course, "index.html", "icon.svg"} - {"page.css"}
    for number, name in enumerate(MODULES):
        text = read_static(name)
        assert len(re.findall("^import ", text, re.MULTILINE)) == len(_IMPORTED.findall(text))
        for names, source in _IMPORTED.findall(text):
            assert source in MODULES[:number]
            for imported in map(str.strip, names.split(",")):
                assert re.search(rf"^export .*\b{imported}\b", read_static(source), re.MULTILINE)


def test_no_name_is_declared_twice() -> None:
    names = [name for module in MODULES for name in _DECLARED.findall(read_static(module))]
    assert not any(_UNPACKED.search(read_static(module)) for module in MODULES)
    assert sorted(set(names)) == sorted(names)


def test_the_bundle_has_no_imports_left() -> None:
    program = bundle()
    assert "import " not in re.sub(r"//.*|`[^`]*`|\"[^\"]*\"", "", program)
    assert "\nexport " not in program


def test_answers_cannot_end_their_element() -> None:
    order = {"answers": {"x": {"name": "</script><script>alert(1)</script>"}}, "state": "text=%3Cb"}
    page = base64.b64decode(run_job("page", order)["file"]).decode()
    assert page.count("<script") == page.count("</script>") == 2
    assert "alert(1)" in page
    assert "\\u003c/script>" in page
    assert "default-src 'none'" in page.replace("&#x27;", "'")
