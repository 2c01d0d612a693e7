#!/usr/bin/env python3
"""Enforces the house rules that a script can see.

Reads the sources as text: comments and literals are blanked first, braces are counted. Pages
(`*.md`) have rules of their own. Each rule is a function that yields (line, message); `RULES` names
them with the files that they apply to.
"""

import pathlib
import re
import sys

HEADER_LINES = 400
FUNCTION_LINES = 70
COLUMNS = 100
ROW_COLUMNS = 200  # of a table in a page, whose rows cannot be broken
PAGE_BYTES = {"README.md": 6144, "CONTRIBUTING.md": 6144}
OTHER_PAGE_BYTES = 8192
MACROS = 6

# Words of this project alone, and what to write instead: whoever reads has never met us.
PRIVATE_WORDS = {
    r"seats?": "the thing's own name: a slot, a queue",
    r"errands?": "request",
    r"told": "informed, set, or what was said",
    r"news": "change",
    r"glanc(?:e|es|ed|ing)": "look-up",
    r"grace": "quiescence",
    r"deserted": "abandoned",
    r"in any company": "whatever lanes run beside it",
    r"by the half ring": "when half of the ring is used",
    r"(?:an?|one) (?:lane|element|file|word|page|warp|thread|request|command|queue|bit|slot|hash|"
    r"engine|worker|entry|block|list|line|step|shard|SSD|volume|channel) an? \w+":
        "one per: 'one element per lane'",
}

# A room of include/gnstor and the rooms it may include, itself aside.
ROOMS = {
    "core": set(),
    "simt": {"core"},
    "wire": {"core", "simt"},
    "qp": {"core", "simt", "wire"},
    "memory": {"core", "simt", "wire"},
    "channel": {"core", "simt", "wire", "qp", "memory"},
    "io": {"core", "simt", "wire", "qp", "memory", "channel"},
    "volume": {"core", "simt", "wire", "qp", "memory", "channel", "io"},
    "array": {"core", "simt", "wire", "qp", "memory", "channel", "io", "volume"},
    "crypto": {"core"},
    "packet": {"core", "simt", "wire", "crypto"},
    "files": {"core", "simt", "wire", "qp", "memory", "channel", "array"},
}
# The layers: include <- firmware <- hostsetup <- serve <- tools. A folder of firmware/ and those
# that it may include; what it sees of the library is FIRMWARE_SEES.
FIRMWARE = {
    "deengine": set(),
    "hca": set(),
    "timing": {"deengine", "hca"},
    "afa": {"deengine", "hca", "timing"},
    "remote_memory": {"hca", "afa"},
    "nvme_pcie": {"hca", "afa"},
    "nic": set(),
    "daemon": set(),
}
FIRMWARE_SEES = re.compile(r"gnstor/((core|simt|wire)/.*|io/(\w*placement\w*|replica_set)\.hpp)")
# A folder of hostsetup/src and those that it may include. Only `emulated` and `disk` join both
# ends; `control` drives the manager, a state machine that knows no SSD.
HOST_PARTS = {
    "base": set(),
    "link": {"base"},
    "local": {"base", "link"},
    "homi": {"base", "link", "local"},
    "files": {"base"},
    "proxy": {"base", "link"},
    "verbs": {"base", "link", "proxy"},
    "fabrics": {"base", "link", "proxy", "verbs"},
    "mlx5": {"base", "link", "proxy", "verbs", "fabrics"},
    "remote": {"base", "link", "proxy", "verbs", "fabrics", "mlx5"},
    "control": {"base", "link"},
    "emulated": {"base", "link", "local", "proxy", "control"},
    "disk": {"base", "link", "local", "emulated"},
    "managed": {"base", "link", "control", ""},
    "": {"base", "link", "homi", "local", "control", "remote", "emulated", "disk"},
}
# What the files in hostsetup/src itself may see of these: nothing that shows the firmware.
DOORS = {"emulated": "emulated/open_emulated.hpp", "disk": "disk/open_disk.hpp"}
TOOLS = ("gnstor-target", "gnstor-memory", "gnstor-perf", "gnstor-files", "gnstor-homid",
         "gnstor-probe", "gnstor-volumes", "gnstorctl", "gnstord", "command_line", "management")
MOVED = "/// Moved: this name of the header goes with the next release"
GPU_HEADERS = re.compile(r"^(cuda_runtime.*|cuda\.h|cooperative_groups.*|device_launch_.*)$")


