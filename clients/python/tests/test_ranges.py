"""Every number and text that a client may send has one range, and what is made of the table is its present state."""
import importlib.util
import json
import pathlib

from tactus.messages import CommandPacket, DevicePacket, GrantPacket, Ping, Request

PROTO = pathlib.Path(__file__).resolve().parents[3] / "proto"
_spec = importlib.util.spec_from_file_location("make_ranges", PROTO / "make_ranges.py")
make_ranges = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_ranges)


def sent_fields():
    """Message.field -> descriptor, of all that is reached from what clients send; without what is true or false."""
    fields, waiting, seen = {}, [m.DESCRIPTOR for m in (Request, CommandPacket, DevicePacket, GrantPacket, Ping)], set()
    while waiting:
        message = waiting.pop()
        if message.full_name in seen:
            continue
        seen.add(message.full_name)
        for field in message.fields:
            if field.message_type is not None:
                waiting.append(field.message_type)
            if field.type != field.TYPE_BOOL and (field.message_type is None or field.label == field.LABEL_REPEATED):
                fields[f"{message.full_name.removeprefix('tactus.v1.')}.{field.name}"] = field
    return fields


def test_every_field_that_a_client_sends_has_one_range():
    rows = [row["field"] for row in make_ranges.read_ranges()]
    fields = sent_fields()
    assert sorted(set(fields) - set(rows)) == [], "fields without a range: give each a row in proto/cpp/ranges.h"
    assert sorted(set(rows) - set(fields)) == [], "ranges without a field"
    assert sorted({row for row in rows if rows.count(row) > 1}) == []


def test_ranges_suit_their_fields():
    fields = sent_fields()
    for row in make_ranges.read_ranges():
        field, kind = fields[row["field"]], row["kind"]
        suits = {field.CPPTYPE_DOUBLE: {"real"}, field.CPPTYPE_FLOAT: {"real"}, field.CPPTYPE_UINT32: {"integer", "any"}, field.CPPTYPE_UINT64: {"integer", "any"},
                 field.CPPTYPE_ENUM: {"choice"}, field.CPPTYPE_STRING: {"name", "text"}, field.CPPTYPE_MESSAGE: {"rows"}}  # fmt: skip
        assert kind in (suits[field.cpp_type] if field.type != field.TYPE_BYTES else {"bytes"}), row
        assert (row["most"] > 0) == (field.label == field.LABEL_REPEATED), row
        assert row["low"] <= row["high"], row
        assert not row["zero"] or row["low"] > 0, f"{row}: 0 is within the range and needs no meaning of its own"
        if kind == "choice":
            assert [row["low"], row["high"]] == [min(field.enum_type.values_by_number), max(field.enum_type.values_by_number)], row


def test_what_is_made_of_the_table_is_not_stale():
    rows = make_ranges.read_ranges()
    assert (PROTO / "RANGES.md").read_text() == make_ranges.make_markdown(rows), "run proto/make_ranges.py"
    assert json.loads((PROTO / "ranges.json").read_text()) == rows, "run proto/make_ranges.py"
