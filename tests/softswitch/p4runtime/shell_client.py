# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""p4runtime-shell, as a client and as a shell: ``shell_client.py ADDRESS TARGET``, in its own environment.

Each scenario ends in an exception, or in a line with its name. ``test_p4runtime_foreign_clients.py`` runs this program.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from p4.v1 import p4runtime_pb2 as p4rt
from p4runtime_sh import p4runtime
from p4runtime_sh import shell as sh

PROGRAMS = Path(__file__).parent / "programs"
P4INFO, JSON = str(PROGRAMS / "everything.p4info.txtpb"), str(PROGRAMS / "everything.json")
PACKET_IN_S = 60


@contextlib.contextmanager
def client(address: str, election_id: int = 1) -> Iterator[Any]:
    found = p4runtime.P4RuntimeClient(1, address, (0, election_id))
    try:
        yield found
    finally:
        found.tear_down()


@contextlib.contextmanager
def shell(address: str) -> Iterator[None]:
    # verbose=False would turn off canonical byte strings; redirect its prints instead.
    with contextlib.redirect_stdout(io.StringIO()):
        sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), config=sh.FwdPipeConfig(P4INFO, JSON))
        try:
            yield
        finally:
            sh.teardown()


def refusal(error: type[Exception], function: Any, *arguments: Any) -> Any:
    """Return the error of a call."""
    try:
        function(*arguments)
    except error as found:
        return found
    raise AssertionError("the call was not refused")


def named(found: Any, name: str) -> Any:
    """Return the object of a P4Info with this name, in full or its last part."""
    return next(one for one in found if name in (one.preamble.name, one.preamble.name.rpartition(".")[2]))


def client_is_refused_before_a_push(address: str) -> None:
    with client(address) as plain:
        assert "FAILED_PRECONDITION" in str(refusal(p4runtime.P4RuntimeException, plain.get_p4info))


def client_writes_and_reads_entry(address: str) -> None:
    with client(address) as plain:
        assert plain.api_version() == "1.3.0"
        plain.set_fwd_pipe_config(P4INFO, JSON)
        p4info = plain.get_p4info()
        entry = p4rt.Entity()
        entry.table_entry.table_id = named(p4info.tables, "lpm_table").preamble.id
        entry.table_entry.action.action.action_id = named(p4info.actions, "set_choice").preamble.id
        entry.table_entry.action.action.params.add(param_id=1, value=b"\x05")
        plain.write_update(p4rt.Update(type=p4rt.Update.INSERT, entity=entry))
        wanted = p4rt.Entity()
        wanted.table_entry.table_id = entry.table_entry.table_id
        (response,) = plain.read_one(wanted)
        assert list(response.entities) == [entry]


def client_names_each_refused_update(address: str) -> None:
    with client(address) as plain:
        plain.set_fwd_pipe_config(P4INFO, JSON)
        p4info = plain.get_p4info()
        request = p4rt.WriteRequest()
        # Both updates fail: the iterator over the errors of a batch never passes a successful update.
        for kind, value in ((p4rt.Update.MODIFY, b"\x01"), (p4rt.Update.INSERT, b"\x01" + bytes(16))):
            entry = request.updates.add(type=kind).entity.table_entry
            entry.table_id = named(p4info.tables, "wide_table").preamble.id
            entry.match.add(field_id=1).exact.value = value
            entry.action.action.action_id = named(p4info.actions, "nothing").preamble.id
        failure = refusal(p4runtime.P4RuntimeWriteException, plain.write, request)
        assert [(i, e.canonical_code) for i, e in failure.errors] == [(0, 5), (1, 3)]


def second_client_is_backup(address: str) -> None:
    with client(address, 1) as second:
        with client(address, 2) as first:
            first.set_fwd_pipe_config(P4INFO, JSON)
            assert second.get_p4info() == first.get_p4info()
            pushed = second.set_fwd_pipe_config, P4INFO, JSON
            assert "PERMISSION_DENIED" in str(refusal(p4runtime.P4RuntimeException, *pushed))
        message = second.get_stream_packet("arbitration", timeout=PACKET_IN_S)
        while message.arbitration.status.code:
            message = second.get_stream_packet("arbitration", timeout=PACKET_IN_S)
        second.set_fwd_pipe_config(P4INFO, JSON)


