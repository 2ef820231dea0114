"""One frame of the remoting protocol: bytes in, commands out, and back.

    offset 0   int32  TOTAL   bytes that follow = 4 + header + body
    offset 4   int32  HWORD   serialization << 24 | header length
    offset 8   header         JSON (0) or ROCKETMQ binary (1)
    ...        body

Question: which bytes does a command become, and which command were these bytes? Pure functions and one small buffer,
:class:`FrameDecoder`, that splits a byte stream into frames.

Model. A :class:`Command` is a request or an answer; ``flag`` bit 0 says answer, bit 1 says one-way. JSON keys are
written in alphabetical order, compact, every ext field a text, absent members left out, exactly as Java does
(RocketMQ: RemotingCommand, RocketMQSerializable), so that a decoded Java frame encodes to the same bytes.

Tolerance. Reading accepts what Java accepts: any key order, unknown and missing keys, a trailing newline, ``code`` and
``opaque`` as text, ``language`` as a number, ext fields that are numbers or booleans. An empty text of a binary header
is absent, as in Java.

Errors. Nonsense from the peer is :class:`RemoteWireError` (the connection is to be closed, nothing is answered);
a command that cannot be written is :class:`LocalWireError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from struct import Struct
from struct import error as StructError
from types import MappingProxyType
from typing import Annotated, Any, Final

import msgspec

from reference_impl.wire.codes import LANGUAGE_CODES, LANGUAGES, OUR_LANGUAGE, OUR_VERSION

JSON: Final = 0
BINARY: Final = 1
SERIALIZATION_NAMES: Final = ("JSON", "ROCKETMQ")

ANSWER: Final = 1
"""Bit of ``flag``: this is a response."""

ONE_WAY: Final = 2
"""Bit of ``flag``: nothing may be answered."""

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024
"""Whole frame, length word included (RocketMQ: com.rocketmq.remoting.frameMaxLength)."""

NO_FIELDS: Final[Mapping[str, str]] = MappingProxyType({})
"""No ``extFields`` member at all; an empty dict is written as ``{}``, which Java does for an empty header class."""


class WireError(Exception):
    """Bytes and commands do not fit together; see the two kinds."""


class LocalWireError(WireError):
    """We would have sent nonsense: a bug on this side."""


class RemoteWireError(WireError):
    """The peer sent nonsense: its connection is closed."""


class Command(msgspec.Struct, gc=False):
    """A request or an answer. ``opaque`` matches them; :class:`~reference_impl.wire.remoting.Remoting` gives a request
    its opaque, and an answer the opaque, the answer bit and the serialization of its request."""

    code: int
    fields: Mapping[str, str] = NO_FIELDS
    body: bytes = b""
    remark: str | None = None
    flag: int = 0
    opaque: int = 0
    language: str = OUR_LANGUAGE
    version: int = OUR_VERSION
    serialization: int = JSON

    @property
    def is_answer(self) -> bool:
        return self.flag & ANSWER != 0

    @property
    def is_one_way(self) -> bool:
        return self.flag & ONE_WAY != 0


# Encoding ------------------------------------------------------------------------------------------------------------


def encode_frame(command: Command) -> bytes:
    """The whole frame. :class:`LocalWireError` for a value that the header cannot carry or a frame above the limit."""
    header = _encode_binary(command) if command.serialization == BINARY else _encode_json(command)
    total = 4 + len(header) + len(command.body)
    if total + 4 > FRAME_BYTES_MAX:
        raise LocalWireError(f"frame of {total + 4} bytes, limit {FRAME_BYTES_MAX} (code {command.code})")
    return _PREFIX.pack(total, command.serialization << 24 | len(header)) + header + command.body


class _JsonHeader(msgspec.Struct, gc=False, omit_defaults=True):
    """Alphabetical, as fastjson writes a bean. ``UNSET`` members are left out; the others are always written."""

    code: int
    extFields: Mapping[str, str] | msgspec.UnsetType
    flag: int
    language: str
    opaque: int
    remark: str | msgspec.UnsetType
    serializeTypeCurrentRPC: str
    version: int


def _encode_json(command: Command) -> bytes:
    fields, remark = command.fields, command.remark
    try:
        "".join(fields.values())  # the cheapest check that every ext field is a text: Go drops the frame otherwise
        return _to_json(
            _JsonHeader(
                command.code,
                _UNSET if fields is NO_FIELDS else fields,
                command.flag,
                command.language,
                command.opaque,
                _UNSET if remark is None else remark,
                SERIALIZATION_NAMES[command.serialization],
                command.version,
            )
        )
    except (TypeError, IndexError, UnicodeEncodeError) as error:
        raise LocalWireError(f"no JSON header for code {command.code}: {error}") from error


def _encode_binary(command: Command) -> bytes:
    try:
        entries = b"".join([_binary_entry(name, value) for name, value in command.fields.items()])
        remark = command.remark.encode() if command.remark else b""
        head = _BINARY_HEAD.pack(
            command.code, LANGUAGE_CODES[command.language], command.version, command.opaque, command.flag, len(remark)
        )
        return head + remark + _INT.pack(len(entries)) + entries
    except (StructError, KeyError, AttributeError, UnicodeEncodeError) as error:
        raise LocalWireError(f"no binary header for code {command.code}: {error!r}") from error


def _binary_entry(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return _SHORT.pack(len(key)) + key + _INT.pack(len(text)) + text


# Decoding ------------------------------------------------------------------------------------------------------------


def decode_frame(frame: bytes) -> Command:
    """The command of one whole frame, length word included. :class:`RemoteWireError` for anything else."""
    if len(frame) < 8:
        raise RemoteWireError(f"frame of {len(frame)} bytes, at least 8 needed")
    total, word = _PREFIX.unpack_from(frame)
    if total + 4 != len(frame):
        raise RemoteWireError(f"frame of {len(frame)} bytes says {total + 4}")
    return _decode_rest(frame, 4, total, word)


def _decode_rest(data: bytes, position: int, total: int, word: int) -> Command:
    """*position* is that of the header word; *total* counts from there."""
    serialization, header_bytes = word >> 24 & 0xFF, word & 0xFFFFFF
    if header_bytes > total - 4:
        raise RemoteWireError(f"header of {header_bytes} bytes in a frame of {total + 4}")
    start = position + 4
    end = start + header_bytes
    body = data[end : position + total]
    if serialization == JSON:
        return _decode_json(data[start:end], body)
    if serialization == BINARY:
        return _decode_binary(data[start:end], body)
    raise RemoteWireError(f"serialization type {serialization}")


_Int32 = Annotated[int, msgspec.Meta(ge=-0x80000000, le=0x7FFFFFFF)]


class _IncomingHeader(msgspec.Struct, gc=False):
    """What every well-behaved peer writes; anything looser goes through :func:`_decode_loose_json`."""

    code: _Int32 = 0
    extFields: dict[str, str] | msgspec.UnsetType | None = msgspec.UNSET
    flag: _Int32 = 0
    language: str = "JAVA"
    opaque: _Int32 = 0
    remark: str | None = None
    version: _Int32 = 0


def _decode_json(header: bytes, body: bytes) -> Command:
    try:
        seen = _from_json(header)
    except msgspec.ValidationError:
        return _decode_loose_json(header, body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteWireError(f"JSON header: {error}") from error
    fields = seen.extFields if isinstance(seen.extFields, dict) else NO_FIELDS
    return Command(
        seen.code,
        fields,
        body,
        seen.remark,
        seen.flag,
        seen.opaque,
        seen.language,
        seen.version,
        JSON,
    )


def _decode_loose_json(header: bytes, body: bytes) -> Command:
    """The leniency of fastjson: numbers as text, texts as numbers, an enum by its ordinal, members of other types."""
    try:
        seen = msgspec.json.decode(header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteWireError(f"JSON header: {error}") from error
    if not isinstance(seen, dict):
        raise RemoteWireError("JSON header is not an object")
    fields, remark = seen.get("extFields"), seen.get("remark")
    if fields is not None and not isinstance(fields, dict):
        raise RemoteWireError("JSON header: extFields is not an object")
    return Command(
        _loose_int(seen, "code"),
        NO_FIELDS if fields is None else {k: _loose_text(v) for k, v in fields.items() if v is not None},
        body,
        None if remark is None else _loose_text(remark),
        _loose_int(seen, "flag"),
        _loose_int(seen, "opaque"),
        _loose_language(seen.get("language")),
        _loose_int(seen, "version"),
        JSON,
    )


def _loose_int(seen: dict[str, Any], key: str) -> int:
    value = seen.get(key)
    try:
        number = 0 if value is None else int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise RemoteWireError(f"JSON header: {key} is not a number") from error
    if not -0x80000000 <= number <= 0x7FFFFFFF:
        raise RemoteWireError(f"JSON header: {key} beyond 32 bits")
    return number


def _loose_text(value: Any) -> str:
    """A value of any JSON type as Java's map of texts would hold it."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _loose_language(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return _language(value)
    return value if isinstance(value, str) else "OTHER" if value is not None else "JAVA"


