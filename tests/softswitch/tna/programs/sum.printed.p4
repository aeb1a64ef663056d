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
header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> kind;
}
header sum_t {
    bit<8>  op;
    bit<8>  member;
    bit<16> slot;
}
header words_t {
    bit<32> w0;
    bit<32> w1;
}
header bridge_t {
    bit<7> unused;
    bit<1> result;
}
struct headers_t {
    bridge_t   bridge;
    ethernet_t ethernet;
    sum_t      sum;
    words_t    words;
}
struct metadata_t {
    bit<32> bit_;
    bit<32> seen;
    bit<32> known;
    bit<8>  fan_in;
    bit<8>  count;
    bit<16> group;
}
struct no_metadata_t {
}
parser IngressParser(packet_in packet, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract<ingress_intrinsic_metadata_t>(intrinsic);
        packet.advance(32w64);
        md = (metadata_t){bit_ = 32w0,seen = 32w0,known = 32w0,fan_in = 8w0,count = 8w0,group = 16w0};
        packet.extract<ethernet_t>(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            16w0x88b5: parse_sum;
            default: accept;
        }
    }
    state parse_sum {
        packet.extract<sum_t>(hdr.sum);
        packet.extract<words_t>(hdr.words);
        transition accept;
    }
}
control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t intrinsic, in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t for_deparser, inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @name(".NoAction") action NoAction_2() {
    }
    @name(".NoAction") action NoAction_3() {
    }
    @name("Ingress.slots.bitmap") Register<bit<32>, bit<8>>(32w256) slots_bitmap;
    @name("Ingress.slots.set_bit") RegisterAction<bit<32>, bit<8>, bit<32>>(slots_bitmap) slots_set_bit = {
        void apply(inout bit<32> value, out bit<32> before) {
            before = value;
            value = value | md.bit_;
        }
    };
    @name("Ingress.slots.count") Register<bit<8>, bit<8>>(32w256, 8w1) slots_count;
    @name("Ingress.slots.count_up") RegisterAction<bit<8>, bit<8>, bit<8>>(slots_count) slots_count_up = {
        void apply(inout bit<8> value, out bit<8> before) {
            before = value;
            if (value == md.fan_in) {
                value = 8w1;
            } else {
                value = value + 8w1;
            }
        }
    };
    @name("Ingress.slots.find_known") action slots_find_known_0() {
        md.known = md.seen & md.bit_;
    }
    @name("Ingress.lane0.cells") Register<bit<32>, bit<8>>(32w256) lane0_cells;
    @name("Ingress.lane0.add") RegisterAction<bit<32>, bit<8>, bit<32>>(lane0_cells) lane0_add = {
        void apply(inout bit<32> value, out bit<32> after) {
            value = value + hdr.words.w0;
            after = value;
        }
    };
    @name("Ingress.lane0.write") RegisterAction<bit<32>, bit<8>, bit<32>>(lane0_cells) lane0_write = {
        void apply(inout bit<32> value, out bit<32> after) {
            value = hdr.words.w0;
            after = value;
        }
    };
    @name("Ingress.lane0.max_of") RegisterAction<bit<32>, bit<8>, bit<32>>(lane0_cells) lane0_max_of = {
        void apply(inout bit<32> value, out bit<32> after) {
            value = max<bit<32>>(value, hdr.words.w0);
            after = value;
        }
    };
    @name("Ingress.lane0.sum") action lane0_sum_0() {
        hdr.words.w0 = lane0_add.execute((bit<8>)hdr.sum.slot);
    }
    @name("Ingress.lane0.first") action lane0_first_0() {
        hdr.words.w0 = lane0_write.execute((bit<8>)hdr.sum.slot);
    }
    @name("Ingress.lane0.largest") action lane0_largest_0() {
        hdr.words.w0 = lane0_max_of.execute((bit<8>)hdr.sum.slot);
    }
    @name("Ingress.lane0.lane") table lane0_lane {
        key = {
            hdr.sum.op: ternary @name("op");
            md.count  : ternary @name("count");
        }
        actions = {
            lane0_sum_0();
            lane0_first_0();
            lane0_largest_0();
            @defaultonly NoAction_2();
        }
        const entries = {
                        (8w0, 8w1) : lane0_first_0();
                        (8w0, default) : lane0_sum_0();
                        (8w1, default) : lane0_largest_0();
        }
        const default_action = NoAction_2();
        size = 8;
    }
    @name("Ingress.lane1.cells") Register<bit<32>, bit<8>>(32w256) lane1_cells;
    @name("Ingress.lane1.add") RegisterAction<bit<32>, bit<8>, bit<32>>(lane1_cells) lane1_add = {
        void apply(inout bit<32> value, out bit<32> after) {
            value = value + hdr.words.w1;
            after = value;
        }
    };
    @name("Ingress.lane1.write") RegisterAction<bit<32>, bit<8>, bit<32>>(lane1_cells) lane1_write = {
        void apply(inout bit<32> value, out bit<32> after) {
            value = hdr.words.w1;
            after = value;
        }
    };
    @name("Ingress.lane1.max_of") RegisterAction<bit<32>, bit<8>, bit<32>>(lane1_cells) lane1_max_of = {
        void apply(inout bit<32> value, out bit<32> after) {
            value = max<bit<32>>(value, hdr.words.w1);
            after = value;
        }
    };
    @name("Ingress.lane1.sum") action lane1_sum_0() {
        hdr.words.w1 = lane1_add.execute((bit<8>)hdr.sum.slot);
    }
    @name("Ingress.lane1.first") action lane1_first_0() {
        hdr.words.w1 = lane1_write.execute((bit<8>)hdr.sum.slot);
    }
    @name("Ingress.lane1.largest") action lane1_largest_0() {
        hdr.words.w1 = lane1_max_of.execute((bit<8>)hdr.sum.slot);
    }
    @name("Ingress.lane1.lane") table lane1_lane {
        key = {
            hdr.sum.op: ternary @name("op");
            md.count  : ternary @name("count");
        }
        actions = {
            lane1_sum_0();
            lane1_first_0();
            lane1_largest_0();
            @defaultonly NoAction_3();
        }
        const entries = {
                        (8w0, 8w1) : lane1_first_0();
                        (8w0, default) : lane1_sum_0();
                        (8w1, default) : lane1_largest_0();
        }
        const default_action = NoAction_3();
        size = 8;
    }
    @name("Ingress.admitted") DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) admitted_0;
    @name("Ingress.drop") action drop() {
        for_deparser.drop_ctl = 3w1;
    }
    @name("Ingress.drop") action drop_1() {
        for_deparser.drop_ctl = 3w1;
    }
    @name("Ingress.drop") action drop_2() {
        for_deparser.drop_ctl = 3w1;
    }
    @name("Ingress.drop") action drop_3() {
        for_deparser.drop_ctl = 3w1;
    }
    @name("Ingress.admit") action admit(@name("bit_") bit<32> bit_1, @name("fan_in") bit<8> fan_in_1, @name("group") bit<16> group_1) {
        md.bit_ = bit_1;
        md.fan_in = fan_in_1;
        md.group = group_1;
        admitted_0.count();
    }
    @name("Ingress.member") table member_0 {
        key = {
            intrinsic.ingress_port: exact @name("port");
            hdr.sum.member        : exact @name("member");
        }
        actions = {
            admit();
            @defaultonly drop();
        }
        const default_action = drop();
        counters = admitted_0;
        size = 64;
    }
    @name("Ingress.to") action to(@name("port") PortId_t port) {
        for_tm.ucast_egress_port = port;
    }
    @name("Ingress.forward") table forward_0 {
        key = {
            hdr.ethernet.destination: exact @name("hdr.ethernet.destination");
        }
        actions = {
            to();
            @defaultonly drop_1();
        }
        const default_action = drop_1();
        size = 16;
    }
    apply {
        if (hdr.sum.isValid()) {
            if (member_0.apply().hit) {
                md.seen = slots_set_bit.execute((bit<8>)hdr.sum.slot);
                slots_find_known_0();
                if (md.known == 32w0) {
                    md.count = slots_count_up.execute((bit<8>)hdr.sum.slot);
                }
                if (md.known == 32w0) {
                    lane0_lane.apply();
                    lane1_lane.apply();
                    hdr.bridge.setValid();
                    hdr.bridge.unused = 7w0;
                    hdr.bridge.result = 1w1;
                    if (md.count == md.fan_in) {
                        for_tm.mcast_grp_a = md.group;
                    } else {
                        drop_2();
                    }
                } else {
                    drop_3();
                }
            }
        } else {
            hdr.bridge.setValid();
            hdr.bridge.unused = 7w0;
            hdr.bridge.result = 1w0;
            forward_0.apply();
        }
    }
}
control IngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t md, in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit<headers_t>(hdr);
    }
}
parser EgressParser(packet_in packet, out headers_t hdr, out no_metadata_t md, out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract<egress_intrinsic_metadata_t>(intrinsic);
        packet.extract<bridge_t>(hdr.bridge);
        transition select(hdr.bridge.result) {
            1w1: parse_ethernet;
            default: accept;
        }
    }
    state parse_ethernet {
        packet.extract<ethernet_t>(hdr.ethernet);
        transition accept;
    }
}
control Egress(inout headers_t hdr, inout no_metadata_t md, in egress_intrinsic_metadata_t intrinsic, in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t for_deparser, inout egress_intrinsic_metadata_for_output_port_t for_port) {
    @name(".NoAction") action NoAction_4() {
    }
    @name("Egress.address") action address(@name("destination") bit<48> destination_1) {
        hdr.ethernet.destination = destination_1;
    }
    @name("Egress.receiver") table receiver_0 {
        key = {
            intrinsic.egress_port: exact @name("port");
            intrinsic.egress_rid : exact @name("replica");
        }
        actions = {
            address();
            @defaultonly NoAction_4();
        }
        const default_action = NoAction_4();
        size = 64;
    }
    apply {
        if (hdr.ethernet.isValid()) {
            receiver_0.apply();
        }
        hdr.bridge.setInvalid();
    }
}
control EgressDeparser(packet_out packet, inout headers_t hdr, in no_metadata_t md, in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit<headers_t>(hdr);
    }
}
Pipeline<headers_t, metadata_t, headers_t, no_metadata_t>(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch<headers_t, metadata_t, headers_t, no_metadata_t, _, _, _, _, _, _, _, _, _, _, _, _>(pipe) main;