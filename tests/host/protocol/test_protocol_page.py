# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The two pages of the protocol agree with the code: generated blocks, worked example, table of states."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from lanesum.protocol import Header, LaneOp, Packet
from lanesum.protocol.spec import UDP_PORT
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort, Member, SwitchJob
from lanesum_fabric.resources import checkout_root
from lanesum_lab import generate
from lanesum_switch.frames import UdpFrame, ipv4_int
from tests.reference.slots import Decision, SlotTable
from tests.reference.switch import ReferenceSwitch

ROOT = checkout_root() or Path()
PAGE = "\n".join((ROOT / "docs" / name).read_text() for name in ("protocol.md", "protocol-processing.md"))
DUMP_LINE = re.compile(r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:  +(\S.*))?$")


EDITS = {
    "docs/protocol.md": "| 19539 |",
    "p4src/shared/protocol.p4": "bit<16>  job;",
    "host/native/src/protocol/spec.hpp": "FIELD(slot, 4, 16, 15, 0)",
    "wireshark/lanesum.lua": "local VERSION = 2\n",
    "host/native/src/transport/constants.hpp": "    COUNTER(collisions) \\\n",
    "docs/commands-controller.md": "`--mark-above`",
    "docs/commands-job.md": "`--quorum`",
    "docs/commands-bench.md": "`--rates`",
    "deploy/lanesum.schema.json": '"minimum": 0,',
}


def block(name: str, end: str) -> list[str]:
    """Return the lines between two markers of the page."""
    head, _, rest = PAGE.partition(f"<!-- {name} -->\n")
    body, found, _ = rest.partition(f"\n<!-- end: {end} -->")
    assert head != PAGE and found, name
    return body.splitlines()


def test_generated_files_are_up_to_date() -> None:
    files = generate.generated_files(ROOT)
    assert {path.name for path in files} == {
        "protocol.p4", "repeat.p4", "lane_ops.p4", "spec.hpp", "constants.hpp", "lanesum.lua", "protocol.md",
        "style.md", "commands.md", "commands-job.md", "commands-bench.md", "packets.md", "forecast.md",
        "commands-controller.md", "lanesum.schema.json",
    }  # fmt: skip
    for path, text in files.items():
        assert path.read_text() == text, f"{path.name} is out of date: run `make generate`"


def test_check_edited_generated_file_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (*generate.generated_files(ROOT), ROOT / "docs" / "pictures" / "step.json"):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    assert generate.main(["--check", str(tmp_path)]) == 0
    for name, old in EDITS.items():
        path = tmp_path / name
        text = path.read_text()
        path.write_text(text.replace(old, ""))
        assert path.read_text() != text
        assert generate.main(["--check", str(tmp_path)]) == 1
        assert name in capsys.readouterr().err
        assert generate.main([str(tmp_path)]) == 0
        assert path.read_text() == text


def example() -> tuple[bytes, bytes]:
    """Return the two frames of the worked example, as the reference switch builds them."""
    switch = ReferenceSwitch(32)
    members = tuple(
        Member(
            worker, (HostPort(worker, ipv4_int(f"10.0.0.{worker + 1}"), bytes([2, 0, 0, 0, 0, worker + 1])),), UDP_PORT
        )
        for worker in (0, 1)
    )
    switch.admit(SwitchJob(7, 0xC0FFEE42, 16, 8, 1, members, (LaneOp.EXPAND8,)))
    position, slots = 29, 8
    frames = []
    for member, first_word in zip(members, (0x76543210, 0x11111111), strict=True):
        words = np.zeros(16, np.uint32)
        words[0] = first_word
        header = Header(
            job=7, tag=0xC0FFEE42, epoch=5, chunk=9, slot=position % slots, shadow=position // slots % 2,
            op=LaneOp.EXPAND8, workers=1 << member.worker, fan_in_workers=member.worker, racks=12 * 16,
        )  # fmt: skip
        host, payload = member.host, Packet(header, words).pack()
        server = ipv4_int("10.0.0.100")
        frame = UdpFrame(host.mac, SWITCH_MAC, host.ip, server, UDP_PORT, UDP_PORT, payload)
        frames.append(frame.pack(checksum=True))
    assert switch.process(0, frames[0]) == []
    (copy,) = [frame for port, frame in switch.process(1, frames[1]) if port == 1]
    return frames[1], copy


def dumped(name: str) -> tuple[bytes, list[tuple[int, str]]]:
    """Return the bytes of a dump of the page, and the offset of each explanation."""
    data, explained = b"", []
    for line in block(f"example: {name}", name):
        if line == "```":
            continue
        match = DUMP_LINE.match(line)
        assert match, line
        assert int(match[1], 16) == len(data), line
        if match[3]:
            explained.append((len(data), match[3]))
        data += bytes.fromhex(match[2])
    return data, explained


