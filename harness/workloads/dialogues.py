"""Dialogues: an operator that does one thing after the other, and asks after each what must have come of it.

Question: an administrator makes a topic, counts what is in it, moves a group, deletes both. Is each answer the one that
everything said before leaves?

Model. A dialogue is a generator of steps. It has its topics and groups for itself, so that what the next answer must be
follows from the answers before it, to the value. Steps follow one another; a dialogue that came to its end begins a new
round with new names, until the load ends.

    Ask     a request to a node; ``must``: what a good answer shows, or the name of the code of a refusal
    Look    the same at what a client of the dialogue has been given
    Tell    nobody is asked: the history is told what a node is about to be made to do
    Rest    nothing for a while

Each try is an op ``ask``: ``node`` who was asked, ``detail`` ``{"dialogue", "round", "step", "asked", "must", "shown",
"within_ns", "about"}``. What nobody answered, and what is not shown yet, is asked again until the load ends; so a
dialogue stands still where an answer stays wrong. An order that nobody answered may have been carried out: its round
ends there. The last op of a round that came to its end has ``"ended": true``, an op whose answer nothing may hold up
``"waits_for_nothing": true``.

Limits. One thing at a time, of one client.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import Any, Final

from harness.workloads.measuring import QUERY_TIMEOUT_NS, Process, status_of
from harness.workloads.parts import PartHost
from reference_impl.environment import MS, SECOND, Environment
from reference_impl.wire.codes import ResponseCode, response_name
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer

AGAIN_NS: Final = 250 * MS
BETWEEN_NS: Final = 500 * MS
"""Two rounds."""

SOON_NS: Final = 3 * SECOND
"""Within which a node must have passed on what it was told: a topic's route, a dispatched record."""


def is_done(answer: Command) -> str:
    """``read`` of an order: that it was carried out."""
    return "OK"


@dataclass(frozen=True)
class Ask:
    """One request. ``within_ns``: how long the answer may be another at first; 0: not at all. ``orders``: it changes
    something that a second one would change again. ``about``: another node, whose word is passed on. ``timeout_ns``: no
    answer comes after that. ``success``: the code of an answer that is no refusal. ``waits_for_nothing``: its answer
    comes whatever a disk or a slave does."""

    name: str
    node: str
    address: str
    request: Command
    must: Any = "OK"
    read: Callable[[Command], Any] = is_done
    within_ns: int = 0
    orders: bool = False
    about: str = ""
    timeout_ns: int = QUERY_TIMEOUT_NS
    success: int = ResponseCode.SUCCESS
    waits_for_nothing: bool = False


@dataclass(frozen=True)
class Look:
    """What ``read`` finds at the client *node*, which belongs to the dialogue."""

    name: str
    node: str
    must: Any
    read: Callable[[], Any]
    within_ns: int


@dataclass(frozen=True)
class Rest:
    """Nothing for so long."""

    ns: int


@dataclass(frozen=True)
class Tell:
    """A note of the history about *node*, for judges that would take what follows for its own doing."""

    what: str
    node: str


Step = Ask | Look | Tell | Rest
Dialogue = Generator[Step, Command, None]
"""Sent is the answer to an :class:`Ask` that showed what it must; to others an empty command."""

NOTHING: Final = Command(0)


class DialoguePart:
    """A dialogue as a part of a client node (``Part``); *begin* makes the generator of round 0, 1, …"""

    def __init__(self, host: PartHost, name: str, begin: Callable[[Environment, int], Dialogue]) -> None:
        self._host, self._recorder, self._name, self._begin = host, host.recorder, name, begin
        self._process = Process(self._recorder.process())
        self._tick = (name, "step")
        self._round = self._number = -1
        self._dialogue: Dialogue | None = None
        self._step: Step = Rest(0)

    def on_start(self, env: Environment) -> None:
        self._begin_round(env)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if key != self._tick:
            return False
        if self._host.stopped:
            return True
        if self._dialogue is None:
            self._begin_round(env)
        else:
            self._carry_out(env)
        return True

    # Steps -----------------------------------------------------------------------------------------------------------

    def _end_round(self, env: Environment) -> None:
        self._dialogue = None
        env.set_timer(self._tick, BETWEEN_NS)

    def _begin_round(self, env: Environment) -> None:
        self._round, self._number = self._round + 1, -1
        self._dialogue = self._begin(env, self._round)
        self._go_on(env, None)

    def _go_on(self, env: Environment, answer: Command | None) -> None:
        assert self._dialogue is not None
        self._number += 1
        try:
            self._step = self._dialogue.send(answer) if answer is not None else next(self._dialogue)
        except StopIteration:
            self._record(self._invoke(self._host.name), "the end", "", "", 0, ended=True)
            self._end_round(env)
            return
        if isinstance(self._step, Rest):
            env.set_timer(self._tick, self._step.ns)
        else:
            env.set_timer(self._tick, 0)

    def _carry_out(self, env: Environment) -> None:
        step = self._step
        if isinstance(step, Rest):
            self._go_on(env, NOTHING)
        elif isinstance(step, Tell):
            self._recorder.event("note", node=step.node, step=step.what)
            self._go_on(env, NOTHING)
        elif isinstance(step, Look):
            shown = step.read()
            self._record(self._invoke(step.node), step.name, step.must, shown, step.within_ns)
            self._after(env, is_right=shown == step.must, answer=NOTHING)
        else:
            self._ask(env, step)

    def _ask(self, env: Environment, step: Ask) -> None:
        op = self._invoke(step.node)

        def answered(env: Environment, answer: Answer) -> None:
            self._host.in_flight -= 1
            if isinstance(answer, Command):
                shown = _shown(step, answer)
                self._record(op, step.name, step.must, shown, step.within_ns, **_marks(step))
                self._after(env, is_right=shown == step.must, answer=answer)
                return
            self._host.complete(op, "ask", status_of(answer, "OK"), self._process, detail=f"{self._name}: {step.name}")
            if step.orders:
                self._end_round(env)
            else:
                env.set_timer(self._tick, AGAIN_NS)

        self._host.in_flight += 1
        self._host.remoting.call(env, step.address, step.request, step.timeout_ns, answered, close_on_timeout=True)

    def _after(self, env: Environment, *, is_right: bool, answer: Command) -> None:
        if is_right:
            self._go_on(env, answer)
        else:
            env.set_timer(self._tick, AGAIN_NS)

    # The history -----------------------------------------------------------------------------------------------------

    def _invoke(self, node: str) -> int:
        return self._recorder.invoke(self._process.number, "ask", node=node)

    def _record(
        self, op: int, asked: str, must: Any, shown: Any, within_ns: int, *, about: str = "", **marks: bool
    ) -> None:
        detail = {
            "dialogue": self._name,
            "round": self._round,
            "step": self._number,
            "asked": asked,
            "must": must,
            "shown": shown,
            "within_ns": within_ns,
            "about": about,
            **marks,
        }
        self._host.complete(op, "ask", "OK", self._process, detail=detail)


def _marks(step: Ask) -> dict[str, Any]:
    return {"about": step.about} | ({"waits_for_nothing": True} if step.waits_for_nothing else {})


def _shown(step: Ask, answer: Command) -> Any:
    """What the answer says; of a refusal the name of its code."""
    if answer.code != step.success:
        return response_name(answer.code)
    try:
        return step.read(answer)
    except (RemoteWireError, LookupError, TypeError, ValueError) as error:
        return f"unreadable: {error}"
