"""Many runs at once: worker processes that end with us, and results as they come.

Question: how do runs that need nothing of each other use all cores, and what is left when somebody ends them early?

Model. Tasks go to spawned workers, four a worker in advance. Signals that end things are ours alone: workers ignore
them, finish what they have begun, and end when this process does. Closing the iterator drops what has not begun.

Limits. Only for worlds that may run beside each other (``runs_at_once`` of the backend's row); tasks and results are
pickled.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, get_context, parent_process
from threading import Thread
from typing import Any, Final, TypeVar

from harness.errors import HarnessError, UsageError

T = TypeVar("T")

JOBS: Final = 2
JOBS_MAX: Final = 64


def check_jobs(jobs: int) -> None:
    """``UsageError`` for a number of workers that makes no sense."""
    if not 1 <= jobs <= JOBS_MAX:
        raise UsageError(f"--jobs {jobs} is not within 1 and {JOBS_MAX}")


def run_at_once(
    work: Callable[..., T], tasks: Iterable[tuple[Any, ...]], jobs: int, order: Callable[[T], Any]
) -> Iterator[T]:
    """*work* of each task; what is done at the same time comes by *order*."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin_worker) as pool:
        pending: set[Future[T]] = set()
        try:
            for task in tasks:
                pending.add(pool.submit(work, *task))
                if len(pending) >= 4 * jobs:
                    yield from _finished(pending, order)
            while pending:
                yield from _finished(pending, order)
        except BrokenProcessPool as error:
            raise HarnessError("a worker process died", hint="out of memory? try --jobs 1") from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _finished(pending: set[Future[T]], order: Callable[[T], Any]) -> Iterator[T]:
    """Wait for the next ones and take them out. When a worker has died, those that were done before come first, then
    ``BrokenProcessPool``."""
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    pending -= done
    yield from sorted((future.result() for future in done if future.exception() is None), key=order)
    for future in done:
        future.result()


def _begin_worker() -> None:
    """Ctrl-C, SIGTERM and a closed terminal may go to the whole process group; the parent decides what ends. With it
    everybody does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
