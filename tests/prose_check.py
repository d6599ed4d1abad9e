"""What a program can check of a page's prose: words a sentence, figures a sentence, length of lines and pages, links, named tests.

Called by style_check.py for every *.md of the tree; by itself: tests/prose_check.py PAGE... prints the figures of each.
Counted is what a reader reads: not headings, tables, code blocks, link targets or pictures; a code span is one word
without figures. A list item, a blank line and a full stop before a new beginning end a sentence.
"""
import glob
import os
import re
import sys

WORDS_A_SENTENCE = 20  # on average over a page
NUMBERS_A_SENTENCE = 2
LINE_COLUMNS = 200  # outside tables
PAGE_WORDS = [  # (pattern of the path, least, most): all words of the page, code blocks too
    (r"README\.md", 0, 1000), (r"core/README\.md", 0, 3000), (r"server/README\.md", 0, 3500), (r"(core|server)/\w+/README\.md", 300, 1000),
]

# Pages that do not pass yet, each with the reason. A page that passes is taken off: the list only shrinks.
PROSE_LATER = {
    "core/README.md": "written before these rules; its rewrite is under way",
}

ABBREVIATIONS = ("e.g.", "i.e.", "cf.", "vs.", "etc.", "al.", "eq.", "eqs.", "Eq.", "Eqs.", "Fig.", "Figs.", "No.", "sec.", "Sec.", "pp.", "p.")
# A number that directly follows one of these names something and measures nothing.
NAMING = frozenset(
    "version versions port ports eq. eqs. eq equation equations fig. figs. fig figure figures table tables section sections sec. chapter page rule rules "
    "decision decisions issue code codes field fields line lines level stage bit bits wire gcc g++ clang libwebsockets python python3 debian ubuntu ros eigen openssl "
    "tls http node.js npm bullet ode mujoco protobuf asio siconos kdl mcap chai3d linux kernel foxglove plotjuggler prometheus java c++ sha aes ipv avx sse rk".split())
FIGURE = re.compile(r"(?<![\w.,/:^-])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?=$|[^\w.,-]|[.,-](?!\w)|(?:[munk]?[msNJBg]|k?Hz|%|x)\b)")


class Sentence:
    """words: without marks; numbers: the figures among them; line: where it begins."""

    def __init__(self, line, text):
        self.line = line
        tokens = [t for t in text.split() if re.search(r"\w", t)]
        self.words = len(tokens)
        self.numbers = numbers_of(text)


def numbers_of(text):
    """The figures of a sentence: no dates, years, versions, ports, equations, ordinals or parts of names."""
    text = re.sub(r"\b\d{4}-\d\d(-\d\d)?\b|\b\d+(\.\d+){2,}\b|(?<=\()(19|20)\d\d(?=[a-z]?\))|(?<=\b[Ii]n )(19|20)\d\d\b", "DATE", text)
    text = re.sub(r"\(\d+[a-z]?(?:\s*(?:[-,]|to|and)\s*\d+[a-z]?)*\)", "", text)  # "Drumwright (3)" cites an equation
    text = re.sub(r"(?<=\d)\s?:\s?(?=\d)", ":", text)  # 1000 : 1 is one figure
    text = re.sub(r"(?<![\w.])(\d[\d.,]*%?)(?:-|\.\.|/)(?=\d)", r"\1 to ", text)
    found, named_to = [], -1
    for m in FIGURE.finditer(text):
        before = text[:m.start()].split()
        named = bool(before) and not text[:m.start()].endswith("(") and before[-1].strip("(\"'").lower() in NAMING
        if named or (named_to >= 0 and re.fullmatch(r"\s*(,|and|or|to|,\s*and)\s*", text[named_to:m.start()])):
            named_to = m.end()  # "eq. 17, 60 and 61" names three
        else:
            found.append(m.group(0))
    return found


def plain(line):
    """A line as it is read: without targets of links, pictures, marks of emphasis; a code span is one word."""
    line = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", line)
    line = re.sub(r"``.+?``|`[^`]+`", "CODE", line)
    line = re.sub(r"\[([^\]]*)\]\([^)\s]*(?:\s\"[^\"]*\")?\)", r"\1", line)
    line = re.sub(r"<[^>\s]+>|https?://\S+|\b[\w./-]+\.(?:cc|h|py|md|toml|csv|proto|json|urdf|mcap|ts|mjs|sh|debian)\b", "NAME", line)
    return re.sub(r"\*\*|(?<!\w)[*_](?=\w)|(?<=[\w.,:;)!?])[*_](?!\w)", "", line)


def blocks_of(text):
    """(line, text) of each paragraph and list item."""
    blocks, fence, open_block = [], False, False
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fence, open_block = not fence, False
            continue
        if fence or not line or line.startswith(("#", "|", "<!--")) or re.fullmatch(r"[-=*_ ]{3,}", line):
            open_block = False
            continue
        item = re.match(r"(?:[-*+]|\d+[.)])\s+", line)
        if item or not open_block:
            blocks.append([])
        blocks[-1].append((number, plain(line[item.end():] if item else line.lstrip("> "))))
        open_block = True
    return blocks


