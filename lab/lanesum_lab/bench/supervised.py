# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Controller with fake switches and a server, in processes that are killed and whose contents are damaged."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import yaml

from lanesum.rpc import controller as rpc
from lanesum_control.servers.remote_server import RemoteServer, ServerError
from lanesum_control.switches.client import DEFAULT_ELECTION_ID
from lanesum_fabric.program.controlled_switch import DEFAULT_DEVICE_ID
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_fabric.protobufs.p4.v1 import p4runtime_pb2_grpc
from lanesum_lab.bench.errors import BenchError
from lanesum_lab.bench.fake_switches import LISTENING
from lanesum_lab.processor_time import processor_s
from lanesum_lab.targets.embedded import lanesum_command

VICTIM, OTHERS, SERVER, CONTROLLER = "s1", "other switches", "server", "controller"
_START_S = 300.0
_LOOK_S = 0.002
_HIGHER_ID = (1, 0)
_STAYS_S = 0.6  # an intruder that is primary: longer than a controller takes to look
_JOB = {"name": "a", "workers": ["w1", "w2"], "codec": None, "lease_s": 0}


def _topology(count: int) -> dict[str, Any]:
    """Return a switch with two workers, or racks with one worker each below an upper switch."""
    racks = [f"s{number}" for number in range(1, max(2, count))]
    workers = [f"w{number}" for number in range(1, max(3, count))]
    upper = "s0" if count > 1 else racks[0]
    switches = {name: {"kind": "switch"} for name in [*racks, upper]}
    hosts = {name: {"kind": "worker", "ip": f"10.19.0.{number}"} for number, name in enumerate(workers, start=1)}
    ends = {SERVER: {"kind": "server", "ip": "10.19.0.200"}, CONTROLLER: {"kind": "controller", "ip": "10.19.0.201"}}
    links = [(f"{racks[number % len(racks)]}:{1 + number // len(racks)}", name) for number, name in enumerate(workers)]
    links += [(f"{rack}:5", f"s0:{number}") for number, rack in enumerate(racks, start=1) if upper == "s0"]
    links += [(f"{upper}:200", SERVER), (f"{upper}:201", CONTROLLER)]
    return {
        "name": f"switches{count}",
        "nodes": {**switches, **hosts, **ends},
        "links": [{"endpoints": list(pair)} for pair in links],
    }


