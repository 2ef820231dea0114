"""The dialogues ``nameserver-tables`` and ``nameserver-entries``: what NameServers are told to keep for others.

Question: does a NameServer tell what it was told last, and nothing that was taken away?

Model. Each NameServer for itself: entries of a namespace of the round (100, 101, 102, 219), and one setting that only
matters to ordered topics (318, 319). NameServers do not know of each other: the next one has nothing of what one was
told.

Limits. Nothing of what brokers register.
"""

from __future__ import annotations

from typing import Any, Final

from harness.workloads.dialogues import Ask, Dialogue, DialoguePart
from harness.workloads.orders import Desk
from harness.workloads.parts import PartHost
from reference_impl.wire.bodies import KVTable
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command

SETTING: Final = "orderMessageEnable"
MISSING: Final = "QUERY_NOT_FOUND"


def tables(host: PartHost) -> DialoguePart:
    """Operator ``nameserver-tables``."""
    return DialoguePart(host, "nameserver-tables", lambda env, number: _Round(host, number).steps())


class _Round:
    def __init__(self, host: PartHost, number: int) -> None:
        self._desk, self._space, self._number = Desk(host, "entries", number), f"entries-{number}", number

    def steps(self) -> Dialogue:
        for server in self._desk.stage.nameservers:
            yield self._listed(server, MISSING)
            yield self._get(server, "a", MISSING)
            yield self._put(server, "a", "1")
            yield self._get(server, "a", "1")
            yield self._get(server, "b", MISSING)
            yield self._put(server, "b", "2")
            yield self._put(server, "a", "3")
            yield self._listed(server, {"a": "3", "b": "2"})
            yield self._delete(server, "a")
            yield self._get(server, "a", MISSING)
            yield self._listed(server, {"b": "2"})
            yield self._delete(server, "b")
            yield self._get(server, "b", MISSING)
            for text in ("true", "false"):
                body = f"{SETTING}={text}\n".encode()
                yield self._desk.ask(f"{SETTING}={text}", Code.UPDATE_NAMESRV_CONFIG, {}, body=body, of=server)
                yield self._desk.ask(SETTING, Code.GET_NAMESRV_CONFIG, {}, text, _setting, of=server)

    def _put(self, server: str, key: str, value: str) -> Ask:
        fields = {"namespace": self._space, "key": key, "value": value}
        return self._desk.ask(f"put {key}", Code.PUT_KV_CONFIG, fields, of=server)

    def _delete(self, server: str, key: str) -> Ask:
        return self._desk.ask(f"delete {key}", Code.DELETE_KV_CONFIG, {"namespace": self._space, "key": key}, of=server)

    def _get(self, server: str, key: str, must: Any) -> Ask:
        fields = {"namespace": self._space, "key": key}
        return self._desk.ask(
            f"the entry {key}", Code.GET_KV_CONFIG, fields, must, lambda answer: answer.fields["value"], of=server
        )

    def _listed(self, server: str, must: Any, space: str = "") -> Ask:
        return self._desk.ask(
            "all entries",
            Code.GET_KVLIST_BY_NAMESPACE,
            {"namespace": space or self._space},
            must,
            lambda answer: read_json(answer.body, KVTable).table,
            of=server,
        )


def _setting(answer: Command) -> str:
    lines = dict(line.split("=", 1) for line in answer.body.decode().splitlines() if "=" in line)
    return lines[SETTING]


def entries(host: PartHost) -> DialoguePart:
    """Operator ``nameserver-entries``."""
    return DialoguePart(host, "nameserver-entries", lambda env, number: _KeptRound(host, number).steps())


class _KeptRound(_Round):
    """Entries alone, of which each round leaves some, and looks at what the one before it has left."""

    def steps(self) -> Dialogue:
        for server in self._desk.stage.nameservers:
            if self._number:
                yield self._listed(server, {"kept": str(self._number - 1)}, f"entries-{self._number - 1}")
            for key in ("gone", "kept"):
                yield self._put(server, key, "first")
            yield self._put(server, "kept", str(self._number))
            yield self._delete(server, "gone")
            yield self._listed(server, {"kept": str(self._number)})
