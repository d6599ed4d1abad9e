#!/usr/bin/env python3
"""Writes RANGES.md and ranges.json from the table in cpp/ranges.h: the range of every number and text that a client may send.

Run it after each change of the table; clients/python/tests/test_ranges.py fails until that is done.
"""
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
ROW = re.compile(r'Range\{"(?P<field>[\w.]+)", RangeKind::(?P<kind>\w+), (?P<low>[^,]+), (?P<high>[^,]+), "(?P<zero>[^"]*)"(?:, (?P<most>\d+))?(?:, Beyond::(?P<beyond>\w+))?\}')
HEAD = """# Ranges of the wire

For whoever writes a client: what it may send, field by field. The page has every number and every text that a Request, CommandPacket,
DevicePacket, GrantPacket or Ping can hold. What the server tells has no row. A yes or no has no range.
`make_ranges.py` writes this page from the table in `cpp/ranges.h`, which the server itself reads. Do not edit it.

- A request beyond a range is refused with ERROR_BAD_VALUE: key, what was found, what is expected. Nothing is changed. Not a number and infinity are beyond.
- A COMMAND or DEVICE beyond is refused with OUT_OF_RANGE, NOT_FINITE or WRONG_COUNT.
- "Cut" values are taken as the end of the range. The reply says what was taken; a deadline has no reply.
- What depends on more than the field itself is checked as well. Examples are names that a scene must have, and a rate that the tick must bear.

| field | range | 0, or empty | at most | beyond |
|---|---|---|---|---|
"""


def read_ranges():
    """The rows of the table in their order, as dicts."""
    text = (HERE / "cpp" / "ranges.h").read_text()
    rows = [found.groupdict() for found in ROW.finditer(text)]
    if len(rows) != text.count("    Range{"):
        raise SystemExit(f"cpp/ranges.h: found {text.count('    Range{')} rows, read {len(rows)}: one row a line, as the others")
    for row in rows:
        row["low"], row["high"] = (float({"kNearlyUint32": 2**32 - 1}.get(row[end], row[end])) for end in ("low", "high"))
        row["most"], row["beyond"] = int(row["most"] or 0), row["beyond"] or "refused"
    return rows


def number(x):
    return f"{x:,.0f}" if x == int(x) and abs(x) < 1e16 else f"{x:g}"


def range_of(row):
    span = number(row["low"]) if row["low"] == row["high"] else f"{number(row['low'])} to {number(row['high'])}"
    return {"any": "any", "rows": "messages", "name": f"{span} of A-Z a-z 0-9 _ . -", "text": f"{span} bytes", "bytes": f"{span} bytes",
            "real": span, "integer": f"{span}, whole", "choice": f"{span}, of its enumeration"}[row["kind"]]  # fmt: skip


def make_markdown(rows):
    lines = [f"| {r['field']} | {range_of(r)} | {r['zero']} | {number(r['most']) if r['most'] else ''} | {r['beyond'] if r['kind'] != 'any' else ''} |" for r in rows]
    return HEAD + "\n".join(lines) + "\n"


def make_json(rows):
    return "[\n" + ",\n".join(" " + json.dumps(row) for row in rows) + "\n]\n"


def main():
    rows = read_ranges()
    (HERE / "RANGES.md").write_text(make_markdown(rows))
    (HERE / "ranges.json").write_text(make_json(rows))


if __name__ == "__main__":
    main()