class Source:
    """A source file: its text, the same without comments and literals, and its includes."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        self.code = blank(self.text)
        self.includes = [
            (number, match[1] or match[2], match[1] is not None)
            for number, line in enumerate(self.lines, 1)
            if (match := re.match(r'\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', line))]

    @property
    def is_header(self):
        return self.path.suffix in (".hpp", ".cuh")

    def line_of(self, offset):
        return self.code.count("\n", 0, offset) + 1

    def find(self, pattern, code=True):
        text = self.code if code else self.text
        for match in re.finditer(pattern, text, re.MULTILINE):
            yield text.count("\n", 0, match.start()) + 1, match


def blank(text):
    """`text` with comments, string and character literals replaced by blanks; lines are kept."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
        r"(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.DOTALL)
    return token.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def without_directives(code):
    """`code` with preprocessor lines blanked: a macro's body is not a statement of the file."""
    directive = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
    return directive.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)


def closing(code, start, pair="()"):
    """The offset of the bracket that closes the one at `start`."""
    depth = 0
    for offset in range(start, len(code)):
        depth += (code[offset] == pair[0]) - (code[offset] == pair[1])
        if depth == 0:
            return offset
    return len(code)


def top_level_parts(text, separator):
    """`text` split at `separator` outside brackets."""
    parts, depth, begin = [], 0, 0
    for offset, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == separator and depth == 0:
            parts.append(text[begin:offset])
            begin = offset + 1
    return parts + [text[begin:]]


def functions(source):
    """(line, name, lines) of each function body outside another function, test cases included."""
    code = without_directives(source.code)
    scopes, begin, offset = [], 0, 0
    while offset < len(code):
        char = code[offset]
        if char == "(":
            offset = closing(code, offset)
        elif char in ";}":
            begin = offset + 1
            if char == "}" and scopes:
                scopes.pop()
        elif char == "{":
            head = code[begin:offset]
            if is_function(head):
                end = closing(code, offset, "{}")
                if code[end + 1:].lstrip()[:1] in ("{", ","):  # a member's initialiser
                    offset = end + 1
                    continue
                first = source.line_of(begin + len(head) - len(head.lstrip()))
                yield first, function_name(head), source.line_of(end) - first + 1
                offset = end
            else:
                scopes.append(head)
            begin = offset + 1
        offset += 1


def is_function(head):
    """Whether the `{` after `head` opens a function's body."""
    if re.search(r"\b(namespace|concept)\b[^()]*$", head) or "(" not in head:
        return False
    if re.search(r"=\s*$|\brequires\s*(\([^()]*\))?\s*$", head):
        return False
    before = re.sub(r"\b(?:alignas|requires|__declspec|__attribute__)\s*\(.*?\)", "", head,
                    flags=re.DOTALL)
    return not re.search(r"\b(class|struct|union|enum)\b[^()]*$", before)


def function_name(head):
    match = re.search(r"([\w:~]+|operator\s*[^\s\w]+)\s*\(", head)
    return match[1] if match else "?"


def pragma_once(source):
    if not re.search(r"^#pragma once$", source.text, re.MULTILINE):
        yield 1, "header without '#pragma once'"


def header_size(source):
    if len(source.lines) > HEADER_LINES:
        yield HEADER_LINES + 1, f"header of {len(source.lines)} lines; at most {HEADER_LINES}"


def function_size(source):
    for line, name, size in functions(source):
        if size > FUNCTION_LINES:
            yield line, f"function {name} of {size} lines; at most {FUNCTION_LINES}"


def columns(source):
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS:
            yield number, f"line of {len(line)} columns; at most {COLUMNS}"


def page_columns(source):
    """Lines of a page; rows of tables, and lines that are one word or link, may be longer."""
    for number, line in enumerate(source.lines, 1):
        words = re.sub(r"\[[^\]]*\]\([^)]*\)", "link", line).split()
        single = len(words) - (words[:1] in (["-"], ["*"])) <= 1
        most = ROW_COLUMNS if line.lstrip().startswith("|") else COLUMNS
        if len(line) > most and not single:
            yield number, f"line of {len(line)} columns; at most {most}"


def page_size(source):
    size, most = len(source.text.encode()), PAGE_BYTES.get(source.name, OTHER_PAGE_BYTES)
    if size > most:
        yield 1, f"page of {size} bytes; at most {most}"


