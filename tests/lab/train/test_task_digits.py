# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The training job: end to end under torchrun, its report, and its refusal of wrong sums."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from rich.console import Console

from lanesum.errors import ConfigurationError
from lanesum.server import AggregationServer, ServerJob
from lanesum.transport import JobTicket
from lanesum_lab.train import rank, task
from lanesum_lab.train.comparison import Traffic
from lanesum_lab.train.plot import plot
from lanesum_lab.train.report import Report
from lanesum_lab.train.task import DigitsNet, DigitsTask, load_digits
from tests.free_ports import LOCALHOST, free_ports
from tests.host.torch.ranks import Ranks, served_job

KEYS = """
    target topology workers codec steps loss_first loss_last accuracy accuracy_uncompressed sums_checked sums_wrong
    packets bytes_up bytes_down bytes_fp32 retransmissions wall_s detail
"""

MODULE = (sys.executable, "-m", "lanesum_lab.train.rank")


def torchrun(workers: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={workers}"]
    command += [f"--master-addr={LOCALHOST}", f"--master-port={free_ports(1, socket.SOCK_STREAM)[0]}"]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, "-m", "lanesum_lab.train.rank", "digits", "--compare", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
    )


def write_tickets(tickets: list[JobTicket], folder: Path) -> str:
    for ticket in tickets:
        (folder / f"ticket-{ticket.worker}.json").write_text(ticket.to_json())
    return str(folder / "ticket-{rank}.json")


def test_training_under_torchrun(tmp_path: Path) -> None:
    with served_job(2, "thc") as tickets:
        where = write_tickets(tickets, tmp_path)
        options = ["--epochs=1", "--limit=192", "--target=server", "--topology=pair", f"--out={tmp_path}"]
        ended = torchrun(2, *options, f"--ticket={where}")
    assert ended.returncode == 0, ended.stderr
    assert list(json.loads((tmp_path / "report.json").read_text())) == KEYS.split()
    report = Report.read(tmp_path / "report.json")
    assert (report.target, report.topology, report.workers, report.codec) == ("server", "pair", 2, "thc")
    assert report.steps == 3 == len(report.detail["loss"])
    # 4096 accumulator words of codes, norms of 4 blocks, and a word for the optimizer; both workers check all of them.
    assert (report.sums_checked, report.sums_wrong) == (2 * 3 * (4096 + 4 + 1), 0)
    assert report.correct and report.detail["replicas_identical"]
    assert report.bytes_fp32 == 4 * 16_290 * 3 * 2
    assert report.bytes_up < report.bytes_fp32 / 4
    assert report.packets - report.retransmissions == 2 * 3 * (64 + 1)
    for number in range(2):
        record = json.loads((tmp_path / f"rank-{number}.json").read_text())
        assert record["rank"] == number and record["sums_wrong"] == 0
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
    assert "sums wrong" in ended.stdout
    assert "lanesum thc: step 3/3" in ended.stderr, "plain lines where there is no terminal"


def run_rank(arguments: list[str]) -> int:
    return rank.run_rank(rank.parser().parse_args(["digits", "--compare", "--no-table", *arguments]))


def test_wrong_sums_fail_the_run(ranks: Ranks, tmp_path: Path) -> None:
    """The server has another code table: sums are wrong after the first step, whose codes need no table."""
    with AggregationServer((LOCALHOST, 0)) as server, served_job(2, "thc") as tickets:
        tickets = [dataclasses.replace(ticket, servers=(server.address,)) for ticket in tickets]
        server.aggregator.admit(dataclasses.replace(ServerJob.from_tickets(tickets), code_table=bytes(range(0, 32, 2))))
        where = write_tickets(tickets, tmp_path)
        arguments = ["--epochs=1", "--limit=192", f"--out={tmp_path}", f"--ticket={where}"]
        assert ranks.run(run_rank, [arguments, arguments]) == [1, 1]
    report = Report.read(tmp_path / "report.json")
    assert report.sums_wrong > 1000
    assert not report.correct


def test_missing_ticket_is_one_line_and_not_0(tmp_path: Path) -> None:
    environment = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": LOCALHOST, "GLOO_SOCKET_IFNAME": "lo"}
    environment["MASTER_PORT"] = str(free_ports(1, socket.SOCK_STREAM)[0])
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "lanesum_lab.train.rank",
            "digits",
            f"--out={tmp_path}",
            "--ticket=/nowhere/{rank}.json",
        ],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert ended.returncode == 2
    assert "There is no ticket /nowhere/0.json" in ended.stderr and "Traceback" not in ended.stderr


