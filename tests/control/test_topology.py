# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Topology files: the shipped ones, and what wrong ones are told."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from lanesum_control.topology import TopologyError, available, load
from lanesum_control.topology.files import parse
from lanesum_control.topology.model import schema_text

STAR4 = available()["star4"].read_text()


def line_of(text: str, needle: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if needle in line)


def test_star4() -> None:
    star4 = load("star4")
    assert star4.names("worker") == ["w1", "w2", "w3", "w4"]
    assert star4.ports() == {"w1": 1, "w2": 2, "w3": 3, "w4": 4, "server": 5, "controller": 6}
    assert star4.address("w2", loopback=True) == "127.19.0.2"
    assert star4.nodes["w2"].mac_text == "02:00:0a:13:00:02"


def test_schema_is_current_and_accepts_what_is_shipped() -> None:
    path = available()["star4"].parent / "schema.json"
    assert path.read_text() == schema_text(), "run `make generate`"
    for shipped in available().values():
        jsonschema.validate(yaml.safe_load(shipped.read_text()), json.loads(schema_text()))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "x"}, json.loads(schema_text()))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("w2: {kind: worker, ip: 10.19.0.2", "w2: {kind: worker", "nodes.w2: a worker needs an ip"),
        ("10.19.0.3", "10.19.0.999", "nodes.w3.ip: Input is not a valid IPv4 address"),
        (
            "w3: {kind: worker, ip: 10.19.0.3",
            "w3: {kind: worker, ip: 10.19.0.1",
            "10.19.0.1 is the address of w1 already",
        ),
        ('"s1:2", "w2"', '"s1:1", "w2"', "port s1:1 is linked twice"),
        ('"s1:2", "w2"', '"s1:2", "w1"', "host w1 is linked twice"),
        ('"s1:2", "w2"', '"s1", "w2"', "a link joins one 's1:port' and one host"),
        ('"s1:2", "w2"', '"s1:999", "w2"', "port 999 is not between"),
        ('"s1:4", "w4"', '"s1:4", "w9"', "node 'w9' does not exist"),
        ("name: star4", "color: red\nname: star4", "color: Extra inputs are not permitted"),
        ("kind: switch", "kind: hub", "Input should be 'switch'"),
        ("  server: {kind: server, ip: 10.19.0.100}\n", "", "one server is needed, not 0"),
        ('  - endpoints: ["s1:4", "w4"]\n', "", "nodes.w4: not linked to s1"),
        ("links:", "links: [", "expected the node content"),
    ],
)
def test_errors_name_the_line(old: str, new: str, says: str) -> None:
    broken = STAR4.replace(old, new, 1)
    assert broken != STAR4
    with pytest.raises(TopologyError) as caught:
        parse(broken, "x.yaml")
    assert says in str(caught.value)
    line = int(str(caught.value).split(":")[1])
    if new and new[-1] != "[":
        assert line == line_of(broken, new.split("\n")[0]), str(caught.value)


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"no topology 'nowhere'.*star4"):
        load("nowhere")
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    with pytest.raises(TopologyError, match="empty"):
        load(str(empty))
