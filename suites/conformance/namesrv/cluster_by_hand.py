"""A NameServer in the hand, and peers who talk to it: what the probes of this folder are written with."""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.defects import plant
from reference_impl.environment import Link
from reference_impl.namesrv import NameServer, NamesrvConfig
from reference_impl.wire.bodies import DataVersion, TopicConfig, TopicConfigTable, TopicRouteData
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.dialect import read_json
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame
from reference_impl.wire.message import body_crc
from reference_impl.wire.registration import write_registration
from suites.fake_environment import FakeEnvironment

VERSION_1 = DataVersion(1, timestamp=1_700_000_000_000)
VERSION_2 = DataVersion(2, timestamp=1_700_000_000_500)


def topics(*names: str, version: DataVersion = VERSION_1, **settings: int) -> TopicConfigTable:
    """A topic table of 4/4 queues, permission 6."""
    defaults = {"read_queue_nums": 4, "write_queue_nums": 4, "perm": 6} | settings
    return TopicConfigTable(version, {name: TopicConfig(topic_name=name, **defaults) for name in names})


class NameServerByHand:
    """A started NameServer. ``client`` is a link that asks; brokers get one each."""

    def __init__(
        self, defects: tuple[str, ...] = (), disk: Mapping[str, bytearray] | None = None, **config: object
    ) -> None:
        self.role = NameServer(NamesrvConfig(**config))
        plant(self.role, defects)
        self.env = FakeEnvironment(self.role)
        self.env.disk = dict(disk or {})
        self.role.on_start(self.env)
        self.client = self.env.accept("10.0.0.99:50000")

    def ask(
        self,
        code: int,
        body: bytes = b"",
        *,
        link: Link | None = None,
        version: int = 407,
        flag: int = 0,
        serialization: int = 0,
        **fields: str | int | bool,
    ) -> list[Command]:
        """What comes back for one request; [] for silence."""
        link = self.client if link is None else link
        request = Command(
            code, ext_fields(**fields), body, flag=flag, opaque=7, version=version, serialization=serialization
        )
        self.env.deliver(link, encode_frame(request))
        return list(FrameDecoder().feed(self.env.take(link)))

    def answer(self, code: int, body: bytes = b"", **fields: str | int | bool) -> Command:
        """The one answer to one request."""
        (answer,) = self.ask(code, body, **fields)
        return answer

    def broker(self, host: str = "10.0.0.1") -> Link:
        """A connection of a broker."""
        return self.env.accept(f"{host}:40000")

    def register(
        self,
        link: Link,
        table: TopicConfigTable,
        *,
        name: str = "b-a",
        id: int = 0,
        host: str = "10.0.0.1",
        cluster: str = "C1",
        compressed: bool = False,
        crc: int | None = None,
        **more: str | int | bool,
    ) -> Command:
        """REGISTER_BROKER on the broker's link."""
        body = write_registration(table, compressed=compressed)
        return self.answer(
            RequestCode.REGISTER_BROKER,
            body,
            link=link,
            brokerName=name,
            brokerAddr=f"{host}:10911",
            clusterName=cluster,
            haServerAddr=f"{host}:10912",
            brokerId=id,
            compressed=compressed,
            bodyCrc32=body_crc(body) if crc is None else crc,
            **more,
        )

    def unregister(self, *, name: str = "b-a", id: int = 0, host: str = "10.0.0.1", cluster: str = "C1") -> Command:
        return self.answer(
            RequestCode.UNREGISTER_BROKER, brokerName=name, brokerAddr=f"{host}:10911", clusterName=cluster, brokerId=id
        )

    def route(self, topic: str) -> TopicRouteData | None:
        """The route; ``None`` for code 17."""
        answer = self.answer(RequestCode.GET_ROUTEINFO_BY_TOPIC, topic=topic)
        assert answer.code in (0, 17)
        return read_json(answer.body, TopicRouteData) if answer.code == 0 else None

    def addresses(self, topic: str) -> dict[str, dict[int, str]]:
        """broker name → id → address in the route; {} without a route."""
        route = self.route(topic)
        return {broker.broker_name: broker.broker_addrs for broker in route.broker_datas} if route else {}

    def permissions(self, topic: str) -> dict[str, int]:
        """broker name → permission in the route."""
        route = self.route(topic)
        return {queues.broker_name: queues.perm for queues in route.queue_datas} if route else {}
