// Printed by p4c after its front end; do not edit.

error {
    NoError,
    PacketTooShort,
    NoMatch,
    StackOutOfBounds,
    HeaderTooShort,
    ParserTimeout,
    ParserInvalidArgument,
    CounterRange,
    Timeout,
    PhvOwner,
    MultiWrite,
    IbufOverflow,
    IbufUnderflow
}
typedef bit<9> PortId_t;
typedef bit<16> MulticastGroupId_t;
typedef bit<5> QueueId_t;
typedef bit<3> MirrorType_t;
typedef bit<10> MirrorId_t;
typedef bit<3> ResubmitType_t;
typedef bit<3> DigestType_t;
typedef bit<16> L1ExclusionId_t;
typedef bit<9> L2ExclusionId_t;
enum MeterType_t {
    PACKETS,
    BYTES
}
enum bit<8> MeterColor_t {
    GREEN = 8w0,
    YELLOW = 8w1,
    RED = 8w3
}
enum CounterType_t {
    PACKETS,
    BYTES,
    PACKETS_AND_BYTES
}
enum SelectorMode_t {
    FAIR,
    RESILIENT
}
enum HashAlgorithm_t {
    IDENTITY,
    RANDOM,
    XOR8,
    XOR16,
    XOR32,
    CRC8,
    CRC16,
    CRC32,
    CRC64,
    CUSTOM
}
@__intrinsic_metadata header ingress_intrinsic_metadata_t {
    bit<1>   resubmit_flag;
    @padding
    bit<1>   _pad1;
    bit<2>   packet_version;
    @padding
    bit<3>   _pad2;
    PortId_t ingress_port;
    bit<48>  ingress_mac_tstamp;
}
@__intrinsic_metadata struct ingress_intrinsic_metadata_for_tm_t {
    PortId_t           ucast_egress_port;
    bit<1>             bypass_egress;
    bit<1>             deflect_on_drop;
    bit<3>             ingress_cos;
    QueueId_t          qid;
    bit<3>             icos_for_copy_to_cpu;
    bit<1>             copy_to_cpu;
    bit<2>             packet_color;
    bit<1>             disable_ucast_cutthru;
    bit<1>             enable_mcast_cutthru;
    MulticastGroupId_t mcast_grp_a;
    MulticastGroupId_t mcast_grp_b;
    bit<13>            level1_mcast_hash;
    bit<13>            level2_mcast_hash;
    L1ExclusionId_t    level1_exclusion_id;
    L2ExclusionId_t    level2_exclusion_id;
    bit<16>            rid;
}
@__intrinsic_metadata struct ingress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;
    bit<32> global_ver;
    bit<16> parser_err;
}
@__intrinsic_metadata struct ingress_intrinsic_metadata_for_deparser_t {
    bit<3>         drop_ctl;
    DigestType_t   digest_type;
    ResubmitType_t resubmit_type;
    MirrorType_t   mirror_type;
}
@__intrinsic_metadata header egress_intrinsic_metadata_t {
    @padding
    bit<7>    _pad0;
    PortId_t  egress_port;
    @padding
    bit<5>    _pad1;
    bit<19>   enq_qdepth;
    @padding
    bit<6>    _pad2;
    bit<2>    enq_congest_stat;
    @padding
    bit<14>   _pad3;
    bit<18>   enq_tstamp;
    @padding
    bit<5>    _pad4;
    bit<19>   deq_qdepth;
    @padding
    bit<6>    _pad5;
    bit<2>    deq_congest_stat;
    bit<8>    app_pool_congest_stat;
    @padding
    bit<14>   _pad6;
    bit<18>   deq_timedelta;
    bit<16>   egress_rid;
    @padding
    bit<7>    _pad7;
    bit<1>    egress_rid_first;
    @padding
    bit<3>    _pad8;
    QueueId_t egress_qid;
    @padding
    bit<5>    _pad9;
    bit<3>    egress_cos;
    @padding
    bit<7>    _pad10;
    bit<1>    deflection_flag;
    bit<16>   pkt_length;
}
@__intrinsic_metadata struct egress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;
    bit<32> global_ver;
    bit<16> parser_err;
}
@__intrinsic_metadata struct egress_intrinsic_metadata_for_deparser_t {
    bit<3>       drop_ctl;
    MirrorType_t mirror_type;
    bit<1>       coalesce_flush;
    bit<7>       coalesce_length;
}
@__intrinsic_metadata struct egress_intrinsic_metadata_for_output_port_t {
    bit<1> capture_tstamp_on_tx;
    bit<1> update_delay_on_tx;
}
header pktgen_timer_header_t {
    @padding
    bit<3>  _pad1;
    bit<2>  pipe_id;
    bit<3>  app_id;
    @padding
    bit<8>  _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}
