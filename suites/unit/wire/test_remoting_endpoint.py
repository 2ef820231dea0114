"""The endpoint of a role: what a call ends in, what a request gets, when a connection ends."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.wire import remoting
from reference_impl.wire.fields import RequestRefused, integer, text
from reference_impl.wire.frame import (
    ANSWER,
    BINARY,
    JSON,
    ONE_WAY,
    Command,
    FrameDecoder,
    RemoteWireError,
    encode_frame,
)
from reference_impl.wire.remoting import Answer, CallFailed, Remoting, handler_by_code
from suites.fake_environment import FakeEnvironment

ADDRESS = "10.0.0.2:10911"


class Node:
    """A role that is nothing but an endpoint; keeps what came of its calls and which links ended."""

    def __init__(self, **options: object) -> None:
        self.remoting = Remoting(self.handle, on_gone=lambda env, link: self.gone.append(link), **options)
        self.answers: list[Answer] = []
        self.gone: list[Link] = []
        self.requests: list[Command] = []
        self.env = FakeEnvironment(self)

    def handle(self, env: Environment, link: Link, request: Command) -> Command | None:
        self.requests.append(request)
        return handler_by_code(
            {
                1: lambda env, link, request: Command(0, {"echo": text(request, "say")}),
                2: lambda env, link, request: None,
                3: self._fail,
                4: lambda env, link, request: Command(0, {"n": 7}),  # an ext field that is no text
            }
        )(env, link, request)

    def _fail(self, env: Environment, link: Link, request: Command) -> Command:
        {"refused": _refuse, "garbage": _garbage}.get(request.fields.get("how", ""), _break)()
        raise AssertionError("unreachable")

    def on_connected(self, env: Environment, link: Link) -> None:
        self.remoting.on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        self.remoting.on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self.remoting.on_bytes(env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        assert self.remoting.on_timer(env, key)

    def call(self, timeout_ns: int = SECOND, **options: bool) -> int:
        return self.remoting.call(
            self.env, ADDRESS, Command(34), timeout_ns, lambda env, answer: self.answers.append(answer), **options
        )

    def sent(self, link: Link) -> list[Command]:
        return list(FrameDecoder().feed(self.env.take(link)))

    @property
    def kinds(self) -> list[str]:
        return [answer.kind for answer in self.answers if isinstance(answer, CallFailed)]


def _refuse() -> None:
    raise RequestRefused(16, "not you")


def _garbage() -> None:
    raise RemoteWireError("your body is no batch")


def _break() -> None:
    raise ValueError("our bug")


def answer_to(opaque: int, code: int = 0) -> bytes:
    return encode_frame(Command(code, opaque=opaque, flag=ANSWER))


@pytest.fixture
def node() -> Node:
    return Node()


def connected(node: Node) -> Link:
    """The first call's connection stands."""
    link, _ = node.env.connects[-1]
    node.env.establish(link)
    return link


# Calls ---------------------------------------------------------------------------------------------------------------


def test_a_call_gets_the_answer_of_its_opaque(node: Node) -> None:
    first, second = node.call(), node.call()
    link = connected(node)
    assert [command.opaque for command in node.sent(link)] == [first, second]
    node.env.deliver(link, answer_to(second, 22) + answer_to(first))
    assert [answer.code for answer in node.answers if isinstance(answer, Command)] == [22, 0]
    assert node.env.connects == [(link, ADDRESS)]


def test_nothing_leaves_before_the_connection_stands(node: Node) -> None:
    node.call()
    link, _ = node.env.connects[0]
    assert node.env.take(link) == b""


def test_a_refused_connection_fails_its_calls_as_never_sent(node: Node) -> None:
    node.call()
    node.call()
    node.env.hang_up(node.env.connects[0][0])
    assert node.kinds == ["connect", "connect"]
    node.call()
    assert len(node.env.connects) == 2


def test_a_call_whose_time_is_up_before_the_connection_is_never_sent(node: Node) -> None:
    node.call(500 * MS)
    node.env.advance(500 * MS)
    assert node.kinds == ["connect"]
    assert node.sent(connected(node)) == []


