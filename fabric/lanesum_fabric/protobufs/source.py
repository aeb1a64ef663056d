# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Message classes from the text of a ``.proto`` file, without a compiler.

Reads the syntax that this package's own files use: proto3 messages, nested messages, enums and oneofs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.resources.abc import Traversable
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "float": _Field.TYPE_FLOAT,
    "int32": _Field.TYPE_INT32,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
}


def message_classes(source: Traversable) -> Callable[[str], Any]:
    """Return a function that returns the class of a message by its name in ``source``.

    The classes have a descriptor pool of their own. So a process may also import a vendor's generated modules, which
    define the same names.
    """
    file, pool = _file(source.read_text(), source.name), descriptor_pool.DescriptorPool()
    pool.Add(file)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{name}"))


def _file(text: str, name: str) -> Any:
    """Return the FileDescriptorProto of ``text``."""
    tokens = iter(re.findall(r'"\w+"|[\w.]+|[{}=;]', re.sub(r"//.*", "", text)))
    file = descriptor_pb2.FileDescriptorProto(name=f"lanesum/{name}", syntax="proto3")
    for token in tokens:
        if token == "package":
            file.package = next(tokens)
        elif token == "message":
            _message(tokens, file.message_type.add())
    return file


def _message(tokens: Iterator[str], message: Any, oneof: int | None = None) -> None:
    """Read a message, or the fields of a oneof, to the closing brace."""
    if oneof is None:
        message.name = next(tokens)
        next(tokens)  # {
    for token in iter(tokens.__next__, "}"):
        if token == "enum":
            _enum(tokens, message.enum_type.add(name=next(tokens)))
        elif token == "message":
            _message(tokens, message.nested_type.add())
        elif token == "oneof":
            message.oneof_decl.add(name=next(tokens))
            next(tokens)  # {
            _message(tokens, message, len(message.oneof_decl) - 1)
        else:
            _field(tokens, token, message.field.add(), oneof)


def _enum(tokens: Iterator[str], enum: Any) -> None:
    next(tokens)  # {
    for name in iter(tokens.__next__, "}"):
        enum.value.add(name=name, number=_number(tokens))


def _field(tokens: Iterator[str], first: str, field: Any, oneof: int | None) -> None:
    field.label = _Field.LABEL_REPEATED if first == "repeated" else _Field.LABEL_OPTIONAL
    kind = next(tokens) if first == "repeated" else first
    field.name = next(tokens)
    field.number = _number(tokens)
    if oneof is not None:
        field.oneof_index = oneof
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type_name = kind


def _number(tokens: Iterator[str]) -> int:
    """Read ``= NUMBER ;``."""
    _, number, _ = next(tokens), next(tokens), next(tokens)
    return int(number)
