"""The dialogue ``halves``: halves by hand, each ended well, ended wrongly, or not at all.

Question: what becomes of a half that its producer commits, rolls back, ends under a wrong name, or forgets?

Model. A round has a topic of one queue, and a producer group with one member, a client that is asked (39) and answers
nothing:

    ended      a commit (37) shows the message, in the order of the commits; a rollback shows nothing
    refused    an end by another group, at another place of the queue, at no place of the log, of no kind
    forgotten  the member is asked ``transactionCheckMax`` times and no more; the half lies where halves are given up
    immune     a half with a time of its own is not asked about before it is over, and is then

Limits. Settings of the scenario: :data:`ASKED_MAX` questions, one walk every :data:`WALK_S` seconds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from harness.workloads.dialogues import SOON_NS, Ask, Dialogue, DialoguePart, Look, Rest
from harness.workloads.newcomers import Newcomer
from harness.workloads.orders import Desk
from harness.workloads.parts import PartHost
from reference_impl.environment import SECOND, Environment, Link
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from reference_impl.wire.heartbeat import HeartbeatData, ProducerData
from reference_impl.wire.message import decode_record, parse_message_id

ASKED_MAX: Final = 3
WALK_S: Final = 3
IMMUNE_S: Final = 8
COMMIT, ROLLBACK, NO_KIND = 8, 12, 4
GIVEN_UP: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
FORGOTTEN_NS: Final = (ASKED_MAX + 3) * WALK_S * SECOND
IMMUNE_NS: Final = FORGOTTEN_NS + IMMUNE_S * SECOND


def halves(host: PartHost) -> DialoguePart:
    """Operator ``halves``."""
    member = _Member(host)
    return DialoguePart(host, "halves", lambda env, number: _Round(host, member, env, number).steps())


class _Member(Newcomer):
    """A producer that counts what it is asked, and how old each half was at the first time."""

    def __init__(self, host: PartHost) -> None:
        super().__init__(host)
        self.asked: dict[str, int] = {}
        self.age_ms: dict[str, int] = {}

    def enter(self, topic: str, group: str) -> None:
        self.asked, self.age_ms = {}, {}
        super().enter(topic, group)

    def describe(self, heartbeat: HeartbeatData) -> None:
        heartbeat.producer_data_set.append(ProducerData(self.group))

    def on_request(self, env: Environment, link: Link, request: Command) -> bool:
        if request.code != Code.CHECK_TRANSACTION_STATE:
            return False
        half = decode_record(request.body)
        text = half.body.decode()
        self.asked[text] = self.asked.get(text, 0) + 1
        self.age_ms.setdefault(text, env.wall() - half.born_timestamp)
        return True


class _Round:
    def __init__(self, host: PartHost, member: _Member, env: Environment, number: int) -> None:
        self._desk, self._member, self._env = Desk(host, "halves", number), member, env
        self._shown: list[str] = []

    def steps(self) -> Dialogue:
        desk = self._desk
        yield desk.make_topic(1)
        self._member.enter(desk.topic, desk.group)
        yield from self._ended()
        yield from self._refused()
        yield from self._half("forgotten")
        yield from self._half("immune", {"CHECK_IMMUNITY_TIME_IN_SECONDS": str(IMMUNE_S)})
        yield self._look("asked about the forgotten one", ASKED_MAX, lambda: self._asked("forgotten"), FORGOTTEN_NS)
        yield self._look("asked about the immune one", ASKED_MAX, lambda: self._asked("immune"), IMMUNE_NS)
        yield self._look("asked when its time was over", True, self._was_old_enough, 0)
        yield Rest(2 * WALK_S * SECOND)
        yield self._look("asked no more", [ASKED_MAX] * 2, lambda: [self._asked("forgotten"), self._asked("immune")], 0)
        yield self._look("asked about nothing that was ended", [0, 0], self._asked_of_ended, 0)
        yield self._given_up()
        yield from self._seen()

    def _text(self, name: str) -> str:
        return f"{self._desk.topic} {name}"

    def _asked(self, name: str) -> int:
        return self._member.asked.get(self._text(name), 0)

    def _asked_of_ended(self) -> list[int]:
        return [self._asked("rolled back"), self._asked("committed")]

    def _was_old_enough(self) -> bool:
        ages = self._member.age_ms
        return ages[self._text("immune")] >= IMMUNE_S * 1000 > ages[self._text("forgotten")]

    def _look(self, name: str, must: Any, read: Any, within_ns: int) -> Look:
        return Look(name, self._member.name, must, read, within_ns)

    # Halves ----------------------------------------------------------------------------------------------------------

    def _half(self, name: str, more: dict[str, str] | None = None) -> Any:
        """A half is stored at some place, and nobody sees it."""
        desk = self._desk
        properties = {"TRAN_MSG": "true", "PGROUP": desk.group, "UNIQ_KEY": self._text(name), **(more or {})}
        step = desk.send(0, self._text(name), True, properties)
        fields = {**step.request.fields, "g": str(self._env.wall())}
        request = Command(step.request.code, fields, step.request.body)
        answer = yield replace(step, request=request, read=lambda answer: int(answer.fields["queueOffset"]) >= 0)
        yield from self._seen()
        return answer

    def _end(self, half: Command, kind: int, must: str = "OK", *, group: str = "", by: int = 0, at: int = -1) -> Ask:
        """37."""
        place = parse_message_id(half.fields["msgId"])[1] if at < 0 else at
        fields = {
            "producerGroup": group or self._desk.group,
            "tranStateTableOffset": int(half.fields["queueOffset"]) + by,
            "commitLogOffset": place,
            "commitOrRollback": kind,
            "fromTransactionCheck": False,
            "msgId": half.fields["msgId"],
        }
        return self._desk.ask(f"end a half, {kind}", Code.END_TRANSACTION, fields, must, orders=True)

    def _seen(self) -> Dialogue:
        """What has been committed, in that order."""
        yield from self._desk.extent(0, 0, len(self._shown))
        yield self._desk.pull(self._shown or "PULL_NOT_FOUND")

    def _ended(self) -> Dialogue:
        rolled_back = yield from self._half("rolled back")
        committed = yield from self._half("committed")
        yield self._end(committed, COMMIT)
        self._shown.append(self._text("committed"))
        yield from self._seen()
        yield self._end(rolled_back, ROLLBACK)
        yield from self._seen()

    def _refused(self) -> Dialogue:
        half = yield from self._half("late")
        yield self._end(half, COMMIT, "SYSTEM_ERROR", group=self._desk.other_group)
        yield self._end(half, COMMIT, "SYSTEM_ERROR", by=1)
        yield self._end(half, COMMIT, "SYSTEM_ERROR", at=1 << 40)
        yield self._end(half, NO_KIND, "SYSTEM_ERROR")
        yield from self._seen()
        yield self._end(half, COMMIT)
        self._shown.append(self._text("late"))
        yield from self._seen()

    def _given_up(self) -> Ask:
        """30: two halves a round, at least."""
        fields = {"topic": GIVEN_UP, "queueId": 0}
        return self._desk.ask(
            "halves that were given up",
            Code.GET_MAX_OFFSET,
            fields,
            True,
            lambda answer: int(answer.fields["offset"]) >= 2,
            within_ns=SOON_NS,
        )