class SupervisedSite(contextlib.ExitStack):
    """The processes. Enter it to start them, and a job.

    Args:
        count: number of switches.
        folder: for sockets and logs.
    """

    def __init__(self, count: int, folder: Path) -> None:
        super().__init__()
        self._count, self._folder = count, folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._server = RemoteServer(self._address(SERVER), timeout_s=1.0)

    def __enter__(self) -> SupervisedSite:
        super().__enter__()
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def _start(self) -> None:
        topology = self._folder / "topology.yaml"
        topology.write_text(yaml.safe_dump(_topology(self._count)))
        names = [VICTIM, *(f"s{number}" for number in range(self._count) if number != 1 and self._count > 1)]
        fakes = [sys.executable, "-m", "lanesum_lab.bench.fake_switches"]
        self._commands = {VICTIM: [*fakes, self._address(VICTIM)]}
        if names[1:]:
            self._commands[OTHERS] = [*fakes, *map(self._address, names[1:])]
        place = ["--topology", str(topology), "--loopback"]
        control = ["--host", SERVER, "--control", self._address(SERVER), "--behind-switch"]
        self._commands[SERVER] = lanesum_command("server", *place, *control)
        switches = [option for name in names for option in ("--switch", f"{name}={self._address(name)}")]
        listen = ["--listen", self._address(CONTROLLER), "--server", self._address(SERVER)]
        self._commands[CONTROLLER] = lanesum_command("controller", *place, *listen, *switches)
        for part in self._commands:
            self._launch(part)
        rpc.call(self._address(CONTROLLER), rpc.ADMIT, _JOB, _START_S)
        self._wait(lambda: self._jobs_of_server() == [1])

    def _address(self, part: str) -> str:
        return f"unix:{self._folder / part}.sock"

    def _log(self, part: str) -> Path:
        return self._folder / f"{part}.log"

    def _launch(self, part: str) -> None:
        with self._log(part).open("ab") as log:
            process = subprocess.Popen(self._commands[part], stdout=log, stderr=log, cwd=self._folder)
        self._processes[part] = process
        self.callback(process.wait)
        self.callback(process.kill)
        if part in (VICTIM, OTHERS):
            self._wait(lambda: any(line["address"] == LISTENING for line in self._lines(part)))

    def _lines(self, part: str) -> list[dict[str, Any]]:
        """Return what the present process of fakes has written, but for an unfinished line."""
        pid = self._processes[part].pid
        whole, _, _ = self._log(part).read_text().rpartition("\n")
        lines: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
        return [line for line in lines if line["pid"] == pid]

    def _wait(self, condition: Callable[[], bool], limit_s: float = _START_S) -> None:
        """Wait for a condition. Raises BenchError."""
        deadline = time.monotonic() + limit_s
        while not condition():
            for part, process in self._processes.items():
                if process.poll() is not None:
                    raise BenchError(f"{part} has ended: {self._log(part).read_text()[-500:]}")
            if time.monotonic() > deadline:
                raise BenchError(f"The processes did not start within {limit_s:g} s.", f"Read {self._folder}.")
            time.sleep(_LOOK_S)

    # Measurements.

    def cpu_s(self) -> float:
        """Return the processor time of the controller."""
        return processor_s(self._processes[CONTROLLER].pid)

    def threads(self) -> int:
        """Return the number of threads of the controller."""
        return len(list(Path(f"/proc/{self._processes[CONTROLLER].pid}/task").iterdir()))

    def contents(self) -> str:
        """Return what identifies the contents of the victim."""
        return str(self._lines(VICTIM)[-1]["state"])

    def repaired_after(self, began: float, whole: str, limit_s: float) -> float | None:
        """Return the seconds from ``began`` until the victim holds ``whole``, and the server its job; None for more."""
        while time.monotonic() < began + limit_s:
            times = [one["time"] for one in self._lines(VICTIM) if one["time"] >= began and one["state"] == whole]
            if times:
                return float(times[0]) - began
            time.sleep(_LOOK_S)
        return None

    def served_after(self, began: float, limit_s: float) -> float | None:
        """Return the seconds from ``began`` until the server has its job; None for more."""
        while time.monotonic() < began + limit_s:
            if self._jobs_of_server() == [1]:
                return time.monotonic() - began
            time.sleep(_LOOK_S)
        return None

    def _jobs_of_server(self) -> list[int]:
        with contextlib.suppress(ServerError):
            return list(self._server.status().jobs)
        return []

    # Damages; each returns the time of its end.

    def kill_switch(self) -> float:
        """Kill the victim, and start it empty."""
        self._kill(VICTIM)
        return float(next(line["time"] for line in self._lines(VICTIM) if line["address"] == LISTENING))

    def kill_server(self) -> float:
        """Kill the server, and start it empty."""
        self._kill(SERVER)
        while True:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
                probe.connect(self._address(SERVER).removeprefix("unix:"))
                return time.monotonic()
            time.sleep(_LOOK_S)

    def _kill(self, part: str) -> None:
        process = self._processes.pop(part)
        process.kill()
        process.wait()
        Path(self._address(part).removeprefix("unix:")).unlink(missing_ok=True)
        self._launch(part)

    def intrude(self, *, steals: bool, pushes: bool) -> float:
        """Push another program, or delete an entry.

        With ``steals``, the election id is the controller's; else a higher one, whose client is primary for a while.
        """
        with grpc.insecure_channel(self._address(VICTIM)) as channel:
            stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
            if steals:
                self._damage(stub, DEFAULT_ELECTION_ID, pushes)
                return time.monotonic()
            requests: queue.Queue[Any] = queue.Queue()
            first = p4rt.StreamMessageRequest()
            first.arbitration.device_id = DEFAULT_DEVICE_ID
            first.arbitration.election_id.high, first.arbitration.election_id.low = _HIGHER_ID
            requests.put(first)
            stream = stub.StreamChannel(iter(requests.get, None))
            next(stream)
            self._damage(stub, _HIGHER_ID, pushes)
            time.sleep(_STAYS_S)
            began = time.monotonic()
            stream.cancel()
            return began

    @staticmethod
    def _damage(stub: Any, election_id: tuple[int, int], pushes: bool) -> None:
        if pushes:
            push = p4rt.SetForwardingPipelineConfigRequest(device_id=DEFAULT_DEVICE_ID)
            push.election_id.high, push.election_id.low = election_id
            push.config.cookie.cookie = 1
            stub.SetForwardingPipelineConfig(push)
            return
        groups = p4rt.ReadRequest(device_id=DEFAULT_DEVICE_ID)
        groups.entities.add().packet_replication_engine_entry.multicast_group_entry.SetInParent()
        (found,) = next(stub.Read(groups)).entities
        write = p4rt.WriteRequest(device_id=DEFAULT_DEVICE_ID)
        write.election_id.high, write.election_id.low = election_id
        write.updates.add(type=p4rt.Update.DELETE, entity=found)
        stub.Write(write)
