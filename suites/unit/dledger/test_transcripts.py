"""Transcripts of whole groups: a command, ``----``, and what was seen. ``transcripts/*.txt``; to rewrite them:

    MQCHAOS_REWRITE=1 python -m pytest suites/unit/dledger/test_transcripts.py

Commands: ``group [size] [option=value]``, ``run MS``, ``start [members]``, ``kill MEMBER``, ``isolate MEMBER``,
``one-way FROM TO``, ``heal``, ``append MEMBER BODY`` (a client's), ``propose MEMBER BODY…`` (the process' own), ``get
MEMBER INDEX``, ``transfer FROM TO``, ``trace on|off`` (requests → and answers ⇢), ``state``. Times are seconds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from suites.unit.dledger.group import Group

FILES = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


class Session:
    """One transcript being played."""

    def __init__(self) -> None:
        self.group = Group()

    def play(self, command: str) -> list[str]:
        verb, *words = command.split()
        self.group.said.clear()
        getattr(self, f"_{verb.replace('-', '_')}")(*words)
        return [line.strip() for line in self.group.said] or ["ok"]

    def _group(self, *words: str) -> None:
        size = int(words[0]) if words and words[0].isdigit() else 3
        options: dict[str, Any] = {}
        for word in words:
            name, is_option, value = word.partition("=")
            if is_option:
                options[name] = tuple(value.split(",")) if name == "preferred" else value == "true"
        self.group = Group(size, **options)
        self.group.start()

    def _run(self, ms: str) -> None:
        self.group.run(int(ms))

    def _start(self, *names: str) -> None:
        self.group.start(*names)

    def _kill(self, name: str) -> None:
        self.group.kill(name)

    def _isolate(self, name: str) -> None:
        self.group.isolate(name)

    def _one_way(self, source: str, target: str) -> None:
        self.group.cut.add((source, target))

    def _heal(self) -> None:
        self.group.heal()

    def _append(self, name: str, body: str) -> None:
        self.group.append(name, body.encode())

    def _propose(self, name: str, *bodies: str) -> None:
        self.group.propose(name, *[body.encode() for body in bodies])

    def _get(self, name: str, index: str) -> None:
        self.group.get(name, int(index))

    def _transfer(self, source: str, target: str) -> None:
        self.group.transfer(source, target)

    def _trace(self, switch: str) -> None:
        self.group.is_tracing = switch == "on"

    def _state(self) -> None:
        for name, node in self.group.nodes.items():
            member = node.member
            log = " ".join(f"{entry.body.decode() or '·'}/{entry.term}" for entry in node.log.entries)
            role = member.role if node.is_up else "down"
            self.group.said.append(f"{name} {role} term {member.term} committed {member.committed} log {log or '-'}")


def played(text: str) -> str:
    """The transcript with what is seen now."""
    session, parts = Session(), []
    for block in text.strip("\n").split("\n\n"):
        lines = block.split("\n")
        if lines[0].startswith("#"):
            parts.append(block)
            continue
        command = lines[0]
        parts.append("\n".join([command, "----", *session.play(command)]))
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    text = path.read_text("utf-8")
    now = played(text)
    if os.environ.get("MQCHAOS_REWRITE"):
        path.write_text(now, "utf-8")
    assert now == path.read_text("utf-8")
