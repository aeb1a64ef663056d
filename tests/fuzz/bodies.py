# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fuzzer of gRPC bodies: controller, control service of the server, P4Runtime and BF Runtime, while a job is admitted.

``python -m tests.fuzz.bodies --seconds 60`` (``make fuzz-grpc``). A body may be refused with a status or carried out.
It must not raise an exception in a handler, end a service, or change the admitted job.
"""

from __future__ import annotations

import contextlib
import json
import logging
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc

from lanesum.rpc import controller as rpc
from lanesum.server import service as server_service
from lanesum_fabric.bfruntime import messages as bfrt
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.bfruntime import BfRuntimeServer
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime import P4RuntimeServer
from lanesum_switch.tna.switch import TofinoSwitch
from tests.attack.test_control import CONTROLLER, LOCALHOST, SERVER, Site, other_job
from tests.fuzz.running import Budget, Errors, mutated, options, report
from tests.softswitch.bfruntime import client as agent
from tests.softswitch.bmv2.mutants import Mutator
from tests.softswitch.p4runtime.client import OK, Client, Program
from tests.softswitch.p4runtime.fuzz import Fuzzer, all_reads

_CHECK_EVERY = 200
_TEXTS = ["", "w1", "10.0.0.1", "x" * 70_000, "\x00", "1e999", "${HOME}", "../../x", "nan"]
_P4RUNTIME = "/p4.v1.P4Runtime"
# A pushed program takes up to a second, so programs are few; make fuzz-programs has a fuzzer of its own for them.
_PIPELINES = 0.002
_STREAM_S = 0.05
# A message of at least so many bytes is at most doubled.
_MANY_BYTES = 1 << 16
_DEADLINE_S = 60.0

Body = Callable[[random.Random], str]


class Services:
    """The services of a site, with a generator of bodies for each.

    Attributes:
        bodies: function for each service, which sends one body and returns the name of the status.
    """

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.site = Site(folder, stack)
        self.switch = EmbeddedSwitch(cpu_port=510)
        server = P4RuntimeServer(self.switch, f"{LOCALHOST}:0", 1, spare=EmbeddedSwitch)
        stack.enter_context(server)
        self.program = Program("everything")
        self.client = Client(server.address)
        stack.callback(self.client.close)
        self._raw = stack.enter_context(grpc.insecure_channel(server.address))
        self._become_primary()
        self._agent = stack.enter_context(BfRuntimeServer(TofinoSwitch(), f"{LOCALHOST}:0", spare=TofinoSwitch))
        self._to_agent = stack.enter_context(grpc.insecure_channel(self._agent.address))
        self._bound = agent.bound_client(self._agent.address)
        self._fill_memory()
        stack.callback(self._leave_agent)
        self.bodies: dict[str, Body] = {
            "controller": self._controller, "server": self._server, "p4runtime": self._p4, "bfruntime": self._bf
        }  # fmt: skip

    def _fill_memory(self) -> None:
        """Take the memory that any further body may take again: registers of all pipes, and a second program."""
        actions = bfrt.SetForwardingPipelineConfigRequest
        for end in (True, True, False):
            self._bound.read(agent.key_of(agent.register()))
            self._bound.set(actions.VERIFY_AND_WARM_INIT_BEGIN, agent.CONFIG)
            if end:
                self._bound.set(actions.WARM_INIT_END)
        assert self.client.push(self.program.config()) == OK

    def _leave_agent(self) -> None:
        self._bound.close()

    def _become_primary(self) -> None:
        stream = self.client.stream()
        stream.arbitrate(1)
        assert stream.role()[0] == "OK"
        self.client.election_id = 1
        assert self.client.push(self.program.config()) == OK

    def check(self) -> None:
        """Check that the job and its entries are as before, and that every service answers."""
        self.site.assert_untouched()
        assert self.client.push(self.program.config()) == OK
        assert self.switch.counts.program_errors == 0
        wildcard = bfrt.TableEntry(table_id=agent.ORIGIN.id)
        try:
            found = self._bound.read(wildcard)
        except grpc.RpcError as error:  # a mutant with another name was loaded
            assert error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE)
            self._leave_agent()
            self._bound = agent.bound_client(self._agent.address)
            found = self._bound.read(wildcard)
        assert found[-1].is_default_entry

    # JSON

    def _json(self, service: str, method: str, message: dict[str, Any], rng: random.Random) -> str:
        data = json.dumps(message).encode()
        data = mutated(data, rng) if rng.random() < 0.3 else Mutator(data, rng, _TEXTS).mutant()
        return self.site.call(service, method, data)

    def _controller(self, rng: random.Random) -> str:
        honest = self.site.honest.tickets[0]
        message = {
            "job": rng.choice(("x", honest.job, 999)), "tag": honest.tag ^ rng.choice((1, 1 << 31)), "worker": 3,
            "claimant": "c", "origin": "o", "description": "{}", "about": [1, 2], "kind": "failed", "cause": "it fell",
            "host": "w3", "slots": 4, "since": 0, "take_over": False,
        }  # fmt: skip
        method = rng.choice(CONTROLLER)
        if method == rpc.ADMIT:
            message = {
                "name": "x", "workers": ["w3", "w4"], "slots": 8, "codec": None, "ops": ["ADD32"], "seed": 5,
                "quota": 4, "priority": 1, "quorum": 2, "best_effort": False, "lease_s": 10.0, "udp_port": 4000,
            }  # fmt: skip
        elif method in (rpc.JOIN, rpc.REMOVE, rpc.RESIZE, rpc.LEAVE, rpc.EXTEND):
            message["job"] = "x"
        return self._json(rpc.SERVICE, method, message, rng)

    def _server(self, rng: random.Random) -> str:
        method = rng.choice(SERVER)
        message: dict[str, Any] = {"job": 999}
        if method == server_service.ADMIT:
            text = other_job(self.site).encode()
            text = mutated(text, rng) if rng.random() < 0.3 else Mutator(text, rng, _TEXTS).mutant()
            message = {"job": text.decode(errors="replace")}
            if rng.random() < 0.8:
                return self._call_server(method, text, json.dumps(message).encode())
        data = json.dumps(message).encode()
        data = mutated(data, rng) if rng.random() < 0.3 else Mutator(data, rng, _TEXTS).mutant()
        return self._call_server(method, data, data)

    def _call_server(self, method: str, job: bytes, data: bytes) -> str:
        """Call unless the body is valid and of the admitted job: a controller may replace and remove that."""
        try:
            number = json.loads(job)["job"]
        except (ValueError, LookupError, TypeError, RecursionError):
            number = None
        if number == self.site.honest.number:
            return "not sent"
        return self.site.call(server_service.SERVICE, method, data)

    # Protobuf

    def _p4(self, rng: random.Random) -> str:
        name = rng.choices(("Write", "Read", "Capabilities", "StreamChannel"), (8, 4, 1, 1))[0]
        if rng.random() < _PIPELINES:
            name = "SetForwardingPipelineConfig"
        message = self._message(name, rng)
        if rng.random() < 0.7:
            vary(message, rng)
            data = message.SerializeToString()
        else:
            data = mutated(message.SerializeToString(), rng)
        return _called(self._raw, f"{_P4RUNTIME}/{name}", data)

    def _message(self, name: str, rng: random.Random) -> Any:
        if name == "Capabilities":
            return p4rt.CapabilitiesRequest()
        if name == "StreamChannel":
            return p4rt.StreamMessageRequest(packet=p4rt.PacketOut(payload=bytes(60)))
        if name == "SetForwardingPipelineConfig":
            action = p4rt.SetForwardingPipelineConfigRequest.VERIFY
            found: Any = p4rt.SetForwardingPipelineConfigRequest(action=action, config=self.program.config())
        elif name == "Read":
            found = p4rt.ReadRequest(entities=[rng.choice(all_reads(self.program))])
        else:
            found = p4rt.WriteRequest()
            fuzzer = Fuzzer(self.program, rng.getrandbits(32))
            for _ in range(rng.randint(1, 3)):
                kind, entity = fuzzer.update()
                found.updates.add(type=kind).entity.CopyFrom(entity)
        found.device_id = 1
        if name != "Read":
            found.election_id.low = 1
        return found

    def _bf(self, rng: random.Random) -> str:
        name = rng.choices(("Write", "Read", "GetForwardingPipelineConfig", "StreamChannel"), (16, 8, 1, 2))[0]
        if rng.random() < 10 * _PIPELINES:
            name = "SetForwardingPipelineConfig"
        message = self._bf_message(name, rng)
        if rng.random() < 0.7:
            vary(message, rng)
            data = message.SerializeToString()
        else:
            data = mutated(message.SerializeToString(), rng)
        return _called(self._to_agent, f"/{bfrt.SERVICE}/{name}", data)

    def _bf_message(self, name: str, rng: random.Random) -> Any:
        number = self._bound.number
        if name == "GetForwardingPipelineConfig":
            return bfrt.GetForwardingPipelineConfigRequest(client_id=number)
        if name == "StreamChannel":
            found: Any = bfrt.StreamMessageRequest(client_id=rng.choice((number, 1 << 31)))
            found.subscribe.device_id = 0
            return found
        if name == "SetForwardingPipelineConfig":
            actions = bfrt.SetForwardingPipelineConfigRequest.Action.values()
            found = bfrt.SetForwardingPipelineConfigRequest(client_id=number, action=rng.choice(actions))
            found.config.add(p4_name="lanesum")
            if rng.random() < 0.1:
                found.config[0].CopyFrom(agent.CONFIG)
            return found
        found = bfrt.WriteRequest(client_id=number) if name == "Write" else bfrt.ReadRequest(client_id=number)
        found.target.pipe_id = bfrt.ALL_PIPES
        for _ in range(rng.randint(1, 3)):
            entry = agent.random_entry(rng)
            if name == "Write":
                kind = rng.choice(bfrt.Update.Type.values())
                found.updates.add(type=kind).entity.table_entry.CopyFrom(entry)
            else:
                found.entities.add().table_entry.CopyFrom(agent.key_of(entry) if rng.random() < 0.5 else entry)
        return found


def _called(channel: grpc.Channel, path: str, data: bytes) -> str:
    """Return the status of a call, whose answers are ignored."""
    try:
        if path.endswith("StreamChannel"):
            list(channel.stream_stream(path)(iter([data]), timeout=_STREAM_S))
        elif path.endswith("Read"):
            list(channel.unary_stream(path)(data, timeout=_DEADLINE_S))
        else:
            channel.unary_unary(path)(data, timeout=_DEADLINE_S)
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


def _fields(message: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all fields that are set, with their messages."""
    for field, value in message.ListFields():
        yield message, field
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for one in value if field.label == field.LABEL_REPEATED else (value,):
                yield from _fields(one)


