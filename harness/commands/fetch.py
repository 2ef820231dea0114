"""``mqchaos fetch``: Apache RocketMQ's jars into the cache, before a run needs them.

Model. One release after the other, with a line of progress; what is there is left alone. ``run`` and ``matrix`` do the
same for the releases that their target names.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from harness.errors import EXIT_PASS, UsageError
from harness.terminal import Terminal, Ticker

EPILOG = """\
examples:
  mqchaos fetch                  every release that was run here
  mqchaos fetch 5.3.3 5.5.0
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``fetch``."""
    parser.epilog = EPILOG
    parser.add_argument("version", nargs="*", metavar="VERSION", help="releases, as 5.5.0 (default: all known ones)")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Fetch, and say where they are."""
    from harness.targets.jars import jar_folder
    from harness.targets.releases import known
    from harness.worlds import VERSION

    versions = [version.removeprefix("rocketmq:") for version in arguments.version] or list(known())
    for version in versions:
        if not VERSION.fullmatch(version):
            raise UsageError(f"{version!r} is no release", hint=f"known: {', '.join(known())}")
    fetch(versions, terminal)
    for version in versions:
        jars = sorted(jar_folder(version).glob("*.jar"))
        size = sum(jar.stat().st_size for jar in jars)
        terminal.result(f"rocketmq {version}: {len(jars)} jars, {size / 1e6:.0f} MB in {jar_folder(version)}")
    return EXIT_PASS


def make_ready(target: str, terminal: Terminal) -> None:
    """Before a run: a warning for releases that nobody has run here, and the jars of all that *target* names."""
    from harness.targets.releases import warning_of
    from harness.worlds import versions_in

    versions = versions_in(target)
    for warning in filter(None, map(warning_of, versions)):
        terminal.say(f"warning: {warning}")
    fetch(versions, terminal)


def fetch(versions: Iterable[str], terminal: Terminal) -> None:
    """The jars of *versions*; what takes time is said."""
    from harness.targets.jars import fetch_jars

    for version in versions:
        with Ticker(terminal) as ticker:
            fetch_jars(version, terminal.say, lambda line: ticker.tick(lambda: line))
