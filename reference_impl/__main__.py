"""``python -m mqchaos.reference_impl``: a NameServer, a broker or a DLedger member as one process.

    python -m mqchaos.reference_impl namesrv [-c namesrv.properties] [-p 9876]
    python -m mqchaos.reference_impl broker  [-c broker.conf] [-n 127.0.0.1:9876] [-p 10911]
    python -m mqchaos.reference_impl dledger  -c n0.conf                  a member of a group, without a broker

Question: how does a configuration file become a running node? Property names are RocketMQ's. Flags win over the file.
``--home`` is the folder that the node keeps everything in, ``--notes`` takes its trace as JSON lines, ``--defect``
plants a bug. SIGTERM or Ctrl-C ends it in order.

A bad file, value or name is one line on standard error and exit code 64 (:mod:`reference_impl.operators_file`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from reference_impl.configuration import ConfigurationError, Properties
from reference_impl.operators_file import anchored, judged, read

if TYPE_CHECKING:
    from reference_impl.environment import Role

EXIT_USAGE = 64


def main(argv: Sequence[str] | None = None) -> int:
    """Run one node until it ends; returns its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        properties = _properties(arguments)
        values, home = anchored(properties.values, arguments.home)
        role = _role(arguments, properties, values)
    except (ValueError, OSError) as error:
        print(f"{arguments.node}: {error}", file=sys.stderr)
        return EXIT_USAGE
    from reference_impl.runtime import run_role

    lock = f"{values.get('storePathRootDir', 'store')}/lock" if arguments.node == "broker" else None
    print(f"{arguments.node} starts, home {arguments.home}", flush=True)
    return run_role(role, home, notes=arguments.notes, lock=lock)


class _Parser(argparse.ArgumentParser):
    """One that ends with EX_USAGE, as everything else here does."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(f"python -m {__package__}", description="A RocketMQ NameServer, broker or DLedger member.")
    nodes = parser.add_subparsers(dest="node", required=True, metavar="NODE")
    for node, port in (("namesrv", 9876), ("broker", 10911), ("dledger", None)):
        one = nodes.add_parser(node, help=f"run a {node}")
        one.add_argument("-c", "--config", type=Path, metavar="FILE", help="properties, RocketMQ's names")
        if port is not None:
            one.add_argument("-p", "--port", type=int, help=f"listenPort ({port})")
        one.add_argument("--home", type=Path, default=Path(node), metavar="DIR", help=f"the node's folder (./{node})")
        one.add_argument("--notes", type=Path, metavar="FILE", help="trace as JSON lines, - for standard output")
        one.add_argument("--defect", action="append", default=[], metavar="NAME", help="plant a bug")
        if node == "broker":
            one.add_argument("-n", "--namesrv", metavar="HOST:PORT[;…]", help="namesrvAddr")
    return parser


def _properties(arguments: argparse.Namespace) -> Properties:
    """The file's properties with the flags over them."""
    properties = Properties(source="command line")
    if arguments.config is not None:
        properties = read(arguments.config)
    flags = {"listenPort": getattr(arguments, "port", None), "namesrvAddr": getattr(arguments, "namesrv", None)}
    given = {name: str(value) for name, value in flags.items() if value is not None}
    lines = {name: line for name, line in properties.lines.items() if name not in given}
    return Properties({**properties.values, **given}, lines, properties.source)


def _role(arguments: argparse.Namespace, properties: Properties, values: Mapping[str, str]) -> Role:
    from reference_impl.node import build_node, known_properties

    _report(judged(arguments.node, properties, known_properties(arguments.node)))
    try:
        return build_node(arguments.node, values, arguments.defect)
    except ConfigurationError as error:
        raise properties.locate(error) from error


def _report(sentences: Sequence[str]) -> None:
    for sentence in sentences:
        print(f"warning: {sentence}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
