// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// lanesum on TNA (Tofino 1) and T2NA (Tofino 2): table of contents of the pipeline.

#include <core.p4>
#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

#include "sizes.p4"
#include "../shared/sizes.p4"
#include "../shared/headers.p4"
#include "../shared/types.p4"
#include "target.p4"
#include "types.p4"
#include "parser.p4"
#include "checksums.p4"
#include "classify.p4"
#include "../shared/station.p4"
#include "../shared/classify.p4"
#include "../shared/origin.p4"
#include "membership.p4"
#include "slots.p4"
#include "combine.p4"
#include "lanes.p4"
#include "result.p4"
#include "passes.p4"
#include "../shared/descend.p4"
#include "redirect.p4"
#include "forward.p4"
#include "../shared/arp.p4"
#include "../shared/receiver.p4"
#include "../shared/congestion.p4"
#include "deparser.p4"

#if (__TARGET_TOFINO__ == 1) == (PASSES == 1)
// The parser writes its errors into the lowest bits of a container; in these profiles the compiler would put the field
// above them.
@pa_container_size("ingress", "ig_intr_md_from_prsr.parser_err", 16)
#endif
#if __TARGET_TOFINO__ == 2
// Fields that table member sets share no container with an earlier field: the compiler would move that field away
// first, in a stage of its own.
@pa_no_overlay("ingress", "meta.worker")
@pa_no_overlay("ingress", "meta.group")
// Some actions leave these fields unset: they must be 0 then, not what an earlier field left in the container.
@pa_no_overlay("ingress", "meta.access")
@pa_no_overlay("ingress", "meta.chunk_order")
@pa_no_overlay("ingress", "meta.order")
#if PASSES == 1
// A header field would be moved away for these, and stage 2 has no time for that.
@pa_no_overlay("ingress", "meta.seen")
@pa_no_overlay("ingress", "meta.shape_differs")
#endif
#if PASSES > 1
@pa_no_overlay("ingress", "meta.torn")
#endif
#endif
#if __TARGET_TOFINO__ == 1 && PASSES == 1
// The same.
@pa_no_overlay("ingress", "meta.access")
#endif
#if __TARGET_TOFINO__ == 1 && PASSES > 1
// Stateful ALUs take whole words as inputs. Beside header pass the compiler would split these fields.
@pa_container_size("ingress", "meta.shape", 32)
@pa_container_size("ingress", "meta.worker", 32)
@pa_container_size("ingress", "meta.owner", 32)
@pa_container_size("ingress", "meta.generation", 32)
@pa_container_size("ingress", "hdr.pass.worker", 32)
@pa_container_size("ingress", "hdr.lanesum.chunk", 32)
@pa_container_size("ingress", "hdr.lanesum.epoch", 32)
#endif
control IngressPipeline(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_t ig_intr_md,
                        in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                        inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                        inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Station() station;
    Arrival() arrival;
    Classify() classify;
    Origin() origin;
    Membership() membership;
    Expand() expand;
    Slots() slots;
    Combine() combine;
    Lanes() lanes;
    Result() result;
#if PASSES > 1
    Blocks() blocks;
    Passes() passes;
#endif
    Descend() descend;
    CpuPort() redirect;
    Forward() forward;
    Arp() arp;

    apply {
        hdr.bridge.handover = HANDOVER_ROUTED;
        meta.pipe = PIPE_OF(ig_intr_md.ingress_port);
        if (hdr.ipv4.ttl <= 1) {
            meta.expired = 1;
        }
        station.apply(INGRESS_ARGUMENTS);
        arrival.apply(INGRESS_ARGUMENTS);
        classify.apply(INGRESS_ARGUMENTS);
        // Recirculated packets were checked, and counted, in their first pass.
        if (hdr.ipv4.isValid() && meta.takeover == 0 && hdr.bridge.partial_sum == 0 IN_FIRST_PASS) {
            origin.apply(INGRESS_ARGUMENTS);
        }
        // Registers wait for tables arrival and member only; the other decisions are made beside them.
        membership.apply(INGRESS_ARGUMENTS);
        expand.apply(INGRESS_ARGUMENTS);
        slots.apply(INGRESS_ARGUMENTS);
        WHERE_LAST_PASS combine.apply(INGRESS_ARGUMENTS);
#if PASSES > 1
        blocks.apply(INGRESS_ARGUMENTS);
        passes.apply(INGRESS_ARGUMENTS);
#endif
        lanes.apply(INGRESS_ARGUMENTS);
        if (meta.verdict == VERDICT_DESCEND) {
            descend.apply(INGRESS_ARGUMENTS);
        } else {
            result.apply(INGRESS_ARGUMENTS);
        }
        // The words leave with a packet that is routed. Removing the header in all other cases instead would clear all
        // words behind the last one for the checksum: one stage more than Tofino 1 has.
        if (meta.wide == 1 && (meta.verdict == VERDICT_ROUTE || meta.verdict == VERDICT_TAKE_OVER)) {
            hdr.lanes.setValid();
        }
        FIND_CPU_PORT
        if (meta.verdict == VERDICT_ASCEND && COMBINED == 1) {
            hdr.bridge.partial_sum = 1;
            SEND_TO_PORT(COMBINING_PORT);
        } else
        if (meta.verdict == VERDICT_ROUTE || meta.verdict == VERDICT_ASCEND) {
            FIND_CPU_PORT_OF_ROUTED
            forward.apply(INGRESS_ARGUMENTS);
        } else if (meta.verdict == VERDICT_ARP) {
            arp.apply(INGRESS_ARGUMENTS);
        } else if (meta.verdict == VERDICT_DROP) {
            DROP_AT_INGRESS;
        }
    }
}

control EgressPipeline(inout egress_headers_t hdr, inout egress_metadata_t meta,
                       in egress_intrinsic_metadata_t eg_intr_md,
                       in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                       inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                       inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    Rest() rest;
    Receiver() receiver;
    Congestion() congestion;
    Redirected() redirected;

    apply {
        meta.tick = REDIRECT_TICK(eg_prsr_md.global_tstamp);
        if (hdr.bridge.handover == HANDOVER_REDIRECTED) {
            redirected.apply(EGRESS_ARGUMENTS);
            hdr.bridge.setInvalid();
        } else
        if (hdr.bridge.handover != HANDOVER_RECIRCULATE && hdr.bridge.handover != HANDOVER_PASS) {
            rest.apply(EGRESS_ARGUMENTS);
            // Copies of the replication engine have a number; only answers are replicated.
            if (REPLICA != 0) {
                receiver.apply(EGRESS_ARGUMENTS);
            }
            meta.depth = (queue_depth_t) eg_intr_md.deq_qdepth;
            congestion.apply(EGRESS_ARGUMENTS);
            if (PORT_OF_PIPE(eg_intr_md.egress_port) != RECIRCULATION_PORT) {
                hdr.bridge.setInvalid();
            }
        }
    }
}

Pipeline(
    IngressParser(), IngressPipeline(), IngressDeparser(), EgressParser(), EgressPipeline(), EgressDeparser()) pipe;
Switch(pipe) main;
