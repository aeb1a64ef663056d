# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of the package lanesum_switch, except those of the reference switch that the simulator finds."""

from __future__ import annotations

from tests.planted.bug import bugs

_SWITCH = "softswitch/lanesum_switch"

TABLES = (
    *bugs(
        "tables",
        f"{_SWITCH}/runtime/tables.py",
        ("a second entry replaces the first", "if key in self._entries:", "if False:"),
        (
            "a full table takes one entry more",
            "if len(self._entries) >= self.size:",
            "if len(self._entries) > self.size:",
        ),
        (
            "bits beyond a prefix are matched",
            "value &= full ^ (full >> aux) if fits else 0",
            "value &= full if fits else 0",
        ),
        ("a range may end before it begins", "fits = fits and value <= aux", "pass"),
        ("a changed entry times out as before", "self._states[stored.handle][2] = self._clock()", "pass"),
        ("a deleted entry still matches", "del self.rows[self._key(stored.match)]", "pass"),
        ("the last constant entry wins", "_PRIORITY_BASE - item.priority", "item.priority"),
        ("constant entries are written", "if self.is_const:", "if False:"),
        (
            "a meter of a changed entry keeps its tokens",
            "TokenBuckets(rates, self._clock())",
            "state[3] or TokenBuckets(rates, self._clock())",
        ),
    ),
    *bugs(
        "tables",
        f"{_SWITCH}/runtime/lookup.py",
        ("of equal entries the later one wins", "known[values][0] < rank", "known[values][0] <= rank"),
        ("the first tuple wins, not the best", "self.tuples.sort(key=lambda item: -item[0])", "pass"),
        (
            "found rows outlive a change",
            "        self.clear()\n        self._changed = entries",
            "        self._changed = entries",
        ),
        ("ranges are not ordered by priority", "self.ranges.sort(key=lambda item: -item[0])", "pass"),
    ),
    *bugs(
        "tables",
        f"{_SWITCH}/runtime/action_profiles.py",
        (
            "weights do not count for the size of a group",
            "if 0 < max_size < weights:",
            "if 0 < max_size < len(members):",
        ),
        ("a member of a group is deleted", "if any(member == member_id for member, _ in members):", "if False:"),
        (
            "an argument is one bit too wide",
            "if not 0 <= value < 1 << param.bits:",
            "if not 0 <= value < 1 << param.bits + 1:",
        ),
        (
            "tables keep the earlier action of a member",
            "            self.members_by_id[member_id] = action\n            self._notify()",
            "            self.members_by_id[member_id] = action",
        ),
    ),
    *bugs(
        "tables",
        f"{_SWITCH}/runtime/externs.py",
        (
            "a meter saves tokens without limit",
            "min(rates.pburst, self.peak + elapsed * rates.pir)",
            "self.peak + elapsed * rates.pir",
        ),
        (
            "a red packet takes tokens",
            "        if self.peak < units:\n            return RED\n        self.peak -= units",
            "        self.peak -= units\n        if self.peak < 0:\n            return RED",
        ),
        (
            "a register keeps bits of its earlier value",
            "self.cells[index] & ~(mask << shift) | value << shift",
            "self.cells[index] | value << shift",
        ),
        (
            "the cell after the last counter is read",
            "return CounterValue(self.packets[index], self.octets[index])",
            "return CounterValue(self.packets[index], self.packets[index])",
        ),
    ),
    *bugs(
        "tables",
        f"{_SWITCH}/runtime/hashes.py",
        (
            "the last odd byte of a checksum is in the wrong half",
            'data + b"\\0" if len(data) & 1 else data, "big"',
            'data, "big"',
        ),
        (
            "a sum of 0xffff has another checksum",
            "return 0xFFFE - (number - 1) % 0xFFFF",
            "return 0xFFFF - number % 0xFFFF",
        ),
        (
            "CRC-16 has another polynomial",
            "CRC16 = Crc(16, 0x8005, reflected=True)",
            "CRC16 = Crc(16, 0x1021, reflected=True)",
        ),
    ),
)

