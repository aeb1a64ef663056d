# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random v1model programs, as BMv2 JSON and P4Info: no compiler is needed.

A program reads fields of valid headers alone, and each packet has the first header: P4 leaves the others undefined.
Prefixes and lookahead are those on which BMv2 follows the specification, see the list in ``docs/switch.md``.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from lanesum_fabric.protobufs import p4info_pb2
from tests.p4c_samples.compiled import CompiledProgram

_Json = dict[str, Any]
_FIRST = "first"
_STACK, _ELEMENTS = "stack", 3
_SCALARS = (("a", 8), ("b", 16), ("c", 32), ("d", 13))
_BINARY = ("+", "-", "*", "&", "|", "^", "<<", ">>")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_MATCHES = ("exact", "lpm", "ternary", "range", "optional")
_CALCULATIONS = ("csum16", "crc16", "crc32", "xor16", "identity")
_PORTS = 4
_CLONED = 2  # session

# Parts that p4c writes for each v1model program: standard metadata, errors, aliases.
_LIKE = Path(__file__).parents[1] / "softswitch" / "p4runtime" / "programs" / "everything.json"


def random_program(seed: int) -> CompiledProgram:
    """Return the program of a seed."""
    return _Maker(seed).program()


class _Maker:
    """Parts of one program, in the order in which they are made."""

    def __init__(self, seed: int) -> None:
        self._rng = rng = random.Random(seed)
        self._name = f"random-{seed}"
        self._headers: dict[str, list[tuple[str, int]]] = {_FIRST: [("kind", 8), *self._fields(13 * 8)]}
        for number in range(rng.randint(1, 3)):
            self._headers[f"h{number}"] = self._fields(8 * rng.randint(1, 12))
        self._element = [("more", 8), *self._fields(8 * rng.randint(1, 3))] if rng.random() < 0.6 else []
        self._actions: list[_Json] = []
        self._tables: dict[str, list[_Json]] = {"ingress": [], "egress": []}
        self._conditionals: dict[str, list[_Json]] = {"ingress": [], "egress": []}
        self._calculations: list[_Json] = []
        self._nodes = 0
        self._has_register = rng.random() < 0.3
        self._info = p4info_pb2.P4Info()
        self._info.pkg_info.arch = "v1model"
        self._info_of_cells()

    def _fields(self, bits: int) -> list[tuple[str, int]]:
        """Return fields of ``bits`` in all."""
        widths, left = [], bits
        while left:
            widths.append(min(left, self._rng.choice((1, 3, 4, 5, 7, 8, 8, 9, 12, 16, 16, 24, 32, 48))))
            left -= widths[-1]
        return [(f"f{number}", width) for number, width in enumerate(widths)]

    def program(self) -> CompiledProgram:
        like = json.loads(_LIKE.read_text())
        pipelines = [self._pipeline(number, name) for number, name in enumerate(("ingress", "egress"))]
        checksums = self._checksums()
        standard = next(one for one in like["header_types"] if one["name"] == "standard_metadata")
        elements = [f"{_STACK}[{number}]" for number in range(_ELEMENTS)] if self._element else []
        types = {"scalars_0": _SCALARS, **{f"{name}_t": fields for name, fields in self._headers.items()}}
        kinds = {"scalars": "scalars_0", "standard_metadata": "standard_metadata"}
        kinds |= {name: f"{name}_t" for name in self._headers}
        if elements:
            types[f"{_STACK}_t"] = self._element
            kinds |= dict.fromkeys(elements, f"{_STACK}_t")
        header_types = [{"name": name, "fields": _padded(fields)} for name, fields in types.items()] + [standard]
        metadata = ("scalars", "standard_metadata")
        document = {
            **{key: [] for key, value in like.items() if isinstance(value, list)},
            **{key: like[key] for key in ("__meta__", "errors", "field_aliases")},
            "program": f"{self._name}.p4",
            "header_types": [{**one, "id": number} for number, one in enumerate(header_types)],
            "headers": [
                {"name": name, "id": number, "header_type": kind, "metadata": name in metadata, "pi_omit": True}
                for number, (name, kind) in enumerate(kinds.items())
            ],
            "header_stacks": [_stack([list(kinds).index(name) for name in elements])] if elements else [],
            "field_lists": [{"id": 1, "name": "kept", "elements": [_field("scalars", "b"), _field("scalars", "c")]}],
            "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": self._states()}],
            "deparsers": [{"name": "deparser", "id": 0, "order": self._order(elements), "primitives": []}],
            "counter_arrays": self._counters(),
            "register_arrays": [{"name": "cells", "id": 0, "size": 4, "bitwidth": 16}] if self._has_register else [],
            "calculations": self._calculations,
            "checksums": checksums,
            "actions": self._actions,
            "pipelines": pipelines,
        }
        return CompiledProgram(self._name, json.dumps(document).encode(), text_format.MessageToString(self._info))

    def _order(self, elements: list[str]) -> list[str]:
        rest = [name for name in self._headers if name != _FIRST]
        self._rng.shuffle(rest)
        return [_FIRST, *rest, *elements]

    # -- parser

    def _states(self) -> list[_Json]:
        rng, names = self._rng, [name for name in self._headers if name != _FIRST]
        states = [self._state("start", _FIRST, names)]
        for number, name in enumerate(names):
            states.append(self._state(name, name, names[number + 1 :]))
        if self._element:
            again = [_transition(f"0x{rng.randrange(1, 4):02x}", None, _STACK), _transition("0x80", "0x80", _STACK)]
            key = [{"type": "stack_field", "value": [_STACK, "more"]}]
            extract = {"op": "extract", "parameters": [{"type": "stack", "value": _STACK}]}
            states.append({"name": _STACK, "parser_ops": [extract], "transitions": again, "transition_key": key})
            states[-1]["transitions"].append(_transition(None, None, None))
        return [{**state, "id": number} for number, state in enumerate(states)]

    def _state(self, name: str, header: str, following: list[str]) -> _Json:
        rng = self._rng
        ops: list[_Json] = [{"op": "extract", "parameters": [{"type": "regular", "value": header}]}]
        if rng.random() < 0.2:
            target, bits = rng.choice(_SCALARS)
            ahead = {"type": "lookahead", "value": [0, bits]}
            ops.append({"op": "set", "parameters": [_field("scalars", target), ahead]})
        if rng.random() < 0.2:
            condition = self._comparison([header])
            ops.append({"op": "verify", "parameters": [condition, _constant(rng.randrange(1, 7))]})
        targets = [*following, *([_STACK] if self._element else [])]
        keys = rng.sample(self._headers[header], min(len(self._headers[header]), rng.randint(1, 2)))
        key: list[_Json] = [_field(header, name) for name, _ in keys]
        if rng.random() < 0.15:
            keys, key = [("", 8)], [{"type": "lookahead", "value": [0, 8]}]
        transitions = []
        for target in targets:
            values = [rng.choice((0, 1, rng.getrandbits(bits))) & ((1 << bits) - 1) for _, bits in keys]
            masks = [rng.choice((0, (1 << bits) - 1, rng.getrandbits(bits), 1)) for _, bits in keys]
            is_masked = rng.random() < 0.6
            if is_masked:
                values = [value & mask for value, mask in zip(values, masks, strict=True)]
            mask = _packed(masks, keys) if is_masked else None
            transitions.append(_transition(_packed(values, keys), mask, target))
        last = rng.choice([None, None, *targets])
        transitions.append(_transition(None, None, last))
        return {
            "name": name,
            "parser_ops": ops,
            "transitions": transitions,
            "transition_key": key if len(transitions) > 1 else [],
        }

    # -- expressions over fields of headers that are valid, of metadata, and of parameters

    def _place(self, valid: list[str]) -> tuple[_Json, int]:
        if self._rng.random() < 0.35:
            name, bits = self._rng.choice(_SCALARS)
            return _field("scalars", name), bits
        header = self._rng.choice(valid)
        fields = self._element if header.startswith(_STACK) else self._headers[header]
        name, bits = self._rng.choice(fields)
        return _field(header, name), bits

    def _operand(self, valid: list[str], parameters: list[int]) -> _Json:
        rng = self._rng
        if parameters and rng.random() < 0.35:
            return {"type": "local", "value": rng.randrange(len(parameters))}
        if rng.random() < 0.3:
            return _constant(rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0xFFFFFFFF, rng.getrandbits(16))))
        return self._place(valid)[0]

    def _value(self, valid: list[str], parameters: list[int], bits: int, depth: int = 0) -> _Json:
        """Return an expression, cut to ``bits`` as p4c does."""
        rng = self._rng
        choice = rng.random()
        if depth > 2 or choice < 0.2:
            found = self._operand(valid, parameters)
        elif choice < 0.3:
            chosen = [self._value(valid, parameters, bits, depth + 1) for _ in range(2)]
            found = _expression("?", *chosen, cond=self._comparison(valid, parameters))
        elif choice < 0.36:
            found = _expression("b2d", None, self._comparison(valid, parameters))
        elif choice < 0.44:
            found = _expression("~", None, self._value(valid, parameters, bits, depth + 1))
        else:
            op = rng.choice(_BINARY)
            left = self._value(valid, parameters, bits, depth + 1)
            small = op in ("<<", ">>")
            right = _constant(rng.randrange(20)) if small else self._value(valid, parameters, bits, depth + 1)
            found = _expression(op, left, right)
        return _expression("&", found, _constant((1 << bits) - 1))

    def _comparison(self, valid: list[str], parameters: list[int] | None = None) -> _Json:
        known = parameters or []
        left, right = (self._operand(valid, known) for _ in range(2))
        found = _expression(self._rng.choice(_COMPARISONS), left, right)
        if self._rng.random() < 0.2:
            also = _expression(self._rng.choice(_COMPARISONS), self._operand(valid, known), _constant(1))
            found = _expression(self._rng.choice(("and", "or")), found, also)
        return _expression("not", None, found) if self._rng.random() < 0.15 else found

    # -- actions

    def _primitive(self, valid: list[str], parameters: list[int], place: str) -> list[_Json]:
        """Return one statement; sometimes it needs several primitives."""
        rng, choice = self._rng, self._rng.random()
        if choice < 0.5:
            target, bits = self._place(valid)
            return [_call("assign", target, _wrapped(self._value(valid, parameters, bits)))]
        index = _wrapped(_expression("&", self._operand(valid, parameters), _constant(3)))
        if choice < 0.58:
            return [_call("count", {"type": "counter_array", "value": "counts"}, index)]
        cells = {"type": "register_array", "value": "cells"}
        if choice < 0.64 and self._has_register:
            return [_call("register_write", cells, index, _wrapped(self._value(valid, parameters, 16)))]
        if choice < 0.70 and self._has_register:
            return [_call("register_read", _field("scalars", "b"), cells, index)]
        if choice < 0.76:
            return [self._hash(valid)]
        optional = [name for name in self._headers if name != _FIRST]
        if choice < 0.82:
            header = rng.choice(optional)
            zeros = [_call("assign", _field(header, name), _constant(0)) for name, _ in self._headers[header]]
            return [_call("add_header", _header(header)), *zeros]
        if choice < 0.86:
            return [_call("remove_header", _header(rng.choice(optional)))]
        if choice < 0.92 and self._element:
            op = rng.choice(("push", "pop"))
            return [_call(op, {"type": "header_stack", "value": _STACK}, _constant(rng.randint(1, 2)))]
        if choice < 0.94:
            return [_call("truncate", _constant(rng.randrange(14, 60)))]
        if choice < 0.96 and place == "ingress":
            return [_call("clone_ingress_pkt_to_egress", _constant(_CLONED), _constant(1))]
        if place == "egress":
            rid = _expression("&", _field("standard_metadata", "egress_rid"), _constant((1 << 13) - 1))
            return [_call("assign", _field("scalars", "d"), _wrapped(rid))]
        if choice < 0.98:
            group = _expression("&", self._operand(valid, parameters), _constant(3))
            return [_call("assign", _field("standard_metadata", "mcast_grp"), _wrapped(group))]
        return [_call("mark_to_drop", _header("standard_metadata"))]

    def _hash(self, valid: list[str]) -> _Json:
        name = f"calc_{len(self._calculations)}"
        inputs = [self._place(valid)[0] for _ in range(self._rng.randint(1, 4))]
        bits = sum(self._bits(one) for one in inputs)
        if bits % 8:
            inputs.append({"type": "hexstr", "value": "0x00", "bitwidth": 8 - bits % 8})
        algorithm = self._rng.choice(_CALCULATIONS)
        self._calculations.append({"name": name, "id": len(self._calculations), "algo": algorithm, "input": inputs})
        base, limit = _constant(self._rng.randrange(4)), _constant(self._rng.choice((1, 7, 256, 0xFFF0)))
        calculation = {"type": "calculation", "value": name}
        return _call("modify_field_with_hash_based_offset", _field("scalars", "b"), base, calculation, limit)

    def _bits(self, field: _Json) -> int:
        header, name = field["value"]
        found = {"scalars": _SCALARS}.get(header) or (
            self._element if header.startswith(_STACK) else self._headers[header]
        )
        return dict(found)[name]

    def _action(self, name: str, valid: list[str], parameters: list[int], place: str) -> _Json:
        # A header that the action removes is read no more.
        primitives = []
        for _ in range(self._rng.randint(1, 3)):
            primitives += self._primitive(valid, parameters, place)
            valid = [header for header in valid if header == _FIRST] or [_FIRST]
        data = [{"name": f"p{number}", "bitwidth": bits} for number, bits in enumerate(parameters)]
        found = {"name": name, "id": len(self._actions), "runtime_data": data, "primitives": primitives}
        self._actions.append(found)
        return found

    # -- tables and pipelines

    def _pipeline(self, number: int, name: str) -> _Json:
        """Return a sequence of tables, some of them behind a condition."""
        following, first = None, None
        rows: list[tuple[list[str], _Json | None]] = []
        for _ in range(self._rng.randint(2, 5) if name == "ingress" else self._rng.randint(0, 2)):
            header = self._rng.choice([*self._headers, *([f"{_STACK}[0]"] if self._element else [])])
            valid = [_FIRST] if header == _FIRST else [_FIRST, header]
            guard = None if header == _FIRST else _expression("d2b", None, _field(header, "$valid$"))
            rows.append((valid, guard))
        for valid, guard in reversed(rows):
            following = self._table(name, valid, following, guard)
        first = self._send(following) if name == "ingress" else self._mark(following)
        return {
            "name": name,
            "id": number,
            "init_table": first,
            "tables": self._tables[name],
            "action_profiles": [],
            "conditionals": self._conditionals[name],
        }

    def _send(self, following: str | None) -> str:
        """Add the table that sends each packet to a port which follows from its first field."""
        port = _expression("&", _field(_FIRST, "kind"), _constant(_PORTS - 1))
        action = {"name": "send", "id": len(self._actions), "runtime_data": []}
        action["primitives"] = [_call("assign", _field("standard_metadata", "egress_spec"), _wrapped(port))]
        if self._rng.random() < 0.4:
            group = _expression("&", _expression(">>", _field(_FIRST, "kind"), _constant(2)), _constant(3))
            action["primitives"].append(_call("assign", _field("standard_metadata", "mcast_grp"), _wrapped(group)))
        if self._rng.random() < 0.3:
            cloned = _call("clone_ingress_pkt_to_egress", _constant(_CLONED), _constant(1))
            action["primitives"] += [_call("assign", _field("scalars", "b"), _field(_FIRST, "kind")), cloned]
        self._actions.append(action)
        self._hidden("ingress", "tbl_send", action, following)
        return "tbl_send"

    def _mark(self, following: str | None) -> str | None:
        """Add the table that writes the instance and kept metadata into a copy, if the program has it."""
        if self._rng.random() < 0.5:
            return following
        name, bits = self._rng.choice(self._headers[_FIRST])
        kept = _expression("+", _field("scalars", "b"), _field("standard_metadata", "egress_rid"))
        value = _expression("&", _expression("+", _field(_FIRST, name), kept), _constant((1 << bits) - 1))
        action = {"name": "mark", "id": len(self._actions), "runtime_data": []}
        action["primitives"] = [_call("assign", _field(_FIRST, name), _wrapped(value))]
        self._actions.append(action)
        self._hidden("egress", "tbl_mark", action, following)
        if self._rng.random() < 0.5:
            return "tbl_mark"
        clone = {"name": "clone", "id": len(self._actions), "runtime_data": []}
        clone["primitives"] = [_call("clone_egress_pkt_to_egress", _constant(_CLONED), _constant(1))]
        self._actions.append(clone)
        self._hidden("egress", "tbl_clone", clone, "tbl_mark")
        # Clones are not cloned again.
        is_first = _expression("==", _field("standard_metadata", "instance_type"), _constant(0))
        return self._guarded("egress", is_first, "tbl_clone", "tbl_mark")

    def _hidden(self, place: str, name: str, action: _Json, following: str | None) -> None:
        default = {"action_id": action["id"], "action_const": True, "action_data": [], "action_entry_const": True}
        self._add(place, name, [], "exact", [action], following, default, with_counters=False)

    def _table(self, place: str, valid: list[str], following: str | None, guard: _Json | None) -> str:
        rng, number = self._rng, sum(map(len, self._tables.values()))
        name = f"{place}.t{number}"
        places = [self._place(valid) for _ in range(rng.randint(1, 3))]
        kinds = [rng.choice(_MATCHES) for _ in places]
        kinds = ["exact" if kind == "lpm" and bits % 8 else kind for kind, (_, bits) in zip(kinds, places, strict=True)]
        kinds = [kind if kind != "lpm" or kinds.index("lpm") == at else "exact" for at, kind in enumerate(kinds)]
        if "optional" in kinds and "range" in kinds:
            kinds = [kind if kind != "optional" else "ternary" for kind in kinds]
        actions = []
        for index in range(rng.randint(1, 3)):
            parameters = [rng.choice((8, 9, 16, 32)) for _ in range(rng.randint(0, 2))]
            actions.append(self._action(f"{place}.t{number}_a{index}", valid, parameters, place))
        nothing = {"name": "NoAction", "id": len(self._actions), "runtime_data": [], "primitives": []}
        self._actions.append(nothing)
        actions.append(nothing)
        keys = [
            # As in the JSON of p4c, optional keys are ternary ones.
            {
                "match_type": kind.replace("optional", "ternary"),
                "name": f"k{at}",
                "target": chosen["value"],
                "mask": None,
            }
            for at, ((chosen, _), kind) in enumerate(zip(places, kinds, strict=True))
        ]
        first = actions[0] if not actions[0]["runtime_data"] and rng.random() < 0.6 else nothing
        default = {"action_id": first["id"], "action_const": False, "action_data": [], "action_entry_const": False}
        with_counters = rng.random() < 0.5
        self._add(place, name, keys, _kind_of(kinds), actions, following, default, with_counters=with_counters)
        self._describe(name, [bits for _, bits in places], kinds, actions, with_counters=with_counters)
        return name if guard is None else self._guarded(place, guard, name, following)

    def _guarded(self, place: str, guard: _Json, name: str, following: str | None) -> str:
        node = f"node_{self._nodes}"
        self._nodes += 1
        self._conditionals[place].append(
            {"name": node, "id": self._nodes, "expression": guard, "true_next": name, "false_next": following}
        )
        return node

    def _add(
        self,
        place: str,
        name: str,
        keys: list[_Json],
        kind: str,
        actions: list[_Json],
        following: str | None,
        default: _Json,
        *,
        with_counters: bool,
    ) -> None:
        self._tables[place].append(
            {
                "name": name,
                "id": sum(map(len, self._tables.values())),
                "key": keys,
                "match_type": kind,
                "type": "simple",
                "max_size": 16,
                "with_counters": with_counters,
                "support_timeout": False,
                "direct_meters": None,
                "action_ids": [action["id"] for action in actions],
                "actions": [action["name"] for action in actions],
                "base_default_next": following,
                "next_tables": {action["name"]: following for action in actions},
                "default_entry": default,
            }
        )

    def _counters(self) -> list[_Json]:
        found: list[_Json] = [{"name": "counts", "id": 0, "is_direct": False, "size": 4}]
        for counter, table in zip(self._info.direct_counters, self._counted(), strict=True):
            found.append({"name": counter.preamble.name, "id": len(found), "is_direct": True, "binding": table})
        return found

    def _counted(self) -> list[str]:
        names = {table.preamble.id: table.preamble.name for table in self._info.tables}
        return [names[counter.direct_table_id] for counter in self._info.direct_counters]

    def _checksums(self) -> list[_Json]:
        """Return the update of a field of 16 bits, if there is one."""
        places = [(header, name) for header, fields in self._headers.items() for name, bits in fields if bits == 16]
        if not places or self._rng.random() < 0.5:
            return []
        header, name = self._rng.choice(places)
        inputs = [_field(header, other) for other, _ in self._headers[header] if other != name]
        number = len(self._calculations)
        self._calculations.append({"name": "sum", "id": number, "algo": "csum16", "input": inputs})
        valid = _expression("d2b", None, _field(header, "$valid$"))
        sides = {"verify": False, "update": True, "if_cond": valid}
        return [{"name": "cksum", "id": 0, "target": [header, name], "type": "generic", "calculation": "sum", **sides}]

    # -- P4Info

    def _info_of_cells(self) -> None:
        counter = self._info.counters.add(size=4)
        counter.preamble.id, counter.preamble.name, counter.preamble.alias = 0x12000001, "counts", "counts"
        counter.spec.unit = counter.spec.BOTH

    def _describe(
        self, name: str, widths: list[int], kinds: list[str], actions: list[_Json], *, with_counters: bool
    ) -> None:
        number = len(self._info.tables) + 1
        table = self._info.tables.add(size=16)
        table.preamble.id, table.preamble.name, table.preamble.alias = 0x02000000 + number, name, name
        for at, (bits, kind) in enumerate(zip(widths, kinds, strict=True)):
            field = table.match_fields.add(id=at + 1, name=f"k{at}", bitwidth=bits)
            field.match_type = getattr(field, kind.upper())
        for action in actions:
            table.action_refs.add(id=self._action_info(action))
        if with_counters:
            counter = self._info.direct_counters.add(direct_table_id=table.preamble.id)
            counter.preamble.id, counter.preamble.name = 0x13000000 + number, f"{name}_counter"
            counter.preamble.alias = counter.preamble.name
            counter.spec.unit = counter.spec.BOTH
            table.direct_resource_ids.append(counter.preamble.id)

    def _action_info(self, action: _Json) -> int:
        for known in self._info.actions:
            if known.preamble.name == action["name"]:
                return int(known.preamble.id)
        info = self._info.actions.add()
        info.preamble.id = 0x01000001 + len(self._info.actions)
        info.preamble.name = info.preamble.alias = action["name"]
        for number, data in enumerate(action["runtime_data"]):
            info.params.add(id=number + 1, name=data["name"], bitwidth=data["bitwidth"])
        return int(info.preamble.id)