def test_a_connection_that_never_comes_is_given_up_after_three_seconds(node: Node) -> None:
    node.call(10 * SECOND)
    node.env.advance(2_999 * MS)
    assert node.kinds == []
    node.env.advance(1 * MS)
    assert (node.kinds, node.env.closed_by_role) == (["connect"], [node.env.connects[0][0]])


def test_a_lost_connection_fails_its_calls_as_unknown(node: Node) -> None:
    node.call()
    link = connected(node)
    node.env.hang_up(link)
    assert (node.kinds, node.gone) == (["closed"], [link])


def test_a_call_times_out_at_its_own_deadline(node: Node) -> None:
    node.call(300 * MS)
    node.call(100 * MS)
    connected(node)
    node.env.advance(99 * MS)
    assert node.kinds == []
    node.env.advance(1 * MS)
    assert node.kinds == ["timeout"]
    node.env.advance(200 * MS)
    assert node.kinds == ["timeout", "timeout"]


def test_a_late_answer_is_dropped_and_counted(node: Node) -> None:
    opaque = node.call(100 * MS)
    link = connected(node)
    node.env.advance(100 * MS)
    node.env.deliver(link, answer_to(opaque))
    assert (len(node.answers), node.remoting.unmatched_answers) == (1, 1)


def test_an_answer_on_another_link_is_not_ours(node: Node) -> None:
    opaque = node.call()
    connected(node)
    node.env.deliver(node.env.accept(), answer_to(opaque))
    assert (node.answers, node.remoting.unmatched_answers) == ([], 1)


def test_a_synchronous_call_takes_its_connection_with_it(node: Node) -> None:
    node.call(200 * MS)
    node.call(100 * MS, close_on_timeout=True)
    link = connected(node)
    node.env.advance(100 * MS)
    assert (node.kinds, node.env.closed_by_role) == (["timeout", "closed"], [link])


def test_one_timer_serves_any_number_of_calls(node: Node) -> None:
    connected_link = None
    before = node.env.timers_set
    for _ in range(1000):
        opaque = node.call()
        connected_link = connected_link or connected(node)
        node.env.deliver(connected_link, answer_to(opaque))
        node.env.advance(1 * MS)
    assert node.env.timers_set - before < 10
    node.env.advance(60 * SECOND)
    assert len(node.env.timers) == 1, "only the idle timer is left"


def test_an_answer_callback_may_call_again(node: Node) -> None:
    def again(env: Environment, answer: Answer) -> None:
        node.answers.append(answer)
        node.call()

    node.remoting.call(node.env, ADDRESS, Command(34), SECOND, again)
    node.env.hang_up(node.env.connects[0][0])
    assert (node.kinds, len(node.env.connects)) == (["connect"], 2)


def test_a_one_way_command_carries_its_flag(node: Node) -> None:
    node.remoting.oneway(node.env, ADDRESS, Command(15))
    (command,) = node.sent(connected(node))
    assert command.flag == ONE_WAY
    assert node.env.timers.keys() <= {("remoting", "deadline"), ("remoting", "idle")}


def test_the_peer_of_an_accepted_link_can_be_asked(node: Node) -> None:
    link = node.env.accept()
    opaque = node.remoting.call_link(node.env, link, Command(307), SECOND, lambda env, a: node.answers.append(a))
    node.remoting.oneway_link(node.env, link, Command(40))
    assert [command.code for command in node.sent(link)] == [307, 40]
    node.env.deliver(link, answer_to(opaque or 0))
    assert len(node.answers) == 1
    node.env.hang_up(link)
    assert node.remoting.call_link(node.env, link, Command(307), SECOND, lambda env, a: None) is None
    node.remoting.oneway_link(node.env, link, Command(40))
    assert node.env.take(link) == b""


# Requests ------------------------------------------------------------------------------------------------------------


def ask(node: Node, link: Link, code: int, flag: int = 0, serialization: int = JSON, **fields: str) -> list[Command]:
    node.env.deliver(link, encode_frame(Command(code, fields, flag=flag, opaque=9, serialization=serialization)))
    return node.sent(link)