def test_without_torchrun_says_how(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    assert rank.main(["digits"]) == 2
    assert "torchrun" in capsys.readouterr().err


def example(**fields: object) -> Report:
    base = Report(
        target="softswitch",
        topology="star4",
        workers=4,
        codec="thc",
        steps=4,
        loss_first=2.3,
        loss_last=0.1,
        accuracy=0.98,
        accuracy_uncompressed=0.985,
        sums_checked=1000,
        sums_wrong=0,
        packets=100,
        bytes_up=1_000_000,
        bytes_down=2_000_000,
        bytes_fp32=6_000_000,
        retransmissions=3,
        wall_s=1.5,
        detail={
            "loss": [2.3, 1.0, 0.4, 0.1],
            "loss_uncompressed": [2.3, 0.9, 0.3, 0.1],
            "accuracy": [0.7, 0.98],
            "accuracy_uncompressed": [0.8, 0.985],
        },
    )
    return dataclasses.replace(base, **fields)  # type: ignore[arg-type]


def test_report_survives_the_file_and_is_drawn(tmp_path: Path) -> None:
    report = example()
    report.write(tmp_path / "report.json")
    assert Report.read(tmp_path / "report.json") == report
    plot(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000
    text = table(report)
    assert "98.00%" in text and "6.0 x" in text and "sums wrong" in text


def table(report: Report) -> str:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(report.table())
    return capture.get()


def test_report_with_limited_links_shows_times_and_bytes(tmp_path: Path) -> None:
    detail = {
        "link_mbit": 10.0,
        "wall_s_uncompressed": 3.6,
        "wire_bytes": {"sent": 2_000_000, "received": 4_000_000},
        "wire_bytes_uncompressed": {"sent": 9_000_000, "received": 10_000_000},
        "seconds": [0.3, 0.6, 0.9, 1.2],
        "seconds_uncompressed": [0.9, 1.8, 2.7, 3.6],
    }
    report = example(detail=example().detail | detail)
    assert report.gain == 2.4
    text = table(report)
    for part in ("2.4 x", "4.5 x", "2.5 x", "same links of 10 Mbit/s"):
        assert part in text
    plot(report, tmp_path / "report.png")


def test_report_without_limited_links_claims_no_gain() -> None:
    report = example(detail=example().detail | {"wall_s_uncompressed": 3.6, "link_mbit": None})
    assert report.gain is None
    text = table(report)
    assert "2.4 x" not in text and "the times say nothing about a network" in text


def test_traffic_of_unknown_interface_is_refused() -> None:
    assert Traffic.of("lo").sent >= 0 and Traffic.of(None) == Traffic()
    with pytest.raises(ConfigurationError, match="There is no interface 'nosuch0' in this network namespace"):
        Traffic.of("nosuch0")


def test_report_is_correct_only_with_checked_equal_sums() -> None:
    assert example().correct
    assert not example(sums_wrong=1).correct
    assert not example(sums_checked=0).correct
    assert not example(detail={"replicas_identical": False}).correct


def test_other_files_are_no_reports(tmp_path: Path) -> None:
    for text in ("", "[]", '{"target": "x"}'):
        (tmp_path / "report.json").write_text(text)
        with pytest.raises(ConfigurationError, match="no training report"):
            Report.read(tmp_path / "report.json")


def test_task_is_reproducible_and_fits_one_transform() -> None:
    data = load_digits()
    assert (len(data.train_labels), len(data.test_labels)) == (1437, 360)
    assert torch.equal(load_digits(limit=10).train_images, data.train_images[:10])
    assert torch.equal(load_digits(limit=10).test_images, data.test_images)
    assert sum(parameter.numel() for parameter in DigitsNet().parameters()) == 16_290 <= 2**14


def test_images_are_those_that_scikit_learn_hands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    read = load_digits()
    monkeypatch.setattr(task, "find_spec", lambda name: None)
    handed = load_digits()
    assert torch.equal(read.train_images, handed.train_images)
    assert torch.equal(read.test_labels, handed.test_labels)


def test_too_few_images_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="10 images over 4 workers do not make one batch of "):
        DigitsTask(limit=10).steps_per_epoch(4, 32)


def test_every_image_of_an_epoch_is_drawn_once() -> None:
    data = DigitsTask(limit=64)
    drawn = [data.batch(step, rank, 2, 8, 1)[0] for step in range(4) for rank in range(2)]
    images = {image.numpy().tobytes() for batch in drawn for image in batch}
    assert images == {image.numpy().tobytes() for image in data.data.train_images}
