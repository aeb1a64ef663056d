# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The committed Tofino build matches the sources, and the page matches the report."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from google.protobuf import text_format

from lanesum_control.switches.recirculation import check_ports
from lanesum_fabric.program.capabilities import (
    BOUND,
    COMBINE,
    CPU_PORT,
    DECISION_TABLES,
    HOST_TABLES,
    ICMP,
    JOB_TABLES,
    MEMBER,
    SHORTEN,
)
from lanesum_fabric.program.manifest import MANIFEST, source_files
from lanesum_fabric.program.pipelines import TOFINO_BUILD_FOLDER, bmv2_pipeline, tofino_pipeline
from lanesum_fabric.protobufs import p4info_pb2
from lanesum_fabric.resources import checkout_root
from lanesum_fabric.tofino.chips import PROFILES, pipe_of
from lanesum_fabric.topology.files import parse
from lanesum_lab.builds import tofino as tofinobuild
from lanesum_lab.builds.report import PAGE, page_with
from tests.lab.builds.manifests import tofino_problems

ROOT = checkout_root() or Path()
NAMES = [built.name for built in PROFILES]


def p4info(name: str) -> p4info_pb2.P4Info:
    text = (ROOT / TOFINO_BUILD_FOLDER / f"{name}.p4info.txtpb").read_text()
    return text_format.Parse(text, p4info_pb2.P4Info(), allow_unknown_field=True)


def constants(program: str) -> dict[str, str]:
    """Return the constants that the files of a program declare, without those that it shares."""
    text = "".join(file.read_text() for file in sorted((ROOT / "p4src" / program).glob("*.p4")))
    return dict(re.findall(r"^const \S+ (\w+) = (.+?);", text, re.MULTILINE))


def test_constants_of_both_programs_are_equal() -> None:
    bmv2, tofino = constants("bmv2"), constants("tofino")
    both = bmv2.keys() & tofino.keys()
    assert "NUM_PORTS" in both
    assert {name: bmv2[name] for name in both} == {name: tofino[name] for name in both}


def test_manifest_agrees_with_sources_outputs_and_profiles() -> None:
    assert tofino_problems(ROOT) == []
    assert len(source_files(ROOT / "p4src", "tofino")) >= 18


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "p4src", tmp_path / "p4src")
    assert tofino_problems(tmp_path) == []
    return tmp_path


@pytest.mark.parametrize("name", ["tofino/slots.p4", "shared/protocol.p4"])
def test_edited_source_is_noticed(copy: Path, name: str) -> None:
    with (copy / "p4src" / name).open("a") as source:
        source.write("// changed\n")
    assert tofino_problems(copy) == [f"source {name} is not the one that was compiled: run `make tofino`"]


def test_edited_output_is_noticed(copy: Path) -> None:
    (copy / TOFINO_BUILD_FOLDER / "resources.json").write_text("{}\n")
    assert tofino_problems(copy) == ["output resources.json is not the compiler's: run `make tofino`, never edit it"]


def test_another_profile_is_noticed(copy: Path) -> None:
    path = copy / TOFINO_BUILD_FOLDER / MANIFEST
    manifest = json.loads(path.read_text())
    manifest["profiles"][NAMES[0]] = []
    path.write_text(json.dumps(manifest))
    assert tofino_problems(copy) == ["the profiles are not those that were compiled: run `make tofino`"]


def test_other_flags_are_noticed(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tofinobuild, "FLAGS", ("--std", "p4-14"))
    assert tofino_problems(copy) == ["the compiler's flags are not those that were given: run `make tofino`"]


def test_outputs_of_a_removed_profile_are_found(copy: Path) -> None:
    (copy / TOFINO_BUILD_FOLDER / "tofino1-w16.printed.p4").write_text("")
    assert tofino_problems(copy) == ["tofino1-w16.printed.p4 is of no profile: delete it"]


def test_page_is_the_report_s() -> None:
    text = (ROOT / PAGE).read_text()
    assert page_with(text, ROOT) == text


def test_topology_of_page_has_hosts_at_one_pipe() -> None:
    page = "docs/tofino-chip.md"
    text, cpu = re.findall(r"^```yaml\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    topology = parse(text.replace("links:\n", cpu), page)
    assert [name for name, node in topology.nodes.items() if node.is_cpu] == ["os1"]
    topology = parse(text, page)
    ports = [port for link in topology.links for _, port in link.parts() if port is not None]
    for name in NAMES:
        check_ports(tofino_pipeline(name), ports)
    assert len({pipe_of(port) for port in ports}) == 1
    workers = [node for node in topology.nodes.values() if node.kind in ("worker", "server")]
    assert len(workers) == 4 and all(node.mac for node in workers)


@pytest.mark.parametrize("name", NAMES)
def test_controller_finds_its_tables(name: str) -> None:
    """Names, keys and parameters are the same as on BMv2, except for tables that the page lists as missing."""
    here = {table.preamble.name: table for table in p4info(name).tables}
    actions = {action.preamble.name: {param.name for param in action.params} for action in p4info(name).actions}
    bmv2 = text_format.Parse(bmv2_pipeline(32).p4info, p4info_pb2.P4Info())
    there = {table.preamble.name: table for table in bmv2.tables}
    parameters = {action.preamble.name: {param.name for param in action.params} for action in bmv2.actions}
    for table in (*JOB_TABLES, *HOST_TABLES):
        if table.endswith("lanes.lookup"):
            continue  # no operation of the chip has a lookup
        added = {"partial_sum"} if table == MEMBER and COMBINE in here else set()
        keys = {field.name for field in there[table].match_fields} | added
        assert {field.name for field in here[table].match_fields} == keys, table
    for action in ("membership.admit", "forward.route", "arp.reply", "origin.expect", "descend.hand_down"):
        assert actions[f"IngressPipeline.{action}"] == parameters[f"IngressPipeline.{action}"]
    assert (BOUND in here) == (CPU_PORT in here)
    assert set(DECISION_TABLES) - {ICMP, BOUND, SHORTEN} <= set(here)
