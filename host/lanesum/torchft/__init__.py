# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process group of torchft: each quorum is a job of its own."""

from lanesum.torchft.peers import QuorumAbortedError, ReplicaLostError
from lanesum.torchft.process_group import ProcessGroup

__all__ = ["ProcessGroup", "QuorumAbortedError", "ReplicaLostError"]
