"""Bugs of what is handed to consumers late or again: delayed messages, and those that a consumer gave back."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from reference_impl.broker.delay import DelayedDelivery, _restored
from reference_impl.broker.send_back import SendBacks
from reference_impl.broker.topics import DEAD_LETTER_PREFIX
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Environment
from reference_impl.store.request import PutRequest
from reference_impl.wire.bodies import SubscriptionGroupConfig
from reference_impl.wire.frame import Command
from reference_impl.wire.message import PROPERTY_DELAY, Message, parse_properties, properties_text

EARLY_MS: Final = 400
FORGETS_EVERY: Final = 7


class DeliversEarly(DelayedDelivery):
    """By a clock that is 400 ms ahead of the one that stamped the message."""

    def _due_records(self, env: Environment, level: int, now_ms: int) -> list[Message]:
        return super()._due_records(env, level, now_ms + EARLY_MS)


class MovesTwice(DelayedDelivery):
    """One message in seven is put once more before anybody knows whether it was stored."""

    due = 0

    def _put_back(self, env: Environment, level: int, record: Message) -> bool:
        self.due += 1
        request = _restored(record)
        if request is not None and self.due % FORGETS_EVERY == 0:
            self._store.put(env, request, lambda _env, _result: None)
        return super()._put_back(env, level, record)


class SwapsLevels(DelayedDelivery):
    """The last level of the table has the delay of the one before it, and that one the last's."""

    def _due_records(self, env: Environment, level: int, now_ms: int) -> list[Message]:
        levels_ms = self._levels_ms
        self._levels_ms = (*levels_ms[:-2], levels_ms[-1], levels_ms[-2])
        due = super()._due_records(env, level, now_ms)
        self._levels_ms = levels_ms
        return due


class PassesOverDelayed(DelayedDelivery):
    """One message in seven is counted as delivered when it is due, and is not."""

    due = 0

    def _put_back(self, env: Environment, level: int, record: Message) -> bool:
        self.due += 1
        if self.due % FORGETS_EVERY:
            return super()._put_back(env, level, record)
        self.offsets[level] = record.queue_offset + 1
        return True


class OneALook(DelayedDelivery):
    """Of the messages of a level that are due one is delivered at each look, ten in a second."""

    def _due_records(self, env: Environment, level: int, now_ms: int) -> list[Message]:
        return super()._due_records(env, level, now_ms)[:1]

    def _put_back(self, env: Environment, level: int, record: Message) -> bool:
        super()._put_back(env, level, record)
        return False


class ForgetsTheCount(SendBacks):
    """What comes again says that it comes for the first time."""

    def _put_request(
        self, env: Environment, request: Command, group: SubscriptionGroupConfig, message: Message
    ) -> PutRequest:
        put = super()._put_request(env, request, group, message)
        return replace(put, reconsume_times=message.reconsume_times)


class BuriesAtOnce(SendBacks):
    """Whatever is given back goes to the dead letters."""

    def _put_request(
        self, env: Environment, request: Command, group: SubscriptionGroupConfig, message: Message
    ) -> PutRequest:
        put = super()._put_request(env, request, group, message)
        topic = self._state.internal_topic(env, DEAD_LETTER_PREFIX + group.group_name, 1)
        properties = parse_properties(put.properties)
        properties.pop(PROPERTY_DELAY, None)
        text = properties_text(properties)
        return replace(put, topic=topic.topic_name, queue_id=0, properties=text, is_internal=True)


class RetriesAtOnce(SendBacks):
    """Whatever is given back comes again after a second."""

    def _put_request(
        self, env: Environment, request: Command, group: SubscriptionGroupConfig, message: Message
    ) -> PutRequest:
        put = super()._put_request(env, request, group, message)
        properties = parse_properties(put.properties)
        delay = {PROPERTY_DELAY: "1"} if properties.get(PROPERTY_DELAY, "0") != "0" else {}
        return replace(put, properties=properties_text({**properties, **delay}))


