# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train by torchft over lanesum: replicas may end and come back while the others go on.

Start ``torchft_lighthouse --min_replicas 2``, then each replica in a terminal of its own, with another ``--replica``.
"""

from __future__ import annotations

import argparse
import hashlib
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from task import make_data, make_net
from torchft import DistributedDataParallel, Manager, Optimizer
from torchft.local_sgd import DiLoCo

import lanesum.torchft

SECONDS = timedelta(seconds=60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replica", type=int, required=True, help="number of this replica")
    parser.add_argument("--lighthouse", default="http://127.0.0.1:29510", help="address of the Lighthouse")
    parser.add_argument("--algorithm", choices=["ddp", "diloco"], default="ddp", help="algorithm of torchft")
    parser.add_argument("--codec", default="thc", help="codec of gradients and pseudo-gradients")
    parser.add_argument("--steps", type=int, default=100, help="committed steps")
    options = parser.parse_args()

    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

    def state_dict() -> dict[str, Any]:
        return {"net": net.state_dict(), "optimizer": optimizer.state_dict()}

    def load_state_dict(state: dict[str, Any]) -> None:
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])

    # A replica is one process here. Under torchrun the store is that of the replica's ranks.
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    group = lanesum.torchft.ProcessGroup(timeout=SECONDS)
    manager = Manager(
        pg=group,
        load_state_dict=load_state_dict,
        state_dict=state_dict,
        min_replica_size=2,
        use_async_quorum=False,
        timeout=SECONDS,
        rank=0,
        world_size=1,
        store_addr="127.0.0.1",
        store_port=store.port,
        lighthouse_addr=options.lighthouse,
        replica_id=f"replica_{options.replica}",
        hostname="127.0.0.1",
    )
    inputs, targets = make_data(options.replica).tensors

    def backward(model: torch.nn.Module) -> None:
        torch.nn.functional.mse_loss(model(inputs), targets).backward()

    # The Manager sums gradients of DDP, or pseudo-gradients of the two fragments of DiLoCo in turn.
    group.compress(manager, codec=options.codec, fragments=1 if options.algorithm == "ddp" else 2)
    if options.algorithm == "ddp":
        model, managed = DistributedDataParallel(manager, net), Optimizer(manager, optimizer)
        while manager.current_step() < options.steps:
            managed.zero_grad()
            backward(model)
            managed.step()
        shared = list(net.parameters())
    else:
        fragments = [torch.nn.Sequential(net[0]), torch.nn.Sequential(net[2])]
        outer = [torch.optim.SGD(one.parameters(), lr=0.7, momentum=0.9, nesterov=True) for one in fragments]
        with DiLoCo(manager, fragments, optimizer, outer, sync_every=20) as diloco:
            while manager.current_step() < options.steps:
                optimizer.zero_grad()
                backward(net)
                optimizer.step()
            shared = [one for fragment in diloco._fragments for one in fragment.original_parameters.values()]
    digest = hashlib.sha256(b"".join(one.detach().numpy().tobytes() for one in shared)).hexdigest()
    print(
        f"{manager.current_step()} steps with {manager.num_participants()} replicas, weights {digest[:16]}", flush=True
    )
    group.shutdown()
    manager.shutdown(wait=False)


if __name__ == "__main__":
    main()