def _kind_of(kinds: list[str]) -> str:
    """Return the kind of a table, which is that of its most general key."""
    if "range" in kinds:
        return "range"
    if {"ternary", "optional"} & set(kinds):
        return "ternary"
    return "lpm" if "lpm" in kinds else "exact"


def _padded(fields: Any) -> list[list[Any]]:
    found = [[name, bits, False] for name, bits in fields]
    missing = -sum(bits for _, bits in fields) % 8
    return [*found, ["_padding", missing, False]] if missing else found


def _stack(numbers: list[int]) -> _Json:
    return {"name": _STACK, "id": 0, "header_type": f"{_STACK}_t", "size": _ELEMENTS, "header_ids": numbers}


def _transition(value: str | None, mask: str | None, target: str | None) -> _Json:
    return {"type": "hexstr" if value else "default", "value": value, "mask": mask, "next_state": target}


def _packed(values: list[int], keys: list[tuple[str, int]]) -> str:
    """Return the values of a key, each in whole bytes."""
    pairs = zip(values, keys, strict=True)
    return "0x" + "".join(f"{value:0{2 * ((bits + 7) // 8)}x}" for value, (_, bits) in pairs)


def _field(header: str, name: str) -> _Json:
    return {"type": "field", "value": [header, name]}


def _header(name: str) -> _Json:
    return {"type": "header", "value": name}


def _constant(value: int) -> _Json:
    return {"type": "hexstr", "value": f"{value:#x}"}


def _expression(op: str, left: _Json | None, right: _Json, cond: _Json | None = None) -> _Json:
    value = {"op": op, "left": left, "right": right}
    return {"type": "expression", "value": value if cond is None else {**value, "cond": cond}}


def _wrapped(value: _Json) -> _Json:
    return {"type": "expression", "value": value}


def _call(op: str, *parameters: _Json) -> _Json:
    return {"op": op, "parameters": list(parameters)}
