# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the control plane for ``lanesum doctor``."""

from __future__ import annotations

import dataclasses
import errno
import importlib.metadata
import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from lanesum.doctor import Severity, usable
from lanesum.doctor.finding import ok
from lanesum.errors import ConfigurationError
from lanesum.protocol import VERSION
from lanesum.protocol.spec import BUILT_ACCUMULATOR_WORDS, ETHERNET_BYTES, FRAME_OVERHEAD_BYTES, WORD_BYTES
from lanesum.server import AggregationServer
from lanesum.server.served_job import Refusal
from lanesum.transport import echo
from lanesum_control import doctor
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.service import ControllerService
from lanesum_control.doctor import hops, job_reasons, machine, site
from lanesum_control.jobs.left_out import Cause
from lanesum_control.planner.network import Network
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_fabric import resources
from lanesum_fabric.topology import load
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, what
from tests.reference.switch import ReferenceSwitch


def test_checks_compiler_on_path_is_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: f"/opt/{program}")
    checks = {finding.name: finding for finding in doctor.checks()}
    assert (checks["p4c"].status, checks["p4c"].what) == (Severity.OK, "/opt/p4c-bm2-ss.")


def test_checks_no_compiler_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    checks = {finding.name: finding for finding in doctor.checks()}
    assert checks["p4c"].status is Severity.NOTE
    assert "p4c-bm2-ss is not on PATH" in checks["p4c"].what


def test_checks_missing_data_files_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Path:
        raise ConfigurationError(f"Missing {name}.", "Reinstall lanesum-fabric.")

    monkeypatch.setattr(resources, "directory", missing)
    findings = list(doctor.checks())
    assert not usable(findings)
    assert "Reinstall lanesum-fabric." in {finding.next_step for finding in findings}


