"""The examples of the documentation run as they stand there, and print what stands below them."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from checkers import Dequeue, Enqueue, Outcome, Read, Swap, Write, check_queue, check_register, queue_of, register_of

PAGES = Path(__file__).resolve().parents[3] / "docs" / "checkers"
TEXT = "".join((PAGES / page).read_text(encoding="utf-8") for page in ("library.md", "entries.md"))
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", TEXT, re.DOTALL)


def test_there_are_four() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_an_example_prints_what_stands_below_it(code: str, printed: str) -> None:
    output = StringIO()
    with redirect_stdout(output):
        exec(compile(code, "example", "exec"), {"__name__": "example"})
    assert output.getvalue() == printed


def test_a_queue_from_a_list() -> None:
    sent = [Enqueue(1, 0, 1), Enqueue(2, 2, 3), Enqueue(9, 4, 5, refused=True)]
    assert check_queue(queue_of([*sent, Dequeue(1, 6, 7), Dequeue(2, 8, 9), Dequeue(None, 10, 11)])).holds
    lost = check_queue(queue_of([*sent, Dequeue(2, 6, 7)]))
    assert [(violation.kind, violation.ops) for violation in lost.violations] == [("lost-overtaken", (0, 1, 3))]
    assert check_queue(queue_of([*sent, Dequeue(None, 4), Dequeue(2, 6, 7)])).holds  # it may have taken the first
    assert check_queue(queue_of([*sent, Dequeue(9, 6, 7)])).outcome is Outcome.FAIL


def test_a_register_from_a_list() -> None:
    first = [Read(None, 0, 1), Write(1, 2, 3), Swap(1, 2, 4)]
    assert check_register(register_of([*first, Swap(1, 3, 5, 6, refused=True), Read(2, 7, 8)])).holds
    assert check_register(register_of([*first, Swap(1, 3, 5, 6), Read(2, 7, 8)])).outcome is Outcome.FAIL
