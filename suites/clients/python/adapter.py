"""A client behind the line protocol in some 90 lines, the example of docs/clients.md: a producer of plain requests.

It asks a NameServer for the route, sends each message to the next queue in turn, and tells each attempt before it
leaves. One thread: a command is carried out before the next one is read.
"""

import base64
import json
import re
import socket
import struct
import sys
import time
from itertools import count

aside = []


def say(**line):
    print(json.dumps({"at": time.monotonic_ns(), **line}), flush=True)


def listen(wanted=None):
    """The next command; while we wait for an answer, others are put aside."""
    if wanted is None and aside:
        return aside.pop(0)
    command = json.loads(sys.stdin.readline() or '{"do": "end"}')
    while wanted not in (None, command["do"]) and command["do"] != "end":
        aside.append(command)
        command = json.loads(sys.stdin.readline() or '{"do": "end"}')
    return command


def call(address, code, fields, body=b""):
    """One request of RocketMQ's remoting protocol on a connection of its own: (code, fields, body)."""
    header = json.dumps(
        {"code": code, "language": "PYTHON", "version": 401, "opaque": 1, "flag": 0, "extFields": fields}
    )
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=3) as link:
        link.sendall(struct.pack(">ii", 4 + len(header) + len(body), len(header)) + header.encode() + body)
        data = link.makefile("rb")
        total, length = struct.unpack(">ii", whole(data, 8))
        answer = json.loads(whole(data, length))
        return answer["code"], answer.get("extFields") or {}, whole(data, total - 4 - length)


def whole(data, size):
    """A node that dies ends the connection anywhere in its answer: what it did with the request is then unknown."""
    read = data.read(size)
    if len(read) < size:
        raise ConnectionResetError("the connection ended before the whole answer")
    return read


def route(nameservers, topic):
    """[(broker, queue id, address)] of the masters."""
    try:
        code, _, body = call(nameservers.split(";")[0], 105, {"topic": topic})
    except OSError:
        return []
    found = json.loads(re.sub(r"([{,])(\d+):", r'\1"\2":', body.decode())) if code == 0 else {"brokerDatas": []}
    masters = {each["brokerName"]: each["brokerAddrs"].get("0") for each in found["brokerDatas"]}
    counts = {each["brokerName"]: each["writeQueueNums"] for each in found.get("queueDatas", [])}
    return [(name, queue, masters[name]) for name in counts if masters.get(name) for queue in range(counts[name])]


def send(command, opened, turn):
    message = command["message"]
    queues = route(opened["nameservers"], message["topic"])
    if not queues:
        return {"status": "NO_ROUTE"}
    broker, queue, address = queues[next(turn) % len(queues)]
    say(**{"is": "trying", "id": command["id"], "question": command["id"], "broker": broker, "queue": queue})
    listen("go")  # it is written down now
    fields = {
        "producerGroup": opened["group"],
        "topic": message["topic"],
        "defaultTopic": "none",
        "queueId": str(queue),
    }
    fields |= {"defaultTopicQueueNums": "4", "sysFlag": "0", "bornTimestamp": str(time.time_ns() // 10**6), "flag": "0"}
    try:
        code, told, _ = call(
            address, 10, fields | {"properties": "WAIT\x01true\x02"}, base64.b64decode(message["body"])
        )
    except ConnectionRefusedError:
        return {"status": "CONNECT_FAILED"}
    except TimeoutError as error:
        return {"status": "TIMEOUT", "error": str(error)}
    except OSError as error:
        return {"status": "CONNECTION_CLOSED", "error": str(error)}
    words = {0: "SEND_OK", 10: "FLUSH_DISK_TIMEOUT", 11: "SLAVE_NOT_AVAILABLE", 12: "FLUSH_SLAVE_TIMEOUT"}
    status = {"status": words.get(code, f"CODE_{code}"), "broker": broker, "queue": queue}
    return status | {"offset": int(told.get("queueOffset", -1)), "message_id": told.get("msgId", "")}


say(**{"is": "hello", "protocol": 1, "client": "ninety lines of Python", "tells_attempts": True})
opened, turn, command = {}, count(), listen()
while command["do"] != "end":
    if command["do"] == "clock":
        say(**{"is": "clock", "id": command["id"]})
    elif command["do"] == "open" and command["role"] == "producer":
        opened = command
        say(**{"is": "done", "id": command["id"], "status": "OK"})
    elif command["do"] == "send":
        say(**{"is": "done", "id": command["id"], **send(command, opened, turn)})
    else:
        say(**{"is": "done", "id": command["id"], "status": "CLIENT_ERROR", "error": f"no {command['do']} here"})
    command = listen()
