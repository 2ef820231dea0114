"""The dialogue ``member-rpcs``: who speaks a group's own protocol to each of its members.

Question: does every member of a group answer as its role, term and log say, and does it refuse what is not for it?

Model. The operator reaches the port at which members speak to each other, and asks as a client, as a member that it is
not, and as an administrator. What must be answered is what DLedger's own members were seen to answer; a round:

    who leads     METADATA: the same list and leader from all; a HEART_BEAT under no member's name tells the term
    misdirected   every request under another group's name, or to another member: refused, with what it said
    log           APPEND: a message of the round's topic; GET gives its entry and those before it, each behind the one
                  before; who reads the topic gets the message, in its place
    votes         VOTE: under no member's name, with too short a log, too old a term; of two candidates of one term at
                  most one gets the vote, and nothing of all this raises a term
    heart beats   from nobody, from itself, from an old term, from the leader
    pushes        COMMIT tells the extent of the log; COMPARE whether an entry is there; APPEND and TRUNCATE of an old
                  term take nothing away; what lies behind a gap is refused within two seconds
    handed over   LEADERSHIP_TRANSFER: refused by who does not lead, to nobody, of an old term; a member that waits for
                  an entry that never comes gives up; then a follower gets it, and all name it, under the next term

Limits. One group, no faults: the leader must stay who it is until it hands over. Only answers that DLedger 0.3 and a
strict member give alike: nothing is asked about entries that are not committed. One request at a time, so never two
pushes of one index.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from faults.selectors import Node
from harness.cluster import MEMBER_PORT
from harness.workloads.dialogues import SOON_NS, Ask, Dialogue, DialoguePart, Rest, Tell
from harness.workloads.orders import Desk
from harness.workloads.parts import PartHost
from reference_impl.dledger.codes import Code, RpcCode
from reference_impl.environment import MS, SECOND, Environment
from reference_impl.wire.frame import Command
from reference_impl.wire.message import Message, decode_record, encode_record

Told = Mapping[str, Any]

NOBODY: Final = "nobody"
HEAD_SIZE: Final = 48
FAR: Final = 1 << 40
"""An index that no log reaches."""
CHAIN: Final = 4
"""Entries that are read one after the other."""
READY_NS: Final = 30 * SECOND
"""Within which a group has its first leader."""
COPIED_NS: Final = 45 * SECOND
"""A follower copies topics every ten seconds, from whom it learned to be master when it registered, every thirty."""
GAP_NS: Final = 4 * SECOND
TRANSFER_NS: Final = 10 * SECOND
MOVED_NS: Final = 15 * SECOND
"""Within which a new leader serves the broker name, and NameServers say so."""
KINDS: Final[Mapping[RpcCode, Mapping[str, Any]]] = {
    RpcCode.METADATA: {},
    RpcCode.APPEND: {"index": -1, "pos": -1},
    RpcCode.GET: {"entries": []},
    RpcCode.VOTE: {"voteResult": "UNKNOWN"},
    RpcCode.HEART_BEAT: {},
    RpcCode.PUSH: {"beginIndex": 0, "count": 0, "endIndex": 0},
    RpcCode.LEADERSHIP_TRANSFER: {},
}
"""What the refusal of each says besides whom it was for."""
UNSERVED: Final = {51003: "SYSTEM_ERROR", 59999: "REQUEST_CODE_NOT_SUPPORTED"}
"""PULL is declared and not served; the other is of a later release."""
REJECTED: Final = "REJECT_ALREADY_HAS_LEADER"


def member_rpcs(host: PartHost) -> DialoguePart:
    """Operator ``member-rpcs``."""
    return DialoguePart(host, "member-rpcs", lambda env, number: _Round(host, env, number).steps())


class _Round:
    def __init__(self, host: PartHost, env: Environment, number: int) -> None:
        self._desk, self._env, stage = Desk(host, "members", number), env, host.stage
        self._group = self._desk.master.broker
        nodes = [Node.named(name) for name in stage.brokers]
        self._nodes = {f"n{node.number}": node.name for node in nodes if node.broker == self._group}
        self._peers = {id_: f"{stage.backend.host(node)}:{MEMBER_PORT}" for id_, node in self._nodes.items()}
        self._leader, self._term = "", -1
        self._entry: dict[str, Any] = {}

    def steps(self) -> Dialogue:
        yield from self._who_leads(READY_NS)
        yield from self._misdirected()
        yield from self._log()
        for member in self._peers:
            yield from self._votes(member)
            yield from self._heart_beats(member)
            yield from self._pushes(member)
        yield from self._refused_transfers()
        yield from self._handed_over()

    @property
    def _followers(self) -> list[str]:
        return [id_ for id_ in self._peers if id_ != self._leader]

    def _ask(
        self,
        name: str,
        member: str,
        code: int,
        fields: Told,
        must: Any,
        read: Callable[[Told], Any] | None = None,
        *,
        within_ns: int = 0,
        orders: bool = False,
        timeout_ns: int = SOON_NS,
    ) -> Ask:
        """One request to *member*; without *read* ``must`` is what its answer has, ``None`` for what it has not."""
        base = {"group": self._group, "remoteId": member, "localId": "operator", "code": 200, "term": self._term}
        request = Command(code, body=msgspec.json.encode({**base, **fields}))
        reader = read or (lambda told: {key: told.get(key) for key in must})
        node, address = self._nodes[member], self._peers[member]

        def shown(answer: Command) -> Any:
            return reader(msgspec.json.decode(answer.body))

        return Ask(
            name, node, address, request, must, shown, within_ns, orders, timeout_ns=timeout_ns, success=Code.SUCCESS
        )

    # Who leads -------------------------------------------------------------------------------------------------------

    def _who_leads(self, within_ns: int) -> Dialogue:
        first, *others = self._peers

        def known(told: Told) -> list[Any]:
            return [told["peers"], told.get("leaderId") in self._peers, told["term"]]

        must = [self._peers, True, -1]
        answer = yield self._ask("who leads", first, RpcCode.METADATA, {}, must, known, within_ns=within_ns)
        self._leader = msgspec.json.decode(answer.body)["leaderId"]
        for member in others:
            yield self._names_leader(member)
        answer = yield self._ask(
            "the term", self._leader, RpcCode.HEART_BEAT, {"leaderId": NOBODY}, [401, True], _refused_beat
        )
        self._term = msgspec.json.decode(answer.body)["term"]

    def _names_leader(self, member: str, within_ns: int = SOON_NS) -> Ask:
        must = {"code": 200, "group": self._group, "leaderId": self._leader, "peers": self._peers, "term": -1}
        return self._ask("who leads", member, RpcCode.METADATA, {}, must, within_ns=within_ns)

    # Misdirected -----------------------------------------------------------------------------------------------------

    def _misdirected(self) -> Dialogue:
        for member in self._peers:
            for kind, more in KINDS.items():
                fields = {"type": "COMMIT", "leaderId": self._leader} if kind == RpcCode.PUSH else {}
                for wrong, code in (
                    ({"group": NOBODY}, Code.UNKNOWN_GROUP),
                    ({"remoteId": NOBODY}, Code.UNKNOWN_MEMBER),
                    ({"group": NOBODY, "remoteId": NOBODY}, Code.UNKNOWN_MEMBER),
                ):
                    said = {"group": self._group, "remoteId": member, "localId": "operator", **wrong}
                    must = {**said, "code": code, "term": self._term, "leaderId": self._leader, **more}
                    yield self._ask(f"{kind.name} that is not for it", member, kind, {**fields, **wrong}, must)
            for number, refusal in UNSERVED.items():
                yield self._ask(f"request {number}", member, number, {}, refusal)

    # The log ---------------------------------------------------------------------------------------------------------

    def _log(self) -> Dialogue:
        yield self._at_master(self._desk.make_topic(1))
        for follower in self._followers:
            yield self._at(follower, self._desk.topic_is_known(True), COPIED_NS)
        for number in range(2):
            yield from self._appended(number)
        for follower in self._followers:
            must = {"code": Code.NOT_LEADER, "leaderId": self._leader, "index": -1, "pos": -1, "term": self._term}
            body = {"body": _text(self._message(0))}
            yield self._ask("append at a follower", follower, RpcCode.APPEND, body, must)
            must = {"code": Code.NOT_LEADER, "leaderId": self._leader, "entries": []}
            yield self._ask("read at a follower", follower, RpcCode.GET, {"beginIndex": 0}, must)
        for index in (-1, FAR):
            must = {"code": Code.INDEX_OUT_OF_RANGE, "entries": []}
            yield self._ask("read where nothing is", self._leader, RpcCode.GET, {"beginIndex": index}, must)
        body = {"body": _text(b"too short for a place")}
        yield self._ask("append too short a message", self._leader, RpcCode.APPEND, body, "SYSTEM_ERROR")
        yield from self._chain()
        yield self._at_master(
            self._desk.pull([f"{self._desk.topic} {number}" for number in range(2)], within_ns=SOON_NS)
        )

    def _at_master(self, ask: Ask) -> Ask:
        """*ask* at the broker that the leader is."""
        return self._at(self._leader, ask, ask.within_ns)

    def _at(self, member: str, ask: Ask, within_ns: int) -> Ask:
        node = self._nodes[member]
        return replace(ask, node=node, address=self._desk.stage.brokers[node], within_ns=within_ns)

    def _message(self, number: int) -> bytes:
        host, now = self._desk.stage.brokers[self._nodes[self._leader]], self._env.wall()
        text = f"{self._desk.topic} {number}".encode()
        message = Message(topic=self._desk.topic, queue_id=0, body=text, queue_offset=number)
        message.born_host = message.store_host = host
        message.born_timestamp = message.store_timestamp = now
        return encode_record(message)

    def _appended(self, number: int) -> Dialogue:
        data, after = self._message(number), self._entry.get("index", -1)
        must = {"code": 200, "group": self._group, "leaderId": self._leader, "term": self._term, "after": True}

        def placed(told: Told) -> dict[str, Any]:
            is_after = told["index"] > after and told["pos"] >= self._entry.get("pos", 0)
            return {key: told.get(key) for key in must} | {"after": is_after}

        answer = yield self._ask(
            "append a message", self._leader, RpcCode.APPEND, {"body": _text(data)}, must, placed, orders=True
        )
        told = msgspec.json.decode(answer.body)
        zeros = {"bodyCrc": 0, "chainCrc": 0, "channel": 0, "magic": 1}
        entry = {**zeros, "index": told["index"], "pos": told["pos"], "size": HEAD_SIZE + len(data), "term": self._term}
        own = [self._desk.topic, 0, number, told["pos"] + HEAD_SIZE, f"{self._desk.topic} {number}"]

        def read(told: Told) -> list[Any]:
            (found,) = told["entries"]
            return [{key: found[key] for key in entry}, _record(found), told["code"]]

        answer = yield self._get(told["index"], [entry, own, 200], read)
        self._entry = msgspec.json.decode(answer.body)["entries"][0]

    def _get(self, index: int, must: Any, read: Callable[[Told], Any]) -> Ask:
        return self._ask("read an entry", self._leader, RpcCode.GET, {"beginIndex": index}, must, read)

    def _chain(self) -> Dialogue:
        """Backwards from the last one: each ends where the next begins, or where a file does."""
        later = self._entry
        for index in range(later["index"] - 1, max(-1, later["index"] - CHAIN), -1):
            must = {"index": index, "joins": True, "whole": True}

            def read(told: Told, later: Told = later) -> dict[str, Any]:
                (found,) = told["entries"]
                joins = found["pos"] + found["size"] <= later["pos"] and found["term"] <= later["term"]
                whole = found["size"] == HEAD_SIZE + len(b64decode(found["body"]))
                return {"index": found["index"], "joins": joins, "whole": whole}

            answer = yield self._get(index, must, read)
            later = msgspec.json.decode(answer.body)["entries"][0]

    def _is_of_its_term(self, told: Told) -> bool:
        """It may have given its vote to anybody, or to nobody yet."""
        return told["voteResult"] in ("ACCEPT", REJECTED) and told["term"] == self._term

    # Votes and heart beats -------------------------------------------------------------------------------------------

    def _vote(self, name: str, member: str, candidate: str, must: Any, read: Any = None, **fields: Any) -> Ask:
        long = {"ledgerEndIndex": FAR, "ledgerEndTerm": self._term}
        if read is None:
            must = {"code": 200, "group": self._group, "voteResult": must, "term": self._term, "leaderId": candidate}
            must |= {"localId": "operator", "remoteId": member}
        return self._ask(name, member, RpcCode.VOTE, {"leaderId": candidate, **long, **fields}, must, read)

    def _votes(self, member: str) -> Dialogue:
        one, other = (id_ for id_ in self._peers if id_ != member)
        high = self._term + 9
        yield self._vote("vote for nobody", member, NOBODY, "REJECT_UNKNOWN_LEADER", term=high)
        yield self._vote("vote for itself", member, member, "REJECT_UNEXPECTED_LEADER", term=high)
        old = {"ledgerEndTerm": self._term - 1, "term": high}
        yield self._vote("vote for an old log", member, one, "REJECT_EXPIRED_LEDGER_TERM", **old)
        short = {"ledgerEndIndex": self._entry["index"] - 1, "term": high}
        yield self._vote("vote for a short log", member, one, "REJECT_SMALL_LEDGER_END_INDEX", **short)
        yield self._vote("vote of an old term", member, one, "REJECT_EXPIRED_VOTE_TERM", term=self._term - 1)
        answer = yield self._vote("vote of its term", member, one, True, self._is_of_its_term)
        if msgspec.json.decode(answer.body)["voteResult"] == "ACCEPT":
            yield self._vote("a second vote of its term", member, other, REJECTED)
            yield self._vote("the same vote again", member, one, "ACCEPT")
        else:
            yield self._vote("a vote of its term that it refused", member, one, REJECTED)

    def _heart_beats(self, member: str) -> Dialogue:
        for name, leader, term, must in (
            ("heart beat of nobody", NOBODY, self._term, [401, self._term]),
            ("heart beat of its own", member, self._term, [402, self._term]),
            ("heart beat of an old term", self._other_than(member), self._term - 1, [403, self._term]),
        ):
            yield self._beat(name, member, leader, term, must)
        if member != self._leader:
            yield self._beat("heart beat of its leader", member, self._leader, self._term, [200, -1])

    def _other_than(self, member: str) -> str:
        return next(id_ for id_ in self._peers if id_ != member)

    def _beat(self, name: str, member: str, leader: str, term: int, must: list[int]) -> Ask:
        fields = {"leaderId": leader, "term": term}
        return self._ask(name, member, RpcCode.HEART_BEAT, fields, must, lambda told: [told["code"], told["term"]])

    # Pushes ----------------------------------------------------------------------------------------------------------

    def _push(self, name: str, member: str, kind: str, must: Any, read: Any = None, **fields: Any) -> Ask:
        base = {"type": kind, "batch": False, "batchEntry": [], "leaderId": self._leader, "commitIndex": -1}
        within_ns, timeout_ns = fields.pop("within_ns", 0), fields.pop("timeout_ns", SOON_NS)
        return self._ask(
            name,
            member,
            RpcCode.PUSH,
            {**base, **fields},
            must,
            read,
            within_ns=within_ns,
            timeout_ns=timeout_ns,
        )

    def _pushes(self, member: str) -> Dialogue:
        entry, old = self._entry, self._term - 1
        if member == self._leader:
            for kind, entries in (("COMMIT", {}), ("COMPARE", {"entry": entry}), ("TRUNCATE", {"entry": entry})):
                must = {"code": Code.NOT_FOLLOWER, "term": old, "group": self._group, "count": len(entries)}
                yield self._push(f"{kind} at the leader", member, kind, must, term=old, **entries)
            return
        must = {"code": 200, "beginIndex": 0, "reaches": True, "count": 0, "index": None, "term": old}
        yield self._push(
            "how far its log goes",
            member,
            "COMMIT",
            must,
            lambda told: {key: told.get(key) for key in must} | {"reaches": told["endIndex"] >= entry["index"]},
            term=old,
            within_ns=SOON_NS,
        )
        yield from self._compared(member)
        refused = {"code": Code.INCONSISTENT_STATE, "index": entry["index"], "count": 1, "term": old}
        for kind in ("TRUNCATE", "APPEND"):
            changed = {**entry, "body": _text(b64decode(entry["body"])[::-1])}
            name = f"{kind} of an old term"
            yield self._push(name, member, kind, refused, term=old, entry=changed, within_ns=GAP_NS)
        yield self._is_there("an entry after all this", member, entry, 200)
        gap = {**entry, "index": FAR + self._env.rng.randrange(FAR), "pos": FAR}
        must = {"code": Code.INCONSISTENT_STATE, "index": gap["index"], "count": 1, "term": self._term}
        yield self._push("an entry behind a gap", member, "APPEND", must, entry=gap, timeout_ns=GAP_NS)

    def _is_there(self, name: str, member: str, entry: Told, code: int) -> Ask:
        must = {"code": code, "index": entry["index"], "count": 1, "beginIndex": 0, "term": self._term}
        return self._push(name, member, "COMPARE", must, entry=entry)

    def _compared(self, member: str) -> Dialogue:
        entry = self._entry
        yield self._is_there("an entry that it has", member, entry, 200)
        body = b64decode(entry["body"])
        for name, change in (
            ("another body", {"body": _text(body[:-1] + bytes([body[-1] ^ 1]))}),
            ("another term", {"term": entry["term"] - 1}),
            ("another place", {"pos": entry["pos"] + 1}),
            ("another index", {"index": entry["index"] - 1}),
        ):
            yield self._is_there(f"an entry with {name}", member, {**entry, **change}, Code.INCONSISTENT_STATE)
        yield self._is_there("an entry that nobody has", member, {**entry, "index": FAR}, Code.INCONSISTENT_STATE)

    # Handed over -----------------------------------------------------------------------------------------------------

    def _transfer(self, name: str, member: str, giver: str, taker: str, must: Told, **fields: Any) -> Ask:
        given = {"transferId": giver, "transfereeId": taker, "takeLeadershipLedgerIndex": self._entry["index"]}
        return self._ask(
            name,
            member,
            RpcCode.LEADERSHIP_TRANSFER,
            {**given, **fields},
            must,
            orders="code" in must and must["code"] == 200,
            timeout_ns=TRANSFER_NS,
        )

    def _refused_transfers(self) -> Dialogue:
        leader, (one, other) = self._leader, self._followers[:2]
        unexpected = {"code": Code.UNEXPECTED_ARGUMENT, "term": self._term}
        yield self._transfer("hand over for the leader", one, leader, other, unexpected)
        yield self._transfer("hand over to nobody", leader, leader, NOBODY, {"code": Code.UNKNOWN_MEMBER})
        wrong_term = {"code": Code.INCONSISTENT_TERM}
        yield self._transfer("hand over in an old term", leader, leader, one, wrong_term, term=self._term - 1)
        no_leader = {"code": Code.INCONSISTENT_LEADER, "leaderId": leader}
        yield self._transfer("take over from a follower", one, other, one, no_leader)
        late = {"code": Code.TAKE_LEADERSHIP_FAILED}
        far = {"takeLeadershipLedgerIndex": FAR}
        yield self._transfer("take over with a log that nobody has", one, leader, one, late, **far)
        for member in self._peers:
            yield self._names_leader(member, 0)

    def _handed_over(self) -> Dialogue:
        old, new = self._leader, self._env.rng.choice(self._followers)
        must = {"code": 200, "term": self._term + 1}
        yield Tell("hands_over", self._nodes[old])
        yield self._transfer("hand over", old, old, new, must)
        self._leader, self._term = new, self._term + 1
        for member in self._peers:
            yield self._names_leader(member)
        for member in self._peers:
            yield self._beat("heart beat of nobody", member, NOBODY, self._term, [401, self._term])
        must_not = {"code": Code.NOT_LEADER, "leaderId": new, "entries": []}
        yield self._ask("read at the old leader", old, RpcCode.GET, {"beginIndex": 0}, must_not)
        yield Rest(500 * MS)
        yield from self._appended(2)
        bodies = [f"{self._desk.topic} {number}" for number in range(3)]
        yield self._at_master(self._desk.pull(bodies, within_ns=MOVED_NS))


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _refused_beat(told: Told) -> list[Any]:
    return [told["code"], told["term"] >= 0]


def _record(entry: Told) -> list[Any]:
    """Topic, queue, offset, place and text of the message that *entry* has."""
    record = decode_record(b64decode(entry["body"]))
    return [record.topic, record.queue_id, record.queue_offset, record.physical_offset, record.body.decode()]
