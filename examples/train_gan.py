# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train a GAN: two models with a job each, and ``no_sync`` for gradients that are not used.

Run it under torchrun. The step of the generator computes gradients of the critic, too, and the next step discards them.
Under ``no_sync`` they are not averaged, which saves their bytes and keeps them out of the critic's error feedback.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from task import arguments, finish, report
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import lanesum.torch

NOISE, BATCH = 8, 64


def make_model(inputs: int, outputs: int) -> DistributedDataParallel:
    torch.manual_seed(0)
    return DistributedDataParallel(nn.Sequential(nn.Linear(inputs, 64), nn.LeakyReLU(0.2), nn.Linear(64, outputs)))


def main() -> None:
    options = arguments(__doc__).parse_args()
    dist.init_process_group("gloo")
    generator, critic = make_model(NOISE, 2), make_model(2, 1)
    # Each model has a job of its own. The first one is that of lanesum launch, the second one is admitted here.
    generator_state = lanesum.torch.attach(generator, controller=options.controller)
    critic_state = lanesum.torch.attach(critic, controller=options.controller, job="critic", admit=True)
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    softplus = nn.functional.softplus

    torch.manual_seed(dist.get_rank() + 1)
    for _ in range(options.steps):
        angle = 2 * torch.pi * torch.rand(BATCH, 1)
        real = torch.cat([angle.cos(), angle.sin()], 1)
        fake = generator(torch.randn(BATCH, NOISE))

        critic_optimizer.zero_grad()
        # One forward pass for both kinds of samples: DDP averages after each backward pass.
        scores = critic(torch.cat([real, fake.detach()]))
        (softplus(-scores[:BATCH]).mean() + softplus(scores[BATCH:]).mean()).backward()
        critic_optimizer.step()

        generator_optimizer.zero_grad()
        with critic.no_sync():
            softplus(-critic(fake)).mean().backward()
        generator_optimizer.step()

    report(generator_state, generator)
    report(critic_state, critic)
    critic_state.leave()
    finish(generator_state)


if __name__ == "__main__":
    main()
