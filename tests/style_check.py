#!/usr/bin/env python3
"""The rules of this tree that a program can check. usage: tests/style_check.py [--self-test | --format] [ROOT]

Prints one line per finding: file:line: rule. Exit 0 clean, 1 findings, 2 usage, 77 skipped (--format without clang-format 14).
"""
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile

import prose_check

FILE_LINES = 600
FUNCTION_LINES = 70
FILE_BYTES = 1 << 20
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "server", "proto", "core", "clients", "tests", "config", "README.md", "CHANGELOG.md", "LICENSE"}
CODE = (".cc", ".h", ".py", ".js", ".ts")

# An include may only go to a room of the same or a lower rank.
CORE_RANK = {"math": 0, "shape": 1, "collide": 2, "dynamics": 3, "contact": 4, "actuation": 5, "world": 6, "scene": 7}
# The same between the parts of a room; "" are the room's own files, whose sources (tables, factories) may name every part.
SUB_RANK = {
    "core/shape": {"": 0, "mesh": 1, "smooth": 2},
    "core/collide": {"": 0, "convex": 1, "smooth": 2, "mesh": 3, "places": 4, "time": 5, "feature": 6},
    "core/contact": {"": 0, "impact": 1, "solve": 2, "penalty": 3, "step": 4, "feature": 5, "exact": 6, "lcp": 7},
    "server/net": {"": 0, "scene": 1, "control": 2, "udp": 3, "foxglove": 4, "web": 5, "desk": 6},
}
CORE_FOUNDATION = {"check", "arena", "limits"}  # core/*.h that every room may use

DENIED_IN_CORE = [  # (pattern, what to say); not in core/scene
    (r"\bstd::shared_ptr\b", "std::shared_ptr"), (r"\bstd::function\b", "std::function"), (r"#include <thread>", "<thread>"),
    (r"#include <chrono>", "<chrono>"), (r"#include <iostream>", "<iostream>"), (r"\bthrow\b", "throw"), (r"\brand\s*\(", "rand()"),
    (r"\bstd::unordered_map\b", "std::unordered_map (its order breaks replay)"), (r"\busing namespace\b", "using namespace"),
    (r"#include <mutex>", "<mutex>"), (r"#include <fstream>", "<fstream>"),
]
DENIED_IN_REALTIME = [
    (r"spdlog", "spdlog"), (r"google/protobuf|\.pb\.h", "protobuf"), (r"\bstd::mutex\b", "std::mutex"), (r"\bstd::string\b", "std::string"),
    (r"\bthrow\b", "throw"), (r"\bstd::shared_ptr\b", "std::shared_ptr"), (r"\bstd::function\b", "std::function"), (r"#include <iostream>", "<iostream>"),
    (r'#include "server/(net|session|record)/', "net, session or record"),
]
# Exceptions to the deny-lists, each with its reason.
ALLOWED = {
    ("core/check.h", "throw"): "TACTUS_REQUIRE, used by scene/ and programs only",
    ("core/shape/mesh/triangle_mesh.h", "std::shared_ptr"): "instances share a mesh's tree and field; the tick only reads through plain pointers",
    ("core/world.h", "std::shared_ptr"): "Worlds of one scene share its constant Model: solvers beside the tick step copies of the state",
    ("core/world.cc", "std::shared_ptr"): "the same",
    ("core/dynamics/model.h", "std::shared_ptr"): "the Model owns the meshes that its shapes share; the tick only reads through plain pointers",
}
MACHINE_PATH = re.compile(r"(?<![A-Za-z0-9_.$}~-])/(?:" + "work" + "|" + "farm" + r")/")
SNAKE = re.compile(r"^[a-z0-9_]+$")

# A document that a page or a comment names is in this tree: with .md, as a link's target, or by one of these bare names.
DOCUMENT = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)*[\w-]+\.md|(?:[\w.-]+/)+README|" + "|".join(("NOTES", "DESIGN", "STYLE", "SURVEY", "FACTS", "BENCH", "LANES")) + r")\b")
WRITTEN = {"paper_table.md": "written into tests/out by tests/paper"}  # documents that a run makes
COMMENT = {  # by the end of a file's name; the first group that matched is the comment
    (".cc", ".h", ".ts", ".js", ".proto"): re.compile(r'(//[^\n]*|/\*.*?\*/)|"(?:\\.|[^"\\\n])*"', re.S),
    (".py",): re.compile(r'("""[^"].*?""")|(?:^|(?<=\s))(#[^\n]*)|"(?:\\.|[^"\\\n])*"', re.S | re.M),
    (".toml", ".cmake", "CMakeLists.txt", ".sh"): re.compile(r"(?:^|(?<=\s))(#[^\n]*)", re.M),
}


