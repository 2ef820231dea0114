"""Observing and acting: a client that asks nodes what they know, again and again, and changes it at set times.

Question: when is what an operator did to one node seen on the others?

Model. An :class:`Act` is one request at one instant of the load, an op ``act``: ``node`` who was told, ``detail`` its
name and what must be seen where, ``{"act": …, "shows": {node: {subject: value}}}``, and for some what may undo it
(:class:`Undone`). A :class:`Question` is one question
to one node, asked every half second, an op of the kind it names (``look``, ``end``, ``master``): ``detail`` subject →
value. So the delay between an act and its effect is known to half a second, on each node. Which delays are right is for
the checkers to say.

Limits. One question to one node at a time: a node that hangs is asked again when it has answered or the time-out has
passed. What only lies in a file of a node is read there (:class:`FileQuestion`); no node is asked for that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from harness.workloads.measuring import QUERY_TIMEOUT_NS, Process, status_of
from harness.workloads.parts import PartHost
from reference_impl.environment import MS, Environment
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer

EVERY_NS: Final = 500 * MS

Shown = Mapping[str, Any]
"""Subject → value: JSON, text for what is one of several, whole numbers for what only grows."""


@dataclass(frozen=True)
class Undone:
    """What undoes an act without another act: a change of one of the subjects ``by``, which makes a node show ``to``
    again."""

    by: Sequence[str]
    to: str


@dataclass(frozen=True)
class Act:
    """``request`` goes to ``address`` (of ``node``) at ``at_ns`` of the load; ``shows``: node → what it must show,
    ``told``: what only the answer tells of that, in place of ``shows``."""

    at_ns: int
    name: str
    node: str
    address: str
    request: Command
    shows: Mapping[str, Shown]
    told: Callable[[Command], Mapping[str, Shown]] | None = None
    undone: Undone | None = None


@dataclass(frozen=True)
class Question:
    """``read`` takes what a good answer says; ``absent`` is said by an answer that the thing does not exist."""

    f: str
    node: str
    address: str
    request: Command
    read: Callable[[Command], Shown]
    absent: Shown = field(default_factory=dict)


@dataclass(frozen=True)
class FileQuestion:
    """A question about a table of ``node`` on its disk; ``read`` takes what the file holds, ``absent`` is said where
    there is none."""

    f: str
    node: str
    table: str
    read: Callable[[bytes], Shown]
    absent: Shown


@dataclass(frozen=True)
class Script:
    """What one client does in a run."""

    acts: Sequence[Act] = ()
    questions: Sequence[Question] = ()
    file_questions: Sequence[FileQuestion] = ()


class _Repeated:
    """A question as it is repeated."""

    __slots__ = ("is_asked", "process", "question")

    def __init__(self, question: Question, process: Process) -> None:
        self.question, self.process, self.is_asked = question, process, False


class ScriptPart:
    """A script as a part of a client node (``Part``); *name* keeps its timers apart from those of other parts."""

    def __init__(self, host: PartHost, name: str, script: Script) -> None:
        self._host, self._recorder, self._tick = host, host.recorder, (name, "tick")
        self._acts = {(name, index): act for index, act in enumerate(script.acts)}
        self._questions = [_Repeated(question, Process(self._recorder.process())) for question in script.questions]
        self._file_questions = [(question, Process(self._recorder.process())) for question in script.file_questions]

    def on_start(self, env: Environment) -> None:
        for key, act in self._acts.items():
            env.set_timer(key, act.at_ns)
        if self._questions:
            self._ask_everywhere(env)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if key == self._tick:
            self._ask_everywhere(env)
        elif key in self._acts:
            self._carry_out(env, self._acts[key])
        else:
            return False
        return True

    def _carry_out(self, env: Environment, act: Act) -> None:
        if self._host.stopped:
            return
        process = Process(self._recorder.process())
        op = self._recorder.invoke(process.number, "act", node=act.node)

        def answered(env: Environment, answer: Answer) -> None:
            self._host.in_flight -= 1
            status, shows = status_of(answer, "OK"), act.shows
            if act.told is not None and isinstance(answer, Command) and status == "OK":
                shows = act.told(answer)
            detail: dict[str, Any] = {"act": act.name, "shows": {node: dict(shown) for node, shown in shows.items()}}
            if act.undone is not None:
                detail["undone"] = {"by": list(act.undone.by), "to": act.undone.to}
            self._host.complete(op, "act", status, process, detail=detail)

        self._host.in_flight += 1
        self._host.remoting.call(env, act.address, act.request, QUERY_TIMEOUT_NS, answered, close_on_timeout=True)

    def _ask_everywhere(self, env: Environment) -> None:
        if self._host.stopped:
            return
        for repeated in self._questions:
            if not repeated.is_asked:
                self._ask(env, repeated)
        for question, process in self._file_questions:
            self._read_file(question, process)
        env.set_timer(self._tick, EVERY_NS)

    def _read_file(self, question: FileQuestion, process: Process) -> None:
        op = self._recorder.invoke(process.number, question.f, node=question.node)
        held = self._host.stage.backend.read_table(question.node, question.table)
        self._shown(op, question.f, process, lambda: question.absent if held is None else question.read(held))

    def _ask(self, env: Environment, repeated: _Repeated) -> None:
        question = repeated.question
        op = self._recorder.invoke(repeated.process.number, question.f, node=question.node)

        def answered(env: Environment, answer: Answer) -> None:
            self._host.in_flight -= 1
            repeated.is_asked = False
            self._answered(op, repeated, answer)

        self._host.in_flight += 1
        repeated.is_asked = True
        self._host.remoting.call(
            env, question.address, question.request, QUERY_TIMEOUT_NS, answered, close_on_timeout=True
        )

    def _answered(self, op: int, repeated: _Repeated, answer: Answer) -> None:
        question, status = repeated.question, status_of(answer, "OK")
        if isinstance(answer, Command) and status == "TOPIC_NOT_EXIST" and question.absent:
            self._host.complete(op, question.f, "OK", repeated.process, detail=dict(question.absent))
            return
        if not isinstance(answer, Command) or status != "OK":
            self._host.complete(op, question.f, status, repeated.process)
            return
        self._shown(op, question.f, repeated.process, partial(question.read, answer))

    def _shown(self, op: int, f: str, process: Process, read: Callable[[], Shown]) -> None:
        try:
            shown = read()
        except (RemoteWireError, KeyError, ValueError) as error:
            self._host.complete(op, f, "MALFORMED_BODY", process, detail=str(error))
            return
        self._host.complete(op, f, "OK", process, detail=dict(shown))
