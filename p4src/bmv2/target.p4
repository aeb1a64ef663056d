// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Target: names of v1model (BMv2) that the shared controls use. tofino/target.p4 defines the same names.

typedef bit<9> port_t;
typedef bit<8> fan_in_t;
typedef bit<19> queue_depth_t; // packets

#define INGRESS_PARAMETERS inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata
#define INGRESS_ARGUMENTS hdr, meta, standard_metadata
#define EGRESS_PARAMETERS INGRESS_PARAMETERS
#define EGRESS_ARGUMENTS INGRESS_ARGUMENTS

// BMv2 counts every hit of an entry by itself.
#define DIRECT_COUNTER(name) direct_counter(CounterType.packets_and_bytes) name
#define COUNT(name)

// BMv2 counts constant entries by itself; Tofino's compiler needs a size.
#define CONST_ENTRIES_SIZE(size)
#define COUNT_EACH_ENTRY

#define INGRESS_PORT standard_metadata.ingress_port
#define EGRESS_PORT standard_metadata.egress_port
#define REPLICA standard_metadata.egress_rid
#define QUEUE_DEPTH standard_metadata.deq_qdepth

#define SEND_TO_PORT(port) standard_metadata.egress_spec = port
#define SEND_TO_GROUP(group) standard_metadata.mcast_grp = group
#define DROP_AT_INGRESS mark_to_drop(standard_metadata)
#define DROP_AT_EGRESS mark_to_drop(standard_metadata)

// Queue of answers, where simple_switch has several (--priority-queues).
#define CLASS_OF_ANSWERS \
    hdr.ipv4.dscp = meta.answer_dscp; \
    standard_metadata.priority = meta.answer_queue
#define REPORT(its_cause) meta.cause = its_cause

// The table of shared/sizes.p4 has what a chip has room for. Here every job of a switch may span racks.
#define DESCEND_TABLE_SIZE 1024

// BMv2 has no stages, and takes all words in one pass.
#define WHERE_FIRST_PASS
#define STATION_STAGE
#define WAITS_UNTIL(stage_number)
