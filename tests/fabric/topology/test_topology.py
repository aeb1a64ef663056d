# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Topology files: the shipped ones, and errors of invalid ones."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml

from lanesum.errors import ConfigurationError
from lanesum_control.cli.topology import packet_notes
from lanesum_fabric.program.switch_job import SWITCH_MAC
from lanesum_fabric.topology import Topology, TopologyBuilder, TopologyError, available, load
from lanesum_fabric.topology.addresses import server_address
from lanesum_fabric.topology.drawing import svg
from lanesum_fabric.topology.files import parse
from lanesum_fabric.yaml_model import schema_text
from lanesum_switch.faults.plan import same_link
from lanesum_switch.faults.topology_names import names_in
from lanesum_switch.frames import ipv4_int, mac_bytes
from tests.command_line import invoke

STAR4 = available()["star4"].read_text()
TREE2X2 = available()["tree2x2"].read_text()


def line_of(text: str, needle: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if needle in line)


def test_star4() -> None:
    star4 = load("star4")
    assert star4.names("worker") == ["w1", "w2", "w3", "w4"]
    assert star4.ports() == {"w1": 1, "w2": 2, "w3": 3, "w4": 4, "server": 5, "controller": 8}
    assert star4.address("w2", loopback=True) == "127.19.0.2"
    assert star4.nodes["w2"].mac_text == "02:00:0a:13:00:02"


def test_schema_is_current_and_accepts_what_is_shipped() -> None:
    path = available()["star4"].parent / "schema.json"
    assert path.read_text() == schema_text(Topology), "run `make generate`"
    for shipped in available().values():
        jsonschema.validate(yaml.safe_load(shipped.read_text()), json.loads(schema_text(Topology)))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "x"}, json.loads(schema_text(Topology)))


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
        ('"s1:2", "w2"', '"s1", "w2"', "a link joins one 'switch:port' and one host"),
        ('"s1:2", "w2"', '"s1:999", "w2"', "port 999 is not between"),
        ('"s1:4", "w4"', '"s1:4", "w9"', "node 'w9' does not exist"),
        ("name: star4", "color: red\nname: star4", "color: Extra inputs are not permitted"),
        ("kind: switch", "kind: hub", "Input should be 'switch'"),
        ("  server: {kind: server, ip: 10.19.0.100}\n", "", "at least one server is needed"),
        ('  - endpoints: ["s1:4", "w4"]\n', "", "nodes.w4: not linked to a switch"),
        ("links:", "links: [", "expected the node content"),
        ("kind: switch", "kind: switch, mac: 02:00:00:00:00:09", "a switch has no mac of its own choice"),
    ],
)
def test_errors_name_the_line(old: str, new: str, says: str) -> None:
    check_line(STAR4, old, new, says)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"s2:5", "s0:2"', '"s2:5", "s0:1"', "port s0:1 is linked twice"),
        ('"s2:5", "s0:2"', '"s2:5", "s0"', "a link joins one 'switch:port' and one host, or two"),
        ('"s2:5", "s0:2"', '"s2:5", "s2:6"', "another path between s2 and s2"),
        ('  - endpoints: ["s2:5", "s0:2"]\n', "", "nodes.s2: no path to s0, where the server is"),
        (
            'links:\n  - endpoints: ["s1:1", "w1"]',
            'links:\n  - endpoints: ["s1:6", "s2:6"]\n  - endpoints: ["s1:1", "w1"]',
            "links: switches have several paths, but no spines: every switch has a host",
        ),
        (
            '"s2:1", "w3"]\n',
            '"s2:1", "w3"]\n  - endpoints: ["s3:1", "s4:1"]\n  - endpoints: ["s3:2", "s2:9"]\n',
            "nodes.s3: a third level: s3 is not linked to s0 itself, and switches sum at two levels. Describe one pod, "
            "or link each rack to one switch without control, for all switches above: it routes, the server sums",
        ),
    ],
)
def test_errors_of_trees_name_the_line(old: str, new: str, says: str) -> None:
    text = TREE2X2.replace("  s2: {kind: switch}", "  s2: {kind: switch}\n  s3: {kind: switch}\n  s4: {kind: switch}")
    text = text if "s3" in new else TREE2X2
    broken = text.replace(old, new, 1)
    with pytest.raises(TopologyError) as caught:
        parse(broken, "x.yaml")
    assert says in str(caught.value)


