# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduce beside gloo: every sum is compared, every figure is there, nothing stays behind. No speed is judged."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from lanesum.codecs import get
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.protocol.spec import FULL_ACCUMULATOR_WORDS, WORD_BYTES
from lanesum_lab.bench import allreduce, vectors
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.bench.places import HUB, Loopback, limited_links, make_tickets
from lanesum_lab.bench.reducer import (
    COLLECTIVES,
    GLOO,
    TWO_SHOTS,
    TWO_STEPS,
    Phases,
    Reduced,
    Reduction,
    nccl_of_shared_gpu,
)
from lanesum_lab.bench.workers import Measured
from lanesum_lab.bench.workers import Wire as WireBytes
from lanesum_lab.codec_simulation import simulate
from lanesum_lab.veth import obstacle

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
needs_namespaces = pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "-")
COMMAND = [sys.executable, "-m", "lanesum.cli", "bench", "allreduce", "--quick", "--json"]


def namespaces(pid: int) -> list[str]:
    folder = Path("/run/netns")
    return [path.name for path in folder.glob(f"lanesum-{pid}-*")] if folder.is_dir() else []


def run(*arguments: str) -> dict[str, Any]:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        printed, said = process.communicate(timeout=280)
    assert process.returncode == 0, said.decode()
    assert not namespaces(process.pid)
    result: dict[str, Any] = json.loads(printed)
    return result


@needs_torch
def test_every_case_has_its_figures() -> None:
    result = run()
    assert result["command"] == "lanesum bench allreduce --quick"
    cases = {(figure["case"], figure["by"]) for figure in result["figures"]}
    peers = (GLOO, *TWO_SHOTS)
    expected = {("loopback", by) for by in (*peers, "thc", "fixed")}
    if obstacle():
        assert result["left_out"].keys() >= {"hub", "sharded"}
    else:
        expected |= {(GLOO, by) for by in peers} | {
            (case, by) for case in ("hub", "sharded") for by in ("thc", "fixed")
        }
    assert cases == expected
    for figure in result["figures"]:
        phases = () if figure["by"] in peers else ("encode_s", "decode_s")
        for name in ("seconds", "times_gloo", "goodput_mbyte_s", "cpu_s_per_gbyte", "network_s", *phases):
            assert 0 < figure[name]["min"] <= figure[name]["median"] <= figure[name]["max"]
        # Nothing that has to cross a link can have stayed away from it; loopback has other traffic too.
        assert 0 < figure["wire_efficiency"]["max"] < 1
        assert figure["exact_sum_checked"] == (figure["by"] == "fixed")
        assert figure["error"] < {"thc": 0.1, "two-shot-4": 0.1, "two-shot-8": 1e-3}.get(figure["by"], 1e-12)
        assert (figure["packets"] > 0) == (figure["by"] not in peers)
        if figure["by"] in peers:
            assert figure["chunk_p50_s"] is figure["chunk_p99_s"] is None
        else:
            longest = 1.02 * figure["seconds"]["max"] * figure["iterations"]
            assert 0 < figure["chunk_p50_s"]["median"] <= figure["chunk_p99_s"]["median"] <= longest
    assert [figure["times_gloo"]["median"] for figure in result["figures"] if figure["by"] == GLOO] == [1.0] * (
        1 if obstacle() else 2
    )
    own = [figure for figure in result["figures"] if figure["by"] not in peers]
    assert len(list(allreduce.chunk_rows(result))) == len(own)
    assert result["machine"].keys() >= {"processor", "cores", "commit"}


@needs_torch
def test_certified_jobs_take_turns_with_plain_ones() -> None:
    result = run("--cases", "loopback", "--peers", "", "--codecs", "thc", "--certified")
    _, plain, certified = result["figures"]
    assert (plain["by"], certified["by"]) == ("thc", "thc, certified")
    assert "times_seconds_without_checks" not in plain
    assert certified["times_seconds_without_checks"]["median"] > 0
    assert certified["packets"] >= plain["packets"] > 0


@needs_torch
@needs_namespaces
def test_reduce_scatter_behind_links_that_lose() -> None:
    """The sums of all shards are compared; each worker gets a part of the bytes of an all-reduce."""
    options = ("--cases", HUB, "--codecs", "fixed", "--peers", "", "--values", "65536", "--repeats", "1")
    result = run(*options, "--collective", "all-reduce,reduce-scatter", "--loss", "0.01")
    assert result["loss"] == 0.01
    assert [(one["collective"], one["by"]) for one in result["figures"]] == [
        (collective, by) for collective in ("all-reduce", "reduce-scatter") for by in (GLOO, "fixed")
    ]
    _, of_whole, _, own = result["figures"]
    assert own["exact_sum_checked"] and own["retransmissions"] > 0
    assert own["wire_mbyte_down"]["median"] < 0.8 * of_whole["wire_mbyte_down"]["median"]


