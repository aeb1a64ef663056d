# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""finsy, another P4Runtime client: ``finsy_client.py ADDRESS TARGET``, in a process of its own.

Each scenario ends in an exception, or in a line with its name. ``test_p4runtime_foreign_clients.py`` runs this program.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import finsy

PROGRAMS = Path(__file__).parent / "programs"
OPTIONS = finsy.SwitchOptions(p4info=PROGRAMS / "everything.p4info.txtpb", p4blob=PROGRAMS / "everything.json")
WIDE = finsy.P4TableEntry("wide_table", match=finsy.P4TableMatch(wide=1), action=finsy.P4TableAction("nothing"))


async def refusal(call: Any) -> finsy.P4ClientError:
    """Return the error of a call."""
    try:
        await call
    except finsy.P4ClientError as error:
        return error
    raise AssertionError("the call was not refused")


async def client_pushes_program(switch: finsy.Switch) -> None:
    assert switch.is_primary and switch.p4info.tables["exact_table"].id
    assert switch.p4runtime_version >= (1, 3, 0, "")


async def client_writes_and_reads_entries(switch: finsy.Switch) -> None:
    entry = finsy.P4TableEntry(
        "exact_table",
        match=finsy.P4TableMatch(key=5, nibble=3),
        action=finsy.P4TableAction("set_choice", choice=42),
    )
    lpm = finsy.P4TableEntry(
        "lpm_table", match=finsy.P4TableMatch(address="10.0.0.0/8"), action=finsy.P4TableAction("nothing")
    )
    await switch.insert([entry, lpm, WIDE])
    found = [one async for one in switch.read([finsy.P4TableEntry("exact_table"), finsy.P4TableEntry("lpm_table")])]
    assert sorted(one.table_id for one in found) == ["exact_table", "lpm_table"], found
    assert next(one for one in found if one.table_id == "exact_table").action.args == {"choice": 42}
    await switch.delete([entry, lpm])
    assert not [one async for one in switch.read([finsy.P4TableEntry("exact_table")])]


async def client_writes_multicast_group(switch: finsy.Switch) -> None:
    group = finsy.P4MulticastGroupEntry(1, replicas=[1, 2])
    await switch.insert([group])
    found = [one async for one in switch.read([finsy.P4MulticastGroupEntry()])]
    assert [one.multicast_group_id for one in found] == [1]


async def client_names_refused_entry(switch: finsy.Switch) -> None:
    error = await refusal(switch.insert([WIDE]))
    assert error.code is finsy.GRPCStatusCode.UNKNOWN
    assert [one.canonical_code for one in error.details.values()] == [finsy.GRPCStatusCode.ALREADY_EXISTS]


async def second_client_is_backup(switch: finsy.Switch) -> None:
    options = OPTIONS(initial_election_id=1)
    async with finsy.Switch("second", switch.address, options) as second:
        assert switch.is_primary and not second.is_primary
        assert (await refusal(second.insert([WIDE]))).code is finsy.GRPCStatusCode.PERMISSION_DENIED


SCENARIOS = (
    client_pushes_program, client_writes_and_reads_entries, client_writes_multicast_group, client_names_refused_entry,
    second_client_is_backup,
)  # fmt: skip


async def main(address: str) -> None:
    async with finsy.Switch("first", address, OPTIONS) as switch:
        for scenario in SCENARIOS:
            await scenario(switch)
            print(scenario.__name__, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
