# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of transport and server, except those that the simulator finds."""

from __future__ import annotations

from tests.planted.bug import bugs

_HOST = "host/lanesum"

TRANSPORT = (
    *bugs(
        "transport",
        f"{_HOST}/transport/certification.py",
        ("factors may be even", "[bits | 1 for bits in drawn]", "[bits & ~1 for bits in drawn]"),
        ("all words have one factor", "_random_bits(factors, word)", "_random_bits(factors, 0)"),
        ("no worker has a secret", "secret, modulus = self._secrets[ticket.worker],", "secret, modulus = 0,"),
        ("high bits of words may cancel", "if workers > op.shape.max_exact_contributions:", "if True:"),
        ("sums of check words wrap", "bits = (workers - 1).bit_length()", "bits = 0"),
        ("the check of a chunk ignores the epoch", "epoch << 32 | chunk", "chunk"),
        ("the check of a chunk ignores the chunk", "epoch << 32 | chunk", "epoch << 32"),
        ("the check ignores the contributors", "for worker in workers) * (bits", "for worker in range(0)) * (bits"),
        ("lanes of a check word are not shifted back", "int(word) << shape.shift * index", "int(word)"),
        ("copies of words are not compared", "np.array_equal(words[size : 2 * size], words[:size]) and ", ""),
        (
            "words of contributors are not compared",
            " and np.array_equal(words[2 * size :], rest)",
            "",
        ),
        ("all workers have one word", "_random_bits(chunk_bits, self._secrets[worker])", "_random_bits(chunk_bits, 0)"),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/options.py",
        ("NaN is accepted as a deadline", "self.deadline_s > 0", "not self.deadline_s <= 0"),
        ("a fraction is accepted as a window", "isinstance(self.window, int) and ", ""),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/round_sequence.py",
        ("a result that fails its check is used", "if not round_.is_right(chunk, datagram, bitmaps):", "if False:"),
        (
            "a sum that fails is taken again from the switch",
            "self._recovery.on_result_failed(round_.begin + header.chunk)",
            "pass",
        ),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/membership.py",
        ("results of foreign workers are accepted", "if any(workers & ~members for", "if any(workers & ~workers for"),
        (
            "trailing bytes of a partial result are ignored",
            "if trailer_at != self._result_bytes and",
            "if trailer_at < self._result_bytes and",
        ),
        (
            "a complete result with a trailer is accepted",
            "has_trailer = self._two_levels and header.flags & _PARTIAL",
            "has_trailer = self._two_levels and len(datagram) > self._result_bytes",
        ),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/recovery.py",
        ("retransmissions give samples of the RTT", "if once:", "if True:"),
        ("the probe timeout stays backed off", "recovery.pto_backoff = 1", "pass"),
        (
            "needless retransmissions leave timeouts as they are",
            "min(2 * recovery.min_pto_factor, MAX_MIN_PTO_FACTOR)",
            "1",
        ),
        (
            "losses do not shorten the timeouts again",
            "recovery.min_pto_factor, recovery.results_since_loss = 1, 0",
            "pass",
        ),
        (
            "lost retransmissions are not backed off",
            "factor = 1 << min(sent.retransmissions, MAX_BACKOFF_EXPONENT)",
            "factor = 1",
        ),
        ("pending answers reset no backoff", "min(recovery.pto_backoff, MAX_PENDING_BACKOFF)", "recovery.pto_backoff"),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/rtt.py",
        (
            "the shortest RTT of an episode is forgotten at its end",
            'self._previous, self._current = self._current, float("inf")',
            'self._current = float("inf")',
        ),
        ("the probe timeout has no minimum", "return max(MIN_PTO_S, self.loss_delay_s)", "return self.loss_delay_s"),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/congestion.py",
        ("each loss of one window halves it", "if sent >= self._reduced_at:", "if True:"),
        ("the window closes", "max(1, self.congestion_window // 2)", "self.congestion_window // 2"),
        (
            "the window exceeds the slots",
            "min(self._max_window, self.congestion_window + 1)",
            "self.congestion_window + 1",
        ),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/pacing.py",
        (
            "an idle sender saves credit without limit",
            "self._credit = min(self._credit, max(PACING_MIN_BURST, rate * PACING_SLACK_S))",
            "pass",
        ),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/slot_scheduler.py",
        (
            "the first chunk behind results of a quorum is paced",
            "self._free[0] <= self.first_unacked()",
            "self._free[0] == self.first_unacked()",
        ),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/slot_backoff.py",
        ("a slot bypasses the switch ever longer", "min(2 * backoff.turns, MAX_BYPASS_TURNS)", "2 * backoff.turns"),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/retransmit_buffer.py",
        ("a dropped packet is retransmitted as another one", "not packets.first <= chunk <", "not 0 <= chunk <"),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/round_state.py",
        (
            "the bit of a worker is its number, not its place",
            "workers=1 << ticket.place[1],",
            "workers=1 << ticket.worker,",
        ),
        ("rounds of different sizes agree", "racks=self.size.words |", "racks=padded.size |"),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/ticket.py",
        ("a quorum larger than the job is accepted", '"quorum": (0, self.workers),', '"quorum": (0, MAX_WORKERS),'),
        ("a server is named twice", " or len(set(self.servers)) != len(self.servers):", ":"),
        ("two workers have one place", " or len(set(self.places)) != self.workers:", ":"),
        (
            "True is accepted as a number",
            "if type(value) is not int or not low",
            "if not isinstance(value, int) or not low",
        ),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/udp.py",
        ("a ticket is used twice", "            use_ticket(ticket)\n", ""),
        ("a fork runs rounds", "if transport._process != os.getpid():", "if False:"),
        (
            "a session is used after a failed round",
            "            self._transport._usable = False\n",
            "            pass\n",
        ),
        ("operations outside the ticket are sent", "if op not in self.ticket.ops:", "if False:"),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/round_sequence.py",
        (
            "results of another version are accepted",
            "(header.version, header.job, header.tag) == (VERSION, self.ticket.job, self.ticket.tag)",
            "(header.job, header.tag) == (self.ticket.job, self.ticket.tag)",
        ),
        (
            "epochs of a worker do not wrap",
            "self._next_epoch = (self._next_epoch + 1) % (1 << 32)",
            "self._next_epoch += 1",
        ),
        ("a forged answer ends a session without a quorum", "elif self.ticket.quorum:", "else:"),
        (
            "a conflict with a payload is believed",
            "if header.kind == Kind.CONFLICT and len(datagram) == HEADER_BYTES:",
            "if header.kind == Kind.CONFLICT:",
        ),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/path_check.py",
        ("headers are not counted for the MTU", "if packet > mtu:", "if packet - _IP_AND_UDP_BYTES > mtu:"),
        (
            "socket buffers are half as large as needed",
            "2 * result_bytes(ticket) + _BOOKKEEPING_BYTES",
            "result_bytes(ticket)",
        ),
    ),
    *bugs(
        "transport",
        f"{_HOST}/transport/worker_loop.py",
        (
            "a waiting worker cannot be woken",
            "for round_ in awaited) or self._was_woken():",
            "for round_ in awaited):",
        ),
    ),
    *bugs(
        "transport",
        f"{_HOST}/keep_alive.py",
        ("a fork closes the stream of its parent", " and self._process == os.getpid():", ":"),
    ),
)