def _language(code: int) -> str:
    return LANGUAGES[code] if 0 <= code < len(LANGUAGES) else "OTHER"


def _decode_binary(header: bytes, body: bytes) -> Command:
    try:
        code, language, version, opaque, flag, remark_bytes = _BINARY_HEAD.unpack_from(header)
        position = 17 + remark_bytes
        if remark_bytes < 0 or position + 4 > len(header):
            raise RemoteWireError(f"binary header: remark of {remark_bytes} bytes")
        remark = header[17:position].decode() if remark_bytes else None
        entry_bytes = _INT.unpack_from(header, position)[0]
        position += 4
        if entry_bytes < 0 or position + entry_bytes > len(header):
            raise RemoteWireError(f"binary header: ext fields of {entry_bytes} bytes")
        fields = _binary_fields(header, position, position + entry_bytes) if entry_bytes else NO_FIELDS
    except (StructError, UnicodeDecodeError) as error:
        raise RemoteWireError(f"binary header: {error}") from error
    return Command(code, fields, body, remark, flag, opaque, _language(language), version, BINARY)


def _binary_fields(header: bytes, position: int, end: int) -> dict[str, str]:
    fields = {}
    while position < end:
        key_end = position + 2 + _SHORT.unpack_from(header, position)[0]
        value_start = key_end + 4
        value_end = value_start + _INT.unpack_from(header, key_end)[0]
        if not position + 2 <= key_end < value_start <= value_end <= end:
            raise RemoteWireError("binary header: ext field beyond its bounds")
        if key_end > position + 2 and value_end > value_start:
            fields[header[position + 2 : key_end].decode()] = header[value_start:value_end].decode()
        position = value_end
    return fields


