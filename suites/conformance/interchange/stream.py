"""Sends that never stop while nodes die and come back, and what was answered to them.

Question: what did a broker say about each message of a load that goes on whatever happens? Every ``PERIOD_NS`` a few
sends leave, spread over queues; a closed connection is made anew with the next of them. An answer that never came is
no answer.
"""

from __future__ import annotations

from collections import Counter

from reference_impl.environment import MS
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command, encode_frame
from reference_impl.wire.message import parse_message_id
from suites.conformance.broker.backend_peer import Talker
from suites.conformance.replication.pair import Pair

PERIOD_NS = 25 * MS
AT_ONCE = 4
FIRST_OPAQUE = 1_000_000


class Stream:
    """A client of its own that sends to the pair's master from its making until ``stop``."""

    def __init__(self, pair: Pair, topic: str, queues: int) -> None:
        self._backend, self._topic, self._queues = pair.backend, topic, queues
        self._talker = Talker({"main": pair.master.broker})
        self._sent = 0
        self._collected: dict[int, Command] = {}
        self._is_stopped = False
        self._backend.add_client("client-2", self._talker)
        self._tick()

    def stop(self) -> None:
        self._is_stopped = True

    @property
    def sent(self) -> int:
        return self._sent

    def codes(self, since: int = 0) -> Counter[int]:
        """Answer codes of the sends from number *since* on."""
        return Counter(answer.code for number, answer in self._answers().items() if number >= since)

    def stored(self) -> dict[int, tuple[int, bytes]]:
        """Sends with code 0: physical position → (number, body)."""
        oks = {number: answer for number, answer in self._answers().items() if answer.code == 0}
        return {parse_message_id(ok.fields["msgId"])[1]: (number, _body(number)) for number, ok in oks.items()}

    def _answers(self) -> dict[int, Command]:
        for channel in self._talker.channels.values():
            self._collected |= {opaque - FIRST_OPAQUE: answer for opaque, answer in channel.answers.items()}
        return self._collected

    def _tick(self) -> None:
        if self._is_stopped:
            return
        self._answers()  # a channel that is closed is forgotten with the next send
        frames = b"".join(encode_frame(self._request(self._sent + index)) for index in range(AT_ONCE))
        self._sent += AT_ONCE
        self._backend.step("client-2", lambda env: env.send(self._talker.channel(env, "main").link, frames))
        self._backend.after(PERIOD_NS, self._tick)

    def _request(self, number: int) -> Command:
        properties = f"UNIQ_KEY\x01stream-{number}\x02WAIT\x01true\x02TAGS\x01T{number % 7}\x02"
        fields = {"a": "PG", "b": self._topic, "c": "TBW102", "d": "4", "e": str(number % self._queues), "f": "0"}
        fields |= {"g": "1", "h": "0", "i": properties, "j": "0", "k": "false", "m": "false"}
        return Command(Code.SEND_MESSAGE_V2, fields, _body(number), opaque=FIRST_OPAQUE + number)


def _body(number: int) -> bytes:
    return f"{number} ".encode().ljust(20 + number * 13 % 700, b"-")
