"""Reads MCAP files message by message, in the order of the file (specification: mcap.dev/spec), and checks every CRC.

Chunks packed with zstd need the package zstandard (Debian: python3-zstandard).
"""
import struct
import zlib
from typing import NamedTuple

MAGIC = b"\x89MCAP0\r\n"
RECORD_BYTES_MAX = 64 << 20
SCHEMA, CHANNEL, MESSAGE, CHUNK, ATTACHMENT, DATA_END, FOOTER = 3, 4, 5, 6, 9, 15, 2
HEADER, MESSAGE_INDEX, METADATA = 1, 7, 12
DATA_SECTION = (HEADER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, ATTACHMENT, METADATA, DATA_END)
FOOTER_BYTES = 20


class Damage(ValueError):
    """What is wrong and at which byte; all messages before it were good."""


class Message(NamedTuple):
    topic: str
    schema: str  # full name of its type
    encoding: str
    sequence: int
    time_ns: int
    data: bytes


class _Taker:
    """Takes numbers and texts from the front of some bytes. Raises struct.error where they are too short."""

    def __init__(self, data):
        self.data, self.at = memoryview(data), 0

    def numbers(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def take(self, count):
        if self.at + count > len(self.data):
            raise struct.error("too short")
        self.at += count
        return self.data[self.at - count : self.at]

    def text(self):
        return bytes(self.take(*self.numbers("I"))).decode()


def _unzstd(data, size):
    try:
        import zstandard
    except ImportError:
        raise ImportError("this file is packed with zstd: install the package zstandard (Debian: python3-zstandard)") from None
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)


class _Reader:
    def __init__(self, data):
        self.data, self.offset = memoryview(data), 0
        self.schemas, self.channels, self.chunks = {}, {}, 0

    def fail(self, what):
        raise Damage(f"at byte {self.offset}: {what}")

    def define(self, op, content):
        taker = _Taker(content)
        (number,) = taker.numbers("H")
        if op == SCHEMA:
            self.schemas.setdefault(number, taker.text())
            return
        (schema,) = taker.numbers("H")
        topic, encoding = taker.text(), taker.text()
        if schema and schema not in self.schemas:
            self.fail(f"channel '{topic}' names schema {schema}, which was not given")
        self.channels.setdefault(number, (topic, self.schemas.get(schema, ""), encoding))

    def message(self, content):
        taker = _Taker(content)
        channel, sequence, time_ns, _ = taker.numbers("HIQQ")
        if channel not in self.channels:
            self.fail(f"a message of channel {channel}, which was not given")
        return Message(*self.channels[channel], sequence, time_ns, bytes(content[taker.at :]))

    def chunk(self, content):
        taker = _Taker(content)
        _, _, size, crc = taker.numbers("QQQI")
        compression = taker.text()
        packed = taker.take(*taker.numbers("Q"))
        if size > RECORD_BYTES_MAX:
            self.fail(f"a chunk of {size} bytes unpacked")
        if compression not in ("", "zstd"):
            self.fail(f"a chunk packed with '{compression}', expected zstd or none")
        try:
            records = _unzstd(packed, size) if compression else packed
        except ImportError:
            raise
        except Exception:  # zstandard's own error
            self.fail("a chunk that does not unpack")
        if len(records) != size or (crc and zlib.crc32(records) != crc):
            self.fail("a chunk whose CRC-32 is not that of its bytes")
        return memoryview(records)

    def in_chunk(self, records):
        at = 0
        while at < len(records):
            op, length = struct.unpack_from("<BQ", records, at)
            content = records[at + 9 : at + 9 + length]
            if len(content) < length:
                self.fail("a record that does not fit its chunk")
            at += 9 + length
            if op == MESSAGE:
                yield self.message(content)
            elif op in (SCHEMA, CHANNEL):
                self.define(op, content)

    def finish(self, start):
        data = self.data
        tail = 9 + FOOTER_BYTES + len(MAGIC)
        self.offset = start
        if len(data) - start < tail or data[-len(MAGIC) :] != MAGIC:
            self.fail("cut off: the summary does not end as it should")
        op, length, summary, offsets, crc = struct.unpack_from("<BQQQI", data, len(data) - tail)
        if op != FOOTER or length != FOOTER_BYTES or (summary and summary != start) or offsets > len(data) - tail:
            self.fail("a footer that does not fit the file")
        if crc and zlib.crc32(data[start : len(data) - len(MAGIC) - 4]) != crc:
            self.fail("the CRC-32 of the summary is not that of its bytes")

    def messages(self):
        data = self.data
        if data[: len(MAGIC)] != MAGIC:
            self.fail("the file is empty: not an MCAP file" if not len(data) else "not an MCAP file: it begins otherwise")
        self.offset = len(MAGIC)
        while True:
            at = self.offset
            if len(data) - at < 9:
                self.fail("cut off: the file ends without a summary")
            op, length = struct.unpack_from("<BQ", data, at)
            if op not in DATA_SECTION or (op == HEADER and at != len(MAGIC)):
                self.fail(f"a record of kind {op}, which does not belong there")
            if length > RECORD_BYTES_MAX:
                self.fail(f"a record of {length} bytes, expected at most {RECORD_BYTES_MAX}")
            content = data[at + 9 : at + 9 + length]
            if len(content) < length:
                self.fail(f"cut off: {len(content)} of a record's {length} bytes are there")
            try:
                if op in (SCHEMA, CHANNEL):
                    self.define(op, content)
                elif op == MESSAGE:
                    if self.chunks:  # no CRC stands for it before the end of the data
                        self.fail("a message outside of the chunks")
                    yield self.message(content)
                elif op == CHUNK:
                    self.chunks += 1
                    yield from self.in_chunk(self.chunk(content))
                elif op == ATTACHMENT and zlib.crc32(content[:-4]) != struct.unpack("<I", content[-4:])[0]:
                    self.fail("an attachment whose CRC-32 is not that of its bytes")
                elif op == MESSAGE_INDEX:
                    _, size = struct.unpack_from("<HI", content)
                    if size + 6 != length:
                        self.fail("a message index that does not decode")
                elif op == DATA_END:
                    (crc,) = struct.unpack("<I", content)
                    if crc and zlib.crc32(data[:at]) != crc:
                        self.fail("the CRC-32 of the data section is not that of its bytes")
                    return self.finish(at + 9 + length)
            except (struct.error, UnicodeDecodeError):
                self.fail("a record that does not decode")
            self.offset = at + 9 + length


def messages(data: bytes):
    """Yields each Message. Raises Damage where the file is cut off or was changed; all before that are good."""
    return _Reader(data).messages()