class FrameDecoder:
    """Splits a stream into commands. After a :class:`RemoteWireError` the stream is lost: close the connection.

    ``feed`` hands over the commands of all frames that are complete, then raises for a bad one behind them. A bad
    length is found as soon as its word is there, so that nothing is buffered for it (a TLS hello, first byte 0x16,
    is such a length).
    """

    __slots__ = ("_bytes_max", "_need", "_rest")

    def __init__(self, bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._rest = bytearray()
        self._need = 4

    def feed(self, data: bytes) -> Iterator[Command]:
        """The commands that *data* completes, in order; iterate to the end, or drop the decoder."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return
            data = bytes(self._rest)
            self._rest = bytearray()
        position, size = 0, len(data)
        while size - position >= 8:
            total, word = _PREFIX.unpack_from(data, position)
            self._check_total(total)
            if position + 4 + total > size:
                break
            yield _decode_rest(data, position + 4, total, word)
            position += 4 + total
        if position < size:
            self._keep(data[position:])

    def sole(self, data: bytes) -> Command | None:
        """The usual case without a generator: *data* is one whole frame and nothing is buffered. ``None`` for any other
        data, which is left to ``feed``."""
        size = len(data)
        if self._rest or size < 8:
            return None
        total, word = _PREFIX.unpack_from(data)
        if total + 4 != size or size > self._bytes_max:
            return None
        return _decode_rest(data, 4, total, word)

    def buffered(self) -> int:
        """Bytes of an unfinished frame."""
        return len(self._rest)

    def _keep(self, rest: bytes) -> None:
        self._need = 8
        if len(rest) >= 4:
            total = _INT.unpack_from(rest)[0]
            self._check_total(total)
            self._need = max(8, 4 + total)
        elif rest[0] > self._bytes_max >> 24:
            raise RemoteWireError(f"first byte {rest[0]:#x} begins no frame")
        self._rest = bytearray(rest)

    def _check_total(self, total: int) -> None:
        if not 4 <= total <= self._bytes_max - 4:
            raise RemoteWireError(f"frame length {total}, limit {self._bytes_max - 4}")


_PREFIX: Final = Struct(">ii")
_INT: Final = Struct(">i")
_SHORT: Final = Struct(">h")
_BINARY_HEAD: Final = Struct(">hbhiii")
_UNSET: Final = msgspec.UNSET
_to_json: Final = msgspec.json.Encoder().encode
_from_json: Final = msgspec.json.Decoder(_IncomingHeader).decode
