# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet tests of P4 programs: entries, wildcards, copies of packets, and differences that must be told."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from lanesum_switch import EmbeddedSwitch
from tests.p4c_samples.__main__ import COMPILER, main, run_program, run_samples
from tests.p4c_samples.packet_test import PacketTest, PacketTestError, frame_matches

PROGRAMS = Path(__file__).parents[1] / "softswitch" / "programs"
SAMPLES = os.environ.get("P4C_SAMPLES", "")


def outcome_of(program: str, test: str):
    return run_program(program, (PROGRAMS / f"{program}.json").read_bytes(), test)


@pytest.mark.parametrize(
    ("entry", "query", "result"),
    [
        ("exact_table query.a:0x05 query.b:6 answer(value:0x11)", "00 05 0006 00000000", "ffff 00000011"),
        ("exact_table a:5 b:6 add(value:1, more:0x10)", "00 05 0006 00000002", "0add 00000013"),
        ("lpm_table query.c:0x0a0b**** answer(value:9)", "01 00 0000 0a0b0c0d", "0001 00000009"),
        ("lpm_table query.c:0x0a000000/8 answer(value:9)", "01 00 0000 0affffff", "0001 00000009"),
        ("ternary_table 3 query.a:0x1* query.b:7 answer(value:8)", "02 1f 0007 00000000", "0000 00000008"),
        ("range_table 3 query.b:7 I.answer(value:8)", "03 1f 0007 00000000", "0000 00000008"),
    ],
)
def test_packet_test_entry_of_a_table_matches(entry, query, result):
    test = f"add {entry}\npacket 4 {query} 0000 0000 00000000\nexpect 1 {query} 0000 {result} $"
    assert outcome_of("tables", test).outcome == "passed"


def test_packet_test_larger_priority_wins():
    query = "02 1f 0007 00000000"
    test = f"""
        add ternary_table 0 query.b:7 answer(value:1)
        add ternary_table 5 query.a:0b0001**** query.b:7 answer(value:2)  # wins
        packet 4 {query} 0000 0000 00000000
        expect 1 {query} ******** 00000002
    """
    assert outcome_of("tables", test).outcome == "passed"


def test_packet_test_default_action_is_set():
    query = "01 00 0000 00000000 0000"
    test = f"""
        setdefault lpm_table answer(value:0x2a)
        packet 0 {query} 0000 00000000
        expect 1 {query} 0002 0000002a
    """
    assert outcome_of("tables", test).outcome == "passed"


QUERY = "00 00 0000 00000000 0000 0000 00000000"


@pytest.mark.parametrize(
    ("test", "difference"),
    [
        ("expect 1", "port 1: no packet left, any was expected"),
        (f"packet 4 {QUERY}", "port 1: 1 packets left, 0 were expected"),
        (f"packet 4 {QUERY}\nexpect 1 00\nexpect 2 00", "port 2: 0 packets left, 1 were expected"),
        (f"packet 4 {QUERY}\nexpect 1 0d", "port 1, packet 0: 00000000000000000000ffff00000194 left, 0d was expected"),
    ],
)
def test_packet_test_difference_is_told(test, difference):
    outcome = outcome_of("tables", test)
    assert (outcome.outcome, outcome.reasons) == ("failed", (difference,))


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("clear exact_table", "line 1: the command 'clear' is not known"),
        ("\nadd no_table a:1 answer(value:1)", "0 objects have the name 'no_table'"),
        ("add exact_table z:1 answer(value:1)", "table I.exact_table has no key field z"),
        ("add exact_table a:1 answer", "'answer' is no call of an action"),
        ("packet 1 0g", "line 1: 'packet 1 0g': non-hexadecimal"),
    ],
)
def test_packet_test_unknown_line_is_an_error(test, message):
    switch = EmbeddedSwitch()
    switch.load((PROGRAMS / "tables.json").read_bytes())
    with pytest.raises(PacketTestError, match=re.escape(message)):
        PacketTest(switch).run(test)


def test_packet_test_copies_leave_their_ports():
    test = """
        mc_mgrp_create 7
        mc_node_create 40 2 3
        mc_node_associate 7 0
        mirroring_add 5 9
        packet 1 01 00 0007 00000000 00000000 0000 0000
        expect 2 01 00 0002 ******** ******** 0028
        expect 3 01 00 0003 ******** ******** 0028
        packet 1 02 00 0004 00000000 00000000 0000 0000
        expect 4 02 ee 0004
        expect 9 02 00 0009 ******** ******** 0000 1234 $
    """
    assert outcome_of("copies", test).reasons == ()


@pytest.mark.parametrize(
    ("frame", "pattern", "matches"),
    [
        ("0102", "01", True),
        ("0102", "01$", False),
        ("0102", "0*02$", True),
        ("01", "0102", False),
        ("0102", "02", False),
    ],
)
def test_frame_matches_a_pattern(frame, pattern, matches):
    assert frame_matches(frame, pattern) is matches


@pytest.mark.parametrize(
    ("tool", "folder", "message"),
    [(None, ".", "p4c-bm2-ss is not on PATH"), ("/bin/true", "/no/samples", "/no/samples is no folder")],
)
def test_runner_without_its_input_says_why(tool, folder, message, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: tool)
    with pytest.raises(SystemExit):
        main([folder])
    assert message in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not on PATH")
@pytest.mark.skipif(not SAMPLES, reason="P4C_SAMPLES does not name p4c's testdata/p4_16_samples")
def test_samples_of_p4c_send_the_expected_packets():
    outcomes = list(run_samples(Path(SAMPLES), COMPILER))
    assert sum(one.outcome == "passed" for one in outcomes) >= 180
    assert [one for one in outcomes if one.outcome in ("failed", "refused")] == []
