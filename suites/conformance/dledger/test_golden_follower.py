"""The requests that a real member was sent, sent to ours: the same answers, but for those that are a deviation.

``golden/dledger/4.9.7/fake_member_asks.jsonl`` in order of time: heart beats, votes, pushes and clients' requests to
n0, a follower of n1 in term 5, later a candidate in term 7. Times are virtual: a request waits for its answer as long
as it took, and two seconds more.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from reference_impl.dledger.events import Request
from reference_impl.dledger.messages import REQUESTS, Message, decode, encode
from reference_impl.dledger.settings import Settings
from reference_impl.wire.frame import decode_frame
from suites.conformance.golden_dledger import lines
from suites.unit.dledger.group import Group, Node

DEVIATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "append_gap_after_406": (
        {"code": 406},
        "a push refused behind a gap may come again; Apache answers REPEATED_PUSH to it for ever",
    ),
    "append_entry_of_older_term": (
        {"code": 406, "endIndex": 8},
        "terms along a log do not go down; Apache takes the entry, and its recovery cuts it off",
    ),
    "append_right_pos_after_wrong_pos": (
        {"code": 200, "endIndex": 10},
        "a push with a wrong position leaves no trace; Apache's store is stuck until the next TRUNCATE",
    ),
    "compare_after_wrong_pos": ({"endIndex": 10}, "the same"),
    "compare_after_truncate_and_restart": (
        {"endIndex": 7},
        "what was truncated stays away; Apache's comes back with a restart",
    ),
}
"""Name → (what our answer has instead, why)."""

FIRST_LINES = 4
"""Heart beats of term 5 until one is accepted: how often depends on when they come."""
AS_FOLLOWER = 81
"""Later lines ask a leader."""


def talk() -> Group:
    group = Group()
    for name in group.peers:
        peers = {f"n{n}": f"127.0.0.1:{22600 + n}" for n in range(3)}
        group.nodes[name] = Node(Settings(group="b", self_id=name, peers=peers))
    group.start("n0")
    return group


class Answers:
    """Asks n0 and waits."""

    def __init__(self) -> None:
        self.group = talk()

    def ask(self, line: dict[str, Any]) -> list[Message]:
        """Where the answer will be."""
        answers: list[Message] = []
        command = decode_frame(bytes.fromhex(line["request_hex"]))
        ref = -1 - len(self.group.on_reply) - int(self.group.now_ns)
        self.group.on_reply[ref] = answers.append
        self.group.happens("n0", Request(ref, decode(REQUESTS[line["code"]], command.body)))
        return answers

    def follow(self, heart_beat: dict[str, Any]) -> None:
        """Until n0 follows; before, it has not taken the term yet."""
        for _ in range(40):
            (answer,) = self.ask(heart_beat)
            if as_json(answer)["code"] == 200:
                return
            assert as_json(answer) == {"code": 416, "term": -1}
            self.group.run(100)
        raise AssertionError("never followed")

    def settle(self, ms: int) -> None:
        self.group.run(ms + 2000 if ms > 500 else 50)


def as_json(message: Message) -> Any:
    return json.loads(encode(message))


@pytest.mark.conformance("D06")
def test_a_follower_answers_as_a_real_one() -> None:
    asked = [line for line in lines("4.9.7/fake_member_asks.jsonl")[:AS_FOLLOWER] if line["code"] in REQUESTS]
    answers, seen = Answers(), set[str]()
    answers.follow(asked[0])
    rest = asked[FIRST_LINES:]
    again, gap = (
        next(i for i, line in enumerate(rest) if line["name"] == name) for name in ("append_gap_again", "append_gap")
    )
    rest[again], rest[gap] = rest[gap], rest[again]  # listed by the time of their answers
    waiting: list[tuple[dict[str, Any], list[Message]]] = []
    for line in rest:
        if line["name"] == "truncate_equal_below_end":
            # A committed entry is not truncated here: let nothing beyond entry 5 be committed, as after a restart of
            # Apache's with its last checkpoint.
            answers.group.nodes["n0"].member.committed = 5
        if line["name"] == "compare_after_truncate_and_restart":
            answers.group.kill("n0")
            answers.group.start("n0")
            answers.group.run(100)  # it votes for itself
            answers.follow(asked[0])
        waiting.append((line, answers.ask(line)))
        if line["name"] != "append_gap":
            answers.settle(3000 if line["name"].startswith("append_gap") else line["ms"])
            answers.ask(asked[0])  # the leader is alive
    for line, got in waiting:
        if line.get("no_answer"):
            assert got == []
            continue
        expected = line["answer"]
        if line["name"] in DEVIATIONS:
            seen.add(line["name"])
            expected = {**expected, **DEVIATIONS[line["name"]][0]}
            assert expected != line["answer"]
        assert [as_json(one) for one in got] == [expected], line["name"]
    assert seen == set(DEVIATIONS)
