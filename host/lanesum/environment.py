# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Names of the environment variables that lanesum reads."""

from __future__ import annotations

#: ``host:port`` of the controller.
CONTROLLER = "LANESUM_CONTROLLER"
#: Name of the job.
JOB = "LANESUM_JOB"
#: File with the ticket of one worker, instead of a controller.
TICKET = "LANESUM_TICKET"
#: Codec, unless the script or the job names one.
CODEC = "LANESUM_CODEC"
#: ``1``: admit the job that JOB names if the controller has none of this name.
ADMIT = "LANESUM_ADMIT"
#: Lease of a job that a training admits, in seconds: its slots return so long after a kill; ``0``: never.
LEASE = "LANESUM_LEASE"
#: Folder with ``ca.crt``, ``tls.crt`` and ``tls.key``: TLS for all calls, with this identity.
TLS = "LANESUM_TLS"
#: Configuration file of all commands.
CONFIG = "LANESUM_CONFIG"
#: File with the token for calls to the controller.
TOKEN_FILE = "LANESUM_TOKEN_FILE"
#: ``host:port`` for Prometheus metrics of a worker; the port is increased by LOCAL_RANK.
METRICS = "LANESUM_METRICS"
#: Folder of the launch, set by ``lanesum launch``.
RUN_FOLDER = "LANESUM_RUN_FOLDER"
#: Process of torchrun, set by ``lanesum launch``.
TORCHRUN = "LANESUM_TORCHRUN"
#: Number of ranks of this host, set by ``lanesum launch --spawn``: torchrun starts one process there.
SPAWNED_RANKS = "LANESUM_SPAWNED_RANKS"

#: ``auto``, ``off`` or ``required``: the native extension.
NATIVE = "LANESUM_NATIVE"
#: Threads of the codec loops; by default chosen from the cores and ranks of the host.
THREADS = "LANESUM_THREADS"
#: Threads that send and receive for a session; by default chosen from the cores and ranks of the host.
TRANSPORT_THREADS = "LANESUM_TRANSPORT_THREADS"
#: Busy-poll limit, in microseconds.
SPIN = "LANESUM_SPIN"
#: ``on`` or ``off``: let the process group average steps where that is faster.
STEP_ASIDE = "LANESUM_STEP_ASIDE"
#: ``auto``, ``off`` or ``interpret``: codecs on the GPU.
GPU = "LANESUM_GPU"

# Set by torchrun.
RANK = "RANK"
LOCAL_WORLD_SIZE = "LOCAL_WORLD_SIZE"
MASTER_PORT = "MASTER_PORT"
RUN_ID = "TORCHELASTIC_RUN_ID"
RESTART_COUNT = "TORCHELASTIC_RESTART_COUNT"
