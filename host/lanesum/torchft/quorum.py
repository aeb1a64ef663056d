# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets of the ranks of a quorum: from a controller, or of a server that rank 0 starts for this quorum alone."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.joining import DescriptionMismatchError, join
from lanesum.protocol.spec import ETHERNET_MTU, MAX_RACKS, MAX_WORKERS
from lanesum.rpc import controller as rpc
from lanesum.server import AggregationServer, ServerJob
from lanesum.torch import notes
from lanesum.torchft.peers import QuorumConnections
from lanesum.transport import JobTicket
from lanesum.transport.path_check import largest_words

_SLOTS = 512  # as for jobs of a controller without switches
_MAX_NOTE = 1 << 15  # characters; the ticket of 1,024 workers has fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """Ranks that begin a job together.

    Attributes:
        store: of this quorum alone.
        rank, size: of this process in the quorum.
        address: IPv4 address of this host.
        timeout_s: maximum waiting time for the other ranks, in seconds.
        description, label: of the codec, which the ranks compare; of the quorum, for messages.
        controller, job: the controller admits a job of this name in the place of the last quorum's; None: rank 0 starts
            a server.
    """

    store: dist.Store
    rank: int
    size: int
    address: str
    timeout_s: float
    description: str
    label: str
    controller: str | None
    job: str

    def enter(self, opened: contextlib.ExitStack) -> tuple[JobTicket, QuorumConnections]:
        """Return the ticket and the connections of this rank; ``opened`` closes them. All ranks must call it.

        Raises:
            ConfigurationError: too many ranks, no address of this host, or a note of the store is invalid.
            DescriptionMismatchError: the ranks use different codecs.
            NotReadyError: a rank has not come in time.
            ControllerError: the controller refuses or does not answer.
        """
        if self.size > MAX_WORKERS * MAX_RACKS:
            raise ConfigurationError(
                f"The {self.label} has {self.size} ranks, a job at most {MAX_WORKERS * MAX_RACKS} workers.",
                "Start fewer replicas.",
            )
        note: notes.Note
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
            try:
                held.bind((self.address, 0))
                listening = None  # not the number of the UDP port, which another program may have in TCP
                if self.rank == 0:
                    listener = opened.enter_context(socket.create_server((self.address, 0), backlog=self.size))
                    listening = listener.getsockname()[1]
                note = json.dumps([*held.getsockname(), listening, self.description])
            except OSError as error:
                note = ConfigurationError(
                    f"Rank {self.rank} of {self.label} cannot use address {self.address!r}: {error.strerror}.",
                    "Pass the IPv4 address of this host: ProcessGroup(address=...).",
                )
            places, listening = self._places(self._exchange(note, range(self.size)))
            try:
                admitted: notes.Note = self._admit(places, opened) if self.rank == 0 else None
            except LanesumError as error:
                admitted = error
            (told,) = self._exchange(admitted, [0])
        if self.controller is None:
            try:
                ticket = JobTicket.from_json(json.dumps(told))
                ticket = dataclasses.replace(ticket, worker=self.rank, local=places[self.rank])
            except ConfigurationError as error:
                raise self._invalid(error) from error
        else:
            ticket = join(controller=self.controller, job=self.job, worker=self.rank, timeout_s=self.timeout_s)
        if ticket.workers != self.size:
            raise self._invalid(ValueError(f"the job has {ticket.workers} workers, the quorum {self.size} ranks"))
        key = ticket.tag.to_bytes(4) + ticket.seed.to_bytes(8)  # known to the members alone
        if self.rank == 0:
            peers = QuorumConnections.accept(listener, self.size, key, self.timeout_s)
        else:
            peers = QuorumConnections.connect(listening, self.rank, key, self.timeout_s)
        return ticket, opened.enter_context(peers)

    def _exchange(self, note: notes.Note, of: Iterable[int]) -> list[Any]:
        """Exchange notes, which are JSON or an error. Raises the error that is one of them, and ConfigurationError."""
        try:
            found = notes.exchange_in(self.store, self.rank, range(self.size), note, of, self.timeout_s)
            if errors := [one for one in found if isinstance(one, LanesumError)]:
                raise errors[0]
            if any(len(str(one)) > _MAX_NOTE for one in found):
                raise ValueError(f"it has more than {_MAX_NOTE} characters")
            return [json.loads(str(one)) for one in found]
        except (ValueError, TypeError, RecursionError) as error:
            raise self._invalid(error) from error

    def _invalid(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(
            f"The store of {self.label} has an invalid note: {rpc.one_line(error)}.",
            "Use one version of lanesum in all replicas, and a store prefix that nothing else uses.",
        )

    def _places(self, found: list[Any]) -> tuple[list[Address], Address]:
        """Return the addresses of all ranks and of rank 0's listener. Raises as ``enter`` does."""
        try:
            places = [(str(ip), int(port)) for ip, port, _, _ in found]
            descriptions = [rpc.one_line(description) for *_, description in found]
            if not 0 < (port := int(found[0][2])) < 1 << 16:
                raise ValueError(f"rank 0 cannot listen at port {port}")
        except (ValueError, TypeError) as error:
            raise self._invalid(error) from error
        for rank, description in enumerate(descriptions):
            if description != descriptions[0]:
                raise DescriptionMismatchError(
                    f"Rank {rank} of {self.label} uses {description}, rank 0 {descriptions[0]}.",
                    "Give all replicas the same codec, error feedback and version of lanesum.",
                )
        if len({ip.startswith("127.") for ip, _ in places}) > 1:
            raise ConfigurationError(
                f"Some ranks of {self.label} have loopback addresses: {[ip for ip, _ in places]}.",
                "Pass the IPv4 address of each host: ProcessGroup(address=...).",
            )
        return places, (places[0][0], port)

    def _admit(self, places: list[Address], opened: contextlib.ExitStack) -> str:
        """Admit the job of the quorum, and return the ticket of rank 0 as JSON; null if the controller hands it out."""
        if self.controller is not None:
            message = {"name": self.job, "addresses": [ip for ip, _ in places], "take_over": True}
            rpc.call(self.controller, rpc.ADMIT, message, self.timeout_s)
            return "null"
        server = opened.enter_context(AggregationServer((self.address, 0)))
        first = JobTicket(
            job=1,
            tag=secrets.randbits(32),
            worker=0,
            workers=self.size,
            slots=_SLOTS,
            accumulator_words=largest_words(ETHERNET_MTU),
            servers=(server.address,),
            local=places[0],
            seed=secrets.randbits(64),
            places=tuple(divmod(rank, MAX_WORKERS) for rank in range(self.size)) if self.size > MAX_WORKERS else (),
            joined_packets=True,
            name=self.label,
        )
        tickets = [dataclasses.replace(first, worker=rank, local=place) for rank, place in enumerate(places)]
        server.admit(ServerJob.from_tickets(tickets))
        return first.to_json()