SERVER = (
    *bugs(
        "server",
        f"{_HOST}/server/journal.py",
        ("a torn record is believed", " or _CHECKSUM.unpack_from(record)[0] != zlib.crc32(body):", ":"),
        (
            "the newest record may overwrite one that is needed",
            "self.result_capacity = self._capacity - 1",
            "self.result_capacity = self._capacity",
        ),
        ("two servers write one journal", "fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
        ("the journals of job 12 go with job 1", 'f"job-{job}-*.journal"', 'f"job-{job}*.journal"'),
    ),
    *bugs(
        "server",
        f"{_HOST}/server/jobs.py",
        ("a partial result exceeds a datagram", "MAX_WORDS - MAX_RACKS),", "MAX_WORDS),"),
        ("two workers of a rack have one bit", "if len(bits) != len(indices):", "if False:"),
        ("a worker sends from port 0", "if not 1 <= port <= 0xFFFF:", "if not 0 <= port <= 0xFFFF:"),
        ("true is a number in a job", "if type(value) is not int:", "if not isinstance(value, int):"),
    ),
    *bugs(
        "server",
        f"{_HOST}/server/member_table.py",
        ("racks without workers have no bitmap", "return max(self._racks) + 1", "return len(self._racks)"),
    ),
    *bugs(
        "server",
        f"{_HOST}/server/quorum_results.py",
        (
            "one result too few is kept",
            "while len(self._results) > self._capacity:",
            "while len(self._results) >= self._capacity:",
        ),
    ),
    *bugs(
        "server",
        f"{_HOST}/server/served_job.py",
        (
            "an aggregate need not contain its sender",
            "if workers is None or not workers >> member.worker & 1:",
            "if workers is None:",
        ),
        (
            "all flags of a contribution return in the result",
            "flags = header.flags & _KEPT_FLAGS |",
            "flags = header.flags |",
        ),
    ),
    *bugs(
        "server",
        f"{_HOST}/server/aggregator.py",
        ("journals of earlier incarnations stay", "self.drop(job.job, keep_tag=job.tag)", "self._close(job.job)"),
        ("a job changes under its tag", "check_same_job(served.job, job)", "pass"),
    ),
    *bugs(
        "server",
        f"{_HOST}/server/answers.py",
        (
            "a conflict names the operation of the owner",
            "header.fan_in_racks = asked.op",
            "header.fan_in_racks = owner.op",
        ),
    ),
)

TRANSPORT_BUGS = TRANSPORT + SERVER
