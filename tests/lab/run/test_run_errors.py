# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of trainings and networks that a run could not have."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lanesum.errors import MissingToolError
from lanesum_fabric.topology import load
from lanesum_lab.run import mininet_net
from lanesum_lab.run.mininet_net import MininetNetwork, NetworkError
from tests.lab.run.trainings import needs_mininet


class RefusingNetwork:
    """Network at whose nodes no command works."""

    def command(self, node: str, _command: list[str]) -> list[str]:
        return ["sh", "-c", f"echo no device at {node} >&2; exit 1"]

    def interfaces(self) -> dict[str, list[str]]:
        return {"s1": ["s1-eth1"]}


def test_links_that_tc_refuses_to_limit_raise() -> None:
    orders = {"w1": ["class replace"]}
    with pytest.raises(NetworkError, match=r"Cannot limit the rate of the links of w1: no device at w1"):
        mininet_net._limit(cast(MininetNetwork, RefusingNetwork()), orders)


def test_offloads_that_stay_on_are_an_error() -> None:
    with pytest.raises(NetworkError, match=r"Cannot switch off the offloads at s1: no device at s1"):
        MininetNetwork.switch_offloads_off(cast(MininetNetwork, RefusingNetwork()))


def test_mininet_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mininet_net, "mininet_path", lambda: None)
    with pytest.raises(MissingToolError, match=r"The Python package of Mininet is not installed\. Run: apt install"):
        mininet_net._import_mininet()


def test_mininet_switch_has_id_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    ids: dict[str, str] = {}

    class RecordingMininet:
        """Network that takes switches, and no host."""

        def __init__(self, **_options: Any) -> None: ...

        def addSwitch(self, name: str, dpid: str) -> None:
            ids[name] = dpid

        def addHost(self, name: str, **_options: Any) -> None:
            raise OSError(f"no namespace for {name}")

    log = SimpleNamespace(lg=SimpleNamespace(ch=SimpleNamespace(setStream=lambda _log: None)))
    modules = (SimpleNamespace(Mininet=RecordingMininet), SimpleNamespace(Switch=object), SimpleNamespace(), log)
    monkeypatch.setattr(mininet_net, "_import_mininet", lambda: modules)
    with (
        pytest.raises(NetworkError, match=r"Mininet could not build twojobs: no namespace for a1\. Clean up"),
        mininet_net.mininet_network(load("twojobs")),
    ):
        pass
    assert ids.keys() == {"spine", "rack1", "rack2"}
    assert sorted(int(one, 16) for one in ids.values()) == [1, 2, 3]


@needs_mininet
def test_mininet_starts_switch_without_digit_in_name() -> None:
    with mininet_net.mininet_network(load("twojobs")) as network:
        links = subprocess.run(network.command("spine", ["ip", "-o", "link"]), capture_output=True, text=True)
        assert set(network.switch_interfaces("spine")) == {1, 2, 5, 8}
        assert all(f" {interface}@" in links.stdout for interface in network.switch_interfaces("spine").values())


def test_relay_that_cannot_be_inserted_is_an_error() -> None:
    node = SimpleNamespace(cmd=lambda _command: "Operation not permitted\n")
    relay = mininet_net.Relay("w1", "s1", "s1-cable1", "s1-in1")
    with pytest.raises(NetworkError, match="Cannot insert a relay into the link w1: Operation not permitted"):
        mininet_net._open_gap(SimpleNamespace(get=lambda _name: node), load("star4"), relay)
