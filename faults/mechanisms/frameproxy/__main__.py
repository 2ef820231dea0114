"""A server of our proxies, with the options of toxiproxy's that we have.

Ends in order on SIGTERM and SIGINT. Says on standard output where it answers, one line, when it does.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

from faults.mechanisms.frameproxy.api import serve
from faults.mechanisms.frameproxy.proxy import Proxies


async def _run(host: str, port: int, seed: int | None) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    proxies = Proxies(seed)
    server = await serve(proxies, host, port)
    address = server.sockets[0].getsockname()
    sys.stdout.write(f"{address[0]}:{address[1]}\n")
    sys.stdout.flush()
    await ended.wait()
    server.close()
    await proxies.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="frameproxy", description="A proxy that knows RocketMQ's frames.")
    parser.add_argument("-host", default="localhost", help="where the HTTP interface listens (default: localhost)")
    parser.add_argument("-port", type=int, default=8474, help="its port; 0: any that is free (default: 8474)")
    parser.add_argument("-seed", type=int, default=None, help="of what is drawn (toxicity, jitter)")
    options = parser.parse_args()
    try:
        asyncio.run(_run(options.host, options.port, options.seed))
    except OSError as error:
        sys.exit(f"frameproxy: {error}")


if __name__ == "__main__":
    main()