def files_of(root):
    """Tracked and new files, or all of them where there is no git."""
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True).stdout
        names = sorted(set(out.decode().split("\0")) - {""})
        if names:
            return [n for n in names if os.path.exists(os.path.join(root, n))]
    except (OSError, subprocess.CalledProcessError):
        pass
    names = []
    for folder, folders, leaves in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "build", "__pycache__")]
        names += [os.path.relpath(os.path.join(folder, leaf), root) for leaf in leaves]
    return sorted(names)


def strip_cpp(text):
    """Comments, strings and character constants blanked; line breaks stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^\s()\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def cpp_functions(code):
    """(first line, last line) of each function body at namespace or class level, from the start of its head."""
    found, stack, head = [], [], 0  # stack of kinds: "scope", "function", "other"
    start = 0
    parens = 0
    for i, c in enumerate(code):
        if c == "(":
            parens += 1
        elif c == ")":
            parens -= 1
        elif c == "{":
            text = re.sub(r"^\s*#.*$", "", code[head:i], flags=re.M).strip()
            if i > 0 and not code[i - 1].isspace():
                kind = "initialiser"  # a_{1}: a body's brace stands after a blank
            elif "function" in stack or "other" in stack or parens > 0:
                kind = "other"
            elif re.search(r"\b(namespace|class|struct|union|enum|extern)\b", text.split("(")[0]) and not re.search(r"\)\s*(const|noexcept|override|final|\s)*$", text):
                kind = "scope"
            elif "(" in text:
                kind, start = "function", head + re.match(r"(\s|#.*|(public|private|protected)\s*:)*", code[head:i]).end()
            else:
                kind = "other"
            stack.append(kind)
            if kind in ("scope", "function"):
                head = i + 1
        elif c == "}":
            kind = stack.pop() if stack else "other"
            if kind == "function":
                found.append((code.count("\n", 0, start) + 1, code.count("\n", 0, i) + 1))
            if kind in ("scope", "function") and "function" not in stack:
                head = i + 1
        elif c == ";" and parens == 0 and "function" not in stack and "other" not in stack:
            head = i + 1
    return found


def python_functions(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    return [(n.lineno, n.end_lineno) for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]


def core_room(path):
    parts = path.split("/")
    if len(parts) == 2:
        stem = parts[1].split(".")[0]
        return None if stem in CORE_FOUNDATION else "world"
    return parts[1]


def check_sizes(path, text, add):
    lines = text.count("\n")
    if lines > FILE_LINES:
        add(FILE_LINES + 1, f"{lines} lines, expected at most {FILE_LINES}")
    if path.endswith((".cc", ".h")):
        functions = cpp_functions(strip_cpp(text))
    else:
        functions = python_functions(text) if path.endswith(".py") else []
    for first, last in functions:
        if last - first + 1 > FUNCTION_LINES:
            add(first, f"function of {last - first + 1} lines, expected at most {FUNCTION_LINES}")


def part_of(path):
    """(room, part of it) of a file in a room that has parts, part "" for the room's own files; None elsewhere."""
    parts = path.split("/")
    room = "/".join(parts[:2])
    if len(parts) not in (3, 4) or room not in SUB_RANK:
        return None
    return room, parts[2] if len(parts) == 4 else ""


def check_parts(path, target, number, add):
    """Between the parts of one room."""
    here, there = part_of(path), part_of(target)
    if here is None or there is None or here[0] != there[0] or (here[1] == "" and path.endswith(".cc")):
        return
    ranks, room = SUB_RANK[here[0]], here[0].split("/")[1]
    if ranks.get(there[1], 99) > ranks.get(here[1], -1):
        add(number, f"{room}/{here[1]} includes {target}: arrows go " + " < ".join(f"{room}/{part}" for part in ranks))