@needs_torch
def test_collectives_take_turns_beside_each_other() -> None:
    """All sums and gathered bytes are compared. The two steps have the bits of the all-reduce."""
    options = ("--cases", "loopback", "--codecs", "fixed,thc", "--peers", "", "--values", "65536", "--repeats", "1")
    result = run(*options, "--collective", ",".join(COLLECTIVES))
    assert [(one["collective"], one["by"]) for one in result["figures"]] == [
        ("all-reduce", GLOO),
        ("all-reduce", "fixed"),
        ("all-reduce", "thc"),
        ("reduce-scatter", GLOO),
        ("reduce-scatter", "fixed"),
        ("reduce-scatter", "thc"),
        ("all-gather", GLOO),
        ("all-gather", "lanesum"),
        (TWO_STEPS, "fixed"),
        (TWO_STEPS, "thc"),
    ]
    for figure in result["figures"]:
        gathers = figure["collective"] == "all-gather"
        assert figure["exact_sum_checked"] == (gathers or figure["by"] == "fixed")
        assert figure["error"] < (0.1 if figure["by"] == "thc" else 1e-12)
        assert ("times_all_reduce" in figure) == (figure["collective"] in ("reduce-scatter", TWO_STEPS))
    two = result["figures"][-2]
    assert two["packets"] > result["figures"][1]["packets"] + result["figures"][4]["packets"] / 2
    shown = list(allreduce.collective_rows(result))
    assert [row[3] for row in shown][-3:] == ["lanesum, all-gather", f"fixed, {TWO_STEPS}", f"thc, {TWO_STEPS}"]
    assert [row[6] == "-" for row in shown] == [row[3].endswith("all-gather") and "+" not in row[3] for row in shown]