def find_private_words(text, gap, letter):
    """`PRIVATE_WORDS` in `text`: `gap` is between the words of a phrase, no `letter` beside it."""
    for pattern, instead in PRIVATE_WORDS.items():
        pattern = f"(?<!{letter}){pattern.replace(' ', gap)}(?!{letter})"
        for match in re.finditer(pattern, text, re.IGNORECASE):
            found = " ".join(word for word in match[0].split() if re.search(r"\w", word))
            yield text.count("\n", 0, match.start()) + 1, f"'{found}': write {instead}"


def private_words(source):
    """`PRIVATE_WORDS` outside code spans; a phrase may go on in the next line."""
    text = re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), source.text)
    yield from find_private_words(text, r"(?:[ \t]+|[ \t]*\n[ \t]*)", r"[\w-]")


def private_words_of_code(source):
    """`PRIVATE_WORDS` in comments, in literals, in the file's name, and as parts of identifiers."""
    for _, message in find_private_words(source.name, " ", "[a-z]"):
        yield 1, message
    comment = r"(?:[ \t]+|[ \t]*\n[ \t]*(?://[/!]?<?|\*|#)?[ \t]*)"
    yield from find_private_words(source.text, comment, "[a-z]")


def unfinished(source):
    for line, match in source.find(r"\b(TODO|FIXME|XXX)\b", code=False):
        yield line, f"{match[0]}: finish it or drop it"


def named_after_entity(source):
    """A header is named after what it declares, or opens by saying what it gathers."""
    stem = re.escape(source.path.stem)
    entity = (rf"\b(class|struct|union|enum class|concept|using|namespace)\s+(alignas\([^)]*\)\s*)?"
              rf"{stem}|\b{stem}\w*\s*\(")
    opening = re.match(r"#pragma once\n+///", source.text)
    if not opening and not re.search(entity, source.code):
        yield 1, (f"declares nothing named {source.path.stem}, and has no '///' comment after "
                  "'#pragma once' that says what the file gathers")


def one_class(source):
    """At most one class with invariants (keyword class) in public namespaces."""
    public = re.sub(r"namespace gnstor::detail\b.*?^}", "", without_directives(source.code),
                    flags=re.DOTALL | re.MULTILINE)
    names = re.findall(r"^(?:template\s*<[^;{]*>\s*)?class\s+(\w+)[^;{]*{", public, re.MULTILINE)
    if len(names) > 1:
        yield 1, f"declares the classes {', '.join(names)}; one public type a header"


def named_loops(source):
    """Each loop has a bound or a deadline, in a form that this script knows."""
    code = without_directives(source.code)
    for match in re.finditer(r"\b(while|do)\b", code):
        yield source.line_of(match.start()), f"'{match[1]}': write for (bounded n{{..}}; n;)"
    for match in re.finditer(r"\bfor\s*\(", code):
        head = code[match.end():closing(code, match.end() - 1)]
        parts = top_level_parts(head, ";")
        if len(parts) < 3:
            continue
        named = re.match(r"\s*(\w+::)*(bounded|until)\s+\w+\s*[{(]", parts[0])
        if not parts[1].strip() or (not parts[2].strip() and not named):
            yield source.line_of(match.start()), "loop without a visible bound or deadline"


def no_printing(source):
    for line, match in source.find(r"\b(f?printf|puts|std::c(out|err))\b"):
        yield line, f"{match[0]} in the library: return a status"


def no_device_dispatch(source):
    for line, match in source.find(r"\bvirtual\b|\bstd::function\b"):
        yield line, f"{match[0]} does not run on the device"


def gpu_names(source):
    if source.name.startswith("include/gnstor/simt/"):
        return
    pattern = r"\b(threadIdx|blockIdx|blockDim|gridDim|__syncthreads|__syncwarp|__activemask)\b"
    for line, match in source.find(pattern):
        yield line, f"{match[0]} outside simt/: take a lane or a group"


def macros(source):
    for line, match in source.find(r"^[ \t]*#[ \t]*define[ \t]+(\w+)"):
        if not match[1].startswith("GNSTOR_"):
            yield line, f"macro {match[1]}; only GNSTOR_* are allowed"