def test_hosts_behind_another_switch_have_its_mac() -> None:
    """A switch accepts frames to its own MAC address only."""
    tree = load("tree2x2")
    macs = {name: host.mac for name, host in tree.host_ports("s1", loopback=False).items()}
    assert macs["w1"] == mac_bytes(tree.nodes["w1"].mac_text)
    assert {macs[name] for name in ("w3", "w4", "server", "controller")} == {SWITCH_MAC}


def test_switch_may_have_an_address() -> None:
    with pytest.raises(TopologyError, match=r"10\.19\.0\.3 is the address of s1 already"):
        parse(STAR4.replace("kind: switch", "kind: switch, ip: 10.19.0.3"), "x.yaml")
    star = parse(STAR4.replace("kind: switch", "kind: switch, ip: 10.19.0.254"), "x.yaml")
    assert star.own_ip("s1", loopback=False) == ipv4_int("10.19.0.254")
    assert star.own_ip("s1", loopback=True) == ipv4_int("127.19.0.254")
    assert load("star4").own_ip("s1", loopback=False) == 0
    assert "s1" not in star.hosts()


def test_trees_and_what_every_switch_sees() -> None:
    tree = load("tree2x2")
    assert (tree.switches(), tree.switch) == (["s0", "s1", "s2"], "s0")
    assert tree.links_between_switches() == [("s1", 5, "s0", 1), ("s2", 5, "s0", 2)]
    assert [tree.switch_of(host) for host in ("w1", "w4", "server")] == ["s1", "s2", "s0"]
    assert tree.ports("s2") == {"w3": 1, "w4": 2}
    assert tree.ports("s0") == {"server": 5, "controller": 8}

    def seen(switch: str) -> dict[str, tuple[int, bool]]:
        return {name: (h.port, h.attached) for name, h in tree.host_ports(switch, loopback=False).items()}

    assert seen("s0") == {
        "w1": (1, False),
        "w2": (1, False),
        "w3": (2, False),
        "w4": (2, False),
        "server": (5, True),
        "controller": (8, True),
    }
    assert seen("s1") == {
        "w1": (1, True),
        "w2": (2, True),
        "w3": (5, False),
        "w4": (5, False),
        "server": (5, False),
        "controller": (5, False),
    }
    assert len(load("tree4x4").names("worker")) == 16


def test_server_may_be_in_a_rack() -> None:
    text = TREE2X2.replace('"s0:5", "server"', '"s2:9", "server"')
    tree = parse(text, "x.yaml")
    assert tree.switch == "s2"
    sees = tree.host_ports("s2", loopback=False)
    assert (sees["w1"].port, sees["w3"].port, sees["server"].port, sees["controller"].port) == (5, 1, 9, 5)
    assert tree.host_ports("s1", loopback=False)["server"].port == 5


def test_server_backend_on_loopback_uses_the_next_port() -> None:
    star4 = load("star4")
    assert star4.server_address(loopback=True) == ("127.19.0.100", 19539)
    assert star4.server_backend(loopback=True) == ("127.19.0.100", 19540)
    assert star4.server_backend(loopback=False) == star4.server_address(loopback=False)


def check_line(text: str, old: str, new: str, says: str) -> None:
    broken = text.replace(old, new, 1)
    assert broken != text
    with pytest.raises(TopologyError) as caught:
        parse(broken, "x.yaml")
    assert says in str(caught.value)
    line = int(str(caught.value).split(":")[1])
    if new and new[-1] != "[":
        assert line == line_of(broken, new.split("\n")[0]), str(caught.value)


