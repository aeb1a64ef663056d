# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Record state files, packets and calls of the present versions: ``python -m tests.recorded.record``.

A file of a version that is recorded already is not changed: later versions of lanesum must read it as it is.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lanesum.joining import join
from lanesum.keep_alive import KeepAlive
from lanesum.protocol import LaneOp
from lanesum.protocol.spec import VERSION
from lanesum.rpc import controller as rpc
from lanesum.rpc import json_grpc
from lanesum.rpc.caller import Caller, CallerRole
from lanesum.server import ServerJob
from lanesum.server.native_aggregator import make_aggregator
from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.service import ControllerService
from lanesum_control.jobs.records import Taken
from lanesum_control.state.schema import SCHEMA_VERSION
from lanesum_control.state.store import Store
from tests.command_line import invoke
from tests.control_plane.control_fakes import Site, request
from tests.host.server.contributions import Workers, flat, racks, served

FOLDER = Path(__file__).parent
CALLS_VERSION = int(rpc.SERVICE.split(".")[1].removeprefix("v"))


def state_file(folder: Path) -> str:
    """Return the SQL text of a state file with jobs, tickets, slot ranges and events."""
    path = folder / "state.db"
    with Store(path) as store:
        controller = Site("tree2x2").start(store=store)
        controller.admit(request("gone"))
        controller.admit(request("a", slots=90, quota=5, quorum=3, priority=2, lease_s=7.5, seed=(1 << 64) - 1))
        blue = Caller("blue", CallerRole.TENANT, "ipv4:10.0.0.9:4242")
        controller.admit(request("b", slots=10, best_effort=True), caller=blue)
        controller.remove("gone")
        controller.join("b", 0, Taken("p0", "process 17 at w1", "thc"), caller=blue)
        controller.join("b", 1, Taken("p1", "process 18 at w2"))
        controller.leave("a", "w1")
        controller.drain("s0", "new fans", name="a")
        controller.change_tenant("blue", {"jobs": 9})
    with contextlib.closing(sqlite3.connect(path)) as db:
        return "\n".join(db.iterdump()) + "\n"


def server_file(folder: Path) -> str:
    """Return jobs, their contributions with the answers of a server, and its journals."""
    jobs = []
    for job in (
        served(flat(3), job=1),
        served(racks(2, 2), job=2, on_switches=True),
        served(flat(3), job=3, quorum=2, slots=1, kept_results=2),
    ):
        aggregator = make_aggregator(folder, python=True)
        workers = Workers(job, aggregator)
        exchange = []
        for worker, datagram in _datagrams(workers):
            answers = workers.handle(worker, datagram)
            exchange.append(
                {
                    "from": workers.members.addresses[worker],
                    "datagram": datagram.hex(),
                    "answers": sorted([*address, answer.hex()] for address, answer in answers),
                }
            )
        aggregator.close()
        jobs.append({"job": job.to_json(), "exchange": exchange})
    journals = {path.name: path.read_bytes().hex() for path in sorted(folder.glob("*.journal"))}
    places = ((0, 0), (0, 1), (1, 0))
    tickets = [
        JobTicket(job=1, tag=2, worker=1, workers=3, slots=4, seed=(1 << 64) - 1, epoch=7),
        JobTicket(job=1, tag=2, worker=2, workers=3, slots=4, places=places, quorum=2, code_table=bytes(range(16)),
                  servers=(("10.0.0.1", 19539), ("10.0.0.2", 19540)), local=("10.0.0.3", 19541), codec="thc",
                  ops=(LaneOp.TABLE8, LaneOp.ADD32), controller="10.0.0.1:50551"),
    ]  # fmt: skip
    return _json({"jobs": jobs, "journals": journals, "tickets": [ticket.to_json() for ticket in tickets]})


def _datagrams(workers: Workers) -> Iterator[tuple[int, bytes]]:
    """Yield contributions of all operations, a retransmission, an aggregate, and one of another version."""
    quorum, two_levels = workers.job.has_quorum, workers.members.two_levels
    for chunk, op in enumerate([LaneOp.ADD32] if quorum or two_levels else LaneOp):
        first, *others = range(len(workers.job.members))
        if two_levels:
            yield first, workers.aggregate(0b0101, chunk)
        for worker in (first, first, *others):
            yield worker, workers.packet(worker, chunk, op=op)
    yield 0, workers.packet(0, 20, version=VERSION + 1)


def calls_file(_folder: Path) -> str:
    """Return the calls of workers and of the command line to a controller, with its answers."""
    calls: list[dict[str, Any]] = []
    real = json_grpc.call

    def call(address: str, service: str, method: str, message: dict[str, Any], *rest: Any, **more: Any) -> Any:
        reply = real(address, service, method, message, *rest, **more)
        calls.append({"method": method, "message": message, "reply": reply})
        return reply

    controller = Site("tree2x2").start()
    with pytest.MonkeyPatch.context() as patch, ControllerService(controller, "127.0.0.1:0") as running:
        patch.setattr(json_grpc, "call", call)
        address = f"127.0.0.1:{running.port}"
        patch.setenv("LANESUM_CONTROLLER", address)
        rpc.call(address, rpc.ADMIT, {"addresses": ["10.19.0.1", "10.19.0.2"], "name": "at", "codec": "fixed"})
        for words in (
            "admit a --workers w1,w3 --slots 8 --quota 4 --priority 1 --quorum 1 --seed 7 --lease 60",
            "resize a 6",
            "join a w2",
            "leave a w2",
            "list",
            "counters",
            "events --since 1",
        ):
            result = invoke(["job", *words.split()])
            assert result.exit_code == 0, result.output
        for worker in (0, 1):
            ticket = join(controller=address, job="a", worker=worker, description="fixed")
            KeepAlive(ticket, address).check()
        invoke(["job", "remove", "a"])
    return _json({"calls": calls})


def _json(value: object) -> str:
    return json.dumps(value, indent=1) + "\n"


#: Functions that return the files of the present versions.
PRESENT: dict[str, Callable[[Path], str]] = {
    f"state-{SCHEMA_VERSION}.sql": state_file,
    f"server-{VERSION}.json": server_file,
    f"calls-{CALLS_VERSION}.json": calls_file,
}


def jobs_of(name: str) -> list[tuple[ServerJob, list[dict[str, Any]]]]:
    """Return the jobs of a recorded server file, with their exchanges."""
    recorded = json.loads((FOLDER / name).read_text())
    return [(ServerJob.from_json(one["job"]), one["exchange"]) for one in recorded["jobs"]]


def main() -> None:
    """Write the missing files."""
    for name, make in PRESENT.items():
        if (FOLDER / name).exists():
            print(f"{name} is recorded already")
            continue
        with tempfile.TemporaryDirectory() as folder:
            (FOLDER / name).write_text(make(Path(folder)))
        print(f"{name} recorded")


if __name__ == "__main__":
    main()