def host_compiler_reads_it(source):
    for line, name, _ in source.includes:
        if GPU_HEADERS.match(name):
            yield line, f"<{name}> in a .hpp: a plain C++ compiler must read it; use a .cuh"


# A clock and a yield on the host: a fifth of the compile time of <chrono> and <thread>.
POSIX_CLOCK = ("sched.h", "time.h")


def library_includes(source):
    """include/gnstor: the order of the rooms, and no dependency but libcu++."""
    if MOVED in source.text:
        return
    parts = source.name.split("/")
    room = parts[2] if len(parts) > 3 else None
    if room is not None and room not in ROOMS:
        yield 1, f"unknown room {room}: enter it in ROOMS with what it may include"
        return
    for line, name, angled in source.includes:
        first, _, rest = name.partition("/")
        if first == "gnstor" and angled:
            other = rest.split("/")[0]
            if room is not None and other != room and other not in ROOMS[room]:
                yield line, f"{room} must not include <{name}>"
            elif other not in ROOMS:
                yield line, f"the library must not include <{name}>"
        elif not angled or not (first in ("cuda", "nv") or GPU_HEADERS.match(name)
                                or re.fullmatch(r"[a-z_]+", name)
                                or (room == "simt" and name in POSIX_CLOCK)):
            yield line, f"<{name}>: only <gnstor/...>, <cuda/...> and the standard library's"


def firmware_includes(source):
    """The firmware sees core, simt, wire and the placement hash, nothing of the client."""
    own = source.name.split("/")[1]
    if own not in FIRMWARE:
        yield 1, f"unknown folder {own}: enter it in FIRMWARE with what it may include"
        return
    for line, name, _ in source.includes:
        first = name.split("/")[0]
        if first == "gnstor" and not FIRMWARE_SEES.fullmatch(name):
            yield line, f"the firmware must not include <{name}>"
        elif first in FIRMWARE and first != own and first not in FIRMWARE[own]:
            yield line, f"{own} must not include <{name}>"
        elif first in HOST_PARTS or first == "serve" or first in TOOLS or name.startswith(".."):
            yield line, f"the firmware must not include <{name}>"


def layer_includes(source):
    """hostsetup/src, serve, tools: each includes what lies below it."""
    parts = source.name.split("/")
    layer = "hostsetup" if parts[0] == "hostsetup" else parts[0]
    own = parts[2] if layer == "hostsetup" and len(parts) > 3 else ""
    if layer == "hostsetup" and own not in HOST_PARTS:
        yield 1, f"unknown folder {own}: enter it in HOST_PARTS with what it may include"
        return
    for line, name, angled in source.includes:
        first = name.split("/")[0] if "/" in name else None
        if name.startswith("../"):
            yield line, f"\"{name}\": include by the path from the layer's root"
        elif layer != "tools" and first in TOOLS:
            yield line, f"{layer} must not include <{name}>"
        elif layer == "hostsetup" and first == "serve":
            yield line, f"hostsetup must not include <{name}>"
        elif layer == "hostsetup" and first in FIRMWARE and own not in DOORS \
                and (own, first) != ("control", "daemon"):
            yield line, f"only hostsetup/src/emulated joins both ends: not <{name}>"
        elif not angled and first is None and not (source.path.parent / name).is_file():
            yield line, f"\"{name}\" is not in this folder: include by the path from the root"
        elif layer == "hostsetup" and first in HOST_PARTS and first != own:
            if first not in HOST_PARTS[own]:
                yield line, f"{own or 'hostsetup/src'} must not include <{name}>"
            elif not own and name != DOORS.get(first, name):
                yield line, f"<{name}> shows the firmware: <{DOORS[first]}> does not"


def host_includes(source):
    """hostsetup's public headers hide the firmware; its SIMT runtime knows core and simt alone."""
    for line, name, _ in source.includes:
        parts = name.split("/")
        if parts[0] in FIRMWARE:
            yield line, f"a public header must not include <{name}>"
        elif source.name.startswith("hostsetup/simt/") and parts[0] == "gnstor" \
                and parts[1] not in ("core", "simt", "simt_host"):
            yield line, f"the SIMT runtime must not include <{name}>"


def cases_have_a_source(source):
    """CTest runs the cases of test/<room>/<stem>.*; a case in another header would never run."""
    if any(source.path.with_suffix(end).exists() for end in (".cpp", ".cu")):
        return
    for line, _ in source.find(r"\bTEST_CASE\w*\s*\("):
        yield line, "a test case in a header needs a .cpp or .cu of the same name"