COMPILER = (
    *bugs(
        "compiler",
        f"{_SWITCH}/compiler/expressions.py",
        (
            "a difference is never negative",
            'Value(f"{a} - {b}", a.low - b.high, a.high - b.low)',
            'Value(f"{a} - {b}", a.low, a.high)',
        ),
        (
            "signed numbers are cut as unsigned ones",
            '"({value} + {half} & {(1 << bits) - 1:#x}) - {half}"',
            '"({value} & {(1 << bits) - 1:#x})"',
        ),
        (
            "a valid header equals an invalid one",
            "parts = [self.layout.valid(left), self.layout.valid(right)]",
            "parts = [self.layout.valid(left)]",
        ),
        (
            "the range of an OR is that of its larger operand",
            "(1 << max(a.high.bit_length(), b.high.bit_length())) - 1)",
            "max(a.high, b.high))",
        ),
        (
            "a shift by a negative number is made",
            'f"{a} >> {b}" if b.low >= 0 else',
            'f"{a} >> {b}" if b.low >= -1 else',
        ),
        ("a division by 0 is made", "if b.low > 0:", "if b.low >= 0:"),
        ("saturation is one too high", 'half - 1})", -half, half - 1, True)', 'half})", -half, half, True)'),
        (
            "the last element of a stack is the one after it",
            '[(f"{last} == {i + 1}", element) for i',
            '[(f"{last} == {i}", element) for i',
        ),
    ),
    *bugs(
        "compiler",
        f"{_SWITCH}/dataplane.py",
        ("packets of a failed pass leave", "del out[before:]", "pass"),
        ("a refused program ends the running one", "self.__dict__.update(previous)", "pass"),
        ("there is a multicast group 0", "if not 0 < group_id < 1 << 16:", "if not 0 <= group_id < 1 << 16:"),
        ("a packet makes one pass too few", "if passes > self.max_passes:", "if passes >= self.max_passes:"),
        ("effects of a failed packet go to the next one", "            effects.clear()\n", ""),
        (
            "packets to the CPU also leave by a port",
            "return [item for item in out if item.port != cpu_port]",
            "return out",
        ),
        ("a deleted group still replicates", "                del self._groups[group_id]\n", ""),
    ),
)