@pytest.mark.parametrize("key", ["w2", "'w2'", '"\\x772"'], ids=["plain", "quoted", "escaped"])
def test_duplicate_key_is_refused_with_its_line(key: str) -> None:
    old = "  server: {kind: server"
    broken = STAR4.replace(old, f"  {key}: {{kind: worker, ip: 10.19.0.9}}\n  {key}: {{}}\n{old}", 1)
    first, second = line_of(broken, "w2: {kind: worker, ip: 10.19.0.2"), line_of(broken, "10.19.0.9")
    with pytest.raises(TopologyError) as caught:
        parse(broken, "x.yaml")
    assert str(caught.value) == (
        f"x.yaml:{second}: duplicate key 'w2', which line {first} has already. Remove or rename one of the two."
    )


def test_key_that_overrides_a_merged_one_is_accepted() -> None:
    merged = STAR4.replace("w1: {kind", "w1: &w {kind").replace("w2: {kind: worker, ", "w2: {<<: *w, ")
    assert merged.count("*w") == 1
    assert parse(merged, "x.yaml") == load("star4")


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"the topology 'nowhere'.*star4"):
        load("nowhere")
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    with pytest.raises(TopologyError, match="empty"):
        load(str(empty))


REPEATED = b"a: &a [" + b"1," * 1000 + b"]\nb: &b [" + b"*a," * 1000 + b"]\nc: [" + b"*b," * 1000 + b"]"


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe", b'name: "\x00"', b"name: 2020-13-45", b"[" * 5000, REPEATED, b"links: &a [*a]",
        b"name: " + b"x" * (1 << 20),
    ],
    ids=["bytes", "nul", "date", "deep", "aliases", "itself", "long"],
)  # fmt: skip
def test_load_file_without_valid_yaml_raises(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)
    with pytest.raises(TopologyError, match=r"invalid YAML|not text"):
        load(str(path))


def test_more_servers_on_hosts_of_their_own() -> None:
    tree = load("tree2x2").with_servers(3)
    assert tree.server_hosts() == ["server", "server2", "server3"]
    assert [tree.server_address(host, loopback=False)[0] for host in tree.server_hosts()] == [
        "10.19.0.100", "10.19.0.101", "10.19.0.102",
    ]  # fmt: skip
    assert {tree.switch_of(host) for host in tree.server_hosts()} == {"s0"}
    assert len(set(tree.ports("s0").values())) == 4
    assert parse(tree.to_yaml(), "x.yaml") == tree
    assert tree.with_servers(1).server_hosts() == ["server"]


def test_servers_on_workers() -> None:
    star = load("star4").with_servers(2, on_workers=True)
    assert (star.server_hosts(), star.switch) == (["w1", "w2"], "s1")
    assert star.server_address("w2", loopback=False) == ("10.19.0.2", 19539)
    assert parse(star.to_yaml(), "x.yaml") == star
    for count in (0, 5):
        with pytest.raises(ValueError, match="has room for"):
            load("star4").with_servers(count, on_workers=True)


def test_no_address_is_left_for_a_server() -> None:
    with pytest.raises(ValueError, match=r"no address of 10\.19\.0\.0/24 is free"):
        load("star4").with_servers(250)


@pytest.mark.parametrize(
    ("servers", "says"),
    [
        ("[w1, w9]", "servers.1: 'w9' is no worker and no server"),
        ("[controller]", "servers.0: 'controller' is no worker and no server"),
        ("[w1, w1]", "servers.1: w1 runs one server already"),
        ("[]", "servers: List should have at least 1 item"),
    ],
)
def test_errors_of_a_list_of_servers(servers: str, says: str) -> None:
    check_line(STAR4, "name: star4", f"servers: {servers}\nname: star4", says)