def vary(message: Any, rng: random.Random) -> None:
    """Change one field of a message to another value of its type."""
    found = list(_fields(message))
    if not found:
        return
    holder, field = rng.choice(found)
    value = getattr(holder, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        holder.ClearField(field.name)
    elif field.label == field.LABEL_REPEATED:
        if value and rng.random() < 0.5:
            del value[rng.randrange(len(value))]
        else:
            # The memory of this process, which is limited, has the body of client and service.
            value.extend(list(value) * (rng.choice((1, 1, 50)) if message.ByteSize() < _MANY_BYTES else 1))
    elif isinstance(value, bytes):
        setattr(holder, field.name, mutated(value, rng))
    elif isinstance(value, str):
        setattr(holder, field.name, rng.choice(_TEXTS))
    elif isinstance(value, int):
        numbers = (0, 1, -1, value + 1, value ^ 1 << rng.randrange(31), (1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1)
        with contextlib.suppress(ValueError):  # beyond the type of the field
            setattr(holder, field.name, rng.choice(numbers))
    else:
        holder.ClearField(field.name)


def fuzz(services: Services, budget: Budget, seed: int) -> Counter[str]:
    """Send bodies; raise AssertionError if a handler raised, a service ended or the job was changed."""
    outcomes: Counter[str] = Counter()
    errors = Errors()
    logging.getLogger().addHandler(errors)
    logging.lastResort = None
    for number in budget:
        rng = random.Random(seed + number)
        name = rng.choice(list(services.bodies))
        outcomes[f"{name} {services.bodies[name](rng)}"] += 1
        assert not errors.found, f"input {number}: {errors.found[0]}"
        if number % _CHECK_EVERY == 0:
            services.check()
    services.check()
    return outcomes


def main() -> int:
    args = options(__doc__).parse_args()
    with contextlib.ExitStack() as stack:
        services = Services(Path(stack.enter_context(tempfile.TemporaryDirectory())), stack)
        budget = Budget(args.count, args.seconds)
        outcomes = fuzz(services, budget, args.seed)
        return report(outcomes, budget)


if __name__ == "__main__":
    sys.exit(main())
