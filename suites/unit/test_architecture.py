"""The walls of the house: who may import whom, and what may not be where it would do harm."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from itertools import chain
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
    assert texts & {*MODES} - {"dledger", "controller"} == set()  # both are also kinds of nodes
    assert [code for text, _, code in asked(path) if text in MODES and "mode" in code] == []
    if path.is_relative_to(ROOT / "checkers"):
        assert texts & set(VERBS) == set()


@cache
def asked(path: Path) -> tuple[tuple[str, int, str], ...]:
    """(text, line, code) of every text that the code in *path* compares with something, or looks for in a name."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        sides: list[ast.expr] = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in OF_NAMES:
            sides = node.args
        lists = [side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side] for side in sides]
        found += [
            (part.value, part.lineno, ast.unparse(node))
            for part in chain.from_iterable(lists)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
    return tuple(found)


OF_NAMES = ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "index", "find")
ASKING = (*(room for room in ROOMS if room not in ("reference_impl", "mqchaos")), "scripts")
HOMES_OF_VERBS = (ROOT / "faults" / "catalogue", ROOT / "checkers" / "history" / "effects.py")
HOMES_OF_NODES = (ROOT / "checkers" / "history" / "cluster.py", ROOT / "faults" / "selectors.py")


def asking() -> list[Path]:
    return sorted(path for room in ASKING for path in (ROOT / room).rglob("*.py"))


def names_a_verb(path: Path, text: str, code: str) -> bool:
    """An effect, a harm or a condition is asked for, never the verb that has it."""
    return text in VERBS and not any(path.is_relative_to(home) for home in HOMES_OF_VERBS)


def names_a_part_of_a_mode(path: Path, text: str, code: str) -> bool:
    """``"slave-sync" in mode``: what a mode has is a field of its row."""
    is_part = "-" in text.strip("-") and any(text in mode and text != mode for mode in MODES)
    return is_part and path not in HOMES_OF_NAMES


def names_a_backend(path: Path, text: str, code: str) -> bool:
    """What follows from a backend is a property in its row (``harness/backends/table.py``). A client's process is a
    column of histories."""
    return text in BACKENDS and (text != "process" or "backend" in code)


def reads_a_role_off_a_name(path: Path, text: str, code: str) -> bool:
    """The cluster over time (:mod:`checkers.history.cluster`) and ``Node.named`` tell who is what."""
    return re.fullmatch(r"-[0-9]|(namesrv|client)-|-(master|slave)", text) is not None and path not in HOMES_OF_NODES


RULES = [names_a_verb, names_a_part_of_a_mode, names_a_backend, reads_a_role_off_a_name]


@pytest.mark.parametrize("breaks", RULES, ids=lambda rule: rule.__name__)
def test_nobody_asks_for_a_name(breaks: Callable[[Path, str, str], bool]) -> None:
    found = [
        f"{path}:{line}: {code}" for path in asking() for text, line, code in asked(path) if breaks(path, text, code)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("breaks", "code"),
    [
        (names_a_verb, "fault == 'cut_power'"),
        (names_a_verb, "fault in ('kill', 'wipe')"),
        (names_a_verb, "fault.startswith('isolate')"),
        (names_a_part_of_a_mode, "'slave-sync' in mode"),
        (names_a_part_of_a_mode, "mode.endswith('-slave-async')"),
        (names_a_backend, "name != 'docker'"),
        (names_a_backend, "backend in ('sim', 'process')"),
        (reads_a_role_off_a_name, "node.endswith('-0')"),
        (reads_a_role_off_a_name, "node.startswith('namesrv-')"),
    ],
)
def test_who_asks_for_a_name_is_found(tmp_path: Path, breaks: Callable[[Path, str, str], bool], code: str) -> None:
    path = tmp_path / "planted.py"
    path.write_text(f"found = {code}\n")
    assert [text for text, _, told in asked(path) if breaks(path, text, told)]


@pytest.mark.parametrize("text", ["5.", "4.9.7", ":5", ":5.", "rocketmq:5.3.3", "rocketmq:4."])
def test_a_version_is_known_as_one(text: str) -> None:
    assert is_version(text)


def is_version(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"(rocketmq)?:?[45]\.[0-9.]*|(rocketmq)?:[45]", value) is not None


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
