# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Thresholds, timeouts and defaults of the worker's transport.

``python -m lanesum_lab.generate`` writes all of them to ``host/native/src/transport/constants.hpp``, so that both
implementations use the same values. A test fails when that file is out of date.
"""

from __future__ import annotations

import errno

# Defaults of a session. BMv2 holds 64 packets per egress port and drops the rest.
DEFAULT_WINDOW = 64
DEFAULT_DEADLINE_S = 30.0
# A worker that lacks a result asks for it at least once per second.
LEAVE_DEADLINE_S = 3.0

# Rounds in flight, at most: enough for the norms of one vector behind the codes of another, and few enough to look
# through for every packet.
MAX_ROUNDS_IN_FLIGHT = 8
# Turns of all slots that the retransmit buffer keeps; see ``retransmit_buffer``.
RETRANSMIT_BUFFER_TURNS = 2

# Probe timeout (PTO) before any back-off.
MIN_PTO_S = 0.02
MAX_PTO_S = 1.0
# Each needless retransmission doubles MIN_PTO_S, up to this factor, until a retransmission was needed.
MAX_MIN_PTO_FACTOR = 16
# Results in a row without a loss, after which a retransmission can count as needless.
RESULTS_WITHOUT_LOSS = 64
INITIAL_PTO_S = 0.1
# Queues behind a full window stretch a round trip by a small factor.
PTO_RTT_FACTOR = 4.0
RTT_SAMPLES_PER_EPISODE = 64
# A round trip longer than this factor of the shortest one, plus a margin for busy hosts, was spent in a queue.
QUEUED_RTT_FACTOR = 2.0
QUEUED_MARGIN_S = 2e-3

# A packet is lost when the result of a packet sent more than this many packets later has arrived (RFC 9002, 6.1.1).
# Software switches reorder by a few.
REORDERING_THRESHOLD = 8
# Back-offs double at most this many times; every timeout reaches MAX_PTO_S long before.
MAX_BACKOFF_EXPONENT = 16
# A pending answer shows that the path is alive: the back-off factor of its timer is at most this.
MAX_PENDING_BACKOFF = 4
# Chunks that are probed for each one that a probe has shown to be lost.
PROBES_PER_LOST_PROBE = 2
# This many probe timeouts without any answer in between mean persistent congestion. The first one is what a late worker
# looks like, and the answer to the second probe may be lost by chance.
PERSISTENT_CONGESTION_TIMEOUTS = 3
# From this try on, every second one bypasses the switches: the partial sums of a chunk may lie at different aggregation
# points, and only the server combines them. A reordered chunk is tried more often, and has mostly just been lost.
BYPASS_AFTER_PROBES = 2
BYPASS_AFTER_LOSSES = 4

# A chunk of a certified job whose results from the server failed their check this many times ends the session.
MAX_FAILED_RESULTS = 8

# Turns that a slot bypasses the switches after collisions, at most.
MAX_BYPASS_TURNS = 16

# Pacing. Weight of a new round-trip time in the smoothed one (RFC 6298, 2).
PACING_RTT_WEIGHT = 0.125
# Slightly more than a window per round trip, as TCP does: otherwise pacing would hide that the path admits more.
PACING_GAIN = 1.25
# Timers fire late by about this much; the packets of that time may then leave at once, and never fewer than a burst.
PACING_SLACK_S = 1e-3
PACING_MIN_BURST = 8.0
# Clocks count in steps, so credit for slightly less than one packet admits one.
PACING_TOLERANCE = 1e-3

# Histogram of latencies: buckets per power of two, and the longest latency in nanoseconds (275 s), as powers of two.
LATENCY_SUB_BUCKET_BITS = 5
LATENCY_MAX_BITS = 38
LATENCY_BUCKETS = (LATENCY_MAX_BITS - LATENCY_SUB_BUCKET_BITS + 1) << LATENCY_SUB_BUCKET_BITS

# Datagrams received in one go before new packets are sent.
RECEIVE_BATCH = 64
# ICMP errors would have to arrive within microseconds of each other to outlast this many tries.
MAX_SEND_TRIES = 8
# A datagram that cannot be sent now counts as lost: the probe timer repairs it. A full buffer, the own firewall, and an
# interface that is down. The errors of ICMP_ERRNOS count so, too, if every try reports them: this host has no route.
UNSENT_ERRNOS = (errno.EAGAIN, errno.ENOBUFS, errno.EPERM, errno.ENETDOWN)
# Errors that an ICMP message makes the kernel report, once, in the next call on a connected socket, whatever that call
# is for. Their sender is not verified (icmp(7), udp(7)). Every other errno is an error of the call itself.
ICMP_ERRNOS = (
    errno.ECONNREFUSED, errno.EMSGSIZE, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENONET,
    errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.EPROTO,
)  # fmt: skip
