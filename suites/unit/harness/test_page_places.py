"""Where a page goes: a file is replaced in one step, and what is no file stays what it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from harness.cli import main
from harness.pages import put

HISTORY = """\
{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
{:process 0, :type :invoke, :f :read, :value nil}
{:process 0, :type :ok, :f :read, :value 1}
"""


def into_a_pipe(write: Callable[[Path], object], place: Path) -> bytes:
    """What comes out of a named pipe that *write* was given as the place."""
    os.mkfifo(place)
    came: list[bytes] = []
    reader = Thread(target=lambda: came.append(place.read_bytes()))
    reader.start()
    write(place)
    reader.join(30)
    assert stat.S_ISFIFO(place.stat().st_mode), "it is what it was"
    return came[0]


def test_a_file_is_replaced_and_its_folder_made(tmp_path: Path) -> None:
    place = tmp_path / "new" / "page.html"
    assert put(place, "one") == place
    assert put(place, "two").read_text() == "two"
    assert list(place.parent.iterdir()) == [place]


def test_a_pipe_or_a_device_is_written_to(tmp_path: Path) -> None:
    assert into_a_pipe(lambda place: put(place, "page"), tmp_path / "pipe") == b"page"


def test_a_check_of_another_tools_history_leaves_a_pipe_in_its_place(tmp_path: Path) -> None:
    history = tmp_path / "history.edn"
    history.write_text(HISTORY)

    def check(place: Path) -> None:
        assert main(["check", str(history), "--model", "register", "--report", str(place)]) == 0

    assert into_a_pipe(check, tmp_path / "pipe").startswith(b"<!doctype html>")


def test_a_folder_is_no_place(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        put(tmp_path, "page")
