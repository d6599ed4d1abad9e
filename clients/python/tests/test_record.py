"""Recordings are read up to their end or their first damage, and what stands in them is said."""
import io
import zlib

import pytest

from tactus import record
from tactus.messages import Record, VerdictCode


def one(message) -> bytes:
    """A record as it stands in a file: length, bytes, CRC."""
    body = message.SerializeToString()
    body += b"\x7d" + zlib.crc32(body).to_bytes(4, "little")
    length, prefix = len(body), b""
    while length >= 0x80:
        prefix += bytes([length & 0x7F | 0x80])
        length >>= 7
    return prefix + bytes([length]) + body


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


@pytest.fixture
def parts():
    return [one(message) for message in records()]


def read(tmp_path, data):
    file = tmp_path / "x.record"
    file.write_bytes(data)
    return record.read(file)


def test_all_of_a_whole_file(tmp_path, parts):
    recording = read(tmp_path, b"".join(parts))
    assert recording.damage is None
    assert [s.tick for s in recording.states] == [1, 2]
    assert recording.states[1]["block"].p_WB == (2, 2, 3)
    assert recording.states[1]["block"].w_WB == (4, 5, 6)
    assert [(c.client, c.sequence, c.verdict) for c in recording.commands()] == [
        ("a", 1, "REFUSED_NOT_LEASED"), ("b", 1, "APPLIED"), ("a", 2, None)]  # fmt: skip
    assert "1 APPLIED, 1 REFUSED_NOT_LEASED" in recording.summary()
    assert "complete" in recording.summary()


def test_the_table_holds_what_was_commanded_in_the_tick(tmp_path, parts):
    out = io.StringIO()
    assert read(tmp_path, b"".join(parts)).write_csv(out) == 4
    rows = [line.split(",") for line in out.getvalue().splitlines()]
    assert len({len(row) for row in rows}) == 1
    block = {row[0]: row for row in rows[1:] if row[2] == "block"}
    assert [float(x) for x in block["1"][-6:]] == [0] * 6
    assert [float(x) for x in block["2"][-6:]] == [5, 0, 0, 0, 0, 6]


def test_every_cut_is_found_and_what_stands_before_it_is_kept(tmp_path, parts):
    data = b"".join(parts)
    ends = [sum(map(len, parts[: i + 1])) for i in range(len(parts))]
    for at in range(ends[0], len(data)):
        recording = read(tmp_path, data[:at])
        whole = sum(end <= at for end in ends)
        assert len(recording.states) == min(2, whole - 1)
        assert recording.damage is not None
        begin = ends[whole - 1]
        assert f"byte {begin}" in recording.damage, (at, recording.damage)


def test_every_flipped_bit_is_found(tmp_path, parts):
    data = b"".join(parts)
    for at in range(len(parts[0]), len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << (at % 8)
        assert read(tmp_path, bytes(changed)).damage is not None, at


@pytest.mark.parametrize("data", [b"", b"hello, this is text and no recording", bytes(100)])
def test_what_is_no_recording_is_refused(tmp_path, data):
    with pytest.raises(record.NotARecording, match="x.record: not a recording of Tactus"):
        read(tmp_path, data)


def test_a_file_that_begins_without_a_header_is_refused(tmp_path, parts):
    with pytest.raises(record.NotARecording, match="no header"):
        read(tmp_path, b"".join(parts[1:]))