def check_includes(path, text, add):
    parts = path.split("/")
    for number, line in enumerate(text.split("\n"), 1):
        m = re.match(r'\s*#\s*include\s+["<]((?:core|server|clients|proto|tests)/[^">]+)[">]', line)
        if not m:
            continue
        target = m.group(1)
        to = target.split("/")[0]
        check_parts(path, target, number, add)
        if parts[0] == "core":
            here, there = core_room(path), core_room(target) if to == "core" else None
            if to != "core":
                add(number, f"core includes {target}, expected core only")
            elif there is not None and CORE_RANK.get(there, 99) > CORE_RANK.get(here, -1):
                add(number, f"{here or 'the foundation'} includes {target}: arrows go " + " < ".join(CORE_RANK))
        elif parts[0] == "server" and to in ("clients", "tests"):
            add(number, f"server includes {target}, expected core and proto only")
        elif parts[0] == "clients" and to in ("core", "server", "tests"):
            add(number, f"clients include {target}, expected proto only")
        elif parts[0] == "proto" and to != "proto":
            add(number, f"proto includes {target}, expected proto only")


def check_denied(path, text, add):
    rules = []
    if path.startswith("core/") and not path.startswith("core/scene/"):
        rules = DENIED_IN_CORE
    elif path.startswith("server/realtime/"):
        rules = DENIED_IN_REALTIME
    if not rules or not path.endswith((".cc", ".h")):
        return
    stripped = strip_cpp(text).split("\n")
    for number, (code, raw) in enumerate(zip(stripped, text.split("\n")), 1):
        subject = raw if raw.lstrip().startswith("#include") else code
        for pattern, what in rules:
            if re.search(pattern, subject) and (path, what) not in ALLOWED:
                add(number, f"{what} does not belong in {'/'.join(path.split('/')[:2]) if path.startswith('server') else 'core'}")


def prose_of(path, text):
    """(offset, text) of what is written for a reader: a page, or the comments of code."""
    if path.endswith(".md"):
        return [(0, text)]
    for ends, pattern in COMMENT.items():
        if path.endswith(ends):
            return [(m.start(), next(filter(None, m.groups()))) for m in pattern.finditer(text) if any(m.groups())]
    return []


def check_documents(path, text, names, add):
    for offset, prose in prose_of(path, text):
        for m in DOCUMENT.finditer(prose):
            name = m.group(1) if m.group(1).endswith(".md") else m.group(1) + ".md"
            wanted = re.sub(r"^(\.\.?/)+", "", name)
            if os.path.basename(wanted) not in WRITTEN and not any(n == wanted or n.endswith("/" + wanted) for n in names):
                add(text.count("\n", 0, offset + m.start()) + 1, f"{m.group(1)} names a document that is not in the tree, expected what it says or a page that is here")


def check_place(path, add):
    parts = path.split("/")
    if parts[0] not in TOP_LEVEL and not parts[0].startswith("."):
        add(1, f"{parts[0]} at the top level, expected one of {' '.join(sorted(TOP_LEVEL))}")
    if parts[0] in ("core", "server") and len(parts) > 3 and not (len(parts) == 4 and (part_of(path) or ("", ""))[1] in SUB_RANK.get("/".join(parts[:2]), ())):
        add(1, f"a third level in {parts[0]}, expected {parts[0]}/ROOM/FILE")
    if parts[0] in ("core", "server") and len(parts) == 3 and parts[1] in ("utils", "common", "base", "managers"):
        add(1, f"a room called {parts[1]}, expected one whose sentence says what belongs there")
    stem, extension = os.path.splitext(parts[-1])
    if extension in (".cc", ".h", ".py") and not SNAKE.match(stem):
        add(1, f"file name {parts[-1]}, expected snake_case")
    if parts[0] == "tests" and len(parts) == (4 if parts[1] == "unit" else 3) and parts[1] in ("unit", "property", "paper") and extension == ".cc" \
            and not stem.endswith("_test") and not re.match(r"^issue_\d{3}_", stem):
        add(1, "test file, expected a name ending in _test.cc or starting with issue_NNN_")
    if parts[0] == "tests" and len(parts) == 3 and parts[1] == "live" and extension == ".py" and re.search(r"_tests?$", stem):
        add(1, "live test, expected a name starting with test_")


def rooms_of(paths):
    """The folders that README's map names: top-level ones, those directly in core, server and clients, and proto/cpp."""
    rooms = set()
    for parts in (path.split("/") for path in paths):
        if len(parts) > 1 and not parts[0].startswith("."):
            rooms.add(parts[0])
        if len(parts) > 2 and (parts[0] in ("core", "server", "clients") or parts[:2] == ["proto", "cpp"]):
            rooms.add("/".join(parts[:2]))
    return rooms


