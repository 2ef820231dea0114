"""The orderly push consumer: one message of a queue after the other, by the one member that holds the queue's lock.

Question: which message of a queue may the application be given now?

Model (RocketMQ: ConsumeMessageOrderlyService, RebalanceImpl, ProcessQueue). Queues are shared as ever
(:mod:`~reference_impl.client.push`), but a member has a queue only when its broker has granted the lock of it:

    rebalance     a new queue is asked for, and taken when it is granted, else asked for again after 0.5 s; one that is
                  let go is given back when nobody works on it any more, its offset first
    every 20 s    the locks of all queues that it has are asked for again; one that is refused is held no more
    30 s          so long after it was last granted a lock counts no more here; the broker keeps it for 60 s

A queue whose lock is not held gives the application nothing; the member asks for the lock every 3 s. Pulled messages
wait in the order of the queue, and the application is given the first one: the next comes when it has said that this
one is done. What it refuses comes again, counted, after ``suspend_ns``, and the queue waits. One that was refused at
``reconsume_times_max`` goes to the retry topic with that count, and its broker makes it a dead letter; if nobody takes
it, it comes again like any other.

    [7 8 9] ── 7 refused ── 1 s ── 7 refused ── 1 s ── 7 done ── 8 …

The application may take its time: it calls *done*, at once or later.

Limits. No broadcast. Counts are this member's memory: whoever has the queue next begins with 0, as in RocketMQ. There
the count has no limit unless one is set; here it is that of the settings. Time is the monotonic clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from reference_impl.client.client import Client
from reference_impl.client.locking import LockCalls
from reference_impl.client.model import MessageQueue, PulledMessage, PullOutcome, SendResult
from reference_impl.client.push import PushConsumer, PushSettings
from reference_impl.client.status import STORED
from reference_impl.environment import MS, SECOND, Environment

Done = Callable[[Environment, bool], None]
"""Whether the message is done; called once."""

OrderlyListener = Callable[[Environment, PulledMessage, Done], None]
"""The application: it has the message until it calls *done*."""

FIRST_LOCK_NS: Final = 1 * SECOND
LOCK_EVERY_NS: Final = 20 * SECOND
"""RocketMQ: rocketmq.client.rebalance.lockInterval."""
LOCK_LIFE_NS: Final = 30 * SECOND
"""RocketMQ: rocketmq.client.rebalance.lockMaxLiveTime."""
ASK_SOON_NS: Final = 500 * MS
"""RocketMQ 5: rebalanceLater; before that, the next rebalance."""
ASK_AGAIN_NS: Final = 3 * SECOND
UNLOCKED_PAUSE_NS: Final = 3 * SECOND
WAITING_MAX: Final = 1000
"""RocketMQ: pullThresholdForQueue."""
FULL_PAUSE_NS: Final = 50 * MS
UNLOCKED: Final = -1


@dataclass(eq=False)
class Line:
    """A queue that we have: what waits in it, and since when its lock is ours."""

    locked_ns: int
    waiting: deque[PulledMessage] = field(default_factory=deque)
    at_work: bool = False
    """The application, or the retry topic, has the first message."""
    rests: bool = False
    asks: bool = False
    is_leaving: bool = False
    is_handing_out: bool = False


class OrderlyConsumer(PushConsumer):
    """One member of a consumer group whose listener is an orderly one."""

    def __init__(self, client: Client, settings: PushSettings, listener: OrderlyListener) -> None:
        if settings.broadcast:
            raise ValueError("an orderly consumer shares its queues: no broadcast")
        super().__init__(client, settings, lambda _env, _message: False)
        self._give = listener
        self._locks = LockCalls(client, settings.group, confirm=settings.confirm)
        self._lines: dict[MessageQueue, Line] = {}
        self._shares: dict[str, tuple[MessageQueue, ...]] = {}
        self._asked_for: dict[MessageQueue, None] = {}
        self._puller.pause_ns = self._pause_ns
        self._lock_key, self._soon_key = (("push", settings.group, what) for what in ("lock", "soon"))

    # --- Part -------------------------------------------------------------------------------------------------------

    def start(self, env: Environment) -> None:
        """As any push consumer, and locks are renewed."""
        env.set_timer(self._lock_key, FIRST_LOCK_NS)
        super().start(env)

    def stop(self, env: Environment) -> None:
        """Offsets go out, then locks are given back, then the group is left."""
        env.cancel_timer(self._lock_key)
        env.cancel_timer(self._soon_key)
        self._puller.assign(env, {})
        self._locks.give_back(env, self._lines)
        self._lines.clear()
        super().stop(env)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Renewals, locks that were refused, queues that have rested."""
        if key == self._lock_key:
            env.set_timer(key, LOCK_EVERY_NS)
            self._locks.ask(env, self._lines, self._renewed)
        elif key == self._soon_key:
            self.rebalance(env)
        elif isinstance(key, tuple) and key[:3] == ("push", self.settings.group, "rest"):
            self._wake(env, key[3])
        elif isinstance(key, tuple) and key[:3] == ("push", self.settings.group, "relock"):
            self._relock(env, key[3])
        else:
            return super().on_timer(env, key)
        return True

    # --- which queues -----------------------------------------------------------------------------------------------

    def _own(self, env: Environment, topic: str, queues: tuple[MessageQueue, ...]) -> None:
        """What is not ours any more goes when nobody works on it; what is new comes when its lock is granted."""
        self._shares[topic] = queues
        for queue in self._owned[topic]:
            self._lines[queue].is_leaving = queue not in queues
        self._let_go(env, topic)
        new = [queue for queue in queues if queue not in self._lines and queue not in self._asked_for]
        self._asked_for |= dict.fromkeys(new)
        self._locks.ask(env, new, self._answered)

    def _let_go(self, env: Environment, topic: str) -> None:
        """Of the queues that leave those that nobody works on."""
        lines = self._lines
        stay = (queue for queue in self._owned[topic] if not lines[queue].is_leaving or lines[queue].at_work)
        super()._own(env, topic, tuple(stay))

    def _answered(
        self, env: Environment, queues: tuple[MessageQueue, ...], granted: frozenset[MessageQueue] | None
    ) -> None:
        """New queues: taken, if they are ours still."""
        for queue in queues:
            del self._asked_for[queue]
        held = [queue for queue in queues if queue in (granted or ())]
        ours = [queue for queue in held if queue in self._shares[queue.topic] and not self._resets]
        self._locks.give_back(env, [queue for queue in held if queue not in ours])
        self._lines |= {queue: Line(env.now()) for queue in ours}
        for topic in dict.fromkeys(queue.topic for queue in ours):
            own = tuple(queue for queue in ours if queue.topic == topic)
            super()._own(env, topic, self._owned[topic] + own)
        if len(held) < len(queues):
            env.set_timer(self._soon_key, ASK_SOON_NS)

    def _keep(self, env: Environment) -> list[MessageQueue]:
        """Offsets of what is let go are told before its lock is given back."""
        kept = super()._keep(env)
        gone = [queue for queue in self._lines if queue not in kept]
        for queue in gone:
            del self._lines[queue]
            for what in ("rest", "relock"):
                env.cancel_timer(("push", self.settings.group, what, queue))
        self._locks.give_back(env, gone)
        return kept

    def _pause_ns(self, queue: MessageQueue) -> int:
        line = self._lines.get(queue)
        if line is None or len(line.waiting) < WAITING_MAX:
            return UNLOCKED_PAUSE_NS if line is not None and line.locked_ns == UNLOCKED else 0
        return FULL_PAUSE_NS

    # --- locks that we have had -------------------------------------------------------------------------------------

    def _renewed(
        self, env: Environment, queues: tuple[MessageQueue, ...], granted: frozenset[MessageQueue] | None
    ) -> None:
        """Held since now, or not held; if nobody said, as it was."""
        for queue in queues:
            line = self._lines.get(queue)
            if line is not None and granted is not None:
                line.locked_ns = env.now() if queue in granted else UNLOCKED
                self._work(env, queue)

    def _relock(self, env: Environment, queue: MessageQueue) -> None:
        """Ask for one queue that we have and may not work on."""
        line = self._lines.get(queue)
        if line is None:
            return

        def answered(
            env: Environment, queues: tuple[MessageQueue, ...], granted: frozenset[MessageQueue] | None
        ) -> None:
            line.asks = False
            self._renewed(env, queues, granted)
            self._work(env, queue)

        self._locks.ask(env, [queue], answered)

    def _may_work(self, env: Environment, line: Line) -> bool:
        """Whether the lock is held, as far as we know."""
        return line.locked_ns != UNLOCKED and env.now() - line.locked_ns <= LOCK_LIFE_NS

    # --- one message after the other --------------------------------------------------------------------------------

    def _pulled(self, env: Environment, outcome: PullOutcome) -> None:
        line = self._lines.get(outcome.queue)
        if outcome.next_offset < 0 or line is None:
            return
        line.waiting.extend(outcome.messages)
        if not line.waiting:
            self._puller.commit(env, outcome.queue, outcome.next_offset)
        self._work(env, outcome.queue)

    def _work(self, env: Environment, queue: MessageQueue) -> None:
        """Hand out the first message, and the next one for as long as the application answers at once."""
        line = self._lines.get(queue)
        if line is None or line.is_handing_out:
            return
        line.is_handing_out = True
        while self._lines.get(queue) is line and self._is_next(env, queue, line):
            line.at_work = True
            self._give(env, line.waiting[0], partial(self._said, queue, line))
        line.is_handing_out = False

    def _is_next(self, env: Environment, queue: MessageQueue, line: Line) -> bool:
        """Whether the first message may be given; a lock that is not held is asked for."""
        if not line.waiting or line.at_work or line.rests or line.is_leaving:
            return False
        if self._may_work(env, line):
            return True
        if not line.asks:
            line.asks = True
            env.set_timer(("push", self.settings.group, "relock", queue), ASK_AGAIN_NS)
        return False

    def _said(self, queue: MessageQueue, line: Line, env: Environment, is_done: bool) -> None:
        """What the application said of the first message."""
        if self._lines.get(queue) is not line:
            return
        if is_done:
            self._pass(env, queue, line)
        elif line.waiting[0].reconsume_times < self.settings.reconsume_times_max:
            self._suspend(env, queue, line)
        else:
            self._bury(env, queue, line)

    def _pass(self, env: Environment, queue: MessageQueue, line: Line) -> None:
        """It is done: the next one."""
        line.waiting.popleft()
        offset = line.waiting[0].queue_offset if line.waiting else self._puller.position(queue)
        self._puller.commit(env, queue, offset)
        self._over(env, queue, line)

    def _suspend(self, env: Environment, queue: MessageQueue, line: Line) -> None:
        """It comes again, and nothing before it (RocketMQ: SUSPEND_CURRENT_QUEUE_A_MOMENT)."""
        first = line.waiting[0]
        line.waiting[0] = replace(first, reconsume_times=first.reconsume_times + 1)
        line.rests = True
        env.set_timer(("push", self.settings.group, "rest", queue), self.settings.suspend_ns)
        self._over(env, queue, line)

    def _wake(self, env: Environment, queue: MessageQueue) -> None:
        line = self._lines.get(queue)
        if line is not None:
            line.rests = False
            self._work(env, queue)

    def _bury(self, env: Environment, queue: MessageQueue, line: Line) -> None:
        """To the retry topic, with a count that makes it a dead letter there."""

        def ended(env: Environment, result: SendResult) -> None:
            if self._lines.get(queue) is not line:
                return
            if result.status in STORED:
                self._pass(env, queue, line)
            else:
                self._suspend(env, queue, line)

        message = line.waiting[0]
        self._to_retry_topic(env, message, message.reconsume_times, ended)

    def _over(self, env: Environment, queue: MessageQueue, line: Line) -> None:
        """Nobody works on the queue now."""
        line.at_work = False
        if line.is_leaving:
            self._let_go(env, queue.topic)
        else:
            self._work(env, queue)
