"""A NameServer and the brokers of a DLedger group on any backend, each of them to be talked to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.backends.backend import Backend, NodeSpec
from reference_impl.dledger.codes import Code as MemberCode
from reference_impl.dledger.codes import PushType, RpcCode
from reference_impl.dledger.entry import Entry, decode_record
from reference_impl.dledger.messages import GetRequest, GetResponse, Message, PushResponse, decode, encode, push
from reference_impl.environment import SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, encode_frame
from reference_impl.wire.message import decode_record as decode_message
from suites.conformance.broker.backend_peer import Talker
from suites.conformance.broker.peer import create_topic, max_offset, send
from suites.conformance.replication.pair import SMALL_FILES, Pair, View

GROUP = "broker-a"
MEMBER_PORT = 40911
LEADER_WITHIN_NS = 60 * SECOND


class GroupOfBrokers(Pair):
    """Started, with a master in the route. Nodes are ``n0``, ``n1``, …"""

    def __init__(
        self, backend: Backend, *, size: int = 3, release: str = "4.9.7", defects: tuple[str, ...] = (), **more: str
    ) -> None:
        self.backend, self.release, self.defects = backend, release, defects
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        backend.on_event = self._event
        self.nodes = [f"n{number}" for number in range(size)]
        server = backend.host("namesrv-1")
        self.namesrv = f"{server}:9876"
        backend.add_node(NodeSpec("namesrv-1", "namesrv", {"bindAddress": server, "listenPort": "9876"}))
        for node in self.nodes:
            backend.add_node(NodeSpec(node, "broker", {**self._own(node), **more}, defects))
        addresses = {node: f"{backend.host(node)}:10911" for node in self.nodes} | {"namesrv": self.namesrv}
        addresses |= {f"{node}-member": f"{backend.host(node)}:{MEMBER_PORT}" for node in self.nodes}
        self.talker = Talker(addresses)
        self._opaque = 1000
        backend.add_client("client-1", self.talker)
        self.views = {node: View(self, node) for node in self.nodes}
        for node in ("namesrv-1", *self.nodes):
            self.start(node)
        self.until(lambda: all(self.is_up(node) for node in self.nodes))  # a member votes before its broker listens
        self.until(lambda: self.master_node() != "", LEADER_WITHIN_NS)

    def _own(self, node: str) -> dict[str, str]:
        host = self.backend.host(node)
        peers = ";".join(f"{name}-{self.backend.host(name)}:{MEMBER_PORT}" for name in self.nodes)
        return {
            "brokerName": GROUP,
            "brokerIP1": host,
            "namesrvAddr": self.namesrv,
            "release": self.release,
            "enableDLegerCommitLog": "true",
            "dLegerGroup": GROUP,
            "dLegerPeers": peers,
            "dLegerSelfId": node,
            "mappedFileSizeForEntryIndex": "65536",
            **SMALL_FILES,
        }

    # --- who is what ------------------------------------------------------------------------------------------------

    def route(self) -> Mapping[int, str]:
        """Broker id → node, as the NameServer has it; empty where it has nothing."""
        answer = self.ask(Command(Code.GET_BROKER_CLUSTER_INFO), "namesrv:", SECOND)
        table = parse_lenient(answer.body)["brokerAddrTable"] if answer is not None else {}
        by_address = {f"{self.backend.host(node)}:10911": node for node in self.nodes}
        addresses = table.get(GROUP, {}).get("brokerAddrs", {})
        return {int(number): by_address[address] for number, address in addresses.items()}

    def master_node(self) -> str:
        """The node with id 0 in the route; empty where there is none."""
        return self.route().get(0, "")

    def wait_for_master(self, *, other_than: str = "") -> str:
        """The next one; it answers."""
        self.until(lambda: self.master_node() not in ("", other_than), LEADER_WITHIN_NS)
        node = self.master_node()
        self.until(lambda: self.is_up(node), LEADER_WITHIN_NS)
        return node

    @property
    def leader(self) -> View:
        """The master."""
        return self.views[self.master_node()]

    def followers(self) -> list[str]:
        master = self.master_node()
        return [node for node in self.nodes if node != master]

    # --- messages ---------------------------------------------------------------------------------------------------

    def make_topic(self, topic: str) -> None:
        create_topic(self.leader, topic)

    def sent(self, topic: str, body: bytes) -> int:
        """The queue offset of a message that the master has acknowledged."""
        answer = send(self.leader, topic, body)
        assert answer.code == 0, answer
        return int(answer.fields["queueOffset"])

    def tell(self, node: str, topic: str, body: bytes) -> None:
        """A send whose answer nobody waits for."""
        fields = {"a": "PG", "b": topic, "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": self.views[node].now_ms(), "h": 0}
        fields |= {"i": "", "j": 0, "k": False, "m": False}
        request = Command(Code.SEND_MESSAGE_V2, ext_fields(**fields), body)
        self.write(f"{node}:told", encode_frame(request))

    def end_index(self, node: str) -> int:
        """The index of a member's last entry; −2 for one that says nothing. Every answer to a push tells it, also to
        one of a term long gone; only a leader of DLedger 0.3.2 is silent then, and is asked for entries."""
        ids = {"group": GROUP, "remote_id": node, "local_id": "probe", "leader_id": "probe", "term": 0}
        answer = self._ask_member(node, RpcCode.PUSH, push(PushType.COMMIT, **ids))
        return decode(PushResponse, answer.body).end_index if answer is not None else self._last_entry(node)

    def _last_entry(self, node: str) -> int:
        """By halving, of a leader; −2 for anybody else."""
        if not self._has_entry(node, 0):
            return -2
        there, missing = 0, 1
        while self._has_entry(node, missing):
            there, missing = missing, 2 * missing
        while missing - there > 1:
            middle = (there + missing) // 2
            there, missing = (middle, missing) if self._has_entry(node, middle) else (there, middle)
        return there

    def _has_entry(self, node: str, index: int) -> bool:
        request = GetRequest(group=GROUP, remote_id=node, local_id="probe", begin_index=index)
        answer = self._ask_member(node, RpcCode.GET, request)
        return answer is not None and decode(GetResponse, answer.body).code == MemberCode.SUCCESS

    def _ask_member(self, node: str, code: RpcCode, message: Message) -> Command | None:
        return self.ask(Command(code, body=encode(message)), f"{node}-member:", SECOND)

    def is_everywhere(self, topic: str, count: int) -> bool:
        """Every broker can serve *count* messages of queue 0."""
        return all(max_offset(self.views[node], topic) >= count for node in self.nodes)


# --- what lies on the disks of nodes that have stopped; real processes only -----------------------------------------


def member_files(brokers: GroupOfBrokers, node: str, into: Path) -> dict[str, bytes]:
    """The files of a member by path below its folder: ``currterm``, ``checkpoint``, ``data/…``, ``index/…``."""
    brokers.backend.collect(node, into / node)
    [folder] = into.rglob(f"{node}/**/dledger-{node}")
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def log_in_files(brokers: GroupOfBrokers, node: str, into: Path) -> list[Entry]:
    """As far as each entry follows the one before it: what a truncation left behind that is not of the log."""
    found: list[Entry] = []
    for data in (data for name, data in member_files(brokers, node, into).items() if name.startswith("data/")):
        at = 0
        while (entry := decode_record(data, at)) is not None:
            if found and (entry.index != found[-1].index + 1 or entry.term < found[-1].term):
                return found
            found.append(entry)
            at += entry.size
    return found


def bodies(log: Iterable[Entry], topic: str) -> list[bytes]:
    """Of the messages of *topic*."""
    return [message.body for message in map(decode_message, (entry.body for entry in log)) if message.topic == topic]
