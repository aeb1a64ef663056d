// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Icmp: answer echo requests to the switch's own address, and report expired, unroutable and refused packets to their
// senders (RFC 792; rules of RFC 1812, section 4.3). A switch without an address sends no message.
//
// A message leaves by the port of the packet, at most one per port and tick of 1,024 us. It quotes the IPv4 header and
// eight bytes; packets with IPv4 options are not reported, because their quote would be longer.

const bit<8> ICMP_ECHO_REPLY = 0;
const bit<8> ICMP_UNREACHABLE = 3;
const bit<8> ICMP_SOURCE_QUENCH = 4;
const bit<8> ICMP_REDIRECT = 5;
const bit<8> ICMP_ECHO_REQUEST = 8;
const bit<8> ICMP_TIME_EXCEEDED = 11;
const bit<8> ICMP_PARAMETER_PROBLEM = 12;
const bit<8> NETWORK_UNREACHABLE = 0;
const bit<8> PROTOCOL_UNREACHABLE = 2;
const bit<8> PORT_UNREACHABLE = 3;

const bit<8> ICMP_TTL = 64;
const bit<6> DSCP_NETWORK_CONTROL = 48; // class selector 6 (RFC 1812, section 4.3.2.5)
const bit<3> DO_NOT_FRAGMENT = 2;
const bit<16> ICMP_QUOTE_BYTES = IPV4_HEADER_BYTES + ICMP_HEADER_BYTES + IPV4_HEADER_BYTES + 8;
const bit<32> ICMP_FRAME_BYTES = 14 + (bit<32>) ICMP_QUOTE_BYTES;
const bit<32> NUM_PORTS = 512;

#define IS_TO_SWITCH (meta.own_ip != 0 && hdr.ipv4.destination == meta.own_ip)

control Icmp(INGRESS_PARAMETERS) {
    register<bit<32>>(NUM_PORTS) icmp_sent; // tick of the last message to a port
    DIRECT_COUNTER(icmp_counter);

    bit<32> now;
    bit<32> last;
    bit<1> too_soon;
    bit<1> reportable;

    action send() {
        icmp_sent.write((bit<32>) INGRESS_PORT, now);
        meta.verdict = VERDICT_ICMP;
        mac_t sender = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = sender;
        hdr.ipv4.destination = hdr.ipv4.source;
        hdr.ipv4.source = meta.own_ip;
        hdr.ipv4.ttl = ICMP_TTL;
        SEND_TO_PORT(INGRESS_PORT);
    }

    // Update the checksum for the new type.
    action answer_echo() {
        send();
        hdr.datagram.type = ICMP_ECHO_REPLY;
        hdr.datagram.checksum = updated(hdr.datagram.checksum, ~((bit<16>) ICMP_ECHO_REQUEST << 8));
    }

    // The words of the quoted header add up to 0, because its checksum is right.
    action report(bit<8> type, bit<8> code) {
        bit<32> sum = (bit<32>) (type ++ code);
        sum = sum + (hdr.udp.isValid()
            ? (bit<32>) hdr.udp.source_port + (bit<32>) hdr.udp.destination_port + (bit<32>) hdr.udp.length
              + (bit<32>) hdr.udp.checksum
            : (bit<32>) (hdr.datagram.type ++ hdr.datagram.code) + (bit<32>) hdr.datagram.checksum
              + (bit<32>) hdr.datagram.rest[31:16] + (bit<32>) hdr.datagram.rest[15:0]);
        hdr.report.setValid();
        hdr.report.quoted = hdr.ipv4.version ++ hdr.ipv4.ihl ++ hdr.ipv4.dscp ++ hdr.ipv4.ecn ++ hdr.ipv4.total_length
            ++ hdr.ipv4.identification ++ hdr.ipv4.flags ++ hdr.ipv4.fragment_offset ++ hdr.ipv4.ttl
            ++ hdr.ipv4.protocol ++ hdr.ipv4.checksum ++ hdr.ipv4.source ++ hdr.ipv4.destination;
        send();
        hdr.ipv4.dscp = DSCP_NETWORK_CONTROL;
        hdr.ipv4.ecn = 0;
        hdr.ipv4.total_length = ICMP_QUOTE_BYTES;
        hdr.ipv4.identification = 0;
        hdr.ipv4.flags = DO_NOT_FRAGMENT;
        hdr.ipv4.protocol = IP_PROTOCOL_ICMP;
        hdr.report.type = type;
        hdr.report.code = code;
        hdr.report.checksum = ~ones_complement_sum(sum[15:0], sum[31:16]);
        hdr.report.rest = 0;
        hdr.lanesum.setInvalid();
        truncate(ICMP_FRAME_BYTES);
    }

    action drop_unreported() { DROP_AT_INGRESS; }
    action drop_too_soon() { DROP_AT_INGRESS; }

    table icmp {
        key = {
            meta.cause: ternary;
            reportable: ternary @name("reportable");
            too_soon: ternary @name("too_soon");
        }
        actions = { answer_echo; report; drop_unreported; drop_too_soon; }
        const default_action = drop_unreported();
        counters = icmp_counter;
        const entries = {
            (_, 0, _): drop_unreported();
            (_, _, 1): drop_too_soon();
            (CAUSE_ECHO, _, _): answer_echo();
            (CAUSE_EXPIRED, _, _): report(ICMP_TIME_EXCEEDED, 0);
            (CAUSE_NO_ROUTE, _, _): report(ICMP_UNREACHABLE, NETWORK_UNREACHABLE);
            (CAUSE_PORT, _, _): report(ICMP_UNREACHABLE, PORT_UNREACHABLE);
            (CAUSE_PROTOCOL, _, _): report(ICMP_UNREACHABLE, PROTOCOL_UNREACHABLE);
        }
    }

    apply {
        now = (bit<32>) (standard_metadata.ingress_global_timestamp >> 10);
        icmp_sent.read(last, (bit<32>) INGRESS_PORT);
        too_soon = (bit<1>) (now == last);
        // Never about an ICMP error, nor to an address that is not of one host.
        reportable = (bit<1>) (hdr.udp.isValid() || hdr.datagram.isValid());
        if (hdr.ipv4.source[31:29] == 7 || hdr.ipv4.source[31:24] == 0) {
            reportable = 0;
        } else if (hdr.ipv4.protocol == IP_PROTOCOL_ICMP && meta.cause != CAUSE_ECHO
                   && (meta.cause == CAUSE_PROTOCOL || hdr.datagram.type == ICMP_UNREACHABLE
                       || hdr.datagram.type == ICMP_SOURCE_QUENCH || hdr.datagram.type == ICMP_REDIRECT
                       || hdr.datagram.type == ICMP_TIME_EXCEEDED || hdr.datagram.type == ICMP_PARAMETER_PROBLEM)) {
            reportable = 0;
        }
        icmp.apply();
    }
}
