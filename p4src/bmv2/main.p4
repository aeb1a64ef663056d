// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// lanesum on v1model (BMv2): table of contents of the pipeline.

#include <core.p4>
#include <v1model.p4>

#include "../shared/sizes.p4"
#include "../shared/headers.p4"
#include "../shared/types.p4"
#include "ones_complement.p4"
#include "parser.p4"
#include "faults.p4"
#include "classify.p4"
#include "origin.p4"
#include "membership.p4"
#include "congestion.p4"
#include "slots.p4"
#include "lanes.p4"
#include "checksums.p4"
#include "result.p4"
#include "descend.p4"
#include "forward.p4"
#include "deparser.p4"

control IngressPipeline(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    IngressFaults() faults;
    Classify() classify;
    Origin() origin;
    Membership() membership;
    Slots() slots;
    Lanes() lanes;
    Result() result;
    Descend() descend;
    Forward() forward;
    Arp() arp;

    apply {
        faults.apply(hdr, meta, standard_metadata);
        if (meta.lost) {
            mark_to_drop(standard_metadata);
        } else {
            classify.apply(hdr, meta, standard_metadata);
            if (hdr.ipv4.isValid() && meta.verdict != VERDICT_DROP) {
                origin.apply(hdr, meta, standard_metadata);
            }
            if (meta.verdict == VERDICT_AGGREGATE) {
                membership.apply(hdr, meta, standard_metadata);
                if (meta.verdict == VERDICT_AGGREGATE) {
                    slots.apply(hdr, meta, standard_metadata);
                    if (meta.step != STEP_NONE) {
                        lanes.apply(hdr, meta, standard_metadata);
                    }
                    result.apply(hdr, meta, standard_metadata);
                }
            } else if (meta.verdict == VERDICT_DESCEND) {
                descend.apply(hdr, meta, standard_metadata);
            }
            if (meta.verdict == VERDICT_ROUTE || meta.verdict == VERDICT_ASCEND) {
                forward.apply(hdr, meta, standard_metadata);
            } else if (meta.verdict == VERDICT_ARP) {
                arp.apply(hdr, meta, standard_metadata);
            } else if (meta.verdict == VERDICT_DROP) {
                mark_to_drop(standard_metadata);
            }
        }
    }
}

control EgressPipeline(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Receiver() receiver;
    Congestion() congestion;
    EgressFaults() faults;

    apply {
        faults.apply(hdr, meta, standard_metadata);
        if (meta.lost) {
            mark_to_drop(standard_metadata);
        } else {
            // Copies of the replication engine have a number; only answers are replicated.
            if (standard_metadata.egress_rid != 0) {
                receiver.apply(hdr, meta, standard_metadata);
            }
            congestion.apply(hdr, meta, standard_metadata);
        }
    }
}

V1Switch(PacketParser(), VerifyChecksums(), IngressPipeline(), EgressPipeline(), UpdateChecksums(), PacketDeparser()) main;
