"""Whatever a peer sends, a NameServer answers or stays silent: no request breaks a handler of ours."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame
from suites.conformance.namesrv.cluster_by_hand import NameServerByHand, topics

_CODES = [code for code in Code if 100 <= code <= 106 or 200 <= code <= 330 or code in (901, 904)]
_NAMES = ["brokerName", "brokerAddr", "clusterName", "brokerId", "topic", "cluster", "namespace", "key", "value",
          "compressed", "bodyCrc32", "haServerAddr", "heartbeatTimeoutMillis"]  # fmt: skip
_VALUES = st.sampled_from(
    ["", "0", "1", "-1", "true", "b-a", "C1", "T1", "10.0.0.1:10911", "x" * 300, "ORDER_TOPIC_CONFIG"]
)
_BODIES = st.sampled_from([
    b"", b"{}", b"[]", b"null", b"7", b'"x"', b"junk", b"\xff", b"a=1\n", b"listenPort=x", b"orderMessageEnable=true",
    b'{"counter":"x"}', b'{"topicConfigSerializeWrapper":null}',
    b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{}}}}',
    b"x\xda\x03\x00\x00\x00\x00\x01",
])  # fmt: skip
_requests = st.builds(
    Command,
    code=st.sampled_from(_CODES),
    fields=st.dictionaries(st.sampled_from(_NAMES), _VALUES),
    body=_BODIES,
    flag=st.sampled_from([0, 2]),
    version=st.sampled_from([0, 401, 479]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_requests, min_size=1, max_size=12), st.sampled_from(["4.9.7", "5.3.3"]))
def test_no_request_breaks_a_handler(requests: list[Command], release: str) -> None:
    server = NameServerByHand(release=release)
    server.register(server.broker(), topics("T1", "T2"))
    for request in requests:
        server.env.deliver(server.client, encode_frame(request))
        answers = list(FrameDecoder().feed(server.env.take(server.client)))
        assert len(answers) <= (0 if request.is_one_way else 1)
    assert server.env.noted("handler_failed") == []
    assert server.answer(Code.GET_BROKER_CLUSTER_INFO).code == 0