@pytest.mark.parametrize(("index", "name"), [(0, "contribution"), (1, "result")])
def test_worked_example_matches_the_reference_switch(index: int, name: str) -> None:
    frame = example()[index]
    data, explained = dumped(name)
    assert data.hex(" ") == frame.hex(" ")
    # Each container of header fields begins a line with an explanation.
    assert {at for at, _ in explained} >= {0, 14, 34, *range(42, 78, 4)}
    assert f"{len(frame)} bytes:" in PAGE


def test_packing_of_codes_matches_expand() -> None:
    from lanesum.aggregation.combine import expand

    words = np.array([0x76543210], np.uint32)
    even, odd = expand(LaneOp.EXPAND8, words)
    for word, what in ((even, "low nibbles"), (odd, "high nibbles")):
        digits = int(word).to_bytes(4, "big").hex(" ")
        assert re.search(rf"^accumulator word .* {digits}  {what}$", PAGE, re.MULTILINE), digits


_ROLES = {"ascend": False, "quorum": False, "shared": False, "lease": 9}


def decisions(fan_in: int, contributors: int, **changes: int) -> str:
    """Return the decision about one more packet at an entry with ``contributors``, in any role.

    ``then`` is the fan-in when this packet arrives.
    """
    table = SlotTable()
    owner = {"job": 1, "tag": 2, "epoch": 5, "chunk": 5, "op": LaneOp.ADD32, "racks": 64}
    for worker in range(contributors):
        table.contribute(Header(**owner), np.zeros(1, np.uint32), slot=0, worker=1 << worker, fan_in=fan_in)
    worker, then = changes.pop("worker", 0), changes.pop("then", fan_in)
    roles = {name: changes.pop(name, default) for name, default in _ROLES.items()}
    header = Header(**{**owner, **changes})
    return table.decide(header, table.entry(0, 0), worker=1 << worker, fan_in=then, **roles).value


def test_table_of_states_matches_the_model() -> None:
    """For each cell an entry is put into its state."""
    older, newer = {"chunk": 4}, {"epoch": 6, "chunk": 0}
    other_op, other_size = {"op": LaneOp.MAX}, {"racks": 65}
    foreign = {**newer, "tag": 3, "shared": True}

    def row(**packet: int) -> list[str]:
        """Return decisions with fan-in 3: collecting with workers 0 and 1, done, and done while sums ascend."""
        return [decisions(3, 2, **packet), decisions(3, 3, **packet), decisions(3, 3, **packet, ascend=True)]

    expected = {
        "newer chunk": [decisions(3, 0, **newer), decisions(3, 2, **foreign), *row(**newer)],
        "newer chunk, fan-in 1": [
            decisions(1, 0), decisions(3, 1, **foreign), decisions(3, 1, then=1, **newer), decisions(1, 1, **newer),
            decisions(1, 1, **newer, ascend=True),
        ],
        "same chunk, member not counted yet": [
            "-", "-", decisions(3, 1, worker=1), decisions(3, 3, worker=7), decisions(3, 3, worker=7, ascend=True),
        ],
        "same chunk, member not counted yet, last one": ["-", "-", decisions(3, 2, worker=2), "-", "-"],
        "same chunk, member counted": ["-", "-", *row(worker=1)],
        "same chunk, other operation": ["-", "-", *row(worker=2, **other_op)],
        "same chunk, other round size": ["-", "-", *row(worker=2, **other_size)],
        "older chunk": ["-", "-", *row(worker=2, **older)],
        "older chunk, quorum": ["-", "-", *row(worker=2, quorum=True, **older)],
    }  # fmt: skip
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in block("states", "states")[2:]]
    assert {row[0]: row[1:] for row in rows} == expected
    assert {cell for row in rows for cell in row[1:]} == {decision.value for decision in Decision} | {"-"}


def test_held_entry_is_free_once_done_or_expired() -> None:
    """State `held` of the page, at both of its limits."""
    foreign = Header(job=1, tag=3, epoch=5, chunk=5)
    for contributors, now, expected in ((2, 9, "collide"), (2, 10, "claim"), (3, 0, "claim")):
        table = SlotTable()
        for worker in range(contributors):
            table.contribute(Header(job=1, tag=2), np.zeros(1, np.uint32), slot=0, worker=1 << worker, fan_in=3)
        decision = table.decide(foreign, table.entry(0, 0), worker=1, fan_in=3, shared=True, lease=9, now=now)
        assert decision.value == expected


def test_page_explains_every_action() -> None:
    for decision in Decision:
        assert re.search(rf"^\| `{decision.value}` \| [^|]+ \| [^|]+ \| [^|]+ \|$", PAGE, re.MULTILINE), decision
