// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// A packet says what is to be done with it, one extern at a time.
#include <core.p4>
#include <tna.p4>

const bit<8> HASH = 1;
const bit<8> MIRROR = 2;
const bit<8> RESUBMIT = 3;
const bit<8> DIGEST = 4;
const bit<8> METER = 5;
const bit<8> BYPASS = 6;
const bit<8> MIRROR_EGRESS = 7;
const bit<8> RANDOM = 8;
const bit<8> PORT = 9;
const bit<8> MIRRORED = 0x80;
const MirrorType_t MIRROR_TYPE = 1;
const MirrorType_t EGRESS_MIRROR_TYPE = 2;
const ResubmitType_t RESUBMIT_TYPE = 1;
const DigestType_t DIGEST_TYPE = 1;

header command_t {
    bit<8> op;
    bit<8> small;
    bit<16> port;
    bit<32> value;
    bit<16> checksum;
    bit<16> crc16;
    bit<32> crc32;
    bit<32> crc32c;
    bit<16> passes;
}

header option_t {
    bit<8> kind;
    bit<8> value;
}

header mirror_t {
    bit<8> tag;
    bit<8> op;
}

header resubmit_t {
    bit<16> passes;
    bit<48> unused;
}

header bridge_t {
    bit<8> tag;
}

struct headers_t {
    bridge_t bridge;
    command_t command;
    option_t option;
}

struct port_t {
    bit<8> tag;
    bit<56> unused;
}

struct metadata_t {
    resubmit_t resubmitted;
    port_t port;
    bit<8> ahead;
    bit<16> rest;
    bit<10> session;
    bit<8> color;
    bit<8> tag;
    bit<8> range;
    bit<8> next_hop;
    bit<1> wrong;
}

struct digest_t {
    bit<8> small;
    bit<32> value;
}

struct egress_metadata_t {
    mirror_t mirror;
    bit<10> session;
    bit<8> tag;
    bit<8> op;
}

parser IngressParser(
    packet_in packet, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t intrinsic
) {
    Checksum() whole;
    Checksum() changing;

    state start {
        packet.extract(intrinsic);
        transition select(intrinsic.resubmit_flag) {
            1: parse_resubmitted;
            default: parse_port;
        }
    }

    state parse_resubmitted {
        packet.extract(md.resubmitted);
        transition parse_command;
    }

    state parse_port {
        md.port = port_metadata_unpack<port_t>(packet);
        transition parse_command;
    }

    state parse_command {
        packet.extract(hdr.command);
        whole.add(hdr.command);
        md.wrong = (bit<1>)whole.verify();
        changing.subtract({hdr.command.checksum, hdr.command.crc16, hdr.command.crc32, hdr.command.crc32c});
        changing.subtract({hdr.command.value, hdr.command.passes});
        md.rest = changing.get();
        transition select(hdr.command.op, packet.lookahead<bit<8>>()) {
            (1 .. 9, 0x40 &&& 0xc0): parse_option;
            default: accept;
        }
    }

    state parse_option {
        md.ahead = packet.lookahead<option_t>().value;
        packet.extract(hdr.option);
        transition accept;
    }
}