def sentences_of(text):
    found = []
    for block in blocks_of(text):
        words = [(number, word) for number, line in block for word in line.split()]
        first = 0
        for i, (_, word) in enumerate(words):
            ends = re.search(r"[.!?][\"')\]]*$", word) and not word.endswith(ABBREVIATIONS) and not word.endswith("...")
            if i + 1 == len(words) or (ends and not re.match(r"[a-z]", words[i + 1][1].lstrip("(\"'"))):
                sentence = Sentence(words[first][0], " ".join(w for _, w in words[first:i + 1]))
                first = i + 1
                if sentence.words:
                    found.append(sentence)
    return found


def average(sentences):
    return sum(s.words for s in sentences) / len(sentences) if sentences else 0.0


def page_words(text):
    return sum(1 for t in text.split() if re.search(r"\w", t))


def check_sentences(text, add):
    sentences = sentences_of(text)
    if average(sentences) > WORDS_A_SENTENCE:
        longest = max(sentences, key=lambda s: s.words)
        add(longest.line, f"{average(sentences):.1f} words a sentence on average over the page, expected at most {WORDS_A_SENTENCE}; "
                          f"the longest has {longest.words} and begins here")
    for s in sentences:
        if len(s.numbers) > NUMBERS_A_SENTENCE:
            add(s.line, f"{len(s.numbers)} numbers in a sentence ({', '.join(s.numbers)}), expected at most {NUMBERS_A_SENTENCE}: put them in a table")


def check_lengths(path, text, add):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LINE_COLUMNS and not line.lstrip().startswith("|") and " " in line.strip():
            add(number, f"{len(line)} columns, expected at most {LINE_COLUMNS} outside tables")
    for pattern, least, most in PAGE_WORDS:
        words = page_words(text)
        if re.fullmatch(pattern, path) and not least <= words <= most:
            add(1, f"{words} words, expected {least} to {most}" if least else f"{words} words, expected at most {most}")


def anchors_of(text):
    """The anchors of a page's headings, as code hosts make them."""
    anchors, seen, fence = set(), {}, False
    for line in text.split("\n"):
        if line.startswith(("```", "~~~")):
            fence = not fence
        m = None if fence else re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if m:
            name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", m.group(1)).lower()
            name = re.sub(r"[^\w\- ]", "", name).replace(" ", "-")
            anchors.add(name if name not in seen else f"{name}-{seen[name]}")
            seen[name] = seen.get(name, 0) + 1
    return anchors


def check_links(root, path, text, add):
    fence = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fence = not fence
        if fence:
            continue
        for m in re.finditer(r"\]\(([^)\s]+)(?:\s\"[^\"]*\")?\)", re.sub(r"`[^`]+`", "", line)):
            target, _, anchor = m.group(1).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            full = os.path.normpath(os.path.join(root, os.path.dirname(path), target)) if target else os.path.join(root, path)
            if not os.path.exists(full):
                add(number, f"a link to {m.group(1)}, which is not there; expected a file of the tree")
            elif anchor and full.endswith(".md"):
                with open(full, encoding="utf-8") as f:
                    if anchor not in anchors_of(f.read()):
                        add(number, f"a link to {m.group(1)}, whose page has no such heading; expected one of its headings")


def check_tests(root, text, add):
    """Tests that a page names as `ROOM/FILE`, each against the tree; live/example_* are made of the clients' examples."""
    for number, line in enumerate(text.split("\n"), 1):
        for m in re.finditer(r"`(?:tests/)?((unit|live|property|paper|soak|bench)/(?:test_)?(\w+))(?:\.\w+)?[` ]", line):
            room = os.path.join(root, "tests", m.group(2), "")
            known = any(glob.glob(room + name) for name in (m.group(3), m.group(3) + ".*", f"*/{m.group(3)}.cc", f"test_{m.group(3)}.py"))
            if os.path.isdir(room) and not known and not m.group(1).startswith("live/example"):
                add(number, f"the test {m.group(1)}, which is not there; expected a file of tests/{m.group(2)}")


def check_page(root, path, text, later):
    """Findings of one page as (line, what)."""
    prose, links = [], []
    check_sentences(text, lambda line, what: prose.append((line, what)))
    check_lengths(path, text, lambda line, what: prose.append((line, what)))
    check_links(root, path, text, lambda line, what: links.append((line, what)))
    check_tests(root, text, lambda line, what: links.append((line, what)))
    if path in later:
        prose = [] if prose else [(1, "passes now, expected to be taken off PROSE_LATER in tests/prose_check.py")]
    return sorted(prose + links)


def check_later(paths, later):
    """Findings of the list itself, as (page, what)."""
    return [(page, "is not in the tree, expected to be taken off PROSE_LATER in tests/prose_check.py") for page in later if page not in paths]


def main(pages):
    if not pages:
        print(__doc__)
        return 2
    for page in pages:
        with open(page, encoding="utf-8") as f:
            text = f.read()
        sentences = sentences_of(text)
        longest = max(sentences, key=lambda s: s.words, default=None)
        print(f"{page}: {page_words(text)} words, {len(sentences)} sentences of {average(sentences):.1f} words, "
              f"{sum(len(s.numbers) > NUMBERS_A_SENTENCE for s in sentences)} with more than {NUMBERS_A_SENTENCE} numbers"
              + (f", the longest of {longest.words} at line {longest.line}" if longest else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