@pytest.mark.parametrize("serialization", [JSON, BINARY])
def test_an_answer_repeats_opaque_and_serialization(node: Node, serialization: int) -> None:
    (answer,) = ask(node, node.env.accept(), 1, serialization=serialization, say="hi")
    assert (answer.opaque, answer.flag, answer.serialization) == (9, ANSWER, serialization)
    assert answer.fields == {"echo": "hi"}


def test_5_x_answers_in_json_whatever_was_asked() -> None:
    node = Node(answer_in_json=True)
    (answer,) = ask(node, node.env.accept(), 1, serialization=BINARY, say="hi")
    assert answer.serialization == JSON


def test_an_unknown_code_is_answered_with_3(node: Node) -> None:
    (answer,) = ask(node, node.env.accept(), 9999)
    assert (answer.code, answer.remark) == (3, " request type 9999 not supported")


@pytest.mark.parametrize(("code", "how"), [(1, "fine"), (3, "broken"), (3, "refused"), (9999, "unknown")])
def test_nothing_is_ever_answered_to_a_one_way_request(node: Node, code: int, how: str) -> None:
    assert ask(node, node.env.accept(), code, flag=ONE_WAY, say="hi", how=how) == []
    assert len(node.requests) == 1


def test_a_missing_field_is_the_peers_null_pointer(node: Node) -> None:
    (answer,) = ask(node, node.env.accept(), 1)
    assert answer.code == 1
    assert answer.remark is not None
    assert answer.remark.startswith("java.lang.NullPointerException")
    assert node.env.notes == []


def test_a_refusal_is_an_answer_and_no_failure(node: Node) -> None:
    (answer,) = ask(node, node.env.accept(), 3, how="refused")
    assert (answer.code, answer.remark, node.env.notes) == (16, "not you", [])


def test_garbage_in_a_body_is_answered_and_the_connection_stays(node: Node) -> None:
    link = node.env.accept()
    (answer,) = ask(node, link, 3, how="garbage")
    assert (answer.code, answer.remark, node.env.notes) == (1, "RemoteWireError: your body is no batch", [])
    assert node.remoting.owns(link)


def test_a_bug_of_ours_is_answered_and_noted_with_its_traceback(node: Node) -> None:
    (answer,) = ask(node, node.env.accept(), 3)
    assert answer.code == 1
    assert answer.remark is not None
    assert answer.remark.startswith("ValueError: our bug, test_remoting_endpoint.py:")
    (note,) = node.env.noted("handler_failed")
    assert note["code"] == 3
    assert "in _break" in note["traceback"][-1]
    assert all("/" not in line for line in note["traceback"])


def test_an_answer_that_cannot_be_written_is_a_bug_of_ours(node: Node) -> None:
    (answer,) = ask(node, node.env.accept(), 4)
    assert answer.code == 1
    assert "LocalWireError" in node.env.noted("handler_failed")[0]["error"]


def test_a_request_may_be_answered_later(node: Node) -> None:
    link = node.env.accept()
    assert ask(node, link, 2, serialization=BINARY) == []
    node.remoting.reply(node.env, link, node.requests[0], Command(19, {"minOffset": "0"}))
    (answer,) = node.sent(link)
    assert (answer.code, answer.opaque, answer.serialization) == (19, 9, BINARY)
    node.env.hang_up(link)
    node.remoting.reply(node.env, link, node.requests[0], Command(19))
    assert node.env.take(link) == b""


# Connections ---------------------------------------------------------------------------------------------------------


def test_a_bad_frame_closes_the_connection_without_a_word(node: Node) -> None:
    link = node.env.accept()
    good = encode_frame(Command(1, {"say": "hi"}, opaque=1))
    node.env.deliver(link, good + b"\x00\x00\x00\x04\x07\x00\x00\x00" + good)
    assert len(node.sent(link)) == 1
    assert (node.env.closed_by_role, node.gone) == ([link], [link])
    assert len(node.env.noted("bad_frame")) == 1
    node.env.deliver(link, good)
    assert len(node.requests) == 1


def test_what_comes_behind_a_request_that_closed_its_connection_is_not_served(node: Node) -> None:
    """The same chunk may hold both: who was shown the door is not asked in again."""
    link = node.env.accept()
    plain = node.remoting._handler
    node.remoting._handler = lambda env, link, request: (plain(env, link, request), node.remoting.close(env, link))[0]
    node.env.deliver(link, b"".join(encode_frame(Command(1, {"say": "hi"}, opaque=n)) for n in (1, 2)))
    assert [request.opaque for request in node.requests] == [1]


