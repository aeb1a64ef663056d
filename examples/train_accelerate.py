# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train with Hugging Face Accelerate: lanesum is attached to the model that ``prepare`` returns."""

from __future__ import annotations

import itertools

import torch
from accelerate import Accelerator
from task import arguments, finish, make_data, make_net, report

import lanesum.torch


def main() -> None:
    options = arguments(__doc__).parse_args()
    accelerator = Accelerator(cpu=True)
    net = make_net()
    # The data of each rank are its own, so the loader is not prepared.
    loader = torch.utils.data.DataLoader(make_data(accelerator.process_index), batch_size=64)
    model, optimizer = accelerator.prepare(net, torch.optim.Adam(net.parameters(), lr=0.01))
    state = lanesum.torch.attach(model, controller=options.controller)

    for inputs, targets in itertools.islice(itertools.cycle(loader), options.steps):
        optimizer.zero_grad()
        accelerator.backward(torch.nn.functional.mse_loss(model(inputs), targets))
        optimizer.step()

    report(state, accelerator.unwrap_model(model))
    finish(state)


if __name__ == "__main__":
    main()
