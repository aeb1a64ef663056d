# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""p4runtime-shell, as a client and as a shell."""

from __future__ import annotations

import contextlib
import io
import queue
from collections.abc import Iterator
from typing import Any

import pytest
from p4.v1 import p4runtime_pb2 as p4rt

from .client import PROGRAMS, Program

p4runtime = pytest.importorskip("p4runtime_sh.p4runtime")

P4INFO = str(PROGRAMS / "everything.p4info.txtpb")
JSON = str(PROGRAMS / "everything.json")


@pytest.fixture
def plain(address: str) -> Iterator[Any]:
    client = p4runtime.P4RuntimeClient(1, address, (0, 1))
    yield client
    client.tear_down()


def test_client(plain: Any, everything: Program) -> None:
    assert plain.api_version() == "1.3.0"
    plain.set_fwd_pipe_config(P4INFO, JSON)
    assert plain.get_p4info() == everything.p4info
    entry = everything.entry("lpm_table", (), everything.action("set_choice", b"\x05"))
    update = p4rt.Update(type=p4rt.Update.INSERT, entity=entry)
    plain.write_update(update)
    (response,) = plain.read_one(everything.entry("lpm_table"))
    assert list(response.entities) == [entry]


def test_client_errors(plain: Any, everything: Program) -> None:
    with pytest.raises(p4runtime.P4RuntimeException, match="FAILED_PRECONDITION"):
        plain.get_p4info()
    plain.set_fwd_pipe_config(P4INFO, JSON)
    request = p4rt.WriteRequest()
    # Both updates fail: the iterator over the errors of a batch never passes a successful update.
    for kind, value in ((p4rt.Update.MODIFY, b"\x01"), (p4rt.Update.INSERT, b"\x01" + bytes(16))):
        entry = everything.entry("wide_table", (), everything.action("nothing"))
        entry.table_entry.match.add(field_id=1).exact.value = value
        request.updates.add(type=kind).entity.CopyFrom(entry)
    with pytest.raises(p4runtime.P4RuntimeWriteException) as failure:
        plain.write(request)
    assert [(i, e.canonical_code) for i, e in failure.value.errors] == [(0, 5), (1, 3)]


def test_second_client_is_backup(address: str) -> None:
    first = p4runtime.P4RuntimeClient(1, address, (0, 2))
    second = p4runtime.P4RuntimeClient(1, address, (0, 1))
    try:
        with pytest.raises(p4runtime.P4RuntimeException, match="PERMISSION_DENIED"):
            second.set_fwd_pipe_config(P4INFO, JSON)
        first.tear_down()
        message = second.get_stream_packet("arbitration", timeout=5)
        assert message.arbitration.status.code == 0
        second.set_fwd_pipe_config(P4INFO, JSON)
    finally:
        second.tear_down()
        with contextlib.suppress(Exception):
            first.tear_down()


@pytest.fixture
def shell(address: str) -> Iterator[Any]:
    sh = pytest.importorskip("p4runtime_sh.shell")
    # verbose=False would turn off canonical byte strings; redirect its prints instead.
    with contextlib.redirect_stdout(io.StringIO()):
        sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), config=sh.FwdPipeConfig(P4INFO, JSON))
        try:
            yield sh
        finally:
            sh.teardown()


def test_shell_entities(shell: Any) -> None:
    entry = shell.TableEntry("IngressImpl.exact_table")(action="IngressImpl.set_choice")
    entry.match["key"] = "5"
    entry.match["nibble"] = "3"
    entry.action["choice"] = "42"
    entry.insert()
    (read,) = list(shell.TableEntry("IngressImpl.exact_table").read())
    assert read.action.msg().params[0].value == b"\x2a"
    entry.action["choice"] = "43"
    entry.modify()
    entry.delete()
    assert list(shell.TableEntry("IngressImpl.exact_table").read()) == []

    lpm = shell.TableEntry("IngressImpl.lpm_table")(action="IngressImpl.nothing")
    lpm.match["address"] = "10.0.0.0/8"
    lpm.insert()
    ternary = shell.TableEntry("IngressImpl.ternary_table")(action="IngressImpl.nothing")
    ternary.match["key"] = "0x100&&&0xff00"
    ternary.priority = 7
    ternary.insert()
    ranged = shell.TableEntry("IngressImpl.range_table")(action="IngressImpl.nothing")
    ranged.match["key"] = "5..9"
    ranged.priority = 7
    ranged.insert()

    member = shell.ActionProfileMember("IngressImpl.selector")(member_id=1, action="IngressImpl.nothing")
    member.insert()
    group = shell.ActionProfileGroup("IngressImpl.selector")(group_id=1)
    group.add(1, 2)
    group.insert()
    indirect = shell.TableEntry("IngressImpl.selector_table")(group_id=1)
    indirect.match["key"] = "1"
    indirect.insert()

    counter = shell.CounterEntry("IngressImpl.cells")(index=2)
    counter.packet_count = 5
    counter.modify()
    assert len(list(shell.CounterEntry("IngressImpl.cells").read())) == 8
    meter = shell.MeterEntry("IngressImpl.packet_meter")(index=1, cir=1, cburst=2, pir=3, pburst=4)
    meter.modify()

    multicast = shell.MulticastGroupEntry(1)
    multicast.add(1, 1).add(2, 2)
    multicast.insert()
    clone = shell.CloneSessionEntry(3)
    clone.add(4, 1)
    clone.insert()
    assert [g.group_id for g in shell.MulticastGroupEntry().read()] == [1]
    digest = shell.DigestEntry("sample_t")
    digest.max_list_size = 4
    digest.insert()
    assert shell.APIVersion() is None or shell.APIVersion() == "1.3.0"


def test_shell_errors(shell: Any) -> None:
    entry = shell.TableEntry("IngressImpl.wide_table")(action="IngressImpl.nothing")
    entry.match["wide"] = "1"
    entry.insert()
    with pytest.raises(p4runtime.P4RuntimeWriteException, match="ALREADY_EXISTS"):
        entry.insert()


def test_shell_packets(shell: Any, target: str) -> None:
    if target == "fake":
        pytest.skip("needs a data plane")
    out = shell.PacketOut(payload=bytes(26) + b"payload")
    out.metadata["tag"] = "5"
    for name in ("egress_port", "reason", "pad"):
        out.metadata[name] = "0"
    out.send()
    with contextlib.suppress(queue.Empty):
        message = shell.client.get_stream_packet("packet", timeout=5)
    assert message.packet.payload == bytes(26) + b"payload"
    assert [m.value for m in message.packet.metadata][2] == b"\x05"
