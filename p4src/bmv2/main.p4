// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// lanesum on v1model (BMv2): table of contents of the pipeline.

#include <core.p4>
#include <v1model.p4>

#include "../shared/sizes.p4"
#include "../shared/headers.p4"
#include "../shared/types.p4"
#include "lane_ops.p4"
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
#include "lanes.p4"
#include "result.p4"
#include "../shared/descend.p4"
#include "forward.p4"
#include "../shared/arp.p4"
#include "icmp.p4"
#include "../shared/receiver.p4"
#include "shorten.p4"
#include "../shared/congestion.p4"
#include "deparser.p4"
#ifdef WITH_FAULTS
#include "faults.p4"
#endif

control IngressPipeline(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Station() station;
    Arrival() arrival;
    Classify() classify;
    Origin() origin;
    Membership() membership;
    Slots() slots;
    Lanes() lanes;
    Result() result;
    Descend() descend;
    Forward() forward;
    Arp() arp;
    Icmp() icmp;
#ifdef WITH_FAULTS
    Faults() faults;
#endif

    apply {
#ifdef WITH_FAULTS
        faults.apply(meta, INGRESS_PORT);
        if (meta.lost == 1) {
            DROP_AT_INGRESS;
            return;
        }
#endif
        if (hdr.ipv4.ttl <= 1) {
            meta.expired = 1;
        }
        station.apply(INGRESS_ARGUMENTS);
        arrival.apply(INGRESS_ARGUMENTS);
        classify.apply(INGRESS_ARGUMENTS);
        if (hdr.ipv4.isValid() && meta.verdict != VERDICT_DROP) {
            origin.apply(INGRESS_ARGUMENTS);
        }
        if (meta.verdict == VERDICT_AGGREGATE) {
            membership.apply(INGRESS_ARGUMENTS);
            if (meta.verdict == VERDICT_AGGREGATE) {
                slots.apply(INGRESS_ARGUMENTS);
                if (meta.step != STEP_NONE) {
                    lanes.apply(INGRESS_ARGUMENTS);
                }
                result.apply(INGRESS_ARGUMENTS);
            }
        } else if (meta.verdict == VERDICT_DESCEND) {
            descend.apply(INGRESS_ARGUMENTS);
        }
        if (meta.verdict == VERDICT_ROUTE || meta.verdict == VERDICT_ASCEND) {
            if (IS_TO_SWITCH) {
                DROP_AT_INGRESS;
                if (hdr.ipv4.protocol == IP_PROTOCOL_UDP) {
                    meta.cause = CAUSE_PORT;
                } else if (hdr.ipv4.protocol == IP_PROTOCOL_ICMP && hdr.datagram.type == ICMP_ECHO_REQUEST
                           && hdr.datagram.code == 0 && MORE_FRAGMENTS == 0) {
                    meta.cause = CAUSE_ECHO;
                } else {
                    meta.cause = CAUSE_PROTOCOL;
                }
            } else {
                forward.apply(INGRESS_ARGUMENTS);
            }
            // A sum that ascends is no packet of its sender.
            if (meta.cause != CAUSE_NONE && meta.own_ip != 0 && meta.verdict == VERDICT_ROUTE) {
                icmp.apply(INGRESS_ARGUMENTS);
            }
        } else if (meta.verdict == VERDICT_ARP) {
            arp.apply(INGRESS_ARGUMENTS);
        } else if (meta.verdict == VERDICT_DROP) {
            DROP_AT_INGRESS;
        }
    }
}

control EgressPipeline(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Receiver() receiver;
    Shorten() shorten;
    Congestion() congestion;
#ifdef WITH_FAULTS
    Faults() faults;
#endif

    apply {
#ifdef WITH_FAULTS
        faults.apply(meta, EGRESS_PORT);
        if (meta.lost == 1) {
            DROP_AT_EGRESS;
            return;
        }
#endif
        // Copies of the replication engine have a number; only answers are replicated.
        if (REPLICA != 0) {
            receiver.apply(EGRESS_ARGUMENTS);
            shorten.apply(EGRESS_ARGUMENTS);
        }
        congestion.apply(EGRESS_ARGUMENTS);
    }
}

V1Switch(
    PacketParser(), VerifyChecksums(), IngressPipeline(), EgressPipeline(), UpdateChecksums(), PacketDeparser()) main;
