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
header request_t {
    bit<8>  first;
    bit<8>  second;
    bit<16> value;
}
struct headers_t {
    request_t request;
}
struct metadata_t {
}
parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract<ingress_intrinsic_metadata_t>(intrinsic);
        packet.advance(32w64);
        packet.extract<request_t>(hdr.request);
        transition accept;
    }
}
control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t intrinsic, in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t for_deparser, inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @name("Ingress.cells") Register<bit<16>, bit<8>>(32w256) cells_0;
    @name("Ingress.add") RegisterAction<bit<16>, bit<8>, bit<16>>(cells_0) add_0 = {
        void apply(inout bit<16> value, out bit<16> after) {
            value = value + hdr.request.value;
            after = value;
        }
    };
    @name("Ingress.look") RegisterAction<bit<16>, bit<8>, bit<16>>(cells_0) look_0 = {
        void apply(inout bit<16> value, out bit<16> after) {
            after = value;
        }
    };
    apply {
        for_tm.ucast_egress_port = intrinsic.ingress_port;
        if (hdr.request.first != 8w0) {
            hdr.request.value = add_0.execute(hdr.request.first);
        }
        if (hdr.request.second != 8w0) {
            hdr.request.value = look_0.execute(hdr.request.second);
        }
    }
}
control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t md, in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit<headers_t>(hdr);
    }
}
parser EgressParser(packet_in packet, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract<egress_intrinsic_metadata_t>(intrinsic);
        transition accept;
    }
}
control Egress(inout headers_t hdr, inout metadata_t md, in egress_intrinsic_metadata_t intrinsic, in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t for_deparser, inout egress_intrinsic_metadata_for_output_port_t for_port) {
    apply {
    }
}
control EgressDeparser(packet_out packet, inout headers_t hdr, in metadata_t md, in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit<headers_t>(hdr);
    }
}
Pipeline<headers_t, metadata_t, headers_t, metadata_t>(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch<headers_t, metadata_t, headers_t, metadata_t, _, _, _, _, _, _, _, _, _, _, _, _>(pipe) main;