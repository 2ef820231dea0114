"""Configuration files: read as Java reads properties, bound by RocketMQ's names, one clear error each."""

from __future__ import annotations

import contextlib
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.configuration import (
    ConfigurationError,
    bind,
    parse_properties,
    properties_text,
    property_names,
    unbind,
)
from reference_impl.defects import DEFECTS, checked_defects
from reference_impl.namesrv import NamesrvConfig


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("brokerName=broker-a", {"brokerName": "broker-a"}),
        ("  brokerName = broker-a  ", {"brokerName": "broker-a"}),
        ("brokerName:broker-a", {"brokerName": "broker-a"}),
        ("brokerName broker-a", {"brokerName": "broker-a"}),
        ("namesrvAddr=10.0.0.1:9876;10.0.0.2:9876", {"namesrvAddr": "10.0.0.1:9876;10.0.0.2:9876"}),
        ("# comment\n! comment\n\n \t\na=1", {"a": "1"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=one,\\\n    two", {"a": "one,two"}),
        ("a=ends with a backslash\\\\\nb=2", {"a": "ends with a backslash\\", "b": "2"}),
        ("a=last line\\", {"a": "last line"}),
        ("k\\ ey\\==v", {"k ey=": "v"}),
        ("a=\\u0041\\t\\q", {"a": "A\tq"}),
        ("a=1\na=2", {"a": "2"}),
        ("empty", {"empty": ""}),
        ("a=# no comment", {"a": "# no comment"}),
    ],
)
def test_lines_are_read_as_java_reads_them(text: str, values: dict[str, str]) -> None:
    assert dict(parse_properties(text).values) == values


def test_lines_are_counted_from_where_they_begin() -> None:
    properties = parse_properties("# 1\na=x\\\n  y\n\nb=2", "broker.conf")
    assert dict(properties.lines) == {"a": 2, "b": 5}


def test_a_broken_escape_is_an_error_with_its_place() -> None:
    with pytest.raises(ConfigurationError, match=r"^broker\.conf:2: broken escape"):
        parse_properties("a=1\nb=\\u12", "broker.conf")


_plain = st.text("abcXYZ019._-;/", min_size=1, max_size=8)


@given(st.dictionaries(_plain, _plain, max_size=5))
def test_plain_properties_come_back(values: dict[str, str]) -> None:
    assert dict(parse_properties(properties_text(values)).values) == values


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigurationError):
        parse_properties(text)


class Settings(msgspec.Struct, frozen=True, rename="camel"):
    listen_port: int = 1
    is_on: bool = False
    flush_disk_type: Literal["ASYNC_FLUSH", "SYNC_FLUSH"] = "ASYNC_FLUSH"
    name: str = "n"


def test_settings_are_bound_by_rocketmqs_names() -> None:
    values = {"listenPort": " 10 ", "isOn": "TRUE", "flushDiskType": "SYNC_FLUSH", "unknown": "1"}
    assert bind(Settings, values) == Settings(10, True, "SYNC_FLUSH")
    assert bind(Settings, {}) == Settings()
    assert property_names(Settings) == ["listenPort", "isOn", "flushDiskType", "name"]
    assert bind(Settings, unbind(Settings(7, True))) == Settings(7, True)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("listenPort", "ten", "a whole number"),
        ("listenPort", "1.5", "a whole number"),
        ("listenPort", "1_0", "a whole number"),
        ("listenPort", "", "a whole number"),
        ("isOn", "1", "true or false"),
        ("flushDiskType", "sync", "ASYNC_FLUSH or SYNC_FLUSH"),
    ],
)
def test_a_bad_value_is_one_error_that_says_where_and_what(name: str, value: str, expected: str) -> None:
    properties = parse_properties(f"# c\n{name}={value}\n", "broker.conf")
    with pytest.raises(ConfigurationError) as caught:
        bind(Settings, properties.values)
    assert str(properties.locate(caught.value)) == f"broker.conf:2: {name}={value}: expected {expected}"


def test_an_error_about_nothing_in_the_file_is_located_in_the_file() -> None:
    assert str(parse_properties("a=1", "f").locate(ValueError("brokerName is empty"))) == "f: brokerName is empty"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("listenPort", "0"),
        ("listenPort", "65536"),
        ("brokerChannelExpiredTime", "0"),
        ("scanNotActiveBrokerInterval", "-1"),
        ("kvConfigPath", "/etc/kv.json"),
        ("kvConfigPath", "../kv.json"),
        ("release", "4.8.0"),
    ],
)
def test_settings_of_a_name_server_that_make_no_sense(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}="):
        NamesrvConfig.from_properties({name: value})


@pytest.mark.parametrize(("release", "wanted", "seconds"), [("4.9.7", 0, 10), ("5.3.3", 0, 5), ("4.9.7", 1500, 1.5)])
def test_the_scan_interval_is_the_releases_own_unless_set(release: str, wanted: int, seconds: float) -> None:
    config = NamesrvConfig.from_properties({"release": release, "scanNotActiveBrokerInterval": str(wanted)})
    assert config.scan_interval_ns == seconds * 1_000_000_000


def test_defects_are_names_of_their_kind_of_node() -> None:
    assert checked_defects(["namesrv-never-expires"], "namesrv") == {"namesrv-never-expires"}
    assert checked_defects(DEFECTS) == set(DEFECTS)
    with pytest.raises(ValueError, match="did you mean 'ack-before-fsync'"):
        checked_defects(["ack-befor-fsync"])
    with pytest.raises(ValueError, match="one of a namesrv, not of a broker"):
        checked_defects(["namesrv-never-expires"], "broker")
