"""What becomes of the datagrams that come: states, verdicts, tools, shadows, pongs; on the receive thread."""
from google.protobuf.message import DecodeError

from . import wire
from .messages import ChallengePacket, GrantedPacket, Pong, ShadowPacket, StatePacket, Status, ToolPacket, VerdictPacket
from .scene import Event


class Intake:
    """Hands each datagram of a link to those of the connection that wait for it."""

    def __init__(self, connection):
        self._connection = connection

    def take(self, link):
        judged = False
        for kind, sequence, payload, received_ns, arrived_ns in link.receive_datagrams():
            try:
                if kind == wire.STATE:
                    self._take_state(StatePacket.FromString(payload), sequence, received_ns, arrived_ns, link.datagrams_overflowed)
                elif kind == wire.GRANTED:
                    self._take_granted(GrantedPacket.FromString(payload))
                elif kind == wire.SHADOW:
                    self._take_shadow(ShadowPacket.FromString(payload))
                elif kind == wire.TOOL:
                    self._take_tool(ToolPacket.FromString(payload))
                elif kind == wire.VERDICTS:
                    self._take_verdicts(VerdictPacket.FromString(payload))
                    judged = True
                elif kind == wire.CHALLENGE:
                    self._connection.heartbeat(link, challenge=ChallengePacket.FromString(payload).challenge)
                else:
                    self._take_pong(Pong.FromString(payload), received_ns)
            except DecodeError:
                link.refused["malformed"] += 1
        if judged:
            self._connection.heartbeat(link)  # or the server repeats them

    def _take_verdicts(self, packet):
        with self._connection.lock:
            lost = self._connection.verdicts.add_verdicts(packet)
            if lost:
                self._connection.emit(Event("VERDICTS_LOST", 0, lost, self._connection.scene.scene_epoch))
            self._connection.changed.notify_all()

    def _take_granted(self, packet):
        with self._connection.lock:
            if packet.scene_epoch == self._connection.scene.scene_epoch:
                self._connection.granted_tick = packet.tick
                self._connection.changed.notify_all()

    def _take_tool(self, packet):
        with self._connection.lock:
            if packet.scene_epoch == self._connection.scene.scene_epoch:
                self._connection.tools[packet.tool] = packet
                self._connection.changed.notify_all()

    def _take_shadow(self, packet):
        with self._connection.lock:
            if packet.scene_epoch != self._connection.scene.scene_epoch:
                return
            for subscription in self._connection.subscriptions:
                if subscription.id == packet.subscription:
                    subscription.take_shadow(packet, self._connection.scene.names)
            self._connection.changed.notify_all()

    def _take_state(self, packet, sequence, received_ns, arrived_ns, overflowed):
        with self._connection.lock:
            fresh = self._connection.verdicts.add(packet)
            standing = bool(packet.status_bits & Status.LOCKSTEP)
            fresh = self._connection.verdicts.heard(packet.echo_sequence, received_ns * 1e-9, standing) or fresh
            self._connection.clock.add(packet.echo_client_send_ns, packet.echo_server_recv_ns, packet.send_ns, received_ns)
            if packet.scene_epoch == self._connection.scene.scene_epoch:
                for subscription in self._connection.subscriptions:
                    if subscription.id == packet.subscription and subscription.take_packet(packet, sequence, received_ns, self._connection.scene):
                        fresh = True
                        self._connection.arrivals.add(packet.tick, arrived_ns, overflowed)
            if fresh:
                self._connection.changed.notify_all()

    def _take_pong(self, pong, received_ns):
        with self._connection.lock:
            self._connection.clock.add(pong.client_send_ns, pong.server_recv_ns, pong.server_send_ns, received_ns)
            self._connection.answered_ping_ns = max(self._connection.answered_ping_ns, pong.client_send_ns)
            self._connection.changed.notify_all()