header pktgen_port_down_header_t {
    @padding
    bit<3>   _pad1;
    bit<2>   pipe_id;
    bit<3>   app_id;
    @padding
    bit<15>  _pad2;
    PortId_t port_num;
    bit<16>  packet_id;
}
header pktgen_recirc_header_t {
    @padding
    bit<3>  _pad1;
    bit<2>  pipe_id;
    bit<3>  app_id;
    bit<24> key;
    bit<16> packet_id;
}
header ptp_metadata_t {
    bit<8>  udp_cksum_byte_offset;
    bit<8>  cf_byte_offset;
    bit<48> updated_cf;
}
enum MathOp_t {
    MUL,
    SQR,
    SQRT,
    DIV,
    RSQR,
    RSQRT
}
@pkginfo(arch="TNA", version="2.0.1") package Switch<IH0, IM0, EH0, EM0, IH1, IM1, EH1, EM1, IH2, IM2, EH2, EM2, IH3, IM3, EH3, EM3>(Pipeline<IH0, IM0, EH0, EM0> pipe0, @optional Pipeline<IH1, IM1, EH1, EM1> pipe1, @optional Pipeline<IH2, IM2, EH2, EM2> pipe2, @optional Pipeline<IH3, IM3, EH3, EM3> pipe3);
header command_t {
    bit<8>  op;
    bit<8>  small;
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
    bridge_t  bridge;
    command_t command;
    option_t  option;
}
struct port_t {
    bit<8>  tag;
    bit<56> unused;
}
struct metadata_t {
    resubmit_t resubmitted;
    port_t     port;
    bit<8>     ahead;
    bit<16>    rest;
    bit<10>    session;
    bit<8>     color;
    bit<8>     tag;
    bit<8>     range;
    bit<8>     next_hop;
    bit<1>     wrong;
}
struct digest_t {
    bit<8>  small;
    bit<32> value;
}
struct egress_metadata_t {
    mirror_t mirror;
    bit<10>  session;
    bit<8>   tag;
    bit<8>   op;
}
parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t intrinsic) {
    @name("IngressParser.whole") Checksum() whole_0;
    @name("IngressParser.changing") Checksum() changing_0;
    state start {
        packet.extract<ingress_intrinsic_metadata_t>(intrinsic);
        transition select(intrinsic.resubmit_flag) {
            1w1: parse_resubmitted;
            default: parse_port;
        }
    }
    state parse_resubmitted {
        packet.extract<resubmit_t>(md.resubmitted);
        transition parse_command;
    }
    state parse_port {
        md.port = port_metadata_unpack<port_t>(packet);
        transition parse_command;
    }
    state parse_command {
        packet.extract<command_t>(hdr.command);
        whole_0.add<command_t>(hdr.command);
        md.wrong = (bit<1>)whole_0.verify();
        changing_0.subtract<tuple<bit<16>, bit<16>, bit<32>, bit<32>>>({ hdr.command.checksum, hdr.command.crc16, hdr.command.crc32, hdr.command.crc32c });
        changing_0.subtract<tuple<bit<32>, bit<16>>>({ hdr.command.value, hdr.command.passes });
        md.rest = changing_0.get();
        transition select(hdr.command.op, packet.lookahead<bit<8>>()) {
            (8w1 .. 8w9, 8w0x40 &&& 8w0xc0): parse_option;
            default: accept;
        }
    }
    state parse_option {
        md.ahead = (packet.lookahead<option_t>()).value;
        packet.extract<option_t>(hdr.option);
        transition accept;
    }
}
control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t intrinsic, in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t for_deparser, inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @name(".NoAction") action NoAction_1() {
    }
    @name("Ingress.crc16") Hash<bit<16>>(HashAlgorithm_t.CRC16) crc16_0;
    @name("Ingress.crc32") Hash<bit<32>>(HashAlgorithm_t.CRC32) crc32_0;
    @name("Ingress.castagnoli") CRCPolynomial<bit<32>>(32w0x1edc6f41, true, false, false, 32w0xffffffff, 32w0xffffffff) castagnoli_0;
    @name("Ingress.crc32c") Hash<bit<32>>(HashAlgorithm_t.CUSTOM, castagnoli_0) crc32c_0;
    @name("Ingress.identity") Hash<bit<8>>(HashAlgorithm_t.IDENTITY) identity_0;
    @name("Ingress.random") Random<bit<8>>() random_0;
    @name("Ingress.ops") Counter<bit<64>, bit<8>>(32w256, CounterType_t.PACKETS_AND_BYTES) ops_0;
    @name("Ingress.meter") Meter<bit<8>>(32w16, MeterType_t.PACKETS) meter_0;
    @name("Ingress.hash_16") action hash_2() {
        hdr.command.crc16 = crc16_0.get<tuple<bit<32>, bit<8>>>({ hdr.command.value, hdr.command.small });
    }
    @name("Ingress.hash_32") action hash_3() {
        hdr.command.crc32 = crc32_0.get<tuple<bit<32>, bit<16>>>({ hdr.command.value, hdr.command.port });
    }
    @name("Ingress.hash_32c") action hash_32c() {
        hdr.command.crc32c = crc32c_0.get<tuple<bit<32>>>({ hdr.command.value });
    }
    @name("Ingress.between") action between(@name("number") bit<8> number) {
        md.range = number;
    }
    @name("Ingress.ranges") table ranges_0 {
        key = {
            hdr.command.small: range @name("hdr.command.small");
        }
        actions = {
            between();
            @defaultonly NoAction_1();
        }
        const default_action = NoAction_1();
        size = 16;
    }
    @name("Ingress.hop") action hop(@name("number") bit<8> number_2) {
        md.next_hop = number_2;
    }
    @name("Ingress.prefixes") table prefixes_0 {
        key = {
            hdr.command.value: lpm @name("hdr.command.value");
        }
        actions = {
            hop();
        }
        const default_action = hop(8w0xff);
        size = 16;
    }
    apply {
        ops_0.count(hdr.command.op);
        if (md.wrong == 1w1 && hdr.command.checksum != 16w0) {
            for_deparser.drop_ctl = 3w1;
        }
        for_tm.ucast_egress_port = (PortId_t)hdr.command.port;
        hdr.bridge.setValid();
        hdr.bridge.tag = 8w0;
        if (intrinsic.resubmit_flag == 1w1) {
            hdr.command.passes = md.resubmitted.passes;
        } else {
            hdr.command.passes = hdr.command.passes + 16w1;
        }
        ranges_0.apply();
        prefixes_0.apply();
        if (hdr.command.op == 8w1) {
            hash_2();
            hash_3();
            hash_32c();
        } else if (hdr.command.op == 8w2) {
            for_deparser.mirror_type = 3w1;
            md.tag = 8w0x80;
            md.session = 10w5;
        } else if (hdr.command.op == 8w3) {
            if (intrinsic.resubmit_flag == 1w0) {
                for_deparser.resubmit_type = 3w1;
            }
        } else if (hdr.command.op == 8w4) {
            for_deparser.digest_type = 3w1;
        } else if (hdr.command.op == 8w5) {
            md.color = meter_0.execute(8w1);
            hdr.command.small = md.color;
        } else if (hdr.command.op == 8w6) {
            for_tm.bypass_egress = 1w1;
            hdr.command.value[31:24] = md.range;
            hdr.command.value[23:16] = md.next_hop;
            hdr.bridge.setInvalid();
        } else if (hdr.command.op == 8w7) {
            hdr.bridge.tag = 8w1;
        } else if (hdr.command.op == 8w8) {
            hdr.command.value[7:0] = random_0.get();
            hdr.command.value[15:8] = identity_0.get<tuple<bit<16>>>({ hdr.command.port });
        } else if (hdr.command.op == 8w9) {
            hdr.command.small = md.port.tag;
            hdr.command.value[7:0] = md.ahead;
        }
    }
}
control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t md, in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    @name("IngressDeparser.checksum") Checksum() checksum_0;
    @name("IngressDeparser.mirror") Mirror(3w1) mirror_0;
    @name("IngressDeparser.resubmit") Resubmit(3w1) resubmit_0;
    @name("IngressDeparser.digest") Digest<digest_t>(3w1) digest_0;
    apply {
        if (for_deparser.mirror_type == 3w1) {
            mirror_0.emit<mirror_t>(md.session, (mirror_t){tag = md.tag,op = hdr.command.op});
        }
        if (for_deparser.resubmit_type == 3w1) {
            resubmit_0.emit<resubmit_t>((resubmit_t){passes = hdr.command.passes,unused = 48w0});
        }
        if (for_deparser.digest_type == 3w1) {
            digest_0.pack((digest_t){small = hdr.command.small,value = hdr.command.value});
        }
        hdr.command.checksum = checksum_0.update<tuple<bit<32>, bit<16>, bit<16>, bit<32>, bit<32>, bit<16>>>({ hdr.command.value, hdr.command.passes, hdr.command.crc16, hdr.command.crc32, hdr.command.crc32c, md.rest }, true);
        packet.emit<headers_t>(hdr);
    }
}
parser EgressParser(packet_in packet, out headers_t hdr, out egress_metadata_t md, out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract<egress_intrinsic_metadata_t>(intrinsic);
        md.tag = packet.lookahead<bit<8>>();
        transition select(md.tag) {
            8w0x80 &&& 8w0x80: parse_mirrored;
            default: parse_bridge;
        }
    }
    state parse_mirrored {
        packet.extract<mirror_t>(md.mirror);
        transition accept;
    }
    state parse_bridge {
        packet.extract<bridge_t>(hdr.bridge);
        packet.extract<command_t>(hdr.command);
        transition accept;
    }
}
control Egress(inout headers_t hdr, inout egress_metadata_t md, in egress_intrinsic_metadata_t intrinsic, in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t for_deparser, inout egress_intrinsic_metadata_for_output_port_t for_port) {
    apply {
        if (hdr.bridge.isValid()) {
            if (hdr.bridge.tag == 8w1) {
                for_deparser.mirror_type = 3w2;
                md.tag = 8w0x80;
                md.session = 10w6;
            }
            if (intrinsic.deq_qdepth > 19w100) {
                hdr.command.small = 8w0xee;
            }
            hdr.bridge.setInvalid();
        }
    }
}
control EgressDeparser(packet_out packet, inout headers_t hdr, in egress_metadata_t md, in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    @name("EgressDeparser.mirror") Mirror(3w2) mirror_1;
    apply {
        if (for_deparser.mirror_type == 3w2) {
            mirror_1.emit<mirror_t>(md.session, (mirror_t){tag = md.tag,op = hdr.command.op});
        }
        packet.emit<headers_t>(hdr);
    }
}
Pipeline<headers_t, metadata_t, headers_t, egress_metadata_t>(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch<headers_t, metadata_t, headers_t, egress_metadata_t, _, _, _, _, _, _, _, _, _, _, _, _>(pipe) main;