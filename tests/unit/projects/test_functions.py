from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from statewright.projects.functions import CodeError, find_functions, function_files, pack

HANDLER = "def handler(event, context):\n    return event\n"


def written(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names_in(package: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        return archive.namelist()


@pytest.mark.parametrize(
    ("text", "handler"),
    [
        (HANDLER, "price.handler"),
        ("async def handler(event, context): ...", "price.handler"),
        ("def lambda_handler(event, context): ...", "price.lambda_handler"),
        ("def run(event, context): ...\nlambda_handler = run", "price.lambda_handler"),
        ("from other import run as handler", "price.handler"),
        ("def lambda_handler(e, c): ...\ndef handler(e, c): ...", "price.handler"),
        ("def run(event, context):\n    handler = 1", None),
        ("class Prices: handler = None", None),
    ],
)
def test_what_a_handler_is(tmp_path, text, handler):
    found = find_functions(written(tmp_path, functions__price_py=text)).functions
    assert {name: pack(source).handler for name, source in found.items()} == ({"price": handler} if handler else {})


def test_files_and_folders_are_functions_and_the_rest_goes_with_all_of_them(tmp_path):
    written(
        tmp_path, functions__price_py=HANDLER, functions__shared_py="RATE = 2", functions__words__one_py="ONE = 1",
        functions__report__app_py="from shared import RATE\ndef lambda_handler(e, c): ...",
        functions__report__parts__first_py="FIRST = 1", functions__report__template="text",
        functions___private_py=HANDLER, price_py=HANDLER, functions__notes="no module",
    )  # fmt: skip
    found = find_functions(tmp_path)
    common = ["_private.py", "shared.py", "words/one.py"]
    assert {name: sorted(source.files) for name, source in found.functions.items()} == {
        "price": sorted([*common, "price.py"]),
        "report": sorted([*common, "app.py", "parts/first.py", "template"]),
    }
    assert pack(found.functions["report"]).handler == "app.lambda_handler"
    assert names_in(pack(found.functions["price"]).zip) == sorted([*common, "price.py"])


@pytest.mark.parametrize("module", ["price", "lambda_function", "handler", "app", "main", "index"])
def test_where_a_folder_has_its_handler(tmp_path, module):
    source = find_functions(written(tmp_path, **{f"functions__price__{module}_py": HANDLER})).functions["price"]
    assert pack(source).handler == f"{module}.handler"


def test_the_same_files_make_the_same_package(tmp_path):
    source = find_functions(written(tmp_path, functions__price_py=HANDLER)).functions["price"]
    first = pack(source)
    source.path.touch()
    assert pack(source).sha256 == first.sha256
    source.path.write_text(HANDLER + "\n")
    assert pack(source).sha256 != first.sha256


def test_two_of_one_name(tmp_path):
    written(tmp_path, a__functions__price_py=HANDLER, b__functions__price_py=HANDLER)
    found = find_functions(tmp_path)
    assert found.functions["price"].path == tmp_path / "a/functions/price.py"
    assert found.clashes == {tmp_path / "b/functions/price.py": tmp_path / "a/functions/price.py"}


def test_names_are_made_fit(tmp_path):
    written(tmp_path, **{"functions__grüße sagen_py": HANDLER, "functions__" + "x" * 70 + "_py": HANDLER})
    assert sorted(find_functions(tmp_path).functions) == ["gr--e-sagen", "x" * 64]


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("price_py", "def handler(event, context:\n", 1),
        ("price_py", "x = 1\nlambda_handler = (", 2),
        ("price_py", HANDLER + "return 1\n", 3),
        ("shared_py", "x = \n", 1),
    ],
)
def test_what_is_not_python_is_told_with_its_line(tmp_path, file, text, line):
    written(tmp_path, functions__price_py=HANDLER, functions__shared_py="x = 1")
    written(tmp_path, **{f"functions__{file}": text})
    with pytest.raises(CodeError) as caught:
        pack(find_functions(tmp_path).functions["price"])
    assert (caught.value.path, caught.value.line) == (tmp_path / "functions" / file.replace("_py", ".py"), line)


def test_a_handler_that_is_gone(tmp_path):
    source = find_functions(written(tmp_path, functions__price_py=HANDLER)).functions["price"]
    source.path.write_text("x = 1")
    with pytest.raises(CodeError, match="defines none of handler and lambda_handler"):
        pack(source)


def test_hidden_and_installed_files_are_nobodys(tmp_path):
    written(tmp_path, functions__price_py=HANDLER, other__price_py=HANDLER)
    for name in (".venv/functions/a.py", "functions/__pycache__/price.pyc", "functions/.price.py.swp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(HANDLER)
    assert function_files(tmp_path) == [tmp_path / "functions/price.py"]
    assert function_files(tmp_path / "functions") == [tmp_path / "functions/price.py"]