P4RUNTIME = (
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/arbitration.py",
        ("anyone writes without a primary", 'return not request.HasField("election_id")', "return True"),
        ("the high half of an election id is ignored", "return high << 64 | low", "return low"),
        (
            "news of mastership may be dropped",
            "if len(self._queue) >= MAX_QUEUED and not must_arrive:",
            "if len(self._queue) >= MAX_QUEUED:",
        ),
        (
            "others are not told that a primary is gone",
            "            except StatusError:\n                if was_primary:",
            "            except StatusError:\n                if False:",
        ),
        ("two controllers have one election id", "if new_id in self._connections:", "if False:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/entities.py",
        (
            "a write that must be atomic is not",
            "if request.atomicity != p4rt.WriteRequest.CONTINUE_ON_ERROR:",
            "if False:",
        ),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/replication.py",
        ("a replica is there twice", "if port in ports:", "if False:"),
        ("a changed group counts twice", "for g in groups if g is not old)", "for g in groups)"),
        ("one group id too many", "if group_id >= MAX_GROUP_ID:", "if group_id > MAX_GROUP_ID:"),
        (
            "a failed change of a session changes nothing",
            "self._install(session_id, _Session(group, old.packet_length_bytes))",
            "pass",
        ),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/tables.py",
        (
            "a one-shot that was replaced stays",
            "rates, is_new=False))\n    _drop_oneshot(program, info, old)",
            "rates, is_new=False))",
        ),
        (
            "an action of entries becomes the default",
            "if scope == _Scope.TABLE_ONLY and entry.is_default_action:",
            "if False:",
        ),
        (
            "a one-shot of a refused entry stays",
            "        if group is not None:\n            program.profile(info.profile).delete_oneshot(group)\n"
            "        raise\n    return _state",
            "        raise\n    return _state",
        ),
        (
            "idle timeouts are accepted where there are none",
            "if entry.idle_timeout_ns > 0 and not info.idle_timeout:",
            "if False:",
        ),
        ("time_since_last_hit is accepted in a write", 'if entry.HasField("time_since_last_hit"):', "if False:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/matches.py",
        ("a field is given twice", "if found != len(entry.match):", "if False:"),
        ("a default entry has a priority", "if entry.priority != 0:", "if False:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/matches.py",
        ("a parameter of another action is ignored", "if param.param_id not in widths:", "if False:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/matches.py",
        ("a value is one bit too wide", "if value.bit_length() > bits:", "if value.bit_length() > bits + 1:"),
        ("zero has no byte", "max(1, (value.bit_length() + 7) // 8)", "(value.bit_length() + 7) // 8"),
        ("port 0 is a port", "if port == 0 or port >= 1 << 31:", "if port >= 1 << 31:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/cells.py",
        (
            "a counter of bytes takes packets",
            "packets=data.packet_count if info.counts_packets else current.packets,",
            "packets=data.packet_count,",
        ),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/other_programs/digests.py",
        ("unacknowledged digests are retransmitted", "if sample in self._cache:", "if False:"),
        ("a timer of a sent list stays", "            self._engine_timer.cancel()\n", ""),
        (
            "a list without an acknowledgement is kept for ever",
            "                self.ack(list_id)\n",
            "                pass\n",
        ),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/other_programs/scheduler.py",
        ("cancelled tasks stay in memory", "self._scheduler.queue.cancel(self._event)", "pass"),
        ("a periodic task that fails ends the thread", "except Exception:", "except ZeroDivisionError:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/pipeline.py",
        ("a program is pushed beside a saved one", "elif self._saved is not None:", "elif False:"),
        ("a committed program is saved still", "        self._saved = None\n", ""),
        ("cookies are lost", 'if config.HasField("cookie"):', "if False:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/other_programs/profiles.py",
        ("copies of members are not limited", "if new and copies + new > MAX_COPIES:", "if False:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/p4info.py",
        ("fields have any width", "if not 0 <= bits <= MAX_BITS:", "if bits < 0:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/status.py",
        (
            "a long status loses its next step",
            'b"".join((data[:kept], middle, data[len(data) - kept :]))',
            "data[:size]",
        ),
        ("details exceed the metadata of gRPC", "if free < 0:", "if False:"),
    ),
    *bugs(
        "p4runtime",
        f"{_SWITCH}/p4runtime/consistency.py",
        (
            "a table of other fields is adopted",
            "if key.kind not in _ACCEPTED_KINDS[field.kind]:",
            "if False:",
        ),
    ),
    *bugs(
        "bfruntime",
        f"{_SWITCH}/bfruntime/values.py",
        ("a value has another number of bytes", "if len(data) != field.size or value", "if value"),
        ("a field is there twice", "if one.field_id in found:", "if False:"),
    ),
    *bugs(
        "bfruntime",
        f"{_SWITCH}/bfruntime/match_tables.py",
        ("a program of other actions fits", "if actions != {action.name", "if False and actions != {action.name"),
        ("a field that is left out of a range matches 0", '(1 << field.bits) - 1 if field.kind == "range" else 0', "0"),
        ("the priority is not turned round", "max(0, _LOWEST_PRIORITY - stored.priority)", "stored.priority"),
    ),
)

TNA = (
    *bugs(
        "tna",
        f"{_SWITCH}/tna/externs.py",
        ("yellow packets are red", 'red = ir.Op("==", (raw, ir.Const(2)))', 'red = ir.Op("==", (raw, ir.Const(1)))'),
        (
            "a resubmitted packet has one byte too few",
            "if size.value > self.gress.chip.port_metadata_bytes:",
            "if size.value >= self.gress.chip.port_metadata_bytes:",
        ),
        ("bytes of a meter are packets", 'return "bytes" if label == "BYTES" else "packets"', 'return "packets"'),
    ),
    *bugs(
        "tna",
        f"{_SWITCH}/tna/registers.py",
        ("a stateful ALU compares without limit", "if len(alu.comparisons) > chip.predicates:", "if False:"),
        ("a stateful ALU updates once too often", "if number > chip.updates:", "if number > chip.updates + 1:"),
        ("a condition changes both branches", "        self.variables = before\n", ""),
        ("a stateful ALU has any operand", "if len(operands) > chip.operands:", "if False:"),
        ("a comparison and its negation count twice", 'if comparison.op in ("==", "!="):', 'if comparison.op == "==":'),
    ),
    *bugs(
        "tna",
        f"{_SWITCH}/tna/body.py",
        ("names of an action outlive it", "        self.scope = outer\n", ""),
        ("fields that are exchanged become equal", "if isinstance(value.expr, ir.Const | ir.Param):", "if True:"),
        ("an else never runs", "            jump += 1\n", ""),
        (
            "a whole header is assigned without its validity",
            '            self.emit("add_header", ir.HeaderRef(target.name))\n',
            "            pass\n",
        ),
    ),
)

PORTS = (
    *bugs(
        "ports",
        f"{_SWITCH}/ports/topology.py",
        (
            "a frame that is too long ends a trunk",
            "except OSError:\n            self.unsent",
            "except (BlockingIOError, ConnectionRefusedError):\n            self.unsent",
        ),
    ),
    *bugs(
        "ports",
        f"{_SWITCH}/ports/capture.py",
        ("a capture has no end", "self._room -= 1", "pass"),
        ("times of a capture are in seconds", "now // _NS_PER_S, now % _NS_PER_S", "now // _NS_PER_S, 0"),
    ),
    *bugs(
        "ports",
        f"{_SWITCH}/ports/capture.py",
        (
            "answers are not captured",
            "{datagram.source_port, datagram.destination_port}",
            "{datagram.destination_port}",
        ),
        ("joined packets lose the VLAN tag", "+ tag * is_tagged +", "+"),
        ("a truncated packet is split", " or size > len(rest):", ":"),
    ),
    *bugs(
        "ports",
        f"{_SWITCH}/ports/runner.py",
        ("a link that is down is told again", "                    known[port] = now\n", ""),
    ),
    *bugs(
        "faults",
        f"{_SWITCH}/faults/injector.py",
        (
            "epochs of a fault do not wrap",
            "(epoch - first) & 0xFFFFFFFF == match.epoch",
            "epoch - first == match.epoch",
        ),
        (
            "a packet without a checksum is damaged",
            "return frame[_CHECKSUM] != _NO_CHECKSUM",
            "return True",
        ),
        (
            "a dropped packet is delayed by later rules",
            "if transit is not None and self._matches(active.rule, packet):",
            "if transit is not None:",
        ),
        ("damage leaves a byte as it was", "changed[at] ^= 1 + rng.below(255)", "changed[at] ^= rng.below(256)"),
        (
            "delayed packets arrive out of order",
            "            self._in_order_from[direction] = start\n",
            "            pass\n",
        ),
    ),
    *bugs(
        "faults",
        f"{_SWITCH}/faults/plan.py",
        (
            "a link has one direction in a plan",
            "return one == other or canonical_link(one) == canonical_link(other)",
            "return one == other",
        ),
        (
            "a probability and a number are both given",
            "if self.nth is not None and self.probability is not None:",
            "if False:",
        ),
    ),
)

SWITCH_BUGS = TABLES + COMPILER + P4RUNTIME + TNA + PORTS
