"""A signal may strike in the middle of a line; what its handler says must still get out."""

from __future__ import annotations

import io
import os
from typing import Any

import pytest

from harness.terminal import Terminal


class Struck(io.RawIOBase):
    """A stream whose every write is interrupted by a handler that has something to say."""

    def __init__(self, descriptor: int, handler_says: str) -> None:
        self.descriptor, self.handler_says = descriptor, handler_says
        self.terminal: Terminal | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.descriptor

    def write(self, data: Any, /) -> int:
        assert self.terminal is not None
        getattr(self.terminal, self.handler_says)("SIGTERM: no more runs begin")
        return os.write(self.descriptor, data)


def said(handler_says: str) -> str:
    """What comes out when a line is said and a handler interjects."""
    reader, writer = os.pipe()
    raw = Struck(writer, handler_says)
    err = io.TextIOWrapper(io.BufferedWriter(raw))
    raw.terminal = Terminal(err=err)
    try:
        raw.terminal.say("3/10 runs")
        return os.read(reader, 4096).decode()
    finally:
        err.detach().detach()
        os.close(reader)
        os.close(writer)


def test_a_handler_interjects_into_a_line() -> None:
    assert said("interject") == "SIGTERM: no more runs begin\n3/10 runs\n"


def test_a_buffer_does_not_bear_it() -> None:
    """Why there are two ways."""
    with pytest.raises(RuntimeError, match="reentrant"):
        said("say")


def test_where_there_is_no_file_it_is_said_as_usual() -> None:
    err = io.StringIO()
    Terminal(err=err).interject("Ctrl-C")
    assert err.getvalue() == "Ctrl-C\n"
