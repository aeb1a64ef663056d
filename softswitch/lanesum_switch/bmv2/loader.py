# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loader of the JSON that p4c's BMv2 back end writes for v1model programs.

Format: docs/JSON_format.md of p4lang/behavioral-model, version 2. A construct that the switch does not run raises an
``UnsupportedProgramError``, which names it and, where the JSON has ``source_info``, the line of the P4 source.
"""

from __future__ import annotations

import functools
import itertools
import json
from typing import Any

from lanesum_switch.api import InvalidArgumentError, ParamSpec, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.expression_loader import place_of, unsupported
from lanesum_switch.bmv2.fields import (
    MAX_BITS,
    MAX_CELLS,
    MAX_STACK,
    MAX_VALUES,
    MAX_VARBIT_BYTES,
    FieldError,
    Json,
    array,
    boolean,
    check_text,
    integer,
    optional_text,
    record,
    records,
    reference,
    text,
)
from lanesum_switch.bmv2.parser_loader import ParserLoader
from lanesum_switch.bmv2.pipeline_loader import PipelineLoader

# Errors of core.p4 in the order of BMv2, which numbers them so.
_CORE_ERRORS = (
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
)
_NEXT_STEP = "Push the .json file that p4c-bm2-ss wrote."


@functools.lru_cache(maxsize=2)
def load_program(text: bytes) -> ir.Program:
    """Parse and validate a program: every field has the type, range and references of the format.

    The last two programs are kept for their next push; nothing changes them.

    Raises InvalidArgumentError for text that is not BMv2 JSON or exceeds a limit, and UnsupportedProgramError for a
    construct that the switch does not run.
    """
    root = parse_json(text)
    try:
        _check_version(root)
        return _Loader(root).load()
    except FieldError as error:
        raise InvalidArgumentError(
            f"The BMv2 JSON is malformed at {error.message(root)}.", "Compile the program again with p4c-bm2-ss."
        ) from error
    except RecursionError as error:
        raise InvalidArgumentError("The BMv2 JSON has an expression that is nested too deeply.") from error


def parse_json(text: bytes) -> Json:
    """Return the JSON of a program, without a check of its fields. Raises InvalidArgumentError for any other data."""
    check_text(text)
    num_values = text.count(b"{") + text.count(b"[") + text.count(b",")
    if num_values > MAX_VALUES:
        raise InvalidArgumentError(f"The BMv2 JSON has {num_values} values: a program has at most {MAX_VALUES}.")
    try:
        root = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"The pipeline is not BMv2 JSON: {error}.", _NEXT_STEP) from error
    if not isinstance(root, dict) or "pipelines" not in root or "header_types" not in root:
        raise InvalidArgumentError("The pipeline is not BMv2 JSON: it has no pipelines or no header_types.", _NEXT_STEP)
    return root


def _check_version(root: Json) -> None:
    version = record(root, "__meta__").get("version", [2, 0]) if "__meta__" in root else [2, 0]
    if type(version) is not list or len(version) != 2:
        raise FieldError(root["__meta__"], "version", "two numbers")
    major, minor = integer(version, 0), integer(version, 1)
    if major != 2:
        raise UnsupportedProgramError(
            f"The BMv2 JSON has version {major}.{minor}; this switch reads version 2.",
            "Compile the program with a p4c-bm2-ss that writes version 2.",
        )


class _Loader(ParserLoader, PipelineLoader):
    def __init__(self, root: Json) -> None:
        super().__init__(ir.Program(optional_text(root, "program") or "program"))
        self.root = root

    def load(self) -> ir.Program:
        root, program = self.root, self.program
        if root.get("extern_instances"):
            names = ", ".join(text(e, "name") for e in records(root, "extern_instances"))
            raise unsupported(f"extern instances ({names[:200]})")
        self._headers()
        aliases = array(root, "field_aliases", optional=True)
        for position in range(len(aliases)):
            alias = array(aliases, position, 2)
            program.aliases[text(alias, 0)] = self._field(alias, 1)
        errors = array(root, "errors", optional=True)
        for position in range(len(errors)):
            error = array(errors, position, 2)
            program.errors[text(error, 0)] = integer(error, 1)
        # As in BMv2, errors of core.p4 that the program leaves out follow its largest number.
        missing = [name for name in _CORE_ERRORS if name not in program.errors]
        program.errors |= zip(missing, itertools.count(max(program.errors.values(), default=-1) + 1))
        for item in records(root, "parse_vsets", optional=True):
            program.value_sets[text(item, "name")] = integer(item, "compressed_bitwidth", 0, MAX_BITS)
        self._stateful()
        self._actions()
        self._parser(records(root, "parsers", optional=True))
        for deparser in records(root, "deparsers", optional=True)[:1]:
            order = array(deparser, "order")
            program.deparser = tuple(self._packet_header(order, i) for i in range(len(order)))
            program.deparser_calls = tuple(map(self._primitive, records(deparser, "primitives", optional=True)))
        for pipeline in records(root, "pipelines"):
            loaded = self._pipeline(pipeline)
            if pipeline["name"] == "ingress":
                program.ingress = loaded
            elif pipeline["name"] == "egress":
                program.egress = loaded
            else:
                raise unsupported(f"pipeline {pipeline['name']!r} (v1model has ingress and egress)")
        self._checksums()
        for key, lists in (("field_lists", program.field_lists), ("learn_lists", program.learn_lists)):
            for item in records(root, key, optional=True):
                lists[integer(item, "id")] = self._field_list(item)
        for fields in program.learn_lists.values():
            widths = (program.field_type(ref).bits for ref in fields.fields if isinstance(ref, ir.FieldRef))
            program.digests[fields.name] = tuple(widths)
        return program

    def _packet_header(self, holder: Any, key: Any) -> str:
        """Return the name of a header that is not metadata."""
        name = reference(holder, key, self.program.instances, "header")
        if self.program.instances[name].metadata:
            raise FieldError(holder, key, "a header that is not metadata")
        return name

    def _headers(self) -> None:
        root, program = self.root, self.program
        types: dict[str, ir.HeaderType] = {}
        for item in records(root, "header_types"):
            header_type = self._header_type_of(item)
            types[header_type.name] = header_type
        by_id: dict[int, str] = {}
        for item in records(root, "headers"):
            name, header_type = text(item, "name"), types[reference(item, "header_type", types, "header type")]
            metadata = boolean(item, "metadata")
            if not metadata and header_type.fixed_bits % 8:
                raise unsupported(f"header {name!r} of {header_type.fixed_bits} bits, not whole bytes", place_of(item))
            program.instances[name] = ir.Instance(name, header_type, metadata)
            by_id[integer(item, "id")] = name
        for item in records(root, "header_stacks", optional=True):
            names = self._members(item, "header_ids", by_id)
            if len({(program.instances[n].type.name, program.instances[n].metadata) for n in names}) > 1:
                raise FieldError(item, "header_ids", "headers of one type")
            program.stacks[item["name"]] = ir.StackType(item["name"], names)
        for stack in program.stacks.values():
            if program.instances[stack.elements[0]].metadata:
                raise unsupported(f"header stack {stack.name!r} of metadata")
        self._unions(by_id)

    def _header_type_of(self, item: Json) -> ir.HeaderType:
        name = text(item, "name")
        if item.get("length_exp"):
            raise unsupported(f"length expression of header type {name!r} (P4_14)")
        fields: dict[str, ir.FieldType] = {}
        entries = array(item, "fields")
        for position in range(len(entries)):
            entry = array(entries, position)
            field = text(entry, 0)
            if field in fields or field == ir.VALID:
                raise FieldError(entry, 0, "a field name that occurs once")
            variable = len(entry) > 1 and entry[1] == "*"
            bits = 0 if variable else integer(entry, 1, 1, MAX_BITS)
            signed = len(entry) > 2 and boolean(entry, 2)
            if len(entry) > 3 and boolean(entry, 3):
                raise unsupported(f"saturating field {name}.{field}")
            if variable and any(f.variable for f in fields.values()):
                raise FieldError(entry, 1, "at most one variable-length field in a header type")
            fields[field] = ir.FieldType(field, bits, signed and not variable, variable)
        return ir.HeaderType(name, tuple(fields.values()), integer(item, "max_length", 0, MAX_VARBIT_BYTES, default=0))

    def _members(self, item: Json, key: str, by_id: dict[int, str]) -> tuple[str, ...]:
        """Return the names of the elements of a stack or union, which ``by_id`` has by number."""
        text(item, "name")
        numbers = array(item, key)
        if not 0 < len(numbers) <= MAX_STACK:
            raise FieldError(item, key, f"an array of 1 to {MAX_STACK} numbers")
        names = []
        for position in range(len(numbers)):
            value = integer(numbers, position)
            if value not in by_id or by_id[value] in names:
                raise FieldError(numbers, position, "the number of an element that the program defines, once")
            names.append(by_id[value])
        return tuple(names)

    def _unions(self, by_id: dict[int, str]) -> None:
        root, program = self.root, self.program
        types: dict[str, tuple[str, ...]] = {}
        for item in records(root, "header_union_types", optional=True):
            headers = array(item, "headers")
            types[text(item, "name")] = tuple(text(array(headers, i), 0) for i in range(len(headers)))
        union_by_id: dict[int, str] = {}
        type_of: dict[str, str] = {}
        for item in records(root, "header_unions", optional=True):
            names = self._members(item, "header_ids", by_id)
            kind = reference(item, "union_type", types, "header union type")
            if len(types[kind]) != len(names) or any(program.instances[n].metadata for n in names):
                raise FieldError(item, "header_ids", f"{len(types[kind])} headers")
            program.unions[item["name"]] = ir.UnionInstance(item["name"], types[kind], names)
            type_of[item["name"]] = kind
            union_by_id[integer(item, "id")] = item["name"]
        for item in records(root, "header_union_stacks", optional=True):
            elements = self._members(item, "header_union_ids", union_by_id)
            if len({type_of[element] for element in elements}) > 1:
                raise FieldError(item, "header_union_ids", "unions of one type")
            program.union_stacks[item["name"]] = ir.UnionStackType(item["name"], elements)

    def _stateful(self) -> None:
        root, program = self.root, self.program
        for item in records(root, "register_arrays", optional=True):
            name = text(item, "name")
            size, bits = integer(item, "size", 0, MAX_CELLS), integer(item, "bitwidth", 1, MAX_BITS)
            program.registers[name] = ir.RegisterArray(name, size, bits, boolean(item, "signed", False))
        for item in records(root, "counter_arrays", optional=True):
            name, direct = text(item, "name"), boolean(item, "is_direct", False)
            binding = text(item, "binding") if direct else None
            program.counters[name] = ir.CounterArray(name, integer(item, "size", 0, MAX_CELLS, default=0), binding)
        for item in records(root, "meter_arrays", optional=True):
            name, direct = text(item, "name"), boolean(item, "is_direct", False)
            binding = text(item, "binding") if direct else None
            result = self._number_field(item, "result_target") if direct and item.get("result_target") else None
            size = integer(item, "size", 0, MAX_CELLS, default=0)
            unit = reference(item, "type", ("bytes", "packets"), "unit")
            program.meters[name] = ir.MeterArray(name, size, unit, binding, result)
        for item in records(root, "calculations", optional=True):
            name = text(item, "name")
            inputs = tuple(self._calculation_input(part, item) for part in records(item, "input"))
            program.calculations[name] = ir.Calculation(name, text(item, "algo"), inputs)

    def _calculation_input(self, part: Json, item: Json) -> ir.CalcInput:
        kind = text(part, "type")
        if kind not in ("field", "header", "hexstr", "payload"):
            raise unsupported(f"input of type {kind!r} of calculation {item['name']!r}", place_of(item))
        if kind == "header":
            self._packet_header(part, "value")
        value = None if kind == "payload" else self._expr(part)
        return ir.CalcInput(kind, value, integer(part, "bitwidth", 0, MAX_BITS, default=0))

    def _actions(self) -> None:
        for item in records(self.root, "actions", optional=True):
            params = tuple(
                ParamSpec(text(p, "name"), integer(p, "bitwidth", 1, MAX_BITS)) for p in records(item, "runtime_data")
            )
            self.num_params = len(params)
            body = tuple(map(self._primitive, records(item, "primitives")))
            number = integer(item, "id")
            self.program.actions[number] = ir.Action(text(item, "name"), number, params, body)
        self.num_params = 0

    def _checksums(self) -> None:
        checksums = []
        for item in records(self.root, "checksums", optional=True):
            calculation = None
            if text(item, "type") != "ipv4":
                calculation = reference(item, "calculation", self.program.calculations, "calculation")
            checksums.append(
                ir.Checksum(
                    text(item, "name"),
                    self._number_field(item, "target"),
                    calculation,
                    boolean(item, "update", True),
                    boolean(item, "verify", True),
                    None if item.get("if_cond") is None else self._expr(record(item, "if_cond")),
                )
            )
        self.program.checksums = tuple(checksums)

    def _field_list(self, item: Json) -> ir.FieldList:
        name = text(item, "name")
        fields: list[ir.FieldRef | ir.Const] = []
        for part in records(item, "elements"):
            expr = self._expr(part)
            if not isinstance(expr, ir.FieldRef | ir.Const):
                raise unsupported(
                    f"element of field list {name!r} that is neither a field nor a constant", place_of(item)
                )
            fields.append(expr)
        return ir.FieldList(name, tuple(fields))
