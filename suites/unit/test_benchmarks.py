"""The benchmarks work: each prints figures beside a yardstick, with its aim, and never ends in an error for being slow.

At tiny sizes, so no figure here means anything but that it was measured. Those that start brokers or Go programs are
left to ``python -m benchmarks``.
"""

from __future__ import annotations

from importlib import import_module

import pytest

from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.figure import Figure

SMALL = ("command_line", "recorder", "simulator", "runs")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_benchmark_is_a_module_that_says_what_it_asks(name: str) -> None:
    module = import_module(f"benchmarks.{name}")
    assert callable(module.measure)
    assert "?" in str(module.__doc__).partition("\n\n")[0]


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_yields_positive_figures_beside_its_yardstick(name: str) -> None:
    figures = list(import_module(f"benchmarks.{name}").measure(True))
    assert figures
    assert all(figure.value > 0 and figure.unit for figure in figures)
    assert figures[0].ratio == 1.0, "the yardstick comes first"
    assert any(figure.aim for figure in figures), "every benchmark has something that was aimed at"


def test_the_command_prints_machine_load_and_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "recorder"]) == 0
    printed = capsys.readouterr().out
    assert "Python 3." in printed
    assert "load " in printed
    assert "record into a file" in printed
    assert "× json.dumps" in printed
    assert "aim" not in printed, "at tiny sizes no aim is judged"


def test_an_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["recorders"])
    assert stopped.value.code == 2
    assert "no benchmark recorders" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("figure", "is_met", "words"),
    [
        (Figure("a", 1234.5, "s/s", at_least=1000), True, "1,234 s/s          "),
        (Figure("a", 999.9, "s/s", at_least=1000), False, "aim ≥ 1,000: MISSED"),
        (Figure("a", 99, "ms", at_most=100), True, "aim ≤ 100: met"),
        (Figure("a", 101, "ms", at_most=100), False, "aim ≤ 100: MISSED"),
        (Figure("a", 2.5, "x", 0.25, "b"), None, "0.25 × b"),
        (Figure("a", 2.5, "x", note="of three"), None, "\n      of three"),
    ],
)
def test_a_row_says_figure_ratio_and_aim(figure: Figure, is_met: bool | None, words: str) -> None:
    assert figure.is_met is is_met
    assert words in figure.line()
