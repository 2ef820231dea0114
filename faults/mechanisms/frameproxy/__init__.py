"""A TCP proxy of our own that knows RocketMQ's frames, with toxiproxy's HTTP interface.

Question: how is the link between two nodes made slow, silent or lossy by somebody who is not root, and how is exactly
the third answer to a send dropped, or one request delivered twice? By a proxy in between. It runs wherever Python runs.

    frames.py    where does a frame begin, what does its header say?
    toxics.py    what can be asked for: toxiproxy's seven toxics, and two of ours (jam, frames)
    shaping.py   what each toxic does to bytes
    faulting.py  what the toxic *frames* does to frames
    flow.py      one direction of one connection
    proxy.py     one listener and its connections; all proxies of a server
    api.py       toxiproxy's HTTP interface

Run as a module it is a server, with toxiproxy's options: ``-host 127.0.0.1 -port 8474``.

Limits. A proxy ends TCP: a peer's connect succeeds although nobody can be reached (its first request then waits), where
a packet filter would let it wait in the connect.
"""
