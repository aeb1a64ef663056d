# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loader of the JSON that p4c's BMv2 back end writes for v1model programs.

Format: docs/JSON_format.md of p4lang/behavioral-model, version 2. A construct that the switch does not run raises an
``UnsupportedProgramError``, which names it and, where the JSON has ``source_info``, the line of the P4 source.
"""

from __future__ import annotations

import json

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.expression_loader import Json, number_of, place_of, unsupported
from lanesum_switch.bmv2.parser_loader import ParserLoader


def load_program(text: bytes) -> ir.Program:
    """Parse and validate a program.

    Raises InvalidArgumentError for text that is not BMv2 JSON, and UnsupportedProgramError for a construct that the
    switch does not run.
    """
    try:
        root = json.loads(text)
    except ValueError as error:
        raise InvalidArgumentError(
            f"The pipeline is not JSON: {error}.", "Push the .json file that p4c-bm2-ss wrote."
        ) from error
    if not isinstance(root, dict) or "pipelines" not in root or "header_types" not in root:
        raise InvalidArgumentError(
            "The JSON is not a BMv2 program (no pipelines, no header_types).",
            "Push the .json file that p4c-bm2-ss wrote.",
        )
    version = root.get("__meta__", {}).get("version", [2, 0])
    if version[0] != 2:
        raise UnsupportedProgramError(
            f"The BMv2 JSON has version {version[0]}.{version[1]}; this switch reads version 2."
        )
    try:
        return _Loader(root).load()
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"The BMv2 JSON is malformed: {type(error).__name__}: {error}.",
            "Compile the program again with p4c-bm2-ss.",
        ) from error


class _Loader(ParserLoader):
    def __init__(self, root: Json) -> None:
        super().__init__(ir.Program(root.get("program") or "program"))
        self.root = root

    def load(self) -> ir.Program:
        root, program = self.root, self.program
        if root.get("extern_instances"):
            names = ", ".join(str(e.get("name")) for e in root["extern_instances"])
            raise unsupported(f"extern instances ({names})")
        self._headers()
        for alias, (header, member) in root.get("field_aliases", []):
            program.aliases[alias] = ir.FieldRef(header, member)
        program.errors = {name: value for name, value in root.get("errors", [])}
        for item in root.get("parse_vsets", []):
            program.value_sets[item["name"]] = item["compressed_bitwidth"]
        self._stateful()
        self._actions()
        self._parser(root.get("parsers", []))
        for deparser in root.get("deparsers", [])[:1]:
            program.deparser = tuple(deparser["order"])
            program.deparser_calls = tuple(self._primitive(p) for p in deparser.get("primitives", []))
        for pipeline in root["pipelines"]:
            loaded = self._pipeline(pipeline)
            if pipeline["name"] == "ingress":
                program.ingress = loaded
            elif pipeline["name"] == "egress":
                program.egress = loaded
            else:
                raise unsupported(f"pipeline {pipeline['name']!r} (v1model has ingress and egress)")
        self._checksums()
        for key, lists in (("field_lists", program.field_lists), ("learn_lists", program.learn_lists)):
            for item in root.get(key, []):
                lists[item["id"]] = self._field_list(item)
        return program

    # Headers

    def _headers(self) -> None:
        root, program = self.root, self.program
        types: dict[str, ir.HeaderType] = {}
        for item in root["header_types"]:
            if item.get("length_exp"):
                raise unsupported(f"length expression of header type {item['name']!r} (P4_14)")
            fields = []
            for entry in item["fields"]:
                variable = entry[1] == "*"
                if len(entry) > 3 and entry[3]:
                    raise unsupported(f"saturating field {item['name']}.{entry[0]}")
                signed = len(entry) > 2 and bool(entry[2])
                fields.append(ir.FieldType(entry[0], 0 if variable else int(entry[1]), signed, variable))
            types[item["name"]] = ir.HeaderType(item["name"], tuple(fields), int(item.get("max_length") or 0))
        by_id: dict[int, str] = {}
        for item in root["headers"]:
            header_type = types[item["header_type"]]
            metadata = bool(item["metadata"])
            if not metadata and header_type.fixed_bits % 8:
                raise unsupported(
                    f"header {item['name']!r} of {header_type.fixed_bits} bits, not whole bytes", place_of(item)
                )
            program.instances[item["name"]] = ir.Instance(item["name"], header_type, metadata)
            by_id[item["id"]] = item["name"]
        for item in root.get("header_stacks", []):
            names = tuple(by_id[number] for number in item["header_ids"])
            program.stacks[item["name"]] = ir.StackType(item["name"], names)
        for item in root.get("header_union_types", []):
            self.union_types[item["name"]] = tuple(member for member, _ in item["headers"])
        union_by_id: dict[int, str] = {}
        for item in root.get("header_unions", []):
            names = tuple(by_id[number] for number in item["header_ids"])
            members = self.union_types[item["union_type"]]
            program.unions[item["name"]] = ir.UnionInstance(item["name"], members, names)
            union_by_id[item["id"]] = item["name"]
        for item in root.get("header_union_stacks", []):
            elements = tuple(union_by_id[number] for number in item["header_union_ids"])
            program.union_stacks[item["name"]] = ir.UnionStackType(item["name"], elements)
            self.union_stack_types[item["name"]] = item["union_type"]

    # Stateful objects, calculations, actions

    def _stateful(self) -> None:
        root, program = self.root, self.program
        for item in root.get("register_arrays", []):
            program.registers[item["name"]] = ir.RegisterArray(
                item["name"], int(item["size"]), int(item["bitwidth"]), bool(item.get("signed", False))
            )
        for item in root.get("counter_arrays", []):
            binding = item.get("binding") if item.get("is_direct") else None
            program.counters[item["name"]] = ir.CounterArray(item["name"], int(item.get("size") or 0), binding)
        for item in root.get("meter_arrays", []):
            direct = bool(item.get("is_direct"))
            result = self._field(item["result_target"]) if direct and item.get("result_target") else None
            program.meters[item["name"]] = ir.MeterArray(
                item["name"],
                int(item.get("size") or 0),
                item["type"],
                item.get("binding") if direct else None,
                result,
            )
        for item in root.get("calculations", []):
            inputs = []
            for part in item["input"]:
                kind = part["type"]
                if kind not in ("field", "header", "hexstr", "payload"):
                    raise unsupported(f"input of type {kind!r} of calculation {item['name']!r}", place_of(item))
                value = None if kind == "payload" else self._expr(part)
                inputs.append(ir.CalcInput(kind, value, int(part.get("bitwidth") or 0)))
            program.calculations[item["name"]] = ir.Calculation(item["name"], item["algo"], tuple(inputs))

    def _actions(self) -> None:
        for item in self.root.get("actions", []):
            params = tuple((p["name"], int(p["bitwidth"])) for p in item["runtime_data"])
            body = tuple(self._primitive(p) for p in item["primitives"])
            self.program.actions[item["id"]] = ir.Action(item["name"], item["id"], params, body)

    def _checksums(self) -> None:
        checksums = []
        for item in self.root.get("checksums", []):
            calculation = None if item["type"] == "ipv4" else item["calculation"]
            condition = item.get("if_cond")
            checksums.append(
                ir.Checksum(
                    item["name"],
                    self._field(item["target"]),
                    calculation,
                    bool(item.get("update", True)),
                    bool(item.get("verify", True)),
                    None if condition is None else self._expr(condition),
                )
            )
        self.program.checksums = tuple(checksums)

    def _field_list(self, item: Json) -> ir.FieldList:
        fields: list[ir.FieldRef | ir.Const] = []
        for part in item["elements"]:
            expr = self._expr(part)
            if not isinstance(expr, ir.FieldRef | ir.Const):
                raise unsupported(
                    f"element of field list {item['name']!r} that is neither a field nor a constant", place_of(item)
                )
            fields.append(expr)
        return ir.FieldList(item["name"], tuple(fields))

    # Control

    def _pipeline(self, item: Json) -> ir.Pipeline:
        program = self.program
        for profile in item.get("action_profiles", []):
            selector = None
            if profile.get("selector"):
                inputs = tuple(self._expr(part) for part in profile["selector"]["input"])
                selector = ir.Selector(profile["selector"]["algo"], inputs)
            size = int(profile.get("max_size") or 0)
            program.profiles[profile["name"]] = ir.Profile(profile["name"], size, selector)
        nodes: dict[str, ir.ControlNode] = {}
        for table in item["tables"]:
            nodes[table["name"]] = self._table(table)
        for condition in item["conditionals"]:
            nodes[condition["name"]] = ir.ConditionNode(
                condition["name"],
                self._expr(condition["expression"]),
                condition.get("true_next"),
                condition.get("false_next"),
            )
        for call in item.get("action_calls", []):
            action = program.actions[call["action_id"]]
            nodes[call["name"]] = ir.ActionNode(call["name"], action, call.get("next_node"))
        initial = item.get("init_table")
        if initial is not None and initial not in nodes:
            raise InvalidArgumentError(f"Pipeline {item['name']!r} starts at the unknown node {initial!r}.")
        return ir.Pipeline(initial, nodes)

    def _table(self, item: Json) -> ir.TableNode:
        place = place_of(item)
        keys = []
        for part in item["key"]:
            kind = part["match_type"]
            target = part["target"]
            if kind == "valid":
                source = ir.FieldRef(target if isinstance(target, str) else target[0], ir.VALID)
                kind = "exact"
            else:
                source = self._field(target)
            if kind not in ("exact", "lpm", "ternary", "range", "optional"):
                raise unsupported(f"match kind {kind!r} in table {item['name']!r}", place)
            bits = self.program.field_type(source).bits
            mask = None if part.get("mask") is None else number_of(part["mask"])
            name = part.get("name") or f"{source.header}.{source.name}"
            keys.append(ir.KeyField(name, kind, source, bits, mask))
        if "action_ids" in item:
            actions = tuple(self.program.actions[number] for number in item["action_ids"])
        else:  # before JSON format 2.0
            by_name = {action.name: action for action in self.program.actions.values()}
            actions = tuple(by_name[name] for name in item["actions"])
        following: dict[str, str | None] = item["next_tables"]
        hit_miss = "__HIT__" in following or "__MISS__" in following
        default = item.get("default_entry")
        default_action = None
        default_args: tuple[int, ...] = ()
        default_const = False
        if default is not None:
            default_action = self.program.actions[default["action_id"]]
            default_args = tuple(number_of(text) for text in default.get("action_data", []))
            default_const = bool(default.get("action_entry_const") or default.get("action_const"))
        entries = tuple(self._const_entry(e, keys) for e in item.get("entries", []))
        return ir.TableNode(
            name=item["name"],
            keys=tuple(keys),
            actions=actions,
            next_by_action=dict(following),
            next_hit=following.get("__HIT__"),
            next_miss=following.get("__MISS__"),
            hit_miss=hit_miss,
            base_default_next=item.get("base_default_next"),
            size=int(item.get("max_size") or 0),
            profile=item.get("action_profile") if item["type"] != "simple" else None,
            with_counters=bool(item.get("with_counters")),
            supports_timeout=bool(item.get("support_timeout")),
            direct_meter=item.get("direct_meters"),
            default_action=default_action,
            default_args=default_args,
            default_const=default_const,
            const_entries=entries,
            entries_const="entries" in item,
            place=place,
        )

    def _const_entry(self, item: Json, keys: list[ir.KeyField]) -> ir.ConstEntry:
        match: list[tuple[int, int]] = []
        for part, key in zip(item["match_key"], keys, strict=True):
            kind = part["match_type"]
            full = (1 << key.bits) - 1
            if kind == "range":
                match.append((number_of(part["start"]), number_of(part["end"])))
                continue
            value = part["key"]
            number = int(value) if isinstance(value, bool) else number_of(value)
            if kind == "lpm":
                match.append((number, int(part["prefix_length"])))
            elif kind in ("ternary", "optional"):
                match.append((number, number_of(part["mask"])))
            elif key.kind == "lpm":
                match.append((number, key.bits))
            elif key.kind in ("ternary", "optional"):
                match.append((number, full))
            else:
                match.append((number, 0))
        entry = item["action_entry"]
        action = self.program.actions[entry["action_id"]]
        args = tuple(number_of(text) for text in entry["action_data"])
        return ir.ConstEntry(tuple(match), action.name, args, int(item.get("priority") or 0))
