"""Objects as functions: what a register, a key, a queue, a stream or a lock answers. Inputs of the general search.

Question: in this state, can this operation with this answer happen, and what is the state then?

Model. A :class:`Model` is a value of functions, pure by contract. An operation's argument ``arg`` is a tuple that
begins with its name and holds the answer too: ``("read", 3)``, ``("cas", 1, 4)``, ``("enqueue", "a")``. ``step``
gives the new state, or :data:`IMPOSSIBLE`. States and arguments are hashable.

``observes(arg)``: it never changes any state. ``is_lazy``: whenever two states allow an operation, it either observes
or leads both to the same state (registers and keys that are overwritten; not appends): then unknown operations need
trying only where somebody waits for them. ``initial`` is the state before everything.

``rule(arg)`` says the same as ``step`` without being asked for each state, where that can be said: (when, state, then),
legal in :data:`ANY` state, only :data:`IN` *state* or in all but it (:data:`NOT_IN`), and the state *then*, or
:data:`SAME` if and only if the operation observes. Models with rules for all arguments are searched by compiled loops
where these are installed.

Limits. A model describes one object; :mod:`checkers.objects.search` splits a history by object first (locality).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Final

Arg = tuple[Any, ...]
State = Hashable

IMPOSSIBLE: Final = object()
"""What ``step`` returns for an operation that cannot happen in that state."""

ANY: Final = 0
IN: Final = 1
NOT_IN: Final = 2
SAME: Final = object()
Rule = tuple[int, State, Any]


@dataclass(frozen=True)
class Model:
    """One object's sequential behaviour."""

    name: str
    initial: State
    step: Callable[[Any, Arg], Any]
    observes: Callable[[Arg], bool]
    is_lazy: bool
    resets: Callable[[Arg], bool] | None = None
    reaches: Callable[[Any, Arg], bool] | None = None
    """Both or neither: where no operation that ``resets`` comes any more, can this state still become one in which the
    observer *arg* is legal? (A text that only grows must begin as the text that somebody reads.)"""
    states: Callable[[Iterable[Arg]], list[Any]] | None = None
    """All states to which operations with these arguments can lead, the initial one included, if they are few."""
    rule: Callable[[Arg], Rule | None] | None = None
    """``None`` for an argument without one."""


def _register(state: Any, arg: Arg) -> Any:
    kind = arg[0]
    if kind == "write":
        return arg[1]
    if kind == "read":
        return state if state == arg[1] else IMPOSSIBLE
    if kind == "cas":
        return arg[2] if state == arg[1] else IMPOSSIBLE
    return state if state != arg[1] else IMPOSSIBLE


def _register_rule(arg: Arg) -> Rule:
    kind, value = arg[0], arg[1]
    if kind == "write":
        return ANY, None, value
    if kind == "read":
        return IN, value, SAME
    return (IN, value, arg[2]) if kind == "cas" else (NOT_IN, value, SAME)


def register(initial: State = None) -> Model:
    """``("write", v)``, ``("read", v)``, ``("cas", old, new)`` swapped, ``("refused", old)`` not swapped."""

    def states(args: Iterable[Arg]) -> list[Any]:
        return list(dict.fromkeys([initial, *(arg[-1] for arg in args if arg[0] in ("write", "cas"))]))

    observers = ("read", "refused")
    return Model(
        "register",
        initial,
        _register,
        lambda arg: arg[0] in observers,
        is_lazy=True,
        states=states,
        rule=_register_rule,
    )


def _key(state: Any, arg: Arg) -> Any:
    kind = arg[0]
    if kind == "put":
        return arg[1]
    if kind == "append":
        return state + arg[1]
    return state if state == arg[1] else IMPOSSIBLE


def key() -> Model:
    """One key of a store of texts: ``("put", v)``, ``("append", v)``, ``("get", v)``; empty at first."""
    return Model(
        "key",
        "",
        _key,
        observes=lambda arg: arg[0] == "get",
        is_lazy=False,
        resets=lambda arg: arg[0] == "put",
        reaches=lambda state, arg: arg[1].startswith(state),
    )


def _fifo(state: Any, arg: Arg) -> Any:
    kind = arg[0]
    if kind == "enqueue":
        return (*state, arg[1])
    if kind == "empty":
        return IMPOSSIBLE if state else state
    if kind == "take":
        return state[1:] if state else IMPOSSIBLE
    return state[1:] if state and state[0] == arg[1] else IMPOSSIBLE


def fifo() -> Model:
    """``("enqueue", v)``, ``("dequeue", v)``, ``("empty",)``; ``("take",)`` takes whatever is first."""
    return Model("fifo", (), _fifo, lambda arg: arg[0] == "empty", is_lazy=False)


def _bag(state: Any, arg: Arg) -> Any:
    kind = arg[0]
    if kind == "enqueue":
        return tuple(sorted((*state, arg[1]), key=repr))
    if kind == "empty":
        return IMPOSSIBLE if state else state
    if arg[1] not in state:
        return IMPOSSIBLE
    place = state.index(arg[1])
    return state[:place] + state[place + 1 :]


def bag() -> Model:
    """As :func:`fifo`, in any order."""
    return Model("bag", (), _bag, lambda arg: arg[0] == "empty", is_lazy=False)


def _stream(state: Any, arg: Arg) -> Any:
    kind = arg[0]
    if kind == "append":
        records, offset = arg[1], arg[2]
        return state + records if offset is None or offset == len(state) else IMPOSSIBLE
    if kind == "poll":
        offset, records = arg[1], arg[2]
        return state if state[offset : offset + len(records)] == records else IMPOSSIBLE
    if kind == "empty":
        return state if len(state) <= arg[1] else IMPOSSIBLE
    return state if len(state) == arg[1] else IMPOSSIBLE


def _stream_reaches(state: Any, arg: Arg) -> bool:
    kind = arg[0]
    if kind == "poll":
        seen = state[arg[1] : arg[1] + len(arg[2])]
        return bool(seen == arg[2][: len(seen)])
    return bool(len(state) <= arg[1])


def stream() -> Model:
    """A log: ``("append", records, offset or None)``, ``("poll", from, records)``, ``("empty", at)``, ``("end",
    x)``."""
    return Model(
        "stream",
        (),
        _stream,
        observes=lambda arg: arg[0] != "append",
        is_lazy=False,
        resets=lambda arg: False,
        reaches=_stream_reaches,
    )


def _mutex(state: Any, arg: Arg) -> Any:
    kind, owner = arg
    if kind == "acquire":
        return owner if state is None else IMPOSSIBLE
    if kind == "refused":
        return state if state is not None else IMPOSSIBLE
    return None if state == owner else IMPOSSIBLE


def _mutex_rule(arg: Arg) -> Rule:
    kind, owner = arg
    if kind == "acquire":
        return IN, None, owner
    return (NOT_IN, None, SAME) if kind == "refused" else (IN, owner, None)


def mutex() -> Model:
    """``("acquire", owner)``, ``("release", owner)``, ``("refused", owner)``; free at first."""

    def states(args: Iterable[Arg]) -> list[Any]:
        return list(dict.fromkeys([None, *(owner for kind, owner in args if kind == "acquire")]))

    return Model("mutex", None, _mutex, lambda arg: arg[0] == "refused", is_lazy=True, states=states, rule=_mutex_rule)
