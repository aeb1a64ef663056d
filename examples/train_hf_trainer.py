# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train a tiny transformer with the Hugging Face Trainer: a callback attaches lanesum to its DDP wrapper."""

from __future__ import annotations

from typing import Any

import torch
from task import arguments, finish, report
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

import lanesum.torch


class Lanesum(TrainerCallback):
    """Average the gradients by lanesum. Callbacks get the bare model, so this one needs the trainer."""

    def __init__(self, trainer: Trainer, **options: Any) -> None:
        self.trainer = trainer
        self.options = options
        self.state: lanesum.torch.State | None = None

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.state = lanesum.torch.attach(self.trainer.model_wrapped, **self.options)

    def on_log(self, *_: Any, logs: dict[str, Any], **__: Any) -> None:
        if self.state is not None:
            logs.update(self.state.stats.as_dict())


class Bytes(torch.utils.data.Dataset):
    """The bytes of this script, in pieces of 32."""

    def __init__(self) -> None:
        with open(__file__, "rb") as file:
            self.pieces = torch.tensor(list(file.read())).split(32)[:-1]

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.pieces[number], "labels": self.pieces[number]}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--out", default="out/hf-trainer", help="output folder of the trainer")
    options = parser.parse_args()
    set_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=32, n_embd=32, n_layer=2, n_head=2))
    settings = TrainingArguments(
        options.out,
        max_steps=options.steps,
        per_device_train_batch_size=8,
        learning_rate=0.01,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        ddp_backend="gloo",
        ddp_find_unused_parameters=False,
        disable_tqdm=True,
    )
    trainer = Trainer(model, settings, train_dataset=Bytes())
    callback = Lanesum(trainer, controller=options.controller)
    trainer.add_callback(callback)
    trainer.train()

    assert callback.state is not None
    report(callback.state, model)
    finish(callback.state)


if __name__ == "__main__":
    main()