FOLDERS = ("include", "hostsetup", "firmware", "serve", "tools", "examples", "test", "benchmark",
           "scripts", "cmake", "docs", ".ci")
LIBRARY = r"include/.*"
# The CUDA executor is host code: it launches kernels.
DEVICE = r"(include/(?!gnstor/simt/cuda_executor)|firmware/(deengine|hca)/).*"
PUBLIC = r"(include|firmware|serve|hostsetup/(include|(simt|pcie|files)/include))/.*"
SHIPPED = r"(include|hostsetup|firmware|serve)/.*"
OURS = r"(include|hostsetup|firmware|serve|tools|examples|test|benchmark)/.*"
ALL = OURS + r"|(scripts|cmake|\.ci)/.*|CMakeLists\.txt"
TEXT = r".*(\.(hpp|cuh|cpp|cu|py|sh|txt|cmake)|/[\w-]+)"
WORDED = rf"(?!test/tidy/tidy(_test)?\.py)({ALL})"  # which list the words
PAGES = r"[A-Z]+\.md|(docs|test)/.*"
OUR_PAGES = r"(README|CONTRIBUTING)\.md|docs/.*"
PAGE = r".*\.md"
SOURCES = r".*\.(hpp|cuh|cpp|cu)"
HEADERS = r".*\.(hpp|cuh)"

RULES = [
    ("pragma-once", pragma_once, OURS, HEADERS),
    ("header-size", header_size, OURS, HEADERS),
    ("function-size", function_size, OURS, SOURCES),
    ("columns", columns, ALL, TEXT),
    ("unfinished", unfinished, OURS, SOURCES),
    ("named-after-entity", named_after_entity, PUBLIC, HEADERS),
    ("one-class", one_class, LIBRARY, HEADERS),
    ("named-loops", named_loops, DEVICE, HEADERS),
    ("no-printing", no_printing, r"(include|firmware/(deengine|hca|afa))/.*", SOURCES),
    ("no-device-dispatch", no_device_dispatch, DEVICE, HEADERS),
    ("gpu-names", gpu_names, DEVICE, HEADERS),
    ("macros", macros, SHIPPED, HEADERS),
    ("host-compiler", host_compiler_reads_it, PUBLIC, r".*\.hpp"),
    ("library-includes", library_includes, LIBRARY, HEADERS),
    ("firmware-includes", firmware_includes, r"firmware/.*", SOURCES),
    ("layer-includes", layer_includes, r"(hostsetup/src|serve|tools)/.*", SOURCES),
    ("host-includes", host_includes, r"hostsetup/(include|simt|pcie|files)/.*", HEADERS),
    ("page-columns", page_columns, PAGES, PAGE),
    ("page-size", page_size, OUR_PAGES, PAGE),
    ("private-words", private_words, OUR_PAGES, PAGE),
    ("private-words", private_words_of_code, WORDED, TEXT + r"|.*\.bug"),
    ("cases-have-a-source", cases_have_a_source, r"test/.*", HEADERS),
]


def violations(root):
    """Every violation under `root`, as (file, line, rule, message)."""
    seen, defined = False, set()
    for path in sorted(root.glob("*")) + sorted(
            path for folder in FOLDERS for path in (root / folder).rglob("*")):
        if not path.is_file() or "__pycache__" in path.parts:
            continue
        name = path.relative_to(root).as_posix()
        applying = [(rule, check) for rule, check, where, kind in RULES
                    if re.fullmatch(where, name) and re.fullmatch(kind, name)]
        if not applying:
            continue
        source = Source(root, path)
        seen = seen or path.suffix != ".md"
        for rule, check in applying:
            for line, message in check(source):
                yield name, line, rule, message
        if re.fullmatch(LIBRARY, name):
            defined |= {match[1] for _, match in source.find(r"^\s*#\s*define\s+(GNSTOR_\w+)")}
    if not seen:
        yield ".", 1, "sources", "holds no source of this project"
    if len(defined) > MACROS:
        yield "include", 1, "macros", f"{len(defined)} GNSTOR_ macros; at most {MACROS}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    count = 0
    for name, line, rule, message in violations(root):
        print(f"{name}:{line}: {message} [{rule}]")
        count += 1
    print(f"{count} violations")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
