"""Recordings are read up to their end or their first damage, and what stands in them is said."""
import io
import struct
import zlib

import pytest

from tactus import mcap, record
from tactus.messages import Record, VerdictCode

zstandard = pytest.importorskip("zstandard")


def text(value) -> bytes:
    return struct.pack("<I", len(value)) + value.encode()


def op(kind, content) -> bytes:
    return struct.pack("<BQ", kind, len(content)) + content


class File:
    """An MCAP file, written by hand: each message in a chunk of its own, no summary but its footer."""

    def __init__(self, prefix="tactus/"):
        self.data = mcap.MAGIC + op(1, text("") + text("test"))
        self.ids, self.prefix, self.ends = {}, prefix, []

    def add(self, record):
        kind = record.WhichOneof("body")
        records = b""
        if kind not in self.ids:
            number = self.ids[kind] = len(self.ids) + 1
            name = getattr(record, kind).DESCRIPTOR.full_name
            records += op(3, struct.pack("<H", number) + text(name) + text("protobuf") + struct.pack("<I", 0))
            records += op(4, struct.pack("<HH", number, number) + text(self.prefix + kind) + text("protobuf") + struct.pack("<I", 0))
        records += op(5, struct.pack("<HIQQ", self.ids[kind], 0, 0, 0) + getattr(record, kind).SerializeToString())
        packed = zstandard.ZstdCompressor().compress(records)
        self.data += op(6, struct.pack("<QQQI", 0, 0, len(records), zlib.crc32(records)) + text("zstd") + struct.pack("<Q", len(packed)) + packed)
        self.ends.append(len(self.data))

    def whole(self) -> bytes:
        data = self.data + op(15, struct.pack("<I", zlib.crc32(self.data)))
        footer = struct.pack("<BQQQ", 2, 20, 0, 0)
        return data + footer + struct.pack("<I", zlib.crc32(footer)) + mcap.MAGIC


def state(tick):
    out = Record()
    out.state.tick, out.state.parts, out.state.sim_time_s = tick, 1, 0.001 * tick
    out.state.body_id.extend([0, 1])
    out.state.pose.extend([0, 0, 0, 1, 0, 0, 0, tick, 2, 3, 1, 0, 0, 0])
    out.state.velocity.extend([0] * 6 + [1, 2, 3, 4, 5, 6])
    return out


def command(client, sequence):
    out = Record()
    out.command.client, out.command.sequence = client, sequence
    out.command.packet.body_id.append(1)
    return out


def verdict(client, sequence, code):
    out = Record()
    out.verdict.client, out.verdict.sequence, out.verdict.code, out.verdict.tick = client, sequence, code, 7
    return out


def records():
    header = Record()
    header.header.scene_name, header.header.reason, header.header.step_s = "unit", "test", 0.001
    header.header.bodies.extend(["floor", "block"])
    wrench = Record()
    wrench.wrench.tick, wrench.wrench.body_id = 2, 1
    wrench.wrench.wrench.extend([5, 0, 0, 0, 0, 6])
    end = Record()
    end.end.records = 9
    return [
        header, state(1), state(2), wrench, command("a", 1), command("b", 1), command("a", 2),
        verdict("b", 1, VerdictCode.APPLIED), verdict("a", 1, VerdictCode.REFUSED_NOT_LEASED), end,
    ]  # fmt: skip


def file_of(messages, **options):
    out = File(**options)
    for message in messages:
        out.add(message)
    return out


@pytest.fixture
def whole():
    return file_of(records()).whole()


def read(tmp_path, data):
    file = tmp_path / "x.mcap"
    file.write_bytes(data)
    return record.read(file)


def test_all_of_a_whole_file(tmp_path, whole):
    recording = read(tmp_path, whole)
    assert recording.damage is None
    assert [s.tick for s in recording.states] == [1, 2]
    assert recording.states[1]["block"].p_WB == (2, 2, 3)
    assert recording.states[1]["block"].w_WB == (4, 5, 6)
    assert [(c.client, c.sequence, c.verdict) for c in recording.commands()] == [
        ("a", 1, "REFUSED_NOT_LEASED"), ("b", 1, "APPLIED"), ("a", 2, None)]  # fmt: skip
    assert "1 APPLIED, 1 REFUSED_NOT_LEASED" in recording.summary()
    assert "complete" in recording.summary()


def test_the_table_holds_what_was_commanded_in_the_tick(tmp_path, whole):
    out = io.StringIO()
    assert read(tmp_path, whole).write_csv(out) == 4
    rows = [line.split(",") for line in out.getvalue().splitlines()]
    assert len({len(row) for row in rows}) == 1
    block = {row[0]: row for row in rows[1:] if row[2] == "block"}
    assert [float(x) for x in block["1"][-6:]] == [0] * 6
    assert [float(x) for x in block["2"][-6:]] == [5, 0, 0, 0, 0, 6]


def test_every_cut_is_found_and_what_stands_before_it_is_kept(tmp_path, whole):
    ends = file_of(records()).ends
    for at in range(ends[0], len(whole)):
        recording = read(tmp_path, whole[:at])
        chunks = sum(end <= at for end in ends)
        assert len(recording.states) == min(2, chunks - 1)
        assert recording.damage is not None
        assert chunks == len(ends) or f"byte {ends[chunks - 1]}" in recording.damage, (at, recording.damage)


def test_every_flipped_bit_is_found(tmp_path, whole):
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        try:
            assert read(tmp_path, bytes(changed)).damage is not None, at
        except record.NotARecording:
            assert at < file_of(records()).ends[0]


@pytest.mark.parametrize("data", [b"", b"hello, this is text and no recording", bytes(100)])
def test_what_is_no_recording_is_refused(tmp_path, data):
    with pytest.raises(record.NotARecording, match="x.mcap: not a recording of Tactus"):
        read(tmp_path, data)


def test_a_file_that_begins_without_a_header_or_is_of_others_is_refused(tmp_path):
    with pytest.raises(record.NotARecording, match="header"):
        read(tmp_path, file_of(records()[1:]).whole())
    with pytest.raises(record.NotARecording, match="channel tactus/header"):
        read(tmp_path, file_of(records(), prefix="other/").whole())