control Ingress(
    inout headers_t hdr,
    inout metadata_t md,
    in ingress_intrinsic_metadata_t intrinsic,
    in ingress_intrinsic_metadata_from_parser_t from_parser,
    inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
    inout ingress_intrinsic_metadata_for_tm_t for_tm
) {
    Hash<bit<16>>(HashAlgorithm_t.CRC16) crc16;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc32;
    CRCPolynomial<bit<32>>(32w0x1edc6f41, true, false, false, 32w0xffffffff, 32w0xffffffff) castagnoli;
    Hash<bit<32>>(HashAlgorithm_t.CUSTOM, castagnoli) crc32c;
    Hash<bit<8>>(HashAlgorithm_t.IDENTITY) identity;
    Random<bit<8>>() random;
    Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS_AND_BYTES) ops;
    Meter<bit<8>>(16, MeterType_t.PACKETS) meter;

    action hash_16() {
        hdr.command.crc16 = crc16.get({hdr.command.value, hdr.command.small});
    }

    action hash_32() {
        hdr.command.crc32 = crc32.get({hdr.command.value, hdr.command.port});
    }

    action hash_32c() {
        hdr.command.crc32c = crc32c.get({hdr.command.value});
    }

    action between(bit<8> number) {
        md.range = number;
    }

    table ranges {
        key = { hdr.command.small: range; }
        actions = { between; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 16;
    }

    action hop(bit<8> number) {
        md.next_hop = number;
    }

    table prefixes {
        key = { hdr.command.value: lpm; }
        actions = { hop; }
        const default_action = hop(0xff);
        size = 16;
    }

    apply {
        ops.count(hdr.command.op);
        if (md.wrong == 1 && hdr.command.checksum != 0) {
            for_deparser.drop_ctl = 1;
        }
        for_tm.ucast_egress_port = (PortId_t)hdr.command.port;
        hdr.bridge.setValid();
        hdr.bridge.tag = 0;
        if (intrinsic.resubmit_flag == 1) {
            hdr.command.passes = md.resubmitted.passes;
        } else {
            hdr.command.passes = hdr.command.passes + 1;
        }
        ranges.apply();
        prefixes.apply();
        if (hdr.command.op == HASH) {
            hash_16();
            hash_32();
            hash_32c();
        } else if (hdr.command.op == MIRROR) {
            for_deparser.mirror_type = MIRROR_TYPE;
            md.tag = MIRRORED;
            md.session = 5;
        } else if (hdr.command.op == RESUBMIT) {
            if (intrinsic.resubmit_flag == 0) {
                for_deparser.resubmit_type = RESUBMIT_TYPE;
            }
        } else if (hdr.command.op == DIGEST) {
            for_deparser.digest_type = DIGEST_TYPE;
        } else if (hdr.command.op == METER) {
            md.color = meter.execute(1);
            hdr.command.small = md.color;
        } else if (hdr.command.op == BYPASS) {
            for_tm.bypass_egress = 1;
            hdr.command.value[31:24] = md.range;
            hdr.command.value[23:16] = md.next_hop;
            hdr.bridge.setInvalid();
        } else if (hdr.command.op == MIRROR_EGRESS) {
            hdr.bridge.tag = 1;
        } else if (hdr.command.op == RANDOM) {
            hdr.command.value[7:0] = random.get();
            hdr.command.value[15:8] = identity.get({hdr.command.port});
        } else if (hdr.command.op == PORT) {
            hdr.command.small = md.port.tag;
            hdr.command.value[7:0] = md.ahead;
        }
    }
}

control IngressDeparser(
    packet_out packet, inout headers_t hdr, in metadata_t md, in ingress_intrinsic_metadata_for_deparser_t for_deparser
) {
    Checksum() checksum;
    Mirror(MIRROR_TYPE) mirror;
    Resubmit(RESUBMIT_TYPE) resubmit;
    Digest<digest_t>(DIGEST_TYPE) digest;

    apply {
        if (for_deparser.mirror_type == MIRROR_TYPE) {
            mirror.emit<mirror_t>(md.session, {md.tag, hdr.command.op});
        }
        if (for_deparser.resubmit_type == RESUBMIT_TYPE) {
            resubmit.emit<resubmit_t>({hdr.command.passes, 0});
        }
        if (for_deparser.digest_type == DIGEST_TYPE) {
            digest.pack({hdr.command.small, hdr.command.value});
        }
        hdr.command.checksum = checksum.update(
            {hdr.command.value, hdr.command.passes, hdr.command.crc16, hdr.command.crc32, hdr.command.crc32c, md.rest},
            true
        );
        packet.emit(hdr);
    }
}

parser EgressParser(
    packet_in packet, out headers_t hdr, out egress_metadata_t md, out egress_intrinsic_metadata_t intrinsic
) {
    state start {
        packet.extract(intrinsic);
        md.tag = packet.lookahead<bit<8>>();
        transition select(md.tag) {
            0x80 &&& 0x80: parse_mirrored;
            default: parse_bridge;
        }
    }

    state parse_mirrored {
        packet.extract(md.mirror);
        transition accept;
    }

    state parse_bridge {
        packet.extract(hdr.bridge);
        packet.extract(hdr.command);
        transition accept;
    }
}

control Egress(
    inout headers_t hdr,
    inout egress_metadata_t md,
    in egress_intrinsic_metadata_t intrinsic,
    in egress_intrinsic_metadata_from_parser_t from_parser,
    inout egress_intrinsic_metadata_for_deparser_t for_deparser,
    inout egress_intrinsic_metadata_for_output_port_t for_port
) {
    apply {
        if (hdr.bridge.isValid()) {
            if (hdr.bridge.tag == 1) {
                for_deparser.mirror_type = EGRESS_MIRROR_TYPE;
                md.tag = MIRRORED;
                md.session = 6;
            }
            if (intrinsic.deq_qdepth > 100) {
                hdr.command.small = 0xee;
            }
            hdr.bridge.setInvalid();
        }
    }
}

control EgressDeparser(
    packet_out packet,
    inout headers_t hdr,
    in egress_metadata_t md,
    in egress_intrinsic_metadata_for_deparser_t for_deparser
) {
    Mirror(EGRESS_MIRROR_TYPE) mirror;

    apply {
        if (for_deparser.mirror_type == EGRESS_MIRROR_TYPE) {
            mirror.emit<mirror_t>(md.session, {md.tag, hdr.command.op});
        }
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;