class _OfAnotherPatience(SendBacks):
    """Counts the tries of a group by another measure."""

    def _measured(self, request: Command, by: int) -> Command:
        told = int(request.fields.get("maxReconsumeTimes", "16"))
        return Command(
            request.code, {**request.fields, "maxReconsumeTimes": str(told + by)}, request.body, version=request.version
        )


class BuriesTooSoon(_OfAnotherPatience):
    """A group gets one try fewer than it wants."""

    def _put_request(
        self, env: Environment, request: Command, group: SubscriptionGroupConfig, message: Message
    ) -> PutRequest:
        return super()._put_request(env, self._measured(request, -1), group, message)


class BuriesTooLate(_OfAnotherPatience):
    """A group gets one try more than it wants."""

    def _put_request(
        self, env: Environment, request: Command, group: SubscriptionGroupConfig, message: Message
    ) -> PutRequest:
        return super()._put_request(env, self._measured(request, 1), group, message)


class LosesProperties(SendBacks):
    """What comes again has lost its last property of the application's."""

    def _put_request(
        self, env: Environment, request: Command, group: SubscriptionGroupConfig, message: Message
    ) -> PutRequest:
        put = super()._put_request(env, request, group, message)
        properties = {name: text for name, text in parse_properties(put.properties).items() if not name.islower()}
        return replace(put, properties=properties_text(properties))


HANDING_OUT: Final = {
    "delivers-early": BrokerDefect(
        lambda broker: substitute(broker.state.delays, DeliversEarly),
        "a delayed message is delivered 400 ms before its time",
        "a listener that is given a delayed message before it is due",
        "delays",
    ),
    "moves-delayed-twice": BrokerDefect(
        lambda broker: substitute(broker.state.delays, MovesTwice),
        "one delayed message in seven is put a second time, before it is known whether a majority has the first",
        "a delayed message that a listener is given from two places, though it was sent once and nothing happened",
        "delays",
    ),
    "levels-swapped": BrokerDefect(
        lambda broker: substitute(broker.state.delays, SwapsLevels),
        "messages of the last two delay levels have each other's delay",
        "a listener that is given a message of the last level before its time",
        "delays",
    ),
    "passes-over-delayed": BrokerDefect(
        lambda broker: substitute(broker.state.delays, PassesOverDelayed),
        "one delayed message in seven is passed over when it is due",
        "an acknowledged delayed message that no listener is given",
        "delays",
    ),
    "forgets-the-count": BrokerDefect(
        lambda broker: substitute(broker.send_backs, ForgetsTheCount),
        "a message that was given back is not counted: it may come for ever",
        "a refused message that comes again with the count that it had",
        "listeners",
    ),
    "buries-at-once": BrokerDefect(
        lambda broker: substitute(broker.send_backs, BuriesAtOnce),
        "a message that was given back goes to the dead letters at the first time",
        "a refused message that never comes again",
        "listeners",
    ),
    "retries-at-once": BrokerDefect(
        lambda broker: substitute(broker.send_backs, RetriesAtOnce),
        "a message that was given back comes again after a second, whatever its count",
        "a refused message that comes again before its delay is over",
        "retries",
    ),
    "buries-too-soon": BrokerDefect(
        lambda broker: substitute(broker.send_backs, BuriesTooSoon),
        "a message is a dead letter one try before its group has had enough",
        "a dead letter that nobody has refused so often",
        "retries",
    ),
    "buries-too-late": BrokerDefect(
        lambda broker: substitute(broker.send_backs, BuriesTooLate),
        "a message is given to its group once more than that wants",
        "a message that is no dead letter although it failed as often as its group allows",
        "retries",
    ),
    "loses-properties": BrokerDefect(
        lambda broker: substitute(broker.send_backs, LosesProperties),
        "a message that was given back comes again without its application's properties",
        "a listener that is given a message without its property",
        "filters",
    ),
    "delayed-one-a-look": BrokerDefect(
        lambda broker: substitute(broker.state.delays, OneALook),
        "one delayed message of a level is delivered at each look, however many are due",
        "delayed messages that are not in their queue seconds after all of them were due",
        "answers",
    ),
}
