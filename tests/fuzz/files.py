# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fuzzer of files that operators and other processes pass: each loads, or raises an error of lanesum.

``python -m tests.fuzz.files --seconds 60`` (``make fuzz-files``). Programs for BMv2 have a fuzzer of their own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lanesum.cli import server
from lanesum.errors import LanesumError
from lanesum.joining import take_ticket
from lanesum.launch.launcher import StatusLine
from lanesum.launch.run_folder import RunFolder
from lanesum.server import ServerJob
from lanesum.server.journal import Journal
from lanesum.server.member_table import MemberTable
from lanesum.server.quorum_results import QuorumResultCache
from lanesum.transport import JobTicket
from lanesum_control.cli import configuration
from lanesum_control.errors import StoreError
from lanesum_control.planner.network import Network
from lanesum_control.state.store import Store
from lanesum_fabric import topology
from lanesum_fabric.program.pipelines import bmv2_pipeline, tofino_pipeline
from lanesum_fabric.topology import containerlab, drawing
from lanesum_switch.api import SwitchError
from lanesum_switch.faults.plan import FaultPlan, available
from lanesum_switch.tna.switch import TofinoSwitch
from tests.control_plane.control_fakes import Site, request
from tests.fabric.tofino.test_device_config import compiled
from tests.fabric.topology.test_containerlab import CONTAINERLAB
from tests.fuzz.running import Budget, mutated, options, report
from tests.host.server.test_journal import JOB, open_cache, record
from tests.paths import ROOT
from tests.softswitch.bmv2.mutants import Mutator
from tests.softswitch.tna.conftest import printed

