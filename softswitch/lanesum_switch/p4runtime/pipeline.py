# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The forwarding pipeline configuration of a device (specification, sections 7 and 14)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import InvalidArgumentError, SwitchError, UnsupportedProgramError
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.consistency import check_program
from lanesum_switch.p4runtime.entities import read_entities, write_entity
from lanesum_switch.p4runtime.other_programs import Scheduler
from lanesum_switch.p4runtime.p4info import build_index
from lanesum_switch.p4runtime.packet_io import Inject
from lanesum_switch.p4runtime.program import ServedProgram, Verified, copy_state
from lanesum_switch.p4runtime.status import Code, StatusError, invalid

_DATA_FIELD = 3
_BYTES = 2
_WIRE_TYPES = (0, 1, _BYTES, 5)  # without groups


def unwrap_device_config(config: bytes) -> bytes:
    """Return the program inside a ``p4.tmp.P4DeviceConfig``, or the bytes themselves without such an envelope.

    simple_switch_grpc still accepts it, and the controllers of p4lang's tutorials still send it.

    JSON is none: its ``{`` would open a group, a wire type that proto3 does not have.
    """
    try:
        fields = list(UnknownFieldSet(Empty.FromString(config)))
    except DecodeError:
        return config
    if any(field.wire_type not in _WIRE_TYPES for field in fields):
        return config
    found = [field.data for field in fields if (field.field_number, field.wire_type) == (_DATA_FIELD, _BYTES)]
    return bytes(found[-1]) if found else b""


# In this order entries find their members and groups. PI keeps no more than this: replication groups, clone sessions,
# digest configurations and default actions are lost.
_KEPT = ("action_profile_member", "action_profile_group", "table_entry", "meter_entry", "counter_entry")


def snapshot(pipeline: ServedProgram | None) -> Any:
    """Return the state that RECONCILE_AND_COMMIT keeps (specification, section 14), as a ReadResponse.

    Raises StatusError: it cannot be read, as with action profiles that hold one-shots.
    """
    response = p4rt.ReadResponse()
    if pipeline is not None:
        request = p4rt.ReadRequest()
        for kind in _KEPT:
            getattr(request.entities.add(), kind).SetInParent()
        read_entities(pipeline, request, response)
    return response


def replay(pipeline: ServedProgram, state: Any) -> None:
    """Write the state back.

    Raises StatusError: UNKNOWN if an entity is refused. That includes every program with an indirect counter or meter,
    because PI inserts their cells, which can only be modified.
    """
    failed = 0
    for entity in state.entities:
        try:
            write_entity(pipeline, p4rt.Update.INSERT, entity)
        except StatusError:
            failed += 1
    if failed:
        raise StatusError(
            Code.UNKNOWN, f"{failed} entities cannot be kept: the new config is saved, COMMIT takes it without them"
        )


logger = logging.getLogger(__name__)

_Set = p4rt.SetForwardingPipelineConfigRequest
_Get = p4rt.GetForwardingPipelineConfigRequest
_LOADING = (_Set.VERIFY_AND_SAVE, _Set.VERIFY_AND_COMMIT, _Set.RECONCILE_AND_COMMIT)


