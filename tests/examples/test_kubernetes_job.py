# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Job of deploy/kubernetes/job trains, and returns its slots, with a stand-in of Kubernetes on this host."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.examples.conftest import Site, output_of, start
from tests.free_ports import free_ports
from tests.paths import ROOT

FOLDER = ROOT / "deploy" / "kubernetes" / "job"

pytestmark = pytest.mark.long


def start_pods(site: Site, steps: int) -> Iterator[subprocess.Popen[str]]:
    """Start the pods of the Job, each after its init container; their nodes are this host."""
    (job,) = (one for one in yaml.safe_load_all((FOLDER / "job.yaml").read_text()) if one["kind"] == "Job")
    spec, (port,) = job["spec"]["template"]["spec"], free_ports(1, socket.SOCK_STREAM)
    (doctor,), (train,) = spec["initContainers"], spec["containers"]
    *words, script = train["args"]
    assert script == "/work/train.py"
    here = {"LANESUM_CONTROLLER": site.address, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    here |= {"LANESUM_TLS": "", "LANESUM_TOKEN_FILE": ""}
    for index in range(job["spec"]["completions"]):
        output_of(start(["-m", "lanesum.cli", *doctor["args"]], **variables(doctor, index) | here))
        command = ["-m", "lanesum.cli", *words, "examples/train_ddp.py", f"--steps={steps}"]
        yield start(command, **variables(train, index) | here)


def variables(container: Mapping[str, Any], index: int) -> dict[str, str]:
    """Return the variables of a container of pod ``index`` as the kubelet sets them."""
    fields = {
        "metadata.labels['batch.kubernetes.io/controller-uid']": "5e7a",
        "metadata.annotations['batch.kubernetes.io/job-completion-index']": str(index),
    }
    found: dict[str, str] = {}
    for one in container["env"]:
        value = fields[one["valueFrom"]["fieldRef"]["fieldPath"]] if "valueFrom" in one else one["value"]
        found[one["name"]] = re.sub(r"\$\((\w+)\)", lambda name: found[name[1]], value)
    return found


def test_job_trains_and_returns_its_slots(site: Site) -> None:
    output = "".join([output_of(pod) for pod in [*start_pods(site, steps=12)]])
    assert "replicas agree: True" in output and "lanesum: 12 steps, " in output
    site.lapse()


def test_killed_job_returns_its_slots(site: Site) -> None:
    pods = [*start_pods(site, steps=10**6)]
    site.kill(*pods)