def test_a_tls_hello_closes_its_connection_and_no_other(node: Node) -> None:
    hello, other = node.env.accept(), node.env.accept()
    node.env.deliver(hello, b"\x16\x03\x01\x02\x00\x01")
    assert node.env.closed_by_role == [hello]
    assert len(ask(node, other, 1, say="hi")) == 1


def test_a_connection_without_traffic_is_closed_after_120_seconds(node: Node) -> None:
    quiet, busy = node.env.accept(), node.env.accept()
    node.env.advance(60 * SECOND)
    ask(node, busy, 1, say="hi")
    node.env.advance(59_999 * MS)
    assert node.gone == []
    node.env.advance(1 * MS)
    assert node.gone == [quiet]
    node.env.advance(60 * SECOND)
    assert node.gone == [quiet, busy]
    assert node.env.timers == {}


def test_writing_keeps_a_connection_alive(node: Node) -> None:
    link = node.env.accept()
    for _ in range(5):
        node.env.advance(60 * SECOND)
        node.remoting.oneway_link(node.env, link, Command(40))
    assert node.gone == []


def test_close_all_ends_every_link_and_call(node: Node) -> None:
    node.call()
    accepted = node.env.accept()
    node.remoting.close_all(node.env)
    assert (node.kinds, node.remoting.links()) == (["connect"], [])
    assert node.gone == [node.env.connects[0][0], accepted]


def test_timers_of_others_are_left_alone(node: Node) -> None:
    assert not node.remoting.on_timer(node.env, ("other", "deadline"))


# Memory --------------------------------------------------------------------------------------------------------------


def test_unfinished_frames_cost_who_holds_most_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remoting, "UNFINISHED_BYTES_MAX", 11_000)
    node = Node()
    honest, greedy = node.env.accept(), [node.env.accept() for _ in range(3)]
    frame = encode_frame(Command(1, {"say": "well"}, bytes(100)))
    node.env.deliver(honest, frame[:-1])
    for link in greedy:
        node.env.deliver(link, encode_frame(Command(1, body=bytes(5_000)))[:-1])
    assert node.gone == greedy[:1]
    node.env.deliver(honest, frame[-1:])
    assert [answer.fields for answer in node.sent(honest)] == [{"echo": "well"}]


def test_who_ends_frames_is_spared_beside_one_who_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remoting, "UNFINISHED_BYTES_MAX", 10_000)
    node = Node()
    quick, slow = node.env.accept(), node.env.accept()
    frame = encode_frame(Command(1, {"say": "well"}, bytes(5_500)))
    node.env.deliver(quick, frame[:-1])
    node.env.deliver(slow, frame[:4_000])
    node.env.deliver(quick, frame[-1:] + frame[:-1])
    node.env.deliver(slow, frame[4_000:-1])
    assert node.gone == [slow]


def test_unfinished_frames_of_ended_connections_count_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remoting, "UNFINISHED_BYTES_MAX", 10_000)
    node = Node()
    frame = encode_frame(Command(1, {"say": "well"}, bytes(5_500)))
    for _ in range(20):
        link = node.env.accept()
        node.env.deliver(link, frame[:-1])
        node.env.hang_up(link)
    assert len(node.gone) == 20
    assert "unfinished_frames" not in [event for event, _ in node.env.notes]


# Ext fields ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"), [("7", 7), ("-7", -7), ("+7", 7), ("0007", 7), (str(2**63 - 1), 2**63 - 1)]
)
def test_numbers_that_java_reads(value: str, number: int) -> None:
    assert integer(Command(1, {"n": value}), "n") == number


@pytest.mark.parametrize("value", ["", "x", "1.5", "٧", " 7", "1_000", str(2**63), "--1", "+"])
def test_numbers_that_java_does_not_read_are_missing(value: str) -> None:
    with pytest.raises(RequestRefused, match="NullPointerException"):
        integer(Command(1, {"n": value}), "n")
