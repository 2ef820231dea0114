"""The walls of the house: who may import whom, and what may not be where it would do harm."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from faults.catalogue import VERBS
from harness.backends.table import BACKENDS
from harness.modes import MODES
from mqchaos.checkout import ROOMS
from scripts.markdown import too_wide

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 600


def sources() -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def test_import_contracts_hold() -> None:
    """Of ``[tool.importlinter]`` in pyproject.toml."""
    from importlinter.cli import lint_imports

    before = Path.cwd()
    os.chdir(ROOT)
    try:
        assert lint_imports(config_filename="pyproject.toml", no_cache=True) == 0
    finally:
        os.chdir(before)


REFERENCE = ROOT / "reference_impl"
KNOWS_DEFECTS = [REFERENCE / "defects", REFERENCE / "node.py", REFERENCE / "__main__.py"]


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted(REFERENCE.rglob("*.py"))
        if not any(path.is_relative_to(known) for known in KNOWS_DEFECTS)
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_broker_that_is_usable_alone_knows_of_no_planted_bug(path: Path) -> None:
    """Neither a parameter nor a flag nor a test for one: ``reference_impl/defects`` puts them in from outside."""
    from reference_impl.defects import DEFECTS

    text = path.read_text(encoding="utf-8")
    assert "defect" not in text
    assert [name for name in DEFECTS if name in text] == []


def hides(root: Path, name: str) -> bool:
    """Whether ``import name`` with *root* on the path finds a package or module there, whatever is installed."""
    spec = PathFinder.find_spec(name, [str(root)])
    return spec is not None and spec.loader is not None and spec.origin is not None


def test_the_folder_docker_hides_no_sdk(tmp_path: Path) -> None:
    """With a package there ``import docker`` would not find the Docker SDK any more, anywhere."""
    assert not hides(ROOT, "docker")
    (tmp_path / "docker").mkdir()
    assert not hides(tmp_path, "docker"), "a folder without Python gives way to what is installed"
    (tmp_path / "docker" / "__init__.py").touch()
    assert hides(tmp_path, "docker")


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_named_as_text(path: Path) -> None:
    """Installed it has another name: what must say it derives it from ``__name__`` or ``__package__``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    rooms = "|".join(ROOMS)
    assert [text for text in texts if re.search(rf"^({rooms})(\.[a-z_]+)*\.$|-m ({rooms})\b", text)] == []
    assert [text for text in texts if is_module(text)] == []


ASK_THE_TABLE = (*(room for room in ROOMS if room != "reference_impl"), "suites/chaos", "suites/conformance", "scripts")
"""In the reference ``release`` is a setting with two values."""


@pytest.mark.parametrize(
    "path",
    sorted(path for folder in ASK_THE_TABLE for path in (ROOT / folder).rglob("*.py")),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_no_code_compares_the_text_of_a_version(path: Path) -> None:
    """``5.10`` comes after ``5.9``, and what differs between releases stands in one table."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        compared = [*node.comparators, node.left] if isinstance(node, ast.Compare) else []
        called = node.args if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "startswith" else []
        found += [
            f"{path}:{part.lineno}"
            for part in (*compared, *called)
            if isinstance(part, ast.Constant) and is_version(part.value)
        ]
    assert found == []


HOMES_OF_NAMES = {
    ROOT / "checkers" / "history" / "effects.py": "verbs of histories that do not tell effects",
    ROOT / "harness" / "modes.py": "the table of modes",
}


def texts_of(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_code_names_no_mode_and_judges_by_no_verb(path: Path) -> None:
    """Effects, harms and the table of modes tell; whoever adds a verb or a mode touches one file and one row."""
    if path in HOMES_OF_NAMES:
        return
    texts = texts_of(path)
    assert texts & {*MODES} - {"dledger"} == set()  # DLedger's own is also the name of a kind of node
    if path.is_relative_to(ROOT / "checkers"):
        assert texts & set(VERBS) == set()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "checkers").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_who_is_master_is_not_read_off_a_name(path: Path) -> None:
    """:mod:`checkers.history.cluster` is asked."""
    if path.is_relative_to(ROOT / "checkers") and path.name != "cluster.py":
        assert not any(re.fullmatch(r"-[0-9]|namesrv-|client-", text) for text in texts_of(path))


def is_version(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"(rocketmq:)?[45]\.[0-9.]*", value) is not None


def is_module(text: str) -> bool:
    """Whether *text* is the dotted name of a module of a room."""
    if not re.fullmatch(rf"({'|'.join(ROOMS)})(\.[a-z_]+)+", text):
        return False
    path = ROOT / text.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_one_idea_with_a_first_screen(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES_MAX
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), f"{path} does not say what it is about"


def test_every_page_can_be_read_in_a_terminal() -> None:
    """``python -m scripts.markdown FILE`` wraps text; a long cell of a table wants to be a list."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    pages = [name for name in listed.stdout.splitlines() if not name.endswith("LICENSE.md")]
    assert len(pages) > 40
    found = {name: too_wide((ROOT / name).read_text(encoding="utf-8")) for name in pages if (ROOT / name).is_file()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_no_module_is_named_after_nothing() -> None:
    assert [path for path in sources() if path.stem in {"utils", "helpers", "common", "manager", "base", "misc"}] == []


@pytest.mark.parametrize("room", ["faults", "checkers", "harness"])
def test_nobody_compares_the_name_of_a_backend(room: str) -> None:
    """What follows from a backend is a property in its row (``harness/backends/table.py``)."""
    found = []
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            texts = {side.value for side in sides if isinstance(side, ast.Constant)}
            if texts & set(BACKENDS) and any("backend" in ast.unparse(side) for side in sides):
                found.append(f"{path}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize("room", ["faults", "checkers", "reference_impl", "harness"])
def test_randomness_is_always_somebodys_generator(room: str) -> None:
    """The module-level functions of ``random`` share one hidden generator: no run that uses them can be repeated."""
    found = []
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import) and any(alias.name == "random" for alias in node.names):
                found.append(f"{path}:{node.lineno}")
            if isinstance(node, ast.ImportFrom) and node.module == "random":
                found += [
                    f"{path}:{node.lineno}" for alias in node.names if alias.name not in ("Random", "SystemRandom")
                ]
    assert found == []


@pytest.mark.parametrize("room", ["faults", "checkers", "reference_impl", "harness"])
def test_sets_are_not_iterated(room: str) -> None:
    """Their order depends on PYTHONHASHSEED: a literal or ``set(…)`` call as the thing looped over is refused."""
    found = []
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            loops = [node.iter] if isinstance(node, ast.For | ast.comprehension) else []
            for loop in loops:
                is_call = isinstance(loop, ast.Call) and getattr(loop.func, "id", "") in ("set", "frozenset")
                if is_call or isinstance(loop, ast.Set | ast.SetComp):
                    found.append(f"{path}:{loop.lineno}")
    assert found == []


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("harness.cli", "numpy pandas pyarrow pyspark hypothesis docker asyncio yaml rich msgspec pytest"),
        ("checkers.runs.checks", "pandas pyspark hypothesis docker asyncio faults harness reference_impl"),
        ("faults.injector", "numpy pandas pyspark hypothesis docker asyncio checkers harness reference_impl"),
        ("harness.scenario_file", "numpy pandas pyarrow pyspark hypothesis docker asyncio"),
        ("results.dashboard", "pyspark pandas"),
    ],
)
def test_what_is_not_needed_is_not_loaded(module: str, absent: str) -> None:
    program = f"import sys, {module}\nprint(*sorted(set({absent.split()!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []
