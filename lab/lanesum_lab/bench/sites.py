# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""DiLoCo of torchft across sites with slow links: over lanesum by codec, beside float32 over gloo, and beside DDP.

All methods train from the same weights on the same batches, in turns, over the same links. Tests are not timed. The
target of a seed is the final test loss of DDP with this seed, plus a tolerance.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from lanesum.errors import ConfigurationError
from lanesum_lab.bench import registry
from lanesum_lab.bench.devices import require_torch
from lanesum_lab.bench.figures import BenchError, machine, spread, text
from lanesum_lab.bench.places import HUB, INTERFACE, LimitedLinks
from lanesum_lab.bench.reducer import barrier, join_group
from lanesum_lab.bench.training_network import TrainingNetwork, around_server
from lanesum_lab.bench.tta import time_to

if TYPE_CHECKING:
    import torch

COLUMNS = (
    "by", "final loss", "beside DDP, %", "to target, s", "times DDP", "MB up", "MB down", "DDP's bytes",
    "gloo's bytes down",
)  # fmt: skip
DDP, GLOO = "ddp", "gloo"
_NO_FP8 = "its kernels are Triton's, for GPUs; without them torchft sends float32"

_STREAMING = "streaming "
_TIMEOUT, _HEARTBEAT = timedelta(seconds=120), timedelta(seconds=1)

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SitesSettings:
    """Settings of the benchmark."""

    by: tuple[str, ...] = registry.option(
        (DDP, GLOO, "thc bits=4", "thc bits=3", "topk density=0.05", "streaming thc bits=4"),
        "ddp; by DiLoCo: gloo (float32) or a codec; 'streaming' before it for fragments. Separated by commas.",
    )
    workers: int = registry.option(4, "Number of workers, each at a site of its own.", low=2)
    rate_mbit: float = registry.option(50.0, "Rate of a site's link in each direction, in Mbit/s.", flag="--rate")
    delay_ms: float = registry.option(50.0, "Delay of a site's link in each direction, in ms.", flag="--delay", low=0)
    task: str = "small-transformer"
    seeds: tuple[int, ...] = registry.option((1, 2, 3), "Seeds of weights and batches, separated by commas.")
    steps: int = registry.option(600, "Inner steps of every training.", low=1)
    sync_every: int = registry.option(30, "Inner steps from one outer step to the next.", low=1)
    fragments: int = registry.option(2, "Fragments of streaming methods.", low=1)
    overlap: int = registry.option(0, "Inner steps while a fragment is summed, of streaming methods.", low=0)
    keep: float = registry.option(0.0, "Share of their progress in these steps that workers keep.", low=0)
    lr: float = registry.option(4e-3, "Maximum learning rate of the inner optimizer, AdamW.")
    outer_lr: float = registry.option(1.0, "Learning rate of the outer optimizer, SGD.")
    outer_momentum: float = registry.option(0.5, "Nesterov momentum of the outer optimizer.", low=0)
    tolerance: float = registry.option(0.01, "Share by which the target is above DDP's final loss.", low=0)
    note: str = registry.option("", "Sentence for the conditions, for example on other load.")

    def __post_init__(self) -> None:
        if self.steps % self.sync_every or self.sync_every % self.fragments:
            what = f"{self.steps} steps, {self.sync_every} from one outer step to the next, {self.fragments} fragments"
            raise ConfigurationError(f"{what}: each must be a multiple of the one after it.")
        if self.overlap * self.fragments >= self.sync_every:
            raise ConfigurationError(f"--overlap {self.overlap} leaves no inner step before the sum of a fragment.")
        if not 0 <= self.keep <= 1:
            raise ConfigurationError(f"--keep {self.keep:g} is not from 0 to 1.")
        if not self.seeds or min(self.rate_mbit, self.lr, self.outer_lr) <= 0:
            raise ConfigurationError("Sites need a seed, and a rate of links and learning rates above 0.")
        object.__setattr__(self, "by", tuple(dict.fromkeys((DDP, GLOO, *self.by))))  # all are shown beside these two


QUICK = SitesSettings(by=("thc bits=4", "streaming thc bits=4"), workers=2, seeds=(1,), steps=4, sync_every=2)


def run(settings: SitesSettings) -> dict[str, Any]:
    """Train; return a JSON-ready object with ``figures``. Progress is on standard error.

    Raises MissingToolError without PyTorch, torchft, root or namespaces; BenchError if replicas differ.
    """
    require_torch("Training")
    import lanesum.torchft  # noqa: F401  its error says how to install torchft

    progress = Console(stderr=True, highlight=False)
    found: dict[int, dict[str, Record]] = {seed: {} for seed in settings.seeds}
    with tempfile.TemporaryDirectory(prefix="lanesum-") as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary)
        built, _ = around_server(
            stack, folder, folder / "logs", settings.workers, [settings.rate_mbit], settings.delay_ms
        )
        train = _trainers(built, settings, folder)
        for seed, runs in found.items():
            for by in settings.by:
                progress.print(f"{by}, seed {seed}")
                runs[by] = train(by, seed)
    return {
        "machine": machine(),
        **dataclasses.asdict(settings),
        "elements": runs[DDP]["elements"],
        "figures": [_figure(by, list(found.values()), settings.tolerance) for by in settings.by],
        "left_out": {"torchft's FP8": _NO_FP8},
    }