def test_list_of_servers_requires_no_server_node() -> None:
    text = STAR4.replace("name: star4", "servers: [w1]\nname: star4", 1)
    text = text.replace("  server: {kind: server, ip: 10.19.0.100}\n", "")
    text = "".join(line for line in text.splitlines(keepends=True) if '"server"]' not in line)
    assert parse(text, "x.yaml").server_hosts() == ["w1"]


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ("ip: 0.0.0.0", "0.0.0.0 is no address of a host"),
        ("ip: 224.0.0.5", "224.0.0.5 is a multicast address"),
        ("ip: 255.255.255.255", "255.255.255.255 is a reserved address"),
        ("ip: 127.19.0.2", "127.19.0.2 is a loopback address"),
        ("ip: 10.255.0.2", "10.255.0.2 is on loopback the address of a link between switches"),
        ("ip: 11.19.0.3", "127.19.0.3 (on loopback) is the address of w2 already"),
        ("ip: 10.19.0.9, mac: 02:00:0a:13:00:03", "02:00:0a:13:00:03 is the MAC address of w2 already"),
        ("ip: 10.19.0.9, mac: 02:00:00:00:ff:ff", "02:00:00:00:ff:ff is the MAC address of all switches already"),
        ("ip: 10.19.0.9, mac: 03:00:00:00:00:01", "03:00:00:00:00:01 is the MAC address of a group, or of no host"),
        ("ip: 10.19.0.9, mac: 00:00:00:00:00:00", "of no host"),
    ],
)
def test_topology_address_of_no_single_host_is_refused(new: str, says: str) -> None:
    """The errors about pairs name the second node, here w2 or w3."""
    broken = STAR4.replace("ip: 10.19.0.2}", f"{new}}}", 1)
    with pytest.raises(TopologyError) as caught:
        parse(broken, "x.yaml")
    assert says.replace(" MAC", "") in str(caught.value).replace(" MAC", "")


CPU = "{kind: controller, ip: 10.19.0.%d, mac: 02:00:00:00:ff:ff}"
_CPU_NODES = STAR4.replace(
    "  server: {kind: server", f"  os1: {CPU % 91}\n  os2: {CPU % 92}\n  server: {{kind: server", 1
)
_CPU_LINKS = '  - endpoints: ["s1:64", "os1"]\n'


def test_controller_with_switch_mac_is_at_cpu_port() -> None:
    """Beside the node of the controller, or in its place; one at a switch."""
    second = _CPU_LINKS.replace("64", "66").replace("os1", "os2")
    with pytest.raises(TopologyError, match="the CPU port of s1 is that of os1 already"):
        parse(_CPU_NODES + _CPU_LINKS + second, "x.yaml")
    one = parse(_CPU_NODES.replace(f"  os2: {CPU % 92}\n", "") + _CPU_LINKS, "x.yaml")
    assert one.controller == "controller"
    assert [name for name, host in one.host_ports(loopback=False).items() if host.is_cpu] == ["os1"]
    alone = STAR4.replace("{kind: controller, ip: 10.19.0.200}", CPU % 90)
    assert parse(alone, "x.yaml").controller == "controller"
    assert [name for name, host in load("star4").host_ports(loopback=False).items() if host.is_cpu] == []


def test_host_behind_other_switch_has_no_cpu_port() -> None:
    tree = load("tree2x2")
    assert not any(host.is_cpu for name in tree.switches() for host in tree.host_ports(name, loopback=False).values())


def test_names_with_dashes_are_nodes() -> None:
    text = TREE2X2.replace("w3", "rack2-gpu6").replace("s1", "rack1-sw").replace("s0", "top-sw")
    network = parse(text, "x.yaml")
    assert network.ports("s2") == {"rack2-gpu6": 1, "w4": 2}
    assert network.links_between_switches()[0] == ("rack1-sw", 5, "top-sw", 1)
    names = names_in(network)
    assert {"rack2-gpu6", "rack1-sw-top-sw"} <= names.links
    assert same_link("top-sw-rack1-sw", "rack1-sw-top-sw") and not same_link("rack1-sw", "top-sw")
    for name in ("-w3", "w3-", "w--3", "a" * 16, "a-" * 8 + "a"):
        with pytest.raises(TopologyError):
            parse(STAR4.replace("w3", name), "x.yaml")


def test_names_of_two_links_alike_are_refused() -> None:
    for name in ("s1-s0", "s0-s1"):
        with pytest.raises(ConfigurationError, match="several links that are called 's1-s0' in fault plans"):
            names_in(parse(TREE2X2.replace("w3", name), "x.yaml"))


