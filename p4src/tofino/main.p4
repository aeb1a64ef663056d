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
#include "types.p4"
#include "parser.p4"
#include "classify.p4"
#include "origin.p4"
#include "membership.p4"
#include "congestion.p4"
#include "slots.p4"
#include "lanes.p4"
#include "result.p4"
#include "passes.p4"
#include "checksums.p4"
#include "descend.p4"
#include "forward.p4"
#include "deparser.p4"

#if __TARGET_TOFINO__ == 2
// Fields that table member sets lie where nothing else lay before: else the compiler moves that away first, in a stage
// that is the table's own.
@pa_no_overlay("ingress", "meta.worker")
@pa_no_overlay("ingress", "meta.group")
#endif
#if __TARGET_TOFINO__ == 1 && PASSES > 1
// What ALUs ask for lies in whole words, as it has to at their inputs: beside the journey the compiler would cut it up.
@pa_container_size("ingress", "meta.shape", 32)
@pa_container_size("ingress", "meta.worker", 32)
@pa_container_size("ingress", "meta.owner", 32)
@pa_container_size("ingress", "meta.generation", 32)
@pa_container_size("ingress", "hdr.journey.worker", 32)
@pa_container_size("ingress", "hdr.lanesum.chunk", 32)
@pa_container_size("ingress", "hdr.lanesum.epoch", 32)
#endif
control IngressPipeline(inout ingress_headers_t hdr, inout ingress_metadata_t meta,
                        in ingress_intrinsic_metadata_t ig_intr_md,
                        in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                        inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                        inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Arrival() arrival;
    Classify() classify;
    Origin() origin;
    Membership() membership;
    Expand() expand;
    Slots() slots;
    Lanes() lanes;
    Result() result;
#if PASSES > 1
    Arrived() arrived;
    Passes() passes;
#endif
    Descend() descend;
    Forward() forward;
    Arp() arp;

    apply {
        hdr.bridge.handover = HANDOVER_ROUTED;
        if (hdr.ipv4.ttl <= 1) {
            meta.expired = 1;
        }
        WHERE_FIRST_PASS {
            arrival.apply(hdr, meta, ig_prsr_md);
        }
        classify.apply(hdr, meta, ig_prsr_md);
        // What comes around has been looked at, and counted.
        if (hdr.ipv4.isValid() && meta.takeover == 0 IN_FIRST_PASS) {
            origin.apply(hdr, meta);
        }
        // Registers are asked on the word of arrival and member alone; the rest becomes known beside them.
        membership.apply(hdr, meta);
        expand.apply(hdr, meta);
        slots.apply(hdr, meta, ig_prsr_md);
#if PASSES > 1
        arrived.apply(hdr, meta, ig_prsr_md);
        passes.apply(hdr, meta, ig_tm_md);
#endif
        lanes.apply(hdr, meta);
        if (meta.verdict == VERDICT_DESCEND) {
            descend.apply(hdr, meta, ig_tm_md);
        } else {
            result.apply(hdr, meta, ig_tm_md);
        }
        // Were they taken out instead, all words would be cleared behind the last one for the checksum's sake, a stage
        // more than Tofino 1 has.
        if (meta.wide == 1 && (meta.verdict == VERDICT_ROUTE || meta.verdict == VERDICT_TAKE_OVER)) {
            hdr.lanes.setValid();
        }
        if (meta.verdict == VERDICT_ROUTE || meta.verdict == VERDICT_ASCEND) {
            forward.apply(hdr, meta, ig_dprsr_md, ig_tm_md);
        } else if (meta.verdict == VERDICT_ARP) {
            arp.apply(hdr, meta, ig_dprsr_md, ig_tm_md);
        } else if (meta.verdict == VERDICT_DROP) {
            ig_dprsr_md.drop_ctl = 1;
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

    apply {
        if (hdr.bridge.handover != HANDOVER_RECIRCULATE && hdr.bridge.handover != HANDOVER_PASS) {
            rest.apply(hdr, meta);
            // Copies of the replication engine have a number; only answers are replicated.
            if (eg_intr_md.egress_rid != 0) {
                receiver.apply(hdr, meta, eg_intr_md, eg_dprsr_md);
            }
            congestion.apply(hdr, meta, eg_intr_md);
            hdr.bridge.setInvalid();
        }
    }
}

Pipeline(IngressParser(), IngressPipeline(), IngressDeparser(), EgressParser(), EgressPipeline(), EgressDeparser()) pipe;
Switch(pipe) main;