def sysfs(folder: Path, files: dict[str, str]) -> Path:
    """Write files of sysfs."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return folder


@pytest.mark.parametrize(
    ("governors", "status", "says"),
    [
        ([], Severity.OK, "fixed, or chosen by the hypervisor"),
        (["performance", "performance"], Severity.OK, "2 processors have 'performance'"),
        (["powersave", "performance"], Severity.NOTE, "1 of 2 processors have 'powersave'"),
    ],
)
def test_machine_reports_governors(governors: list[str], status: Severity, says: str, tmp_path: Path) -> None:
    cpus = sysfs(tmp_path, {f"cpu{n}/cpufreq/scaling_governor": name for n, name in enumerate(governors)})
    finding = machine.governor(cpus)
    assert (finding.status, says in finding.what) == (status, True)
    assert ("cpupower" in finding.next_step) == (status is Severity.NOTE)


def test_machine_reports_interfaces_that_are_up(tmp_path: Path) -> None:
    net = sysfs(
        tmp_path,
        {
            "if0/operstate": "up",
            "if0/mtu": "9000",
            "if0/speed": "25000",
            "if0/uevent": "DEVTYPE=vlan\nINTERFACE=if0",
            "if0/statistics/rx_packets": "100000",
            "if0/statistics/rx_dropped": "50",
            "if1/operstate": "down",
            "if2/operstate": "up",
            "if2/mtu": "1500",
            "if2/speed": "-1",
            "if2/statistics/rx_packets": "1000",
            "if2/statistics/rx_dropped": "2",
        },
    )
    good, lossy = [finding for finding in machine.checks(net, tmp_path) if finding.name.startswith("if")]
    assert (good.name, good.status) == ("if0", Severity.OK)
    assert good.what == "MTU 9,000, 25,000 Mbit/s, virtual, with a VLAN tag; offloads: none."
    assert (lossy.name, lossy.status) == ("if2", Severity.NOTE)
    assert "no rate" in lossy.what and "rx_dropped 2" in lossy.what and "ethtool -G if2" in lossy.next_step


SWITCH = {
    "address": "s:1", "program": "p.json", "lost": None, "tables_agree": True, "slots": 100, "used": 40,
    "shortens": True,
}  # fmt: skip
SERVER = {"lost": None, "call_s": 0.001, "jobs": 2, "refused": {"wrong tag": 0}, "broken": 0, "steered_by": "slot"}


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({}, Severity.OK, "60 of 100 slots are free. Its tables agree with the controller."),
        ({"shortens": False}, Severity.OK, "the sums of sharded training to all workers, not to their owners alone."),
        ({"lost": "No answer."}, Severity.NOTE, "without a part in jobs: No answer. The server sums."),
        ({"tables_agree": False}, Severity.NOTE, "others than desired"),
        ({"used": 100}, Severity.NOTE, "0 of 100 slots are free. The server sums for new jobs."),
    ],
)
def test_site_switch_is_reported(change: dict[str, Any], status: Severity, says: str) -> None:
    finding = site.about_switch("s1", {**SWITCH, **change})
    assert (finding.name, finding.status) == ("s1", status)
    assert says in finding.what and bool(finding.next_step) == (status is not Severity.OK)


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({}, Severity.OK, "Answers the controller in 1.0 ms; jobs: 2."),
        ({"lost": "No answer."}, Severity.PROBLEM, "No job can be admitted."),
        ({"broken": 3}, Severity.PROBLEM, "3 datagrams met an error"),
        ({"call_s": 0.5}, Severity.NOTE, "in 500.0 ms"),
        ({"steered_by": "sender"}, Severity.NOTE, "refuses to steer packets to its threads by slot"),
        (
            {"refused": {"other packet size": 7}},
            Severity.NOTE,
            "7 datagrams since its start were of another packet size",
        ),
        ({"refused": {"impossible bitmap": 1}}, Severity.NOTE, "refused as impossible bitmap"),
    ],
)
def test_site_server_is_reported(change: dict[str, Any], status: Severity, says: str) -> None:
    *_, finding = site.about_server("server", {**SERVER, **change})
    assert (finding.status, bool(finding.next_step)) == (status, status is not Severity.OK)
    assert says in finding.what


def test_site_server_reasons_are_those_of_the_server() -> None:
    assert set(site._REFUSED) <= set(Refusal)


@pytest.mark.parametrize(
    ("version", "protocol", "status"),
    [(None, VERSION, Severity.OK), ("0.0.1", VERSION, Severity.NOTE), (None, VERSION + 1, Severity.PROBLEM)],
)
def test_site_versions_are_compared(version: str | None, protocol: int, status: Severity) -> None:
    there = version or importlib.metadata.version("lanesum")
    finding = site.version("c:1", {"version": there, "protocol": protocol})
    assert finding.status is status


def test_largest_packet_of_builds_fits_every_ipv4_host() -> None:
    """docs/decisions/0013-one-packet-size-one-path.md says so."""
    largest = FRAME_OVERHEAD_BYTES - ETHERNET_BYTES + WORD_BYTES * max(BUILT_ACCUMULATOR_WORDS)
    assert largest == 572 <= 576


HOSTS = {"w2": {"ip": "127.0.0.1", "switch": "s1", "port": 2, "mac": "02:00:0a:13:00:02"}}


def test_hops_report_place_size_and_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo, "_WAIT_S", 60.0)  # ends with the last answer
    examined = {"addresses": {"server": ["127.0.0.1", 1]}, "hosts": HOSTS, "switches": {}, "packet_bytes": 316}
    place, size, trip = hops.checks(examined)
    assert place == ok("this machine", "w2 (127.0.0.1, MAC 02:00:0a:13:00:02), at port 2 of s1.")
    assert size.status is Severity.OK and "packets have 316" in size.what
    assert "10 of 10 echo requests answered" in trip.what or "Cannot send" in trip.what
    large = next(one for one in hops.checks({**examined, "packet_bytes": 1 << 20}) if one.status is Severity.PROBLEM)
    assert "workers refuse to start" in large.what and "ip link set" in large.next_step
    assert hops.place("10.9.9.9", examined).status is Severity.NOTE
    assert "on loopback" in hops.place("127.0.0.2", examined).what
    alone = {"hosts": {"w2": {"ip": "10.0.0.2", "switch": None, "port": None, "mac": None}}}
    assert hops.place("10.0.0.2", alone) == ok("this machine", "w2 (10.0.0.2), in a topology without a switch.")
    both = {**examined, "addresses": {"server": ["127.0.0.1", 1], "server2": ["127.0.0.1", 2]}}
    assert [one.name for one in hops.checks(both)].count("this machine") == 1


def test_hops_without_route_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(hops, "path_mtu", refuse)
    (finding,) = hops.checks({"addresses": {"server": ["127.0.0.1", 1]}, "hosts": {}, "switches": {}})
    assert (finding.status, finding.what) == (Severity.PROBLEM, "No route to 127.0.0.1: Network is unreachable.")


@pytest.mark.parametrize(("answered", "status"), [(10, Severity.OK), (9, Severity.NOTE), (0, Severity.NOTE)])
def test_hops_loss_is_reported(answered: int, status: Severity, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo, "probe", lambda ip, _bytes: echo.Answers(10, {ip: [0.001] * answered}))
    assert hops.round_trip("server", "10.0.0.1", 316).status is status


def test_hops_first_hop_is_told_by_its_mac(tmp_path: Path) -> None:
    arp = tmp_path / "arp"
    head = "IP address       HW type     Flags       HW address            Mask     Device\n"
    for mac, status in (("02:00:00:00:ff:ff", Severity.OK), ("52:54:00:00:00:01", Severity.NOTE)):
        arp.write_text(f"{head}10.19.0.100      0x1         0x2         {mac}     *        eth0\n")
        assert hops.first_hop("server", "10.19.0.100", arp).status is status
    assert "no ARP entry" in hops.first_hop("server", "10.19.0.101", arp).what
    arp.write_text(f"{head}10.19.0.100      0x1         0x0         00:00:00:00:00:00     *        eth0\n")
    assert "No ARP answer for 10.19.0.100" in hops.first_hop("server", "10.19.0.100", arp).what


def test_hops_first_hop_is_read_after_echo_requests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arp = tmp_path / "arp"

    def probe(ip: str, _packet_bytes: int) -> echo.Answers:
        arp.write_text(f"IP address\n{ip} 0x1 0x2 02:00:00:00:ff:ff * eth0\n")
        return echo.Answers(10, {ip: [0.001] * 10})

    monkeypatch.setattr(echo, "probe", probe)
    examined = {"addresses": {"server": ["127.0.0.1", 1]}, "hosts": HOSTS, "switches": {"s1": {}}, "packet_bytes": 316}
    assert "A lanesum switch (02:00:00:00:ff:ff)." in [one.what for one in hops.checks(examined, arp=arp)]


@pytest.mark.parametrize(("number", "step"), [(errno.EPERM, "ping_group_range"), (errno.ENETUNREACH, "ip route get")])
def test_hops_failed_echo_requests_have_next_step(number: int, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> echo.Answers:
        raise OSError(number, "Refused")

    monkeypatch.setattr(echo, "probe", refuse)
    assert step in hops.round_trip("server", "10.0.0.1", 316).next_step


JOB = {
    "name": "train", "workers": ["w1", "w2"], "joined": ["w1", "w2"], "slots": 64, "words": 128, "moved": {},
    "certified": False,
    "placement": {"s1": {"slots": 64, "shared": False}},
}  # fmt: skip
WORKER = {
    "host": "w1", "state": "alive", "straggler": False, "lost_share": 0.0, "peer_share": 0.0,
    "needless_share": 0.0, "reordered_share": None, "marks_per_s": None, "server_share": None,
}  # fmt: skip
MOVED = {
    "s1": {
        "since": "2026-01-02T03:04:05+00:00",
        "why": "its program sums none of the job's operations",
        "cause": "program",
    }
}


@pytest.mark.parametrize(
    ("change", "status", "says", "step"),
    [
        ({}, Severity.OK, "s1 sums for it", ""),
        ({"joined": ["w1"]}, Severity.PROBLEM, "w2 of 2 workers have not joined", "lanesum job leave"),
        ({"moved": MOVED, "placement": {}}, Severity.NOTE, "in place of s1 since 2026-01-02T03:04:05+00:00", "codec"),
        ({"placement": {}}, Severity.NOTE, "The controller has no switch", "--switch"),
        ({"placement": {"s1": {"slots": 16, "shared": False}}}, Severity.NOTE, "16 of its 64 slots", "resize train 16"),
        ({"placement": {"s1": {"slots": 64, "shared": True}}}, Severity.NOTE, "shared pool only", "--quota"),
    ],
)
def test_job_reasons_are_named(change: dict[str, Any], status: Severity, says: str, step: str) -> None:
    job = {**JOB, **change}
    finding, size = job_reasons.checks(job, {"workers": [WORKER]}, {"servers": {"server": SERVER}}, [])
    assert (finding.name, finding.status) == ("job train", status)
    assert size.what == "Results have 128 words: 572 bytes of IPv4. At most 64 packets of a worker are in flight."
    assert says in finding.what and step in finding.next_step


def test_packets_of_certified_job_have_check_words() -> None:
    assert job_reasons.packets({**JOB, "certified": True}).endswith(
        "The last words are check words: sums are certified."
    )


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"state": "lost"}, Severity.PROBLEM, "Worker w1 is gone (lost)."),
        ({"straggler": True}, Severity.NOTE, "other workers wait for w1"),
        ({"lost_share": 0.02}, Severity.NOTE, "2.0% of the packets of w1 were lost"),
        ({"peer_share": 0.12}, Severity.NOTE, "12.0% of the packets of w1 were retransmitted while another worker"),
        ({"needless_share": 0.03}, Severity.NOTE, "3.0% of the packets of w1 were retransmitted without need"),
        ({"reordered_share": 0.2}, Severity.NOTE, "20.0% of the results of w1 arrived after that of a later packet"),
        ({"marks_per_s": 12.0}, Severity.NOTE, "w1 gets 12 congestion marks a second"),
        ({"server_share": 0.25}, Severity.NOTE, "The server completes 25% of the results of w1"),
    ],
)
def test_job_reasons_of_workers_are_named(change: dict[str, Any], status: Severity, says: str) -> None:
    (finding,) = job_reasons.workers_in_trouble("train", {"workers": [{**WORKER, **change}]})
    assert finding.status is status and says in finding.what and finding.next_step


def test_job_reasons_of_an_ended_job_are_one() -> None:
    workers = [{**WORKER, "host": host, "state": "left"} for host in ("w1", "w2")]
    (finding,) = job_reasons.workers_in_trouble("train", {"workers": workers})
    assert (finding.status, finding.what) == (Severity.NOTE, "All 2 workers have left: the job has ended.")


def test_job_reasons_of_every_cause_have_a_step() -> None:
    assert set(job_reasons._STEPS) == set(Cause)


def test_job_reasons_include_last_events_of_job() -> None:
    events = [{"whom": whom, "date": str(n), "what": "x"} for n, whom in enumerate(["train"] * 7 + ["other"])]
    found = list(job_reasons.checks(JOB, {"workers": []}, None, events))
    assert [one.what for one in found[2:]] == [f"{n}: x" for n in range(2, 7)]


def test_doctor_of_a_controller_reports_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One controller with a switch and a server, as the command line asks it."""
    with AggregationServer(("127.19.0.97", 0)) as server:
        network = dataclasses.replace(Network.of(load("star4"), loopback=True), servers=(server.address,))
        controller = Controller(network, server, {"s1": ManagedSwitch(ReferenceSwitch(64))})
        controller.admit(JobRequest("train", ("w1", "w2"), codec="fixed"))
        monkeypatch.setattr("lanesum_control.cli.top._ONCE_S", 0.0)
        with ControllerService(controller, "127.0.0.1:0") as service:
            address = f"127.0.0.1:{service.port}"
            shown = json.loads(invoke(["doctor", "--json", "--controller", address]).output)
            names = {one["name"]: one for one in shown["checks"]}
            assert names.keys() >= {
                "controller",
                "s1",
                "server",
                "this machine",
                "path to server",
                "loss and RTT to server",
            }
            assert shown["usable"], shown
            assert "in this process, runs ReferenceSwitch" in names["s1"]["what"]
            assert "jobs: 1" in names["server"]["what"]
            result = invoke(["doctor", "--controller", address, "--job", "train"])
            assert result.exit_code == 1 and "w1, w2 of 2 workers have not joined" in result.output
            assert "admitted as job" in result.output
            assert "its jobs: train" in invoke(["doctor", "--controller", address, "--job", "x"]).output
    monkeypatch.setattr("lanesum.rpc.controller.CONNECT_S", 0.1)
    with socket.socket() as held:  # nothing listens
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
        result = invoke(["doctor", "--controller", address])
    assert result.exit_code == 1 and f"No controller answers at {address}" in result.output


def test_examination_leaves_news_of_switches_to_the_monitor() -> None:
    fakes = Site()
    controller, switch = fakes.start(), fakes.switches["s1"]
    switch.unread.append("port 2 is down")
    assert controller.examine()["switches"]["s1"]["lost"] is None
    assert "port 2 is down" not in what(controller, "s1")
    controller.reconciler.check_switch("s1")
    assert what(controller, "s1")[-1] == "port 2 is down"
    controller.close()


def test_builds_that_differ_from_manifest_are_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.builds().status is Severity.OK
    monkeypatch.setattr(resources, "directory", lambda _name: tmp_path)
    assert "cannot be read" in doctor.builds().what
    (tmp_path / "a.json").write_text("{}")
    manifest = {"outputs": {"a.json": "0" * 64, "test/missing.json": "0" * 64}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    finding = doctor.builds()
    assert finding.status is Severity.PROBLEM and finding.what.startswith("a.json is not the file")