def test_builder_gives_free_ports_and_addresses(tmp_path: Path) -> None:
    build = TopologyBuilder("lab", addresses="10.7.0.0/28")
    build.switch("spine", ip="10.7.0.14")
    for rack in ("rack1", "rack2"):
        build.switch(rack, at="spine", port=40)
        build.worker(f"{rack}-gpu0", at=rack)
    build.worker("extra", at="rack2:9", ip="10.7.0.9", mac="02:00:00:00:00:01")
    build.server("agg", at="spine")
    build.controller("ctl", at="spine:8")
    network = build.write(tmp_path / "lab.yaml")
    assert load(str(tmp_path / "lab.yaml")) == network
    assert network.links_between_switches() == [("rack1", 40, "spine", 1), ("rack2", 40, "spine", 2)]
    assert network.ports() == {"rack1-gpu0": 1, "rack2-gpu0": 1, "extra": 9, "agg": 3, "ctl": 8}
    addresses = [str(network.nodes[name].ip) for name in ("rack1-gpu0", "rack2-gpu0", "extra", "agg", "ctl")]
    assert addresses == ["10.7.0.1", "10.7.0.2", "10.7.0.9", "10.7.0.3", "10.7.0.4"]


def test_switch_without_a_free_port_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_fabric.topology.builder.MAX_PORT", 1)
    build = TopologyBuilder("lab")
    build.switch("s1")
    build.worker("w1", at="s1")
    build.worker("w2", at="s1")
    with pytest.raises(TopologyError, match=r"Topology lab: switch s1 has no free port\. Add another switch"):
        build.topology()


def test_address_of_absent_or_unnamed_server_is_refused(tmp_path: Path) -> None:
    build = TopologyBuilder("lab")
    build.switch("s1")
    for name in ("agg1", "agg2"):
        build.server(name, at="s1")
    build.worker("w1", at="s1")
    build.controller("ctl", at="s1")
    path = str(tmp_path / "lab.yaml")
    build.write(path)
    with pytest.raises(ConfigurationError, match=r"lab has several servers\. Give --host agg1\|agg2"):
        server_address(path, None, loopback=False, behind_switch=False)
    with pytest.raises(ConfigurationError, match=r"lab has no server at w1\. Its servers: agg1, agg2"):
        server_address(path, "w1", loopback=False, behind_switch=False)


def test_builder_errors_name_the_topology(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match=r"Topology lab: .*IPv4 network, as 10\.19\.0\.0/24"):
        TopologyBuilder("lab", addresses="10.7.0.0/99")
    build = TopologyBuilder("lab", addresses="10.7.0.0/30")
    with pytest.raises(TopologyError, match="Topology lab: nodes: at least one controller is needed"):
        build.topology()
    build.switch("s1")
    with pytest.raises(TopologyError, match="there is a node s1 already"):
        build.switch("s1")
    build.worker("w1", at="s1")
    build.server("server", at="s1")
    build.controller("ctl", at="s1", ip="10.7.0.9")
    with pytest.raises(ConfigurationError, match=r"Cannot write .*: it is a folder\. Give the path of a regular file"):
        build.write(tmp_path)
    build.worker("w2", at="nowhere", ip="10.7.0.300")
    with pytest.raises(TopologyError, match=r"Topology lab: nodes\.w2\.ip: .*IPv4 address"):
        build.topology()
    build.worker("w3", at="s1")
    with pytest.raises(TopologyError, match=r"no address of 10\.7\.0\.0/30 is free for w3"):
        build.topology()


def test_builder_avoids_ports_and_addresses_named_later() -> None:
    build = TopologyBuilder("lab", addresses="10.7.0.0/28")
    build.switch("s1")
    build.worker("w1", at="s1")
    build.server("agg", at="s1:1", ip="10.7.0.1")
    build.controller("ctl", at="s1")
    network = build.topology()
    assert network.ports() == {"w1": 2, "agg": 1, "ctl": 3}
    assert [str(network.nodes[name].ip) for name in ("w1", "agg", "ctl")] == ["10.7.0.2", "10.7.0.1", "10.7.0.3"]