def check_map(text, paths, add):
    """README's map, the section whose heading has "map" or "rooms" in it, against the tree."""
    section = re.search(r"^## [^\n]*\b(?:map|rooms)\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S | re.I)
    if section is None:
        add(1, "no map of the rooms, expected a section whose heading says Rooms")
        return
    first = text.count("\n", 0, section.start()) + 1
    named = set(re.findall(r"[`\[]([a-z_]+(?:/[a-z_]+)?)/?[`\]]", section.group(1)))
    for room in sorted(rooms_of(paths) - named):
        add(first, f"the map does not name {room}, expected `{room}` with one sentence")
    for room in sorted(n for n in named if n.split("/")[0] in ("core", "server", "clients", "proto", "tests", "config") and n not in rooms_of(paths)):
        add(first, f"the map names {room}, expected a folder of the tree")


def check_file(root, path, names, findings, later):
    def add(line, what):
        findings.append(f"{path}:{line}: {what}")
    check_place(path, add)
    full = os.path.join(root, path)
    if os.path.getsize(full) > FILE_BYTES:
        add(1, f"{os.path.getsize(full)} bytes, expected at most {FILE_BYTES} in git")
        return
    try:
        with open(full, encoding="utf-8") as f:
            text = f.read()
    except UnicodeDecodeError:
        if path.endswith(CODE):
            add(1, "not UTF-8")
        return
    for number, line in enumerate(text.split("\n"), 1):
        if MACHINE_PATH.search(line):
            add(number, "a path of one machine, expected none in the tree")
    if path.endswith(".md") and "node_modules" not in path.split("/"):
        for line, what in prose_check.check_page(root, path, text, later):
            add(line, what)
    check_documents(path, text, names, add)
    if not path.endswith(CODE):
        return
    check_sizes(path, text, add)
    check_includes(path, text, add)
    check_denied(path, text, add)
    if path.endswith(".h") and "#pragma once" not in text:
        add(1, "no #pragma once")
    if path.endswith(".h") and path.split("/")[0] in ("core", "server") and not text.startswith("//"):
        add(1, "header without a first comment, expected what it is for")


def check(root, later=prose_check.PROSE_LATER):
    findings = []
    paths = files_of(root)
    for path in paths:
        check_file(root, path, set(paths), findings, later)
    readme = os.path.join(root, "README.md")
    if os.path.exists(readme):
        with open(readme, encoding="utf-8") as f:
            check_map(f.read(), paths, lambda line, what: findings.append(f"README.md:{line}: {what}"))
    findings.extend(f"{page}:1: {what}" for page, what in prose_check.check_later(paths, later))
    return findings


def check_format(root):
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout if tool else ""
    if "version 14." not in version:
        print("style_check: skipped: needs clang-format 14, other versions format differently")
        return 77
    sources = [f for f in files_of(root) if f.endswith((".cc", ".h"))]
    result = subprocess.run([tool, "--dry-run", "-Werror", *sources], cwd=root, capture_output=True, text=True)
    bad = sorted({m.group(1) for m in re.finditer(r"^(\S+?):\d+:\d+: error", result.stderr, re.M)})
    for path in bad:
        print(f"{path}:1: not formatted; run clang-format -i {path}")
    print(f"style_check: {len(sources)} files, {len(bad)} not formatted")
    return 1 if result.returncode else 0


SELF_TEST = {  # path: (text, part of the finding that must come; None: clean)
    "core/math/good.h": ("// Good.\n#pragma once\n#include \"core/check.h\"\nnamespace tactus {\nstruct A {\n  int f() const { return 1; }\n};\n}\n", None),
    "core/math/up.h": ("// Up.\n#pragma once\n#include \"core/shape/shape.h\"\n", "arrows go"),
    "core/shape/world_user.cc": ("#include \"core/world.h\"\n", "arrows go"),
    "core/contact/server_user.cc": ("#include \"server/net/a.h\"\n", "core includes"),
    "core/contact/thrower.cc": ("void f() {\n  throw 1;\n}\n", "throw does not belong"),
    "core/contact/talker.cc": ("// throw is only a word here\nconst char* s = \"throw std::function\";\n", None),
    "core/contact/clock.cc": ("#include <chrono>\n", "<chrono>"),
    "core/scene/thrower.cc": ("void f() { throw 1; }\n", None),
    "core/math/deep/er.cc": ("int a;\n", "third level"),
    "core/math/long.cc": ("int f(int a,\n      int b) {\n" + "  a += b;\n" * 69 + "  return a;\n}\n", "function of 73 lines"),
    "core/math/long_enough.cc": ("namespace {\nint f() {\n" + "  int a;\n" * 68 + "}\n}\nint g() {\n" + "  for (;;) {\n  }\n" * 34 + "}\n", None),
    "core/math/method.h": ("// M.\n#pragma once\nclass A : public B {\n public:\n  A() : a_{1} {\n" + "    a_ = 1;\n" * 70 + "  }\n  int a_;\n};\n", "function of 72 lines"),
    "core/math/bare.h": ("#pragma once\n", "first comment"),
    "core/math/twice.h": ("// T.\nint a;\n", "#pragma once"),
    "core/math/tall.cc": ("int a;\n" * 601, "601 lines"),
    "core/math/BadName.cc": ("int a;\n", "snake_case"),
    "server/realtime/logger.cc": ("#include <spdlog/spdlog.h>\n", "spdlog does not belong"),
    "server/realtime/texter.cc": ("#include <string>\nstd::string s;\n", "std::string does not belong"),
    "server/realtime/viewer.cc": ("#include <string_view>\nstd::string_view s;\n", None),
    "server/realtime/netter.cc": ("#include \"server/net/a.h\"\n", "net, session or record"),
    "server/net/client_user.cc": ("#include \"clients/cpp/a.h\"\n", "server includes"),
    "server/net/udp/down.cc": ("#include \"server/net/scene/a.h\"\n#include \"server/net/options.h\"\n#include \"server/realtime/ring.h\"\n", None),
    "server/net/control/up.h": ("// U.\n#pragma once\n#include \"server/net/desk/a.h\"\n", "net/control includes server/net/desk/a.h: arrows go"),
    "server/net/root.cc": ("#include \"server/net/desk/a.h\"\n#include \"server/net/web/a.h\"\n", None),
    "server/net/root.h": ("// R.\n#pragma once\n#include \"server/net/scene/a.h\"\n", "arrows go"),
    "server/net/attic/er.cc": ("int a;\n", "third level"),
    "server/session/deep/er.cc": ("int a;\n", "third level"),
    "clients/cpp/cheater.cc": ("#include \"core/world.h\"\n", "clients include"),
    "clients/python/long.py": ("def f():\n" + "    a = 1\n" * 70, "function of 71 lines"),
    "core/collide/mesh/down.cc": ("#include \"core/collide/convex/a.h\"\n#include \"core/collide/narrow_phase.h\"\n", None),
    "core/collide/convex/up.cc": ("#include \"core/collide/mesh/a.h\"\n", "arrows go"),
    "core/collide/table.cc": ("#include \"core/collide/mesh/a.h\"\n", None),
    "core/collide/table.h": ("// T.\n#pragma once\n#include \"core/collide/mesh/a.h\"\n", "arrows go"),
    "core/collide/attic/er.cc": ("int a;\n", "third level"),
    "tests/unit/collide/nameless.cc": ("int a;\n", "_test.cc"),
    "tests/unit/collide/issue_041_box_sinks.cc": ("int a;\n", None),
    "tests/live/round_trip_test.py": ("a = 1\n", "starting with test_"),
    "tools/x.txt": ("a\n", "top level"),
    "config/here.toml": ("path = \"/" + "work/x\"\n", "path of one machine"),
    "core/README.md": ("Links: DECISIONS.md.\n", "DECISIONS.md names a document"),
    "config/cites_fine.md": ("See [above](../core/README.md), `core/README.md`, <https://a.b/C.md> and [there](https://a.b/c.md). `[](int a)`\n```\n[&](int a) {}\n```\n", None),
    "core/math/cites.cc": ("// The bound of NOTES, 5.\nint a;\n", "NOTES names a document"),
    "core/math/cites_page.cc": ("int a;  // as DESIGN.md says\n", "DESIGN.md names a document"),
    "core/math/cites_not.cc": ("// See core/README: a DESIGNER's NOTE.\nconst char* s = \"NOTES.md // NOTES\";\n", None),
    "clients/python/cites.py": ("def f():\n    \"\"\"As STYLE asks.\"\"\"\n", "STYLE names a document"),
    "clients/python/cites_not.py": ("NOTES = \"DESIGN.md # DESIGN\"\n", None),
    "config/cites.toml": ("a = 1  # the rates of BENCH.md\n", "BENCH.md names a document"),
    "config/there.toml": ("path = \"frame" + "work/x\"\nurl = \"net/" + "work/x\"\n", None),
    "config/clear.md": ("# 1, 2, 3, 4\n\nOn Debian 12 it holds " + "very " * 9 + "long: 5 to 10 ms (eq. 17, 18 and 19, 2026-11-22), by Baraff (3), Kass (28-29), with `a 1 2 3` of x86-64.\n"
                        + "| 1 | 2 | 3 |" + " wide" * 50 + "\n```\n" + "code " * 30 + "1 2 3 4\n```\n- One.\n- [Two](../core/math/good.h), [three](#1-2-3-4) 1000 : 1 and 4\n", None),
    "config/wordy.md": ("It says " + "this and that " * 7 + "at last.\n", "25.0 words a sentence"),
    "config/listed.md": ("It says " + "this and that " * 7 + "\n- at last\n\nIt ends. It goes on, e.g. here.\n", None),
    "config/figures.md": ("Short.\nIt takes 0.51 / 0.54 of 1,437 us.\n", "figures.md:2: 3 numbers in a sentence (0.51, 0.54, 1,437)"),
    "config/wide.md": ("Wide. " * 34 + "\n", "204 columns"),
    "config/lost.md": ("See [it](nowhere.md).\n", "a link to nowhere.md"),
    "config/anchor.md": ("See [it](clear.md#heading).\n", "no such heading"),
    "config/tested.md": ("By `unit/issue_041_box_sinks`, `live/round_trip_test` and `live/example_push`.\n", None),
    "config/untested.md": ("By `unit/nothing_test`.\n", "the test unit/nothing_test, which is not there"),
    "server/net/README.md": ("Words. " * 299, "299 words, expected 300 to 1000"),
    "server/solver/README.md": (("Words. " * 25 + "\n") * 12, None),
    "server/README.md": (("Words. " * 25 + "\n") * 141, "3525 words, expected at most 3500"),
}
# What the map of README says, the paths of the tree, the part of the finding that must come (None: none).
SELF_TEST_MAP = [
    ("# A\n## Rooms\n- `core/math`: sums\n- [core](core/README.md)\n## Next\n", ["core/math/a.h", "core/a.h", "README.md", ".ci/run"], None),
    ("# A\n## Rooms\n- `core/math`\n## Next\n- `core`\n", ["core/math/a.h"], "README.md:2: the map does not name core,"),
    ("# A\n## The map\n`core`, `core/math`, `clients`", ["core/math/a.h", "clients/cpp/a.h"], "does not name clients/cpp"),
    ("## Rooms\n`core`, `core/maths`", ["core/a.h"], "names core/maths"),
    ("# A\n`core`\n", ["core/a.h"], "no map of the rooms"),
]


def self_test():
    wrong = 0
    with tempfile.TemporaryDirectory() as root:
        for path, (text, expected) in SELF_TEST.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        findings = check(root, later={})
        for path, (text, expected) in SELF_TEST.items():
            mine = [f for f in findings if f.startswith(path + ":")]
            good = any(expected in f for f in mine) if expected else not mine
            if not good:
                wrong += 1
                print(f"self-test: {path}: expected {expected!r}, got {mine}")
    for text, paths, expected in SELF_TEST_MAP:
        mine = []
        check_map(text, paths, lambda line, what: mine.append(f"README.md:{line}: {what}"))
        if not (any(expected in f for f in mine) if expected else not mine):
            wrong += 1
            print(f"self-test: map {text!r}: expected {expected!r}, got {mine}")
    wrong += self_test_later()
    print(f"style_check: self-test, {len(SELF_TEST) + len(SELF_TEST_MAP) + 3} cases, {wrong} wrong")
    return 1 if wrong else 0


def self_test_later():
    """A page on PROSE_LATER may fail, may not pass, and must be there."""
    later = {"a.md": "its time comes"}
    cases = [(prose_check.check_page(".", "a.md", "1 2 3.\n", later), []), (prose_check.check_page(".", "a.md", "Good.\n", later), ["passes now"]),
             (prose_check.check_later(["b.md"], later), ["is not in the tree"])]
    wrong = [(got, expected) for got, expected in cases if len(got) != len(expected) or any(e not in g[1] for g, e in zip(got, expected))]
    for got, expected in wrong:
        print(f"self-test: PROSE_LATER: expected {expected}, got {got}")
    return len(wrong)


def main(arguments):
    flags = [a for a in arguments if a.startswith("-")]
    places = [a for a in arguments if not a.startswith("-")]
    if set(flags) - {"--self-test", "--format"} or len(places) > 1:
        print(__doc__)
        return 2
    if "--self-test" in flags:
        return self_test()
    root = places[0] if places else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if "--format" in flags:
        return check_format(root)
    findings = check(root)
    print("\n".join(findings + [f"style_check: {len(findings)} findings"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
