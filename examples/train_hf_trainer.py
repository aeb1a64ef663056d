# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Train a tiny transformer with the Hugging Face Trainer: a callback attaches lanesum to its DDP wrapper."""

from __future__ import annotations

from typing import Any

import torch
from task import arguments, finish, report
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

import lanesum.torch


class LanesumTrainer(Trainer):
    """Trainer that logs the figures of lanesum with its own."""

    lanesum_state: lanesum.torch.State | None = None

    def log(self, logs: dict[str, float], *arguments: Any, **options: Any) -> None:
        figures = {} if self.lanesum_state is None else self.lanesum_state.stats.as_dict()
        super().log({**logs, **figures}, *arguments, **options)


class Lanesum(TrainerCallback):
    """Average the gradients by lanesum. Callbacks get the bare model, so this one needs the trainer."""

    def __init__(self, trainer: LanesumTrainer, **options: Any) -> None:
        self.trainer = trainer
        self.options = options

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.trainer.lanesum_state = lanesum.torch.attach(self.trainer.model_wrapped, **self.options)


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
    shape = {"n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=256, bos_token_id=0, eos_token_id=0, **shape))
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
    trainer = LanesumTrainer(model, settings, train_dataset=Bytes())
    trainer.add_callback(Lanesum(trainer, controller=options.controller))
    trainer.train()

    assert trainer.lanesum_state is not None
    report(trainer.lanesum_state, model)
    finish(trainer.lanesum_state)


if __name__ == "__main__":
    main()
