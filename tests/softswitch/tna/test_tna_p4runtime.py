# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A TNA program behind the P4Runtime server, with the P4Info of its own compiler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lanesum_control.switches.client import SwitchConnection
from lanesum_fabric.errors import PipelineError, SwitchWriteError
from lanesum_fabric.program.pipelines import CompiledPipeline
from lanesum_fabric.protobufs import p4runtime_pb2
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.tna.switch import TofinoSwitch

from .conftest import PROGRAMS
from .test_tna_sum import GROUP, address, frame

INSERT = p4runtime_pb2.Update.INSERT


def pipeline(program: str, p4info: str) -> CompiledPipeline:
    return CompiledPipeline(2, PROGRAMS / f"{program}.printed.p4", PROGRAMS / f"{p4info}.p4info.txtpb")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[TofinoSwitch, SwitchConnection]]:
    switch = TofinoSwitch()
    path = f"unix:{tmp_path}/p4runtime"
    with P4RuntimeServer(switch, path, 1), SwitchConnection(path, device_id=1) as connection:
        yield switch, connection


@pytest.mark.parametrize("program", ["sum", "sum-2"])
def test_program_is_pushed_and_programmed(server: tuple[TofinoSwitch, SwitchConnection], program: str) -> None:
    switch, connection = server
    names = connection.push_pipeline(pipeline(program, program))
    assert connection.runs(pipeline(program, program))
    entities = []
    group = p4runtime_pb2.Entity()
    replication = group.packet_replication_engine_entry.multicast_group_entry
    replication.multicast_group_id = GROUP
    for bit, port in enumerate((1, 2)):
        params = {"bit_": 1 << bit, "fan_in": 2, "group": GROUP}
        member = names.entry("Ingress.member", {"port": port, "member": bit}, "Ingress.admit", params)
        entities.append(p4runtime_pb2.Entity(table_entry=member))
        match = {"port": port, "replica": 100 + bit}
        receiver = names.entry("Egress.receiver", match, "Egress.address", {"destination": address(port)})
        entities.append(p4runtime_pb2.Entity(table_entry=receiver))
        replication.replicas.add(egress_port=port, instance=100 + bit)
    connection.write([(INSERT, entity) for entity in (group, *entities)])
    assert switch.process(1, frame(0, 3, (1, 2))) == []
    out = switch.process(2, frame(1, 3, (10, 20)))
    assert [(o.port, o.frame[:6], o.frame[18:]) for o in out] == [
        (port, address(port).to_bytes(6, "big"), (11).to_bytes(4, "big") + (22).to_bytes(4, "big")) for port in (1, 2)
    ]
    counted = [names.read(e.table_entry) for e in connection.read([p4runtime_pb2.Entity(table_entry=names.wildcard(
        "Ingress.member"
    ))])]  # fmt: skip
    assert sorted(entry.packets for entry in counted if entry.match) == [1, 1]
    with pytest.raises(SwitchWriteError):
        connection.write([(INSERT, entities[0])])


def test_p4info_of_another_program_is_refused(server: tuple[TofinoSwitch, SwitchConnection]) -> None:
    _, connection = server
    with pytest.raises(PipelineError, match=r"no table|match fields|no counter"):
        connection.push_pipeline(pipeline("externs", "sum"))
    with pytest.raises(PipelineError, match="no table Ingress"):
        connection.push_pipeline(pipeline("sum", "externs"))


def test_program_for_bmv2_is_refused(server: tuple[TofinoSwitch, SwitchConnection]) -> None:
    _, connection = server
    bmv2 = PROGRAMS.parents[1] / "programs" / "lanes.json"
    with pytest.raises(PipelineError, match="Line 1 of the program"):
        connection.push_pipeline(CompiledPipeline(2, bmv2, PROGRAMS / "sum.p4info.txtpb"))