_TEXTS = ["", "10.0.0.1", "\x00", "x" * 10_000, "0x", "1e999"]
_JSON_SHARE = 0.6  # of the mutants of JSON: mutants of its values, not of its bytes


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        valid: contents of a valid file.
        load: read a file; the parts that use it fail late if it lets a wrong value through, so it uses them.
        json: mutate values, too.
    """

    valid: bytes
    load: Callable[[Path], object]
    json: bool = False


def _ticket(path: Path) -> None:
    ticket = take_ticket(path)
    assert ticket.rack_members and ticket.server_names and JobTicket.from_json(ticket.to_json()) == ticket


def _server_job(path: Path) -> None:
    job = ServerJob.from_json(path.read_bytes().decode(errors="replace"))
    assert MemberTable(job).bitmap_words >= 0 and ServerJob.from_json(job.to_json()) == job


def _topology(path: Path) -> None:
    read = topology.load(str(path))
    drawing.svg(read)
    with contextlib.suppress(LanesumError):
        Network.of(read, loopback=True)


def _p4info(path: Path) -> None:
    pipeline = dataclasses.replace(bmv2_pipeline(32), p4info_path=path)
    assert pipeline.slots >= 0 and pipeline.capabilities is not None


def _program(path: Path) -> None:
    switch = TofinoSwitch()
    switch.load(path.read_bytes())
    for frame in (b"", bytes(64), bytes(range(200))):
        switch.process(1, frame)


def _configuration(path: Path) -> None:
    for command in ("server", "controller"):
        line = configuration.arguments(str(path), [command])
        assert line[0] == command
        if command == "server":
            server.parser().parse_args(line[1:])


def _state(path: Path) -> None:
    with Store(path) as store:
        jobs = store.jobs()
        store.ranges()
        store.new_numbers()
        for job in jobs:
            assert job.request.guaranteed >= 0 and job.incarnation.tag >= 0


def _journal(path: Path) -> None:
    journal = Journal(path.parent, JOB, MemberTable(JOB))
    try:
        record(QuorumResultCache(journal.result_capacity, journal.write, journal.recorded), 9)
    finally:
        journal.close()


def _run_folder(path: Path) -> None:
    folder = RunFolder(path.parent)
    assert StatusLine(folder).summary() is not None
    folder.first_failure()


def kinds(folder: Path) -> dict[str, tuple[str, Kind]]:
    """Return the name of the file and its kind, by the name of the kind; ``folder`` is for valid files."""
    site = Site("tree2x2")
    with Store(folder / "state.db") as store:
        site.start(store=store).admit(request("a", slots=4))
    journal, cache = open_cache(folder)
    record(cache, 5)
    journal.close()
    (journal_path,) = folder.glob("*.journal")
    ticket = JobTicket(job=1, tag=2, worker=0, workers=2, slots=8, places=((0, 0), (1, 0)), code_table=bytes(16))
    counts = {"steps": 10, "bytes_fp32": 4000, "bytes_up": 50, "packets_sent": 4, "retransmissions": 1}
    counts |= {"chunks_by_switch": 3, "chunks_by_server": 1}
    return {
        "ticket": ("ticket.json", Kind(ticket.to_json().encode(), _ticket, json=True)),
        "server job": ("job.json", Kind(JOB.to_json().encode(), _server_job, json=True)),
        "topology": ("own.yaml", Kind(topology.available()["tree2x2"].read_bytes(), _topology)),
        "containerlab": (
            "own.clab.yml",
            Kind(CONTAINERLAB.encode(), lambda path: containerlab.load(path, variables={})),
        ),
        "fault plan": ("own.yaml", Kind(max(available().values()).read_bytes(), FaultPlan.load)),
        "P4Info": ("own.txtpb", Kind(bmv2_pipeline(32).p4info_path.read_bytes(), _p4info)),
        "printed program": ("own.p4", Kind(printed("sum").encode(), _program)),
        "device config": ("own.bin", Kind(compiled("tofino1-w32").for_stratum(), _device_config)),
        "context": ("own.bin", Kind(compiled("tofino1-w32").context, _context, json=True)),
        "configuration": ("own.toml", Kind((ROOT / "deploy" / "lanesum.toml").read_bytes(), _configuration)),
        "state": ("state.db", Kind((folder / "state.db").read_bytes(), _state)),
        "journal": (journal_path.name, Kind(journal_path.read_bytes(), _journal)),
        "counts": ("worker-0.json", Kind(json.dumps(counts).encode(), _run_folder, json=True)),
        "failure": ("failure.json", Kind(b'{"rank": 1, "what": "It fell."}', _run_folder, json=True)),
    }


def _device_config(path: Path) -> None:
    tofino_pipeline("tofino1-w32", path)


def _context(path: Path) -> None:
    packed = dataclasses.replace(compiled("tofino1-w32"), context=path.read_bytes())
    path.write_bytes(packed.for_stratum())
    tofino_pipeline("tofino1-w32", path)


def mutant(kind: Kind, rng: random.Random) -> bytes:
    if kind.json and rng.random() < _JSON_SHARE:
        return Mutator(kind.valid, rng, _TEXTS).mutant()
    return mutated(kind.valid, rng)


def outcome(kind: Kind, path: Path) -> str:
    """Return how a file was received; any error but those of lanesum propagates."""
    try:
        kind.load(path)
    except (LanesumError, SwitchError, StoreError) as error:
        assert str(error) and len(str(error)) < 1 << 20
        return "refused"
    return "loaded"


def fuzz(all_kinds: dict[str, tuple[str, Kind]], budget: Budget, seed: int) -> Counter[str]:
    """Load mutants of all kinds in turn. A file with an error of another type is kept, and the error propagates."""
    outcomes: Counter[str] = Counter()
    for number in budget:
        name = list(all_kinds)[number % len(all_kinds)]
        file_name, kind = all_kinds[name]
        data = mutant(kind, random.Random(seed + number))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file_name
            path.write_bytes(data)
            try:
                outcomes[f"{name} {outcome(kind, path)}"] += 1
            except Exception:
                kept = Path(tempfile.gettempdir()) / f"lanesum-hostile-{file_name}"
                kept.write_bytes(data)
                print(f"An untyped error: the {name} is in {kept}.", file=sys.stderr)
                raise
    return outcomes


def main() -> int:
    args = options(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        all_kinds = kinds(Path(folder))
        budget = Budget(args.count, args.seconds)
        outcomes = fuzz(all_kinds, budget, args.seed)
        return report(outcomes, budget)


if __name__ == "__main__":
    sys.exit(main())
