"""Hosts as bytes: ``ip:port`` texts and the 8 or 20 bytes that records and message ids carry.

Question: how does an address look inside a message? IPv4 (or IPv6) bytes, then the port as a 4-byte integer. IPv6
texts are written ``[ip]:port``.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from reference_impl.environment import Address
from reference_impl.wire.frame import LocalWireError, RemoteWireError


@lru_cache(maxsize=4096)
def encode_host(address: Address) -> bytes:
    """8 bytes for ``10.0.0.1:10911``, 20 for ``[::1]:10911``. :class:`LocalWireError` for a name or a bad port."""
    ip, _, port = address.rpartition(":")
    try:
        packed = IPv6Address(ip[1:-1]).packed if ip.startswith("[") else IPv4Address(ip).packed
        return packed + int(port).to_bytes(4, "big")
    except (AddressValueError, ValueError, OverflowError) as error:
        raise LocalWireError(f"address {address!r} is no ip:port ({error})") from error


@lru_cache(maxsize=4096)
def decode_host(data: bytes) -> Address:
    """The text of 8 or 20 bytes. :class:`RemoteWireError` for any other length."""
    port = int.from_bytes(data[-4:], "big", signed=True)
    if len(data) == 8:
        return f"{IPv4Address(data[:4])}:{port}"
    if len(data) == 20:
        return f"[{IPv6Address(data[:16])}]:{port}"
    raise RemoteWireError(f"host of {len(data)} bytes, 8 or 20 expected")
