"""A broker in the hand: its clients and NameServers are the test, time moves when the test says so."""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.broker import Broker, BrokerConfig
from reference_impl.environment import MS, Address, Environment, Link
from reference_impl.store.request import PutRequest, PutResult, PutStatus
from reference_impl.store.waiting import OnStored
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame
from suites.fake_environment import FakeEnvironment

HOST = "10.0.0.1"
SMALL_FILES = {"mappedFileSizeCommitLog": str(1 << 20), "mappedFileSizeConsumeQueue": "20000", "maxHashSlotNum": "100"}


class BrokerByHand:
    """A started broker. NameServers are named by ``nameservers`` and answer only through :meth:`registrar`."""

    def __init__(
        self,
        *,
        nameservers: tuple[Address, ...] = (),
        disk: Mapping[str, bytearray] | None = None,
        **properties: str,
    ) -> None:
        given = {"brokerIP1": HOST, "namesrvAddr": ";".join(nameservers), "maxIndexNum": "1000", **SMALL_FILES}
        self.config = BrokerConfig.from_properties(given | properties)
        self.role = Broker(self.config)
        self.env = FakeEnvironment(self.role, host=HOST)
        self.env.disk = dict(disk or {})
        self.role.on_start(self.env)
        self.sync_everything()
        self.client = self.env.accept() if self.env.exit_code is None else -1
        self._opaque = 0

    # --- a client ---------------------------------------------------------------------------------------------------

    def ask(
        self, code: int, body: bytes = b"", *, link: Link | None = None, flag: int = 0, **fields: object
    ) -> list[Command]:
        """All frames that come back on the link, the answer and whatever else; [] for silence."""
        link = self.client if link is None else link
        self._opaque += 1
        texts = ext_fields(**fields)  # type: ignore[arg-type]
        self.env.deliver(link, encode_frame(Command(code, texts, body, flag=flag, opaque=self._opaque)))
        return self.received(link)

    def answer(self, code: int, body: bytes = b"", *, link: Link | None = None, **fields: object) -> Command:
        """The one answer to one request; what else came (notices) is dropped."""
        (answer,) = [command for command in self.ask(code, body, link=link, **fields) if command.is_answer]
        return answer

    def received(self, link: Link) -> list[Command]:
        """Frames that the broker has sent on *link* since the last look."""
        return list(FrameDecoder().feed(self.env.take(link)))

    def send(self, topic: str, body: bytes = b"x", properties: str = "", queue: int = 0, **more: object) -> Command:
        """An acknowledged send, dispatched when this returns."""
        fields: dict[str, object] = {"a": "PG", "b": topic, "c": "TBW102", "d": 4, "e": queue, "f": 0, "g": 1, "h": 0}
        fields |= {"i": properties, "j": 0, "k": False, "m": False, **more}
        answer = self.answer(Code.SEND_MESSAGE_V2, body, **fields)
        self.env.advance(2 * MS)
        return answer

    def pull(self, topic: str, offset: int, *, link: Link | None = None, **more: object) -> list[Command]:
        """What comes back at once for a pull of queue 0."""
        fields: dict[str, object] = {"consumerGroup": "CG", "topic": topic, "queueId": 0, "queueOffset": offset}
        fields |= {"maxMsgNums": 32, "sysFlag": 4, "commitOffset": 0, "suspendTimeoutMillis": 0, "subscription": "*"}
        return self.ask(Code.PULL_MESSAGE, link=link, **(fields | {"subVersion": 0, "expressionType": "TAG"} | more))

    def create_topic(self, topic: str, queues: int = 4, perm: int = 6) -> None:
        """Without NameServers: answered at once."""
        fields = {"topic": topic, "defaultTopic": "TBW102", "readQueueNums": queues, "writeQueueNums": queues}
        fields |= {"perm": perm, "topicFilterType": "SINGLE_TAG", "order": False}
        assert self.answer(Code.UPDATE_AND_CREATE_TOPIC, **fields).code == 0

    # --- a NameServer -----------------------------------------------------------------------------------------------

    def link_to(self, nameserver: Address) -> Link:
        """The broker's newest connection to that NameServer."""
        return [link for link, address in self.env.connects if address == nameserver][-1]

    def heard(self, nameserver: Address) -> list[Command]:
        """What that NameServer has received since the last look."""
        return self.received(self.link_to(nameserver))

    def reply(self, nameserver: Address, request: Command, code: int = 0, body: bytes = b"", **fields: str) -> None:
        """The NameServer answers."""
        answer = Command(code, fields, body, flag=1, opaque=request.opaque)
        self.env.deliver(self.link_to(nameserver), encode_frame(answer))

    # --- its end ----------------------------------------------------------------------------------------------------

    def sync_everything(self) -> None:
        """The disk obeys every outstanding sync, also those that the broker asks for meanwhile."""
        for _ in range(1000):
            if not self.env.syncs:
                return
            file, token = self.env.syncs.pop(0)
            self.role.on_synced(self.env, file, token)
        raise AssertionError("syncs never come to rest")


class LateStore:
    """What a group's log does to a broker: a put is decided when the test says so."""

    def __init__(self, made: BrokerByHand) -> None:
        self._env, self._store = made.env, made.role.state.store
        self._put = self._store.put
        self._held: list[tuple[PutRequest, OnStored]] = []
        self._store.put = self._hold  # type: ignore[method-assign]

    def _hold(self, env: Environment, request: PutRequest, on_stored: OnStored) -> None:
        self._held.append((request, on_stored))

    @property
    def waiting(self) -> list[bytes]:
        """Bodies of what is not decided yet."""
        return [request.body for request, _ in self._held]

    def decide(self, status: PutStatus = PutStatus.PUT_OK) -> None:
        """The oldest of them: a majority has it, or it was refused."""
        request, on_stored = self._held.pop(0)
        if status is PutStatus.PUT_OK:
            self._put(self._env, request, on_stored)
            self._env.advance(2 * MS)
        else:
            on_stored(self._env, PutResult(status))
