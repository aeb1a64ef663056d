# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bugs to plant in certified rounds: in the check words, in their comparison, and in what follows a failed result."""

from __future__ import annotations

from lanesum.server import served_job
from lanesum.server.slot_table import ServerEntry, ServerSlotTable
from lanesum.transport.certification import Certification
from lanesum.transport.recovery import LossDetector
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.round_state import RoundState
from tests.simulator.mutants import Mutant

# fmt: off
CERTIFIED_MUTANTS = (
    Mutant("the check is not made", RoundState, "is_right", "if self._certification is None or", "if True or"),
    Mutant("gathered words are checked as those of all workers", RoundState, "is_right",
           "bitmaps = self._link.membership.only(self._turns.place(chunk)[0])", "pass"),
    Mutant("the owner of a certified chunk gets a header alone", served_job, "gets_words",
           "owner != worker or bool(round_size & CERTIFIED)", "owner != worker"),
    Mutant("the first chunk of a round alone is checked", RoundState, "is_right",
           "if self._certification is None or", "if self._certification is None or chunk or"),
    Mutant("a chunk that failed once passes", RoundState, "is_right",
           "return self._certification.is_right(",
           "return chunk in self.failed_results or self._certification.is_right("),
    Mutant("a failed result is used", RoundSequence, "_take_result",
           "self._take_failed_result(round_, header)\n        return False",
           "self._take_failed_result(round_, header)"),
    Mutant("a failed result passes for the end of its chunk", RoundSequence, "_take_failed_result",
           "self._recovery.on_result_failed(", "self._scheduler.on_result("),
    Mutant("a failed result is not counted", RoundSequence, "_take_failed_result",
           "self.stats.failed_results += 1", "pass"),
    Mutant("a wrong server is asked without end", RoundSequence, "_take_failed_result",
           ">= MAX_FAILED_RESULTS", ">= 1 << 40"),
    Mutant("a wrong result is taken again from the same device", LossDetector, "on_result_failed",
           "sent.bypass = True\n        self._requests[position] = True",
           "sent.bypass = False\n        self._requests[position] = False"),
    Mutant("a wrong result of the server ends the worker at once", RoundSequence, "_take_failed_result",
           "if from_server and of_switches + of_server + 1 >= MAX_FAILED_RESULTS", "if True"),
    Mutant("a refused sum of the server is not marked", RoundSequence, "_retransmissions",
           "if bypass and sent.round.server_failed(sent.chunk)", "if False"),
    Mutant("every request past the switches refuses the sum", RoundSequence, "_retransmissions",
           "if bypass and sent.round.server_failed(sent.chunk)", "if bypass"),
    Mutant("a failed result of a switch refuses the server's", RoundState, "server_failed", "(0, 0))[1]", "(0, 0))[0]"),
    Mutant("the server never sums again", ServerEntry, "retake",
           "self.retaken.workers.bit_count() < num_workers", "True"),
    Mutant("the server sums again when one worker refuses", ServerEntry, "retake", "< num_workers", "< 1"),
    Mutant("the server answers with the refused sum", ServerEntry, "retake",
           "self.partial_sums, self.retaken = self.retaken, None", "self.retaken = None"),
    Mutant("the server counts refusals of an earlier sum again", ServerEntry, "retake",
           "self.partial_sums, self.retaken = self.retaken, None", "self.partial_sums = self.retaken"),
    Mutant("the server keeps the sum that a chunk's owner refuses", ServerEntry, "reopen",
           "workers != 1 << owner", "True"),
    Mutant("contributions to a discarded sum are not requested", ServerSlotTable, "contribute",
           "ServerDecision.REPORT_PENDING if again else ", ""),
    Mutant("the check word says nothing about the words", Certification, "_products",
           "size = words.shape[-1]", "size, words = words.shape[-1], words * 0"),
    Mutant("the last word is not part of the check word", Certification, "_products",
           "size = words.shape[-1]", "size, words = words.shape[-1] - 1, words[..., :-1]"),
    Mutant("factors are even", Certification, "__init__",
           "bits | 1 for bits in drawn", "bits & ~1 for bits in drawn"),
    Mutant("the chunk is missing in the secret", Certification, "_chunk_bits", "epoch << 32 | chunk", "epoch << 32"),
    Mutant("the round is missing in the secret", Certification, "_chunk_bits", "epoch << 32 | chunk", "chunk",
           seed=101480),
    Mutant("the secret names all workers", Certification, "is_right",
           "self._secrets[worker] for worker in workers", "self._secrets[worker] for worker in range(ticket.workers)"),
    Mutant("every worker has the secret of the first", Certification, "uplink_packets",
           "secret, modulus = self._secrets[ticket.worker]", "secret, modulus = self._secrets[0]"),
    Mutant("copies of OR and MAX are not compared", Certification, "is_right",
           "np.array_equal(words[size : 2 * size], words[:size]) and ", ""),
    Mutant("contributors of OR and MAX are not checked", Certification, "is_right",
           " and np.array_equal(words[2 * size :], rest)", "", seed=14116),
    Mutant("the first code of a check word alone is read", Certification, "is_right",
           "enumerate(words[size:])", "enumerate(words[size : size + 1])"),
)
# fmt: on
