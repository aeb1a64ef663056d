# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""P4Runtime over gRPC for the embedded switch, with the behaviour of BMv2's simple_switch_grpc.

Status codes and the contents of reads are the same; ``tests/softswitch/p4runtime`` runs one suite against both. Error
messages differ. Intended differences:

- A P4Info that does not fit the device config is refused with INVALID_ARGUMENT and the name of the missing object. BMv2
  loads both, and fails or aborts at the first access. That includes a table that p4c wrote into the P4Info and then
  optimized away. A program that the embedded switch cannot run is UNIMPLEMENTED.
- A push clears the multicast groups and clone sessions. In BMv2 their replicas stay in the replication engine,
  invisible to P4Runtime, and join those of a later group with the same id: delete them before a push there.
- An empty byte string for a match field, an action parameter or packet metadata is refused with INVALID_ARGUMENT, as
  the specification asks (section 8.4). BMv2 reads it as zero.
- A refused update changes nothing. BMv2 keeps half of a meter whose committed rate exceeds its peak rate, an entry
  whose direct meter it refused, and the references of an indirect entry that found its table full.
- The rates of a deleted entry's direct meter are deleted. BMv2 gives them to the next entry that gets its handle.
- ``time_since_last_hit`` is correct for timeouts beyond 4.29 s, where BMv2 overflows 32 bits of nanoseconds.
- In a group whose members have different watch ports, each reads with its own. PI returns one of them for all.
- A Write or push with the primary's election id is refused if it comes by another connection than the primary's
  stream, or from another identity. BMv2 takes it from every client.
- There are no gNMI and ``p4.server.v1.ServerConfig`` services; stream errors are always off, the default of the
  latter.
"""

from lanesum_switch.p4runtime.server import P4RuntimeServer

__all__ = ["P4RuntimeServer"]
