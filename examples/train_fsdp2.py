# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train with FSDP2 and replicas (HSDP): lanesum averages each shard over the replicas.

Run it under torchrun. Of four ranks, two and two hold the same shard.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from task import arguments, finish, make_data, make_net, report
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import lanesum.torch


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--replicas", type=int, default=2, help="replicas; the ranks of each hold one shard each")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    shape = (options.replicas, dist.get_world_size() // options.replicas)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard"))
    model = fully_shard(make_net(), mesh=mesh["shard"])
    model.set_force_sum_reduction_for_comms(True)  # gloo cannot divide in a reduction
    state = lanesum.torch.attach(model, replicas=mesh["replicate"], controller=options.controller)

    inputs, targets = make_data(dist.get_rank()).tensors
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(options.steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()

    report(state, model)
    finish(state)


if __name__ == "__main__":
    main()