def shell_writes_all_entities(address: str) -> None:
    with shell(address):
        entry = sh.TableEntry("IngressImpl.exact_table")(action="IngressImpl.set_choice")
        entry.match["key"] = "5"
        entry.match["nibble"] = "3"
        entry.action["choice"] = "42"
        entry.insert()
        (read,) = list(sh.TableEntry("IngressImpl.exact_table").read())
        assert read.action.msg().params[0].value == b"\x2a"
        entry.action["choice"] = "43"
        entry.modify()
        entry.delete()
        assert list(sh.TableEntry("IngressImpl.exact_table").read()) == []

        lpm = sh.TableEntry("IngressImpl.lpm_table")(action="IngressImpl.nothing")
        lpm.match["address"] = "10.0.0.0/8"
        lpm.insert()
        ternary = sh.TableEntry("IngressImpl.ternary_table")(action="IngressImpl.nothing")
        ternary.match["key"] = "0x100&&&0xff00"
        ternary.priority = 7
        ternary.insert()
        ranged = sh.TableEntry("IngressImpl.range_table")(action="IngressImpl.nothing")
        ranged.match["key"] = "5..9"
        ranged.priority = 7
        ranged.insert()

        member = sh.ActionProfileMember("IngressImpl.selector")(member_id=1, action="IngressImpl.nothing")
        member.insert()
        group = sh.ActionProfileGroup("IngressImpl.selector")(group_id=1)
        group.add(1, 2)
        group.insert()
        indirect = sh.TableEntry("IngressImpl.selector_table")(group_id=1)
        indirect.match["key"] = "1"
        indirect.insert()

        counter = sh.CounterEntry("IngressImpl.cells")(index=2)
        counter.packet_count = 5
        counter.modify()
        assert len(list(sh.CounterEntry("IngressImpl.cells").read())) == 8
        meter = sh.MeterEntry("IngressImpl.packet_meter")(index=1, cir=1, cburst=2, pir=3, pburst=4)
        meter.modify()

        multicast = sh.MulticastGroupEntry(1)
        multicast.add(1, 1).add(2, 2)
        multicast.insert()
        clone = sh.CloneSessionEntry(3)
        clone.add(4, 1)
        clone.insert()
        assert [g.group_id for g in sh.MulticastGroupEntry().read()] == [1]
        digest = sh.DigestEntry("sample_t")
        digest.max_list_size = 4
        digest.insert()
        assert sh.APIVersion() is None or sh.APIVersion() == "1.3.0"


def shell_names_refused_entry(address: str) -> None:
    with shell(address):
        entry = sh.TableEntry("IngressImpl.wide_table")(action="IngressImpl.nothing")
        entry.match["wide"] = "1"
        entry.insert()
        assert "ALREADY_EXISTS" in str(refusal(p4runtime.P4RuntimeWriteException, entry.insert))


def shell_exchanges_packets(address: str) -> None:
    with shell(address):
        out = sh.PacketOut(payload=bytes(26) + b"payload")
        out.metadata["tag"] = "5"
        for name in ("egress_port", "reason", "pad"):
            out.metadata[name] = "0"
        out.send()
        message = sh.client.get_stream_packet("packet", timeout=PACKET_IN_S)
        assert message.packet.payload == bytes(26) + b"payload"
        assert [m.value for m in message.packet.metadata][2] == b"\x05"


SCENARIOS = (
    client_is_refused_before_a_push, client_writes_and_reads_entry, client_names_each_refused_update,
    second_client_is_backup, shell_writes_all_entities, shell_names_refused_entry,
)  # fmt: skip
NEED_DATA_PLANE = (shell_exchanges_packets,)

if __name__ == "__main__":
    address, target = sys.argv[1:]
    for scenario in (*SCENARIOS, *(NEED_DATA_PLANE if target != "fake" else ())):
        scenario(address)
        print(scenario.__name__, flush=True)