def test_draw_svg_has_every_node_and_port_once() -> None:
    for name in available():
        network = load(name)
        picture = ElementTree.fromstring(svg(network))
        texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
        assert sorted(text for text in texts if text in network.nodes) == sorted(network.nodes)
        ports = [port for link in network.links for _, port in link.parts() if port is not None]
        assert sorted(int(text) for text in texts if text and text.isdecimal()) == sorted(ports)


def test_draw_svg_boxes_do_not_overlap() -> None:
    picture = ElementTree.fromstring(svg(load("twojobs")))
    keys = ("x", "y", "width", "height")
    boxes = [
        [float(rect.attrib[key]) for key in keys] for rect in picture if "x" in rect.attrib and "rx" in rect.attrib
    ]
    assert len(boxes) == 13
    for index, (x, y, width, height) in enumerate(boxes):
        assert x + width <= float(picture.attrib["width"]) and y + height <= float(picture.attrib["height"])
        for a, b, c, d in boxes[:index]:
            assert x + width <= a or a + c <= x or y + height <= b or b + d <= y


def test_draw_with_counters_of_the_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counters = {
        "switches": {"s1": {"aggregate": 1200, "contribute_and_complete": 280, "claim_and_complete": 20}},
        "slots": {"s1": {"all": 1024, "used": 64, "lost": None}},
        "servers": {"server": {"decisions": {"accept": 5, "replay": 2}, "refused": {}}},
    }
    monkeypatch.setattr("lanesum.rpc.controller.call", lambda *_, **__: counters)
    result = invoke(["topology", "draw", "star4", "--controller", "c:1"])
    assert "s1 switch  1,200 contributions, 300 sums" in result.output
    assert "server server 10.19.0.100  7 packets" in result.output
    result = invoke(["topology", "draw", "star4", "--controller", "c:1", "--out", str(tmp_path / "x.svg")])
    assert result.exit_code == 0 and "1,200 contributions, 300 sums" in (tmp_path / "x.svg").read_text()
    assert "Cannot write" in invoke(["topology", "draw", "--out", str(tmp_path)]).output
    lost = {"switches": {}, "slots": {"s1": {"lost": "It is off."}}, "servers": {"server": None}}
    assert packet_notes(load("star4"), lost) == {"s1": "lost", "server": "no answer"}


HOSTS_ALONE = """
name: direct
nodes:
  w1: {kind: worker, ip: 10.19.0.1}
  w2: {kind: worker, ip: 10.19.0.2}
  server: {kind: server, ip: 10.19.0.100}
  controller: {kind: controller, ip: 10.19.0.200}
"""


def test_topology_without_switch_has_hosts_alone(tmp_path: Path) -> None:
    build = TopologyBuilder("direct")
    build.worker("w1")
    build.worker("w2")
    build.server("server", ip="10.19.0.100")
    build.controller("controller", ip="10.19.0.200")
    file = tmp_path / "direct.yaml"
    file.write_text(HOSTS_ALONE)
    direct = load(str(file))
    assert direct == build.topology()
    assert (direct.switches(), direct.ports(), direct.switch_of("w1")) == ([], {}, "")
    shown = [invoke(["topology", command, str(file)]).output for command in ("check", "show", "draw")]
    assert "2 workers without a switch" in shown[0]
    assert all(host in text for host in direct.hosts() for text in shown[1:])
    assert "0 ──" not in shown[2]
    texts = {text for box in ElementTree.fromstring(svg(direct)).iter() if (text := box.text)}
    assert {"direct", "hosts without a switch", "w2"} <= texts
    assert direct.with_servers(3).server_hosts() == ["server", "server2", "server3"]


def test_link_without_switch_is_refused() -> None:
    with pytest.raises(TopologyError, match="a link joins one 'switch:port'"):
        parse(HOSTS_ALONE + 'links: [{endpoints: ["w1", "w2"]}]', "direct.yaml")
