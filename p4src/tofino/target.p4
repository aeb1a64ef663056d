// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Target: names of TNA and T2NA (Tofino) that the shared controls use. bmv2/target.p4 defines the same names.

typedef PortId_t port_t;
typedef bit<16> fan_in_t;      // as wide as the count that a stateful ALU compares it with
typedef bit<32> queue_depth_t; // cells of the packet buffer

#define INGRESS_PARAMETERS \
    inout ingress_headers_t hdr, inout ingress_metadata_t meta, \
    in ingress_intrinsic_metadata_from_parser_t ig_prsr_md, \
    inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md, \
    inout ingress_intrinsic_metadata_for_tm_t ig_tm_md
#define INGRESS_ARGUMENTS hdr, meta, ig_prsr_md, ig_dprsr_md, ig_tm_md
#define EGRESS_PARAMETERS \
    inout egress_headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md, \
    inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md
#define EGRESS_ARGUMENTS hdr, meta, eg_intr_md, eg_dprsr_md

// Every action of a table counts.
#define DIRECT_COUNTER(name) DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) name
#define COUNT(name) name.count()
#define CONST_ENTRIES_SIZE(entries) size = entries;
// Tofino 2's compiler turns a few constant entries into conditions, which have no counters of their own.
#define COUNT_EACH_ENTRY @no_gateway_conversion

#define INGRESS_PORT hdr.bridge.ingress_port
#define EGRESS_PORT eg_intr_md.egress_port
#define REPLICA eg_intr_md.egress_rid
#define QUEUE_DEPTH meta.depth

#define SEND_TO_PORT(port) ig_tm_md.ucast_egress_port = port
#define SEND_TO_GROUP(group) ig_tm_md.mcast_grp_a = group
#define DROP_AT_INGRESS ig_dprsr_md.drop_ctl = 1
#define DROP_AT_EGRESS eg_dprsr_md.drop_ctl = 1

#define CLASS_OF_ANSWERS \
    hdr.ipv4.dscp = meta.answer_dscp; \
    ig_tm_md.qid = (QueueId_t) meta.answer_queue
#define REPORT(its_cause)
// Registers wait for table station.
#define STATION_STAGE @stage(0)

#if PASSES > 1
#define WHERE_FIRST_PASS if (meta.phase == PHASE_FIRST)
#define IN_FIRST_PASS && meta.phase == PHASE_FIRST
#else
#define WHERE_FIRST_PASS
#define IN_FIRST_PASS
#endif
#if COMBINE_IN_LAST_PASS
#define WHERE_LAST_PASS if (meta.phase == PHASE_ANSWER)
#define BEFORE_LAST_PASS if (meta.phase != PHASE_ANSWER)
#else
#define WHERE_LAST_PASS
#define BEFORE_LAST_PASS
#endif

// Tofino 2 has spare stages behind the decisions, but its first stage is full: tables that can wait go into later
// stages.
#if __TARGET_TOFINO__ == 2
#define WAITS_UNTIL(stage_number) @stage(stage_number)
#else
#define WAITS_UNTIL(stage_number)
#endif