class PipelineManager:
    """Installs configurations in a switch.

    As in BMv2, a saved configuration that is not committed yet answers reads and writes while packets still pass
    through the old one, and no other can be loaded until it is committed.
    """

    def __init__(
        self,
        switch: EmbeddedSwitch,
        scheduler: Scheduler,
        send: Callable[[Any], None],
        inject: Inject,
        spare: Callable[[], EmbeddedSwitch] | None,
    ) -> None:
        self.lock = threading.RLock()
        self._scheduler = scheduler
        self._send = send
        self._switch = switch
        self._inject = inject
        self._spare = spare
        self._pipeline: ServedProgram | None = None
        self._saved: bytes | None = None
        self._contacted = False
        switch.on_cpu_packet(self._on_cpu_packet)
        switch.on_digest(self._on_digest)

    @property
    def current(self) -> ServedProgram:
        """Return the active configuration. Raises StatusError FAILED_PRECONDITION if there is none."""
        if self._pipeline is None:
            raise no_pipeline()
        return self._pipeline

    def close(self) -> None:
        with self.lock:
            self._switch.on_cpu_packet(None)
            self._switch.on_digest(None)
            if self._pipeline is not None:
                self._pipeline.close()
                self._pipeline = None

    def set(self, action: int, config: Any) -> None:
        """Handle SetForwardingPipelineConfig.

        Raises StatusError: INVALID_ARGUMENT for a configuration that does not fit together, UNKNOWN for refusals of PI
        or BMv2, UNIMPLEMENTED for programs that the embedded switch cannot run.
        """
        with self.lock:
            self._contacted = True
            if action == _Set.UNSPECIFIED:
                raise invalid("The request has no action: use VERIFY_AND_COMMIT to install a program")
            if action == _Set.VERIFY:
                self._verify(config)
            elif action in _LOADING:
                self._load(action, config)
            elif action == _Set.COMMIT:
                self._commit()

    def _verify(self, config: Any) -> Verified:
        index = build_index(config.p4info)
        device_config = unwrap_device_config(config.p4_device_config)
        try:
            priorities = check_program(index, self._switch.read(device_config)) if device_config else {}
        except SwitchError as error:
            raise _refused(error) from error
        return Verified(index, device_config, priorities, config)

    def _load(self, action: int, config: Any) -> None:
        verified = self._verify(config)
        if not verified.device_config:
            if action != _Set.VERIFY_AND_COMMIT:
                raise StatusError(
                    Code.UNKNOWN, "The configuration has no device config: send it too, or use VERIFY_AND_COMMIT"
                )
            # The P4Info describes the program that the switch runs already.
            check_program(verified.index, self._switch.programs)
            self._replace(verified, self._switch)
        elif self._saved is not None:
            raise StatusError(Code.UNKNOWN, "A saved configuration waits for its commit: send COMMIT first")
        elif action == _Set.VERIFY_AND_SAVE:
            self._save(verified)
        elif action == _Set.RECONCILE_AND_COMMIT:
            self._reconcile(verified)
        else:
            _load_program(self._switch, verified.device_config)
            self._replace(verified, self._switch)

    def _save(self, verified: Verified) -> None:
        if self._spare is None:
            raise StatusError(Code.UNIMPLEMENTED, "This switch cannot hold two programs: use VERIFY_AND_COMMIT")
        spare = self._spare()
        _load_program(spare, verified.device_config)
        self._saved = verified.device_config
        self._replace(verified, spare)

    def _reconcile(self, verified: Verified) -> None:
        """Save, replay the old state, commit. If the replay fails, the configuration stays saved."""
        state = snapshot(self._pipeline)
        self._save(verified)
        assert self._pipeline is not None
        replay(self._pipeline, state)
        self._commit()

    def _commit(self) -> None:
        if self._saved is None or self._pipeline is None:
            raise StatusError(Code.UNKNOWN, "There is no saved configuration to commit: use VERIFY_AND_SAVE first")
        spare = self._pipeline.switch
        _load_program(self._switch, self._saved)
        copy_state(spare, self._switch)
        self._pipeline.switch = self._switch
        self._saved = None

    def _replace(self, verified: Verified, switch: EmbeddedSwitch) -> None:
        if self._pipeline is not None:
            self._pipeline.close()
        self._pipeline = ServedProgram(verified, switch, self.lock, self._scheduler, self._send)

    def get(self, response_type: int) -> Any:
        """Return the active configuration; empty if the last request installed none.

        Raises StatusError: FAILED_PRECONDITION before the first SetForwardingPipelineConfig, INVALID_ARGUMENT for an
        unknown response type.
        """
        with self.lock:
            answer = p4rt.ForwardingPipelineConfig()
            if self._pipeline is None:
                if not self._contacted:
                    raise no_pipeline()
                return answer
            config = self._pipeline.config
            if response_type not in _Get.ResponseType.values():
                raise invalid(f"{response_type} is not a response type of GetForwardingPipelineConfig")
            if response_type in (_Get.ALL, _Get.P4INFO_AND_COOKIE):
                answer.p4info.CopyFrom(config.p4info)
            if response_type in (_Get.ALL, _Get.DEVICE_CONFIG_AND_COOKIE):
                answer.p4_device_config = config.p4_device_config
            if config.HasField("cookie"):
                answer.cookie.CopyFrom(config.cookie)
            return answer

    def packet_out(self, packet: Any) -> None:
        """Inject a ``p4.v1.PacketOut``; drop a malformed one (stream errors are off by default in PI)."""
        pipeline = self._pipeline
        if pipeline is None or self._switch.cpu_port is None:
            return
        try:
            frame = pipeline.packet_io.packet_out(packet)
        except StatusError as error:
            logger.warning("Dropped a packet-out: %s", error.message)
            return
        self._inject(self._switch.cpu_port, frame)

    def digest_ack(self, ack: Any) -> None:
        pipeline = self._pipeline
        if pipeline is not None:
            pipeline.digests.ack(ack)

    # These two run in the data plane's threads, which may hold its locks: they must not take ours.

    def _on_cpu_packet(self, frame: bytes) -> None:
        pipeline = self._pipeline
        if pipeline is not None:
            message = pipeline.packet_io.packet_in(frame)
            if message is not None:
                self._send(message)

    def _on_digest(self, digest: Any) -> None:
        pipeline = self._pipeline
        if pipeline is not None:
            pipeline.digests.on_digest(digest)


def no_pipeline() -> StatusError:
    return StatusError(Code.FAILED_PRECONDITION, "The device has no forwarding pipeline config: set one first")


def _load_program(switch: EmbeddedSwitch, device_config: bytes) -> None:
    try:
        switch.load(device_config)
    except SwitchError as error:
        raise _refused(error) from error


def _refused(error: SwitchError) -> StatusError:
    """Return the status for a program that a switch refuses."""
    if isinstance(error, UnsupportedProgramError):
        return StatusError(Code.UNIMPLEMENTED, f"The embedded switch cannot run this program: {error}")
    if isinstance(error, InvalidArgumentError):
        return invalid(f"The device config cannot be loaded: {error}")
    return StatusError(Code.UNKNOWN, f"The device config cannot be loaded: {error}")
