# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Control of a switch under test: the entries of the controller, and changes that only tests make."""

from __future__ import annotations

from lanesum_control.switches.switch import CONGESTION, INSERT, P4RuntimeSwitch
from lanesum_fabric.program.switch_job import FAULT_SCALE, Station
from lanesum_fabric.protobufs import p4runtime_pb2


class SwitchUnderTest(P4RuntimeSwitch):
    """Switch whose station, marks and faults change while it runs."""

    def set_station(self, station: Station) -> None:
        """Change the switch's own IPv4 address and the class of its answers."""
        self._delete(self._station_entities(self._station))
        self._station = station
        self.connection.write([(INSERT, entity) for entity in self._station_entities(station)])

    @property
    def has_faults(self) -> bool:
        """True if the program has fault tables; only its test build does."""
        return self._names.has_table("IngressPipeline.faults.fault")

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        """Drop ``share`` (0 to 1) of the packets that enter (or leave) by ``port``; 0 turns it off."""
        block = "IngressPipeline" if ingress else "EgressPipeline"
        table, match = f"{block}.faults.fault", {"port": port}
        self._delete([p4runtime_pb2.Entity(table_entry=self._names.entry(table, match))])
        if share > 0:
            params = {"per_ten_thousand": round(share * FAULT_SCALE)}
            entry = self._names.entry(table, match, f"{block}.faults.lose", params)
            self.connection.write([(INSERT, p4runtime_pb2.Entity(table_entry=entry))])

    def set_congestion(self, port: int, depth: int | None) -> None:
        """Set ECN on packets to ``port`` while ``depth`` packets or more wait there; None turns it off."""
        entry = self._names.entry(CONGESTION, {"egress_port": port})
        self._delete([p4runtime_pb2.Entity(table_entry=entry)])
        if depth is not None:
            self.connection.write([(INSERT, self.mark_entity(port, depth))])