@pytest.mark.parametrize(("case", "crossing"), [("hub", 3000), ("sharded", 2 * 3000 // 2)])
def test_needed_bytes_of_sparse_codec_equal_sent_bytes(case: str, crossing: int) -> None:
    """Its shapes are those of a first, dense all-reduce."""
    done = [Reduced(0, 1, 1, Phases(), 9, 0, "", words=words) for words in (2000, 1000)]
    measured = Measured(Reduction("sketch", 1_000_000, 2), tuple(done), 1.0, 1.0, WireBytes(9000, 9000))
    group = allreduce._Group(allreduce.QUICK, Loopback(), 2, [case])
    assert group._needed(allreduce.Method("sketch", case, "sketch"), measured) == crossing * WORD_BYTES / 2


@needs_torch
def test_interrupt_leaves_no_process() -> None:
    process = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    started: set[psutil.Process] = set()
    # Server and workers, and where there are namespaces, those of them that are in one.
    while process.poll() is None and (len(started) < 3 or (not obstacle() and not namespaces(process.pid))):
        started |= set(psutil.Process(process.pid).children(recursive=True))
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=250)
    assert process.returncode == 130, said.decode()
    assert b"Traceback" not in said
    assert not namespaces(process.pid)
    assert not [one for one in started if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def test_limited_links_need_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum_lab.bench.places.obstacle", lambda: "network namespaces need root")
    settings = dataclasses.replace(allreduce.QUICK, cases=(HUB,))
    with pytest.raises(MissingToolError, match="Links of limited rate cannot be made: network namespaces need root"):
        allreduce.run(settings)


@needs_torch
def test_impossible_case_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allreduce, "obstacle", lambda: "network namespaces need root")
    result = allreduce.run(dataclasses.replace(allreduce.QUICK, peers=(), codecs=("fixed",), repeats=1))
    assert [figure["by"] for figure in result["figures"]] == [GLOO, "fixed"]
    assert result["left_out"][HUB] == result["left_out"]["sharded"] == "network namespaces need root"
    assert len(list(allreduce.speed_rows(result))) == len(list(allreduce.cost_rows(result))) == 2
    assert [len(row) for row in allreduce.error_rows(result)] == [len(allreduce.ERROR_COLUMNS)] * 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cases": ("mars",)}, "There is no case mars. Known ones: "),
        ({"values": ()}, "An all-reduce needs two workers, one value and a rate above 0 at least"),
        ({"workers": (1,)}, "An all-reduce needs two workers, one value and a rate above 0 at least"),
        ({"rates_mbit": (0.0,)}, "An all-reduce needs two workers, one value and a rate above 0 at least"),
        ({"codecs": ("zip",)}, "no codec 'zip'"),
        ({"collectives": ("broadcast",)}, r"Unknown collectives=\('broadcast',\): expected some of all-reduce, "),
        ({"collectives": ()}, r"Unknown collectives=\(\): expected some of all-reduce, "),
        ({"collectives": ("reduce-scatter",), "values": (9,)}, "values that are a multiple of the number of workers"),
        ({"collectives": ("reduce-scatter",), "peers": ("two-shot-4",)}, "there is no other collective by them"),
        ({"collectives": (TWO_STEPS,)}, "is an all-reduce: measure it beside --collective all-reduce"),
        ({"collectives": ("all-gather",), "device": "cuda"}, "All-gathers are measured on the host alone"),
        ({"loss": 0.1, "cases": ("loopback",)}, "Loopback loses no packets: measure losses with --cases hub,sharded"),
        ({"loss": 0.6}, "Invalid loss=0.6: expected a fraction from 0 to 0.5"),
        ({"peers": ("two-shot-3",)}, r"Unknown peers=\('two-shot-3',\) on cpu: expected some of "),
        ({"gradients": "mars"}, "Unknown gradients='mars': expected one of "),
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        dataclasses.replace(allreduce.QUICK, **wrong)


def test_recorded_gradients_repeat_up_to_the_length(tmp_path: Path) -> None:
    path = tmp_path / "gradients.npy"
    rows = np.random.default_rng(1).normal(size=(2, 5000)).astype(np.float32)
    np.save(path, rows)
    size = vectors.TILE + 3000
    found = [vectors.vector(worker, size, path) for worker in range(2)]
    for row, one in zip(rows, found, strict=True):
        assert one.shape == (size,) and (one == np.resize(row, size)).all()
    assert vectors.error_of(found[0] + found[1], 2, path) < 1e-12
    assert vectors.error_of(found[0], 2, path) > 0.1


@needs_namespaces
def test_links_have_two_ends_and_count() -> None:
    with limited_links(2) as links:
        links.limit(50.0)
        before = links.wire()
        program = (
            "import socket, sys\n"
            "sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "for _ in range(10):\n"
            "    sock.sendto(bytes(958), (sys.argv[1], 9))\n"
        )
        command = [sys.executable, "-c", program, links.address("w1")]
        subprocess.run(links.command("w0", command), check=True)
        carried = links.wire() - before
        # From one worker by way of the hub to the other; headers of Ethernet, IPv4 and UDP are 42 bytes.
        assert carried.up >= 10_000
        assert carried.down >= 10_000
        assert len(namespaces(0)) == 0
        names = [links.namespace(node) for node in links.nodes()]
        assert all((Path("/run/netns") / name).exists() for name in names)
    assert not any((Path("/run/netns") / name).exists() for name in names)


def measured(*digests: str) -> Measured:
    workers = tuple(Reduced(0.0, 1.0, 0.1, Phases(), 1, 0, digest) for digest in digests)
    return Measured(Reduction("fixed hub", 8, 1), workers, 1.0, 0.1, WireBytes(1, 1))


def test_cuda_without_gpu_is_refused_before_any_process(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("torch"):
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(MissingToolError, match=r"finds no CUDA device on this machine|needs PyTorch"):
        allreduce.run(dataclasses.replace(allreduce.QUICK, device="cuda"))
    with pytest.raises(ConfigurationError, match="There is no device 'tpu' to measure on"):
        allreduce.AllReduceSettings(device="tpu")


def test_peers_of_another_device_are_refused() -> None:
    for device, peer in (("cpu", "nccl"), ("cuda", TWO_SHOTS[0])):
        with pytest.raises(ConfigurationError, match=f"Unknown peers=.*on {device}: expected some of"):
            allreduce.AllReduceSettings(device=device, peers=(peer,))
    assert allreduce.AllReduceSettings(device="cuda", peers=("nccl-fp16",)).peers


def test_environment_lets_ranks_share_one_gpu() -> None:
    first, second = (nccl_of_shared_gpu(worker, "veth0") for worker in range(2))
    assert first.pop("NCCL_HOSTID") != second.pop("NCCL_HOSTID")
    assert first == second and first["NCCL_SOCKET_IFNAME"] == "veth0" and first["NCCL_P2P_DISABLE"] == "1"


def test_wrong_sum_ends_the_benchmark() -> None:
    method = allreduce.Method("fixed hub", HUB, "fixed")
    assert measured("a", "a").equal
    assert not measured("a", "b").equal
    allreduce.compare(method, measured("a", "a"), "a")
    allreduce.compare(method, measured("a", "a"), None)
    with pytest.raises(BenchError, match="8 values by fixed hub is wrong"):
        allreduce.compare(method, measured("a", "a"), "b")


def test_fixed_sum_equals_sum_of_whole_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "TILE", 2048)
    size, codec = 5000, get("fixed", workers=3)
    whole = [vectors.vector(worker, size) for worker in range(3)]
    assert not np.array_equal(whole[0][:2048], whole[0][2048:4096])
    values = simulate(codec, whole, average=False).values
    assert vectors.fixed_sum(codec, 3, size) == vectors.digest_of(values)
    assert vectors.error_of(values, 3) < 1e-12
    values[1] += 1
    assert vectors.fixed_sum(codec, 3, size) != vectors.digest_of(values)


def test_packets_fill_the_mtu() -> None:
    tickets = make_tickets(
        3, get("thc", workers=2), ["127.9.0.1", "127.9.0.2"], [("127.9.1.1", 1), ("127.9.1.2", 1)],
        accumulator_words=FULL_ACCUMULATOR_WORDS, slots=8,
    )  # fmt: skip
    assert 1500 - 32 < 20 + 8 + 32 + 4 * FULL_ACCUMULATOR_WORDS <= 1500
    assert [ticket.worker for ticket in tickets] == [0, 1]
    assert len({ticket.tag for ticket in tickets}) == len({ticket.seed for ticket in tickets}) == 1
    assert any(op.shape.lookup for op in tickets[0].ops)
    assert Loopback().address("w1").startswith("127.")
