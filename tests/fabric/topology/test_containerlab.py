# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Import of containerlab files as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanesum_fabric.topology import containerlab, load
from lanesum_fabric.topology.containerlab import Imported
from lanesum_fabric.topology.files import TopologyError
from tests.command_line import invoke

CONTAINERLAB = """
name: lab
mgmt: {network: clab}
topology:
  nodes:
    s1: {kind: bridge, image: bmv2}
    w1: {kind: linux, labels: {lanesum-ip: 10.7.0.5}}
    w2: {kind: linux}
    sum: {kind: linux, labels: {lanesum: server}}
    ctl: {kind: linux, labels: {lanesum: controller}}
    grafana: {kind: linux, labels: {lanesum: none}}
  links:
    - endpoints: ["s1:eth1", "w1:eth1"]
    - endpoints: ["s1:e1-2", "w2:eth1"]
    - endpoints: ["s1:eth3", "sum:eth1"]
    - endpoints: ["ctl:eth1", "s1:eth4"]
    - endpoints: ["s1:eth9", "grafana:eth1"]
"""


def test_import_of_containerlab_keeps_roles_ports_and_addresses(tmp_path: Path) -> None:
    (tmp_path / "lab.clab.yml").write_text(CONTAINERLAB)
    result = invoke(["topology", "import", str(tmp_path / "lab.clab.yml"), "--out", str(tmp_path / "lab.yaml")])
    assert result.exit_code == 0, result.output
    network = load(str(tmp_path / "lab.yaml"))
    assert network.ports() == {"w1": 1, "w2": 2, "sum": 3, "ctl": 4}
    assert [str(network.nodes[name].ip) for name in ("w1", "w2", "sum")] == ["10.7.0.5", "10.19.0.1", "10.19.0.2"]
    assert (network.server_hosts(), network.names("controller")) == (["sum"], ["ctl"])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"s1:e1-2", "w2:eth1"', '"s1:e1-2", "w9:eth1"', "a link has an end at 'w9', which is no node"),
        ("lanesum: server", "lanesum: spine", "lab.clab.yml:9: lanesum: 'spine' is none of switch, worker"),
        ("lanesum: controller", "lanesum: none", "at least one controller is needed"),
        ('"s1:e1-2"', '"s1:eth1"', "port s1:1 is linked twice"),
        ("name: lab", "name: [", "lab.clab.yml:"),
        ("w2: {kind: linux}", "w2: {kind: linux, labels: {lanesum-ip: w2.lab}}", "nodes.w2.ip: "),
    ],
)
def test_import_of_containerlab_errors_are_typed(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "lab.clab.yml"
    path.write_text(CONTAINERLAB.replace(old, new, 1))
    with pytest.raises(TopologyError) as caught:
        containerlab.load(path)
    assert says in str(caught.value)


def imported(text: str, folder: Path, **variables: str) -> Imported:
    path = folder / "lab.clab.yml"
    path.write_text(text)
    return containerlab.load(path, variables=variables)


CLOS = """\
# A rack of servers below two spines, as in the examples of containerlab
name: clos
prefix: ""
mgmt:
  network: statics
  ipv4-subnet: 172.100.100.0/24
topology:
  defaults:
    kind: nokia_srlinux
    env: {LAB: clos}
  kinds:
    nokia_srlinux:
      image: ghcr.io/nokia/srlinux:${SRL_VERSION:=24.10}
      type: ixrd3
    linux:
      image: $IMAGE   # set by CI: ${NOT_A_VARIABLE}
  groups:
    gpu:
      kind: linux
      labels: {rack: 1, lanesum: worker}
    service:
      kind: linux
      labels: {lanesum: server}
  nodes:
    spine1:
      mgmt-ipv4: 172.100.100.11
    spine2:
    leaf1: {startup-config: leaf1.cfg}
    leaf2: {type: ixrd2}
    leaf3: {}
    gpu1:
      group: gpu
      binds: [data:/data]
      exec:
        - ip link set eth1 mtu 9000
        - ip addr add 10.9.0.11/24 dev eth1
    gpu2:
      group: gpu
      exec: ["ifconfig eth1 10.9.0.12 netmask 255.255.255.0"]
    agg:
      group: service
      labels: {lanesum-ip: 10.9.0.100}
    ctl:
      kind: linux
      labels: {lanesum: controller}
    grafana: {kind: linux, labels: {lanesum: none}, ports: ["3000:3000"]}
  links:
    - endpoints: ["leaf1:e1-49", "spine1:e1-1"]
    - endpoints: ["leaf1:e1-50", "spine2:e1-1"]
    - type: veth
      mtu: 9100
      endpoints:
        - node: leaf2
          interface: ethernet-1/49
        - node: spine1
          interface: ethernet-1/2
          mac: 02:00:00:00:00:01
    - type: veth
      endpoints:
        - {node: leaf2, interface: ethernet-1/50}
        - {node: spine2, interface: Ethernet-1/2}
    - endpoints: [leaf3:eth1/49, spine1:e1-3]
    - endpoints: [leaf3:eth1/50, spine2:e1-3]
    - endpoints: ["leaf1:e1-1", "gpu1:eth1"]
    - endpoints: ["leaf2:e1-1", "gpu2:eth1"]
    - endpoints: ["leaf3:ge-0/0/1", "agg:eth1"]
    - endpoints: ["leaf3:Ethernet8", "ctl:eth1"]
    - endpoints: ["leaf1:e1-2", "grafana:eth1"]
    - endpoints: ["leaf1:e1-3", "host:clos-leaf1"]
    - endpoints: ["leaf1:e1-4", "macvlan:enp0s3"]
    - type: mgmt-net
      endpoint: {node: leaf2, interface: e1-5}
      host-interface: leaf2-mgmt
    - type: host
      endpoint: {node: leaf2, interface: e1-6}
      host-interface: leaf2-host
"""


def test_import_of_a_clos_network_is_complete(tmp_path: Path) -> None:
    found = imported(CLOS, tmp_path, IMAGE="gpu:1")
    network = found.topology
    assert network.switches() == ["spine1", "spine2", "leaf1", "leaf2", "leaf3"]
    assert (network.spines, network.names("worker")) == (("spine1", "spine2"), ["gpu1", "gpu2"])
    assert (network.server_hosts(), network.names("controller")) == (["agg"], ["ctl"])
    addresses = {name: str(network.nodes[name].ip) for name in ("gpu1", "gpu2", "agg")}
    assert addresses == {"gpu1": "10.9.0.11", "gpu2": "10.9.0.12", "agg": "10.9.0.100"}
    assert network.ports("leaf1") == {"gpu1": 1}
    assert network.ports("leaf3") == {"agg": 1, "ctl": 8}
    assert network.links_between_switches()[:3] == [
        ("leaf1", 49, "spine1", 1), ("leaf1", 50, "spine2", 1), ("leaf2", 49, "spine1", 2),
    ]  # fmt: skip
    assert [note.partition(": ")[2] for note in found.notes] == [
        "the host link of leaf1:e1-3, host:clos-leaf1 leaves the laboratory, so it is left out.",
        "the macvlan link of leaf1:e1-4, macvlan:enp0s3 leaves the laboratory, so it is left out.",
        "the mgmt-net link of leaf2:e1-5 leaves the laboratory, so it is left out.",
        "the host link of leaf2:e1-6 leaves the laboratory, so it is left out.",
    ]
    lines = CLOS.split("\n")
    numbers = [int(note.split(":")[1]) for note in found.notes]
    assert ["host:clos" in lines[numbers[0] - 1], "mgmt-net" in lines[numbers[2] - 1]] == [True, True]


def test_node_without_a_kind_inherits_the_default(tmp_path: Path) -> None:
    """Before, nodes that inherit their kind became workers without a word."""
    text = CONTAINERLAB.replace("topology:\n", "topology:\n  defaults: {kind: arista_ceos}\n")
    network = imported(text.replace("s1: {kind: bridge, image: bmv2}", "s1:"), tmp_path).topology
    assert network.switches() == ["s1"]


def test_node_overrides_group_kind_and_defaults(tmp_path: Path) -> None:
    text = CONTAINERLAB.replace(
        "topology:\n",
        "topology:\n  kinds: {linux: {labels: {lanesum: none}}}\n  groups: {g: {labels: {lanesum: server}}}\n",
    )
    text = text.replace("w1: {kind: linux, labels: {", "w1: {kind: linux, labels: {lanesum: worker, ")
    network = imported(text.replace("w2: {kind: linux}", "w2: {kind: linux, group: g}"), tmp_path).topology
    assert (network.names("worker"), network.server_hosts()) == (["w1"], ["w2", "sum"])


def test_addresses_of_links_are_kept(tmp_path: Path) -> None:
    text = CONTAINERLAB.replace(
        '- endpoints: ["s1:e1-2", "w2:eth1"]',
        '- endpoints: ["s1:e1-2", "w2:eth1"]\n      ipv4: ["", 10.7.0.6/24]\n      ipv6: []',
    ).replace(
        '- endpoints: ["s1:eth3", "sum:eth1"]',
        "- endpoints: [{node: s1, interface: eth3}, {node: sum, interface: eth1, ipv4: 10.7.0.7/24}]",
    )
    nodes = imported(text, tmp_path).topology.nodes
    assert [str(nodes[name].ip) for name in ("w1", "w2", "sum")] == ["10.7.0.5", "10.7.0.6", "10.7.0.7"]


def test_breakout_ports_are_numbered_in_order(tmp_path: Path) -> None:
    text = CONTAINERLAB.replace('"s1:eth1"', '"s1:e1-1-1"').replace('"s1:e1-2"', '"s1:e1-1-2"')
    text = text.replace('"s1:eth3"', '"s1:e1-2-1"').replace('"s1:eth4"', '"s1:e1-10-1"')
    found = imported(text, tmp_path)
    assert found.topology.ports() == {"w1": 1, "w2": 2, "sum": 3, "ctl": 4}
    assert found.notes[-1].endswith("in order: e1-1-1 is 1, e1-1-2 is 2, e1-2-1 is 3, e1-10-1 is 4.")


def test_bridge_becomes_a_switch_with_a_note(tmp_path: Path) -> None:
    found = imported(CONTAINERLAB, tmp_path)
    assert found.topology.switches() == ["s1"]
    assert "lab.clab.yml:6: s1 is a bridge; a switch of lanesum takes its place" in found.notes[0]


@pytest.mark.parametrize(
    ("written", "variables", "address"),
    [
        ("${IP}", {"IP": "10.7.0.9"}, "10.7.0.9"),
        ("$IP", {"IP": "10.7.0.9"}, "10.7.0.9"),
        ("${IP:=10.7.0.8}", {}, "10.7.0.8"),
        ("${IP:-10.7.0.8}", {"IP": ""}, "10.7.0.8"),
        ("${IP:=10.7.0.8}", {"IP": "10.7.0.9"}, "10.7.0.9"),
    ],
)
def test_variables_have_values_or_defaults(
    written: str, variables: dict[str, str], address: str, tmp_path: Path
) -> None:
    found = imported(CONTAINERLAB.replace("10.7.0.5", f'"{written}"'), tmp_path, **variables)
    assert str(found.topology.nodes["w1"].ip) == address


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("image: bmv2", "image: $BMV2", ":6: the variable BMV2 has no value. Set BMV2."),
        ("image: bmv2", "imge: bmv2", ":6: 'imge' is no setting of a node that is understood"),
        ("name: lab", "name: lab\nsetings: {}", ":3: setings: Extra inputs are not permitted"),
        ("kind: bridge,", "kind: bridge, group: gpu,", ":6: group 'gpu' of s1 is not in groups"),
        ('["s1:eth9", "grafana:eth1"]', '["s1:eth9"]', ":17: a link has 1 ends, not 2"),
        ('endpoints: ["s1:eth9", "grafana:eth1"]', "type: tunnel", ":17: 'tunnel' is no type of a link"),
    ],
)
def test_unknown_parts_are_named_with_their_line(old: str, new: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(TopologyError) as caught:
        imported(CONTAINERLAB.replace(old, new, 1), tmp_path)
    assert says in str(caught.value)


def test_import_prints_notes_and_writes_the_topology(tmp_path: Path) -> None:
    path, out = tmp_path / "clos.clab.yml", tmp_path / "clos.yaml"
    path.write_text(CLOS.replace("$IMAGE", "gpu:1"))
    result = invoke(["topology", "import", str(path), "--out", str(out)])
    assert (result.exit_code, result.output.count("leaves the laboratory")) == (0, 4)
    assert load(str(out)).spines == ("spine1", "spine2")
    missing = invoke(["topology", "import", str(tmp_path / "none"), "--out", str(out)])
    assert "Cannot read the containerlab" in missing.output