def _open_lighthouse(held: list[Any], address: str, replicas: int) -> str:
    """Start a Lighthouse at an address, in the place of those in ``held``; return its URL."""
    from torchft.coordination import LighthouseServer

    held[:] = [LighthouseServer(f"{address}:0", replicas)]
    return f"http://{address}:{held[0].address().rpartition(':')[2]}"


class SiteTrainer:
    """Worker that runs trainings one after another, in a process of its own, at an IPv4 address of its link.

    ``store``: file in which the processes of gloo find each other.
    """

    def __init__(self, settings: SitesSettings, store: str, worker: int, address: str) -> None:
        import torch

        torch.set_num_threads(1)
        join_group(worker, settings.workers, store, INTERFACE)
        self._settings, self._worker, self._address = settings, worker, address

    def train(self, by: str, seed: int, services: tuple[str, str, str]) -> dict[str, Any]:
        """Run a training; return tests with the seconds of training until then, and the parameters' digest and number.

        ``services``: Lighthouse, controller and name of the job.
        """
        import torch

        from lanesum_lab.bench import gradients

        settings, task = self._settings, gradients.TASKS[self._settings.task](seed)
        names = dict(task.model.named_parameters())
        optimizer = torch.optim.AdamW(names.values(), lr=settings.lr)
        rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.lr, settings.steps, cycle_momentum=False)
        tests: list[dict[str, float]] = []
        barrier()
        begin, tests_s = time.monotonic(), 0.0
        with self._sharing(by, task.model, optimizer, services) as (model, shared):
            for step in range(1, settings.steps + 1):
                batches = [task.batch() for _ in range(settings.workers)]  # the same ones for all methods
                optimizer.zero_grad()
                gradients.loss_of(model, *batches[self._worker]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                rates.step()
                if step % settings.sync_every == 0:
                    now, weights = time.monotonic(), dict(zip(names, shared, strict=True))
                    with torch.no_grad():
                        found = torch.func.functional_call(task.model, weights, task.test[0])
                        loss = torch.nn.functional.cross_entropy(found.flatten(0, -2), task.test[1].flatten()).item()
                    tests.append({"step": step, "loss": loss, "train_s": now - begin - tests_s})
                    tests_s += time.monotonic() - now
        flat = torch.cat([one.detach().flatten() for one in shared])
        digest = hashlib.sha256(flat.numpy().tobytes()).hexdigest()
        return {"tests": tests, "weights_sha256": digest, "elements": flat.numel()}

    @contextlib.contextmanager
    def _sharing(
        self, by: str, model: torch.nn.Module, inner: torch.optim.Optimizer, services: tuple[str, str, str]
    ) -> Iterator[tuple[torch.nn.Module, list[torch.Tensor]]]:
        """Yield the module that trains, and the parameters that all workers share. Raises BenchError."""
        import torch
        from torchft import Manager, ProcessGroupGloo
        from torchft.local_sgd import DiLoCo

        import lanesum.torchft

        if by == DDP:
            yield torch.nn.parallel.DistributedDataParallel(model), list(model.parameters())
            return
        settings, codec, (lighthouse, controller, job) = self._settings, by.removeprefix(_STREAMING), services
        streaming = (
            {"fragment_sync_delay": settings.overlap, "fragment_update_alpha": settings.keep} if by != codec else {}
        )
        fragments = _fragments(list(model.parameters()), settings.fragments if streaming else 1)
        group: Any = ProcessGroupGloo(_TIMEOUT)
        if codec != GLOO:
            group = lanesum.torchft.ProcessGroup(_TIMEOUT, controller=controller, job=job, address=self._address)
        store = torch.distributed.TCPStore(self._address, 0, is_master=True, wait_for_workers=False)
        manager = Manager(
            group, None, None, settings.workers,
            use_async_quorum=False, timeout=_TIMEOUT, rank=0, world_size=1, store_addr=self._address,
            store_port=store.port, lighthouse_addr=lighthouse, replica_id=f"{job}_{self._worker}",
            hostname=self._address, heartbeat_interval=_HEARTBEAT, init_sync=False,  # the seed makes equal weights
        )  # fmt: skip
        try:
            if codec != GLOO:
                group.compress(manager, codec=codec, fragments=len(fragments))
            rate, momentum = settings.outer_lr, settings.outer_momentum
            outer = [torch.optim.SGD(one.parameters(), rate, momentum, nesterov=momentum > 0) for one in fragments]
            made = DiLoCo(manager, fragments, inner, outer, settings.sync_every, use_bucketization=True, **streaming)
            with made:
                yield model, [one for part in made._fragments for one in part.original_parameters.values()]
            committed, steps = manager.current_step(), settings.steps // settings.sync_every * len(fragments)
            if committed != steps:
                raise BenchError(f"Worker {self._worker} committed {committed} of {steps} outer steps by {by}.")
        finally:
            group.shutdown()
            manager.shutdown(wait=False)

    def close(self) -> None:
        """End the process: threads of the process group and of PyTorch's hooks outlive it."""
        from lanesum_lab.train.group import end_process

        end_process(0)


def _fragments(parameters: list[torch.nn.Parameter], count: int) -> list[torch.nn.Module]:
    """Divide parameters, in their order, into parts of about equal size. Raises BenchError."""
    import torch

    ends = list(itertools.accumulate(one.numel() for one in parameters))
    parts: list[list[torch.nn.Parameter]] = [[] for _ in range(count)]
    for one, end in zip(parameters, ends, strict=True):
        parts[(2 * end - one.numel()) * count // (2 * ends[-1])].append(one)
    if not all(parts):
        raise BenchError(f"{len(parameters)} parameters do not make {count} fragments.", "Lower --fragments.")
    return [torch.nn.ParameterList(part) for part in parts]


def _trainers(built: TrainingNetwork, settings: SitesSettings, folder: Path) -> Callable[[str, int], Record]:
    """Let the workers begin; return a function that trains by a method with a seed, and returns its record.

    Lighthouses are where the links meet, as are server and controller.
    """
    numbers, workers = itertools.count(), list(built.workers.values())
    make = partial(SiteTrainer, settings, str(folder / "gloo"))
    places = [LimitedLinks.address(node) for node in built.workers]
    built.agents.start(HUB, HUB)
    trainers = {name: partial(make, number, places[number]) for number, name in enumerate(workers)}
    built.agents.make({HUB: list, **trainers})
    lighthouse = partial(_open_lighthouse, address=LimitedLinks.address(HUB), replicas=len(workers))

    def train(by: str, seed: int) -> Record:
        services = built.agents.ask({HUB: lighthouse})[HUB], built.site.controller, f"sites-{next(numbers)}"
        before, call = built.wire(), partial(SiteTrainer.train, by=by, seed=seed, services=services)
        first, *others = built.agents.ask(dict.fromkeys(workers, call)).values()
        sent = built.wire() - before
        if any(one["weights_sha256"] != first["weights_sha256"] for one in others):
            raise BenchError(f"The replicas of the training by {by} differ.", "This is a bug: report it.")
        return {"seed": seed, **first, "bytes_up": sent.up / len(workers), "bytes_down": sent.down / len(workers)}

    return train


def _figure(by: str, seeds: Sequence[Mapping[str, Record]], tolerance: float) -> Record:
    """Return the figure of a method; ``seeds`` has the records of all methods for each seed."""
    found = []
    for runs in seeds:
        own, ddp, gloo = (runs[name] for name in (by, DDP, GLOO))
        loss, wanted = (one["tests"][-1]["loss"] for one in (own, ddp))
        reached, base = (time_to(one["tests"], wanted * (1 + tolerance)) for one in (own, ddp))
        both, of_ddp = (one["bytes_up"] + one["bytes_down"] for one in (own, ddp))
        found.append(
            {
                "final_loss": loss,
                "beside_ddp": loss / wanted - 1,
                "to_target_s": reached,
                "times_ddp": base / reached if reached and base else None,
                **{key: own[key] for key in ("bytes_up", "bytes_down")},
                "less_than_ddp": of_ddp / both,
                "down_less_than_gloo": gloo["bytes_down"] / own["bytes_down"],
            }
        )
    spreads = {key: None if None in (some := [one[key] for one in found]) else spread(some) for key in found[0]}
    reached = sum(one["to_target_s"] is not None for one in found)
    return {"by": by, **spreads, "reached": reached, "runs": [runs[by] for runs in seeds]}


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``."""
    for one in result["figures"]:
        never = f"not reached ({one['reached']} of {len(one['runs'])})"
        yield (
            one["by"],
            text(one["final_loss"], 3),
            text({key: 100 * share for key, share in one["beside_ddp"].items()}),
            text(one["to_target_s"], 1) if one["to_target_s"] else never,
            text(one["times_ddp"], 1) if one["times_ddp"] else "-",
            *(f"{one[key]['median'] / 1e6:.2f}" for key in ("bytes_up", "bytes_down")),
            f"1/{one['less_than_ddp']['median']:.0f}",
            "-" if one["by"] == DDP else f"1/{one['down_less_than_gloo']['median']:.1f}",
        )


registry.Benchmark(
    name="sites",
    summary="DiLoCo across sites with slow links, beside DDP and float32 over gloo (needs root and torchft).",
    quick=QUICK,
    run=run,
    tables=((COLUMNS, rows),),
).register()
