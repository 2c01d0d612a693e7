#!/usr/bin/env python3
"""Gathers sources of a room of tests, or of a tool, that can be compiled together: half the work.

    together.py FOLDER NAME SOURCE...

Writes FOLDER/NAME_<n>.cpp, each of which includes some of the sources, and prints their paths, with
semicolons between. Two sources that give a name at namespace scope two meanings, themselves or by a
header beside them or of the tests, are kept apart. Names are read from the text, which clang-format
has laid out: what is declared there begins a line. Where the text does not tell, the compiler does:
rename one of the two, or give one source the line "// compiled alone: REASON".
"""

import functools
import pathlib
import re
import sys

TEST = pathlib.Path(__file__).resolve().parent.parent / "test"
TOGETHER = 4
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# A namespace that is named without those around it, which an alias of a header may hide.
QUALIFIER = re.compile(r"(?<![\w:])(\w+)::")
ALONE = re.compile(r"^// compiled alone: ", re.M)
COMMENT = re.compile(r"//[^\n]*")
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union) (?:alignas\([^)]*\) )?(\w+)", re.M)
ALIAS = re.compile(r"^(?:using|namespace) (\w+) = ([^;]*);", re.M)
# What makes the namespaces of a whole project plain names in all that follows.
OPENED = re.compile(r"^using namespace (\w+);", re.M)
# Not a value or a function: those lines begin a type, an alias, a case or a macro, or go on.
OTHER = re.compile(r"(?:using|namespace|template|struct|class|enum|union|TEST_CASE\w*)\b"
                   r"|[#})/ ]|$")
VALUE = re.compile(r"(?:[\w:<>,*&\[\]. ]*?[ *&])?(\w+)\s*(?:[(={;\[]|$)")


def declared_in(text):
    """What `text` declares at namespace scope: a name, and what it stands for if that may be said
    twice, else None."""
    found = {name: " ".join(meant.split()) for name, meant in ALIAS.findall(text)}
    found.update(dict.fromkeys(TYPE.findall(text)))
    for line in text.splitlines():
        if not OTHER.match(line):
            declared = VALUE.match(line)
            if declared:
                found[declared[1]] = None
    return found


@functools.cache
def read(path):
    """What a file declares, the test headers that it includes, and which qualifiers it uses."""
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    headers = [place for name in INCLUDE.findall(text)
               for place in (path.parent / name, TEST / name) if place.is_file()]
    known = declared_in(text) | {f"using {name}": name for name in OPENED.findall(text)}
    return known, {header.resolve() for header in headers}, QUALIFIER.findall(text)


def names(path):
    """What stands for what in a source: as `declared_in`, with what its headers say."""
    found, waiting, seen, used = {}, [path], set(), set()
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            declared, headers, qualifiers = read(file)
            for name, meant in declared.items():
                found.setdefault(name, meant or (file != path and f"in {file}" or None))
            used.update(qualifiers)
            waiting += headers
    return {name: "no alias" for name in used} | found


def hides(one, other):
    """Whether an alias of `one`, such as `host` for `gnstor::simt::host`, may be a namespace of
    what `other` opens, too: it would be ambiguous. One that is said without `gnstor::` lies within
    that namespace, and comes first there."""
    opened = [name for key, name in other.items() if key.startswith("using ")]
    return any(re.fullmatch(rf"{name}::.*::{alias}", meant or "")
               for alias, meant in one.items() for name in opened)


def agree(one, other):
    """Whether two sources with these names can be compiled together."""
    return (all(one[name] is not None and one[name] == other[name]
                for name in one.keys() & other.keys())
            and not hides(one, other) and not hides(other, one))


def gather(sources, most=TOGETHER):
    """Lists of `sources`, paths, to be compiled together. What lies beside them takes its place in
    a list, too, so that what fits together does so with whatever is left out of a build."""
    wanted = [pathlib.Path(source) for source in sources]
    beside = {path for folder in {path.parent for path in wanted} for path in folder.glob("*.cpp")}
    gathered = gather_all(sorted(beside | set(wanted)), most)
    kept = [[path for path in paths if path in wanted] for paths in gathered]
    return [paths for paths in kept if paths]


def gather_all(sources, most):
    """The same of `sources` alone."""
    alone, gathered = [], []
    for path in sources:
        text, declared = path.read_text(encoding="utf-8"), names(path.resolve())
        if ALONE.search(text):
            alone.append([path])
            continue
        for paths, known in gathered:
            if len(paths) < most and all(agree(declared, one) for one in known):
                break
        else:
            paths, known = [], []
            gathered.append((paths, known))
        paths.append(path)
        known.append(declared)
    return alone + [paths for paths, _ in gathered]


def main(folder, name, *sources):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, paths in enumerate(gather(sources)):
        target = folder / f"{name}_{number}.cpp"
        text = "".join(f'#include "{path}"\n' for path in paths)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)
        written.append(str(target))
    print(";".join(written), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
