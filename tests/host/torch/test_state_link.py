# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training over a link that goes down: one worker is alone at its end, all other processes are at the other one."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import torch

from lanesum_lab.veth import obstacle, wait_for_links
from tests.stepped_process import go_on, line

NEAR, FAR = "lanesum-link-near", "lanesum-link-far"
OUTAGE_S = 5.0
STEPS = 6
DEADLINE_S = 3.0

CONTROL = """
import dataclasses, sys
from lanesum.server import AggregationServer
from lanesum_control.controller.controller import Controller, JobRequest
from lanesum_control.controller.monitor import Monitor
from lanesum_control.controller.service import ControllerService
from lanesum_control.planner.network import Network
from lanesum_fabric.topology import load

with AggregationServer(("10.19.0.100", 0)) as server:
    network = dataclasses.replace(Network.of(load("star4"), loopback=False), servers=(server.address,))
    controller = Controller(network, server)
    controller.admit(JobRequest("train", ("w1", "w2"), codec="fixed"))
    with ControllerService(controller, "10.19.0.200:0") as service, Monitor(controller):
        print(service.port, flush=True)
        sys.stdin.read()
"""

# Rank 0 waits for a line before step 3 and before the last step.
TRAIN = f"""
import os, sys, time
import torch, torch.distributed as dist
import lanesum.torch

rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method="tcp://10.19.0.1:29511", rank=rank, world_size=2)
torch.manual_seed(3)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(300, 100))
state = lanesum.torch.attach(model, controller=sys.argv[2], job="train", step_aside=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def step():
    optimizer.zero_grad()
    model(torch.full((1, 300), (1.0 + rank) / 8)).square().mean().backward()
    optimizer.step()

def pause():
    if rank == 0:
        print("waits", flush=True)
        sys.stdin.readline()

for number in range({STEPS}):
    if number == 3:
        pause()
    step()
weights = model.module.weight.detach().double()
print(weights.sum().item().hex(), weights.square().sum().item().hex(), flush=True)
if rank == 0:
    retransmissions = state.stats.transport.retransmissions
    pause()
    print(retransmissions, flush=True)
    state.session._transport._deadline_s = {DEADLINE_S}
    begun = time.monotonic()
    try:
        step()
    except Exception as error:
        print(type(error).__name__, time.monotonic() - begun, error, flush=True)
    os._exit(0)
sys.stdin.read()
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def link() -> Iterator[None]:
    """A veth pair between two namespaces: rank 0 has one end, rank 1, server and controller have the other one."""
    if obstacle():
        pytest.skip(obstacle())
    try:
        for name in (NEAR, FAR):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", NEAR, "link", "add", "eth0", "type", "veth", "peer", "eth0", "netns", FAR)
        for name, hosts in ((NEAR, (1,)), (FAR, (2, 100, 200))):
            for host in hosts:
                ip("-n", name, "addr", "add", f"10.19.0.{host}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        for name in (NEAR, FAR):
            wait_for_links(["eth0"], name)
        yield
    finally:
        for name in (NEAR, FAR):
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


class Processes(contextlib.ExitStack):
    """Processes in namespaces, which end with the block."""

    def start(self, name: str, *command: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, "-c", *command],
            env={**os.environ, "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.enter_context(process)
        self.callback(process.kill)
        return process


def expected_weights() -> torch.Tensor:
    """Return the weights of a training with the gradients of both ranks in one process."""
    torch.manual_seed(3)
    model = torch.nn.Linear(300, 100)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for rank in range(2):
            (model(torch.full((1, 300), (1.0 + rank) / 8)).square().mean() / 2).backward()
        optimizer.step()
    return model.weight.detach().double()


@pytest.mark.long
@pytest.mark.usefixtures("implementation", "link")
def test_training_goes_on_after_link_was_down() -> None:
    """Without the link, the deadline ends it."""
    with Processes() as processes:
        address = f"10.19.0.200:{line(processes.start(FAR, CONTROL))}"
        near, far = (processes.start(name, TRAIN, str(rank), address) for rank, name in enumerate((NEAR, FAR)))
        assert line(near) == "waits"
        ip("-n", NEAR, "link", "set", "eth0", "down")
        go_on(near)
        time.sleep(OUTAGE_S)
        ip("-n", NEAR, "link", "set", "eth0", "up")
        weights = line(near)
        assert weights == line(far)
        assert line(near) == "waits"
        ip("-n", NEAR, "link", "set", "eth0", "down")
        go_on(near)
        assert int(line(near)) > 0
        kind, seconds, said = line(near).split(maxsplit=2)
    weight = expected_weights()
    assert [float.fromhex(one) for one in weights.split()] == pytest.approx(
        [weight.sum().item(), weight.square().sum().item()], rel=1e-6
    )
    assert kind == "AggregationTimeoutError"
    assert float(seconds) >= DEADLINE_S
    assert "this host cannot send to 10.19.0.100: Network is unreachable." in said
