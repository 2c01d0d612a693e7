#!/usr/bin/env python3
"""Verdicts on planted bugs, kept in verdicts.json by the hash of what they follow from.

A bug that was found is found again as long as nothing that it is built from changes, so mutate.py
answers from the file then. What counts as built from it: the bug's file, its sources and every file
of the project that they may include, the same of the library sources that its link pulled in, the
compiler, its flags and those of the libraries, the versions of foreign libraries, and the scripts
here. What may be included is read from the text: an include counts for every file that it could
mean, whatever the preprocessor says, so a new header that hides another changes the hash. When a
verdict is kept, the compiler's own list has to lie within that; else the bug has none and always
runs.

Only "found" is ever kept. A bug runs when it has no verdict, when its hash is another one, when its
turn has come (each day a tenth of the bugs, by the CRC of the name and the number of the day), and
when GNSTOR_BUGS=all. A header that everything includes makes hundreds run, which takes most of an
hour; so after the time that GNSTOR_BUGS_UNTIL says, in seconds since 1970, a bug is left for
another run, and skipped, if it was found before, today is not its turn, and all that changed are
files that it does not name itself. Its verdict stays as it was, for the older sources. After
GNSTOR_BUGS_AT_MOST every bug waits that has not run in this build and failed, and it is not even
looked whether its verdict holds: a machine that has to be done by an hour is, whatever has changed,
and says how many wait.

What runs leaves its verdict in the build; this script puts those in the file:

    verdicts.py keep BUILD...    merges what ran in these builds into verdicts.json
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "verdicts.json"
# What a mutant is built from, and where its includes are looked for.
FOLDERS = ["include", "hostsetup", "firmware", "serve", "benchmark", "tools", "test"]
ROOTS = ["include", "hostsetup/include", "hostsetup/simt/include",
         "hostsetup/pcie/include", "hostsetup/files/include",
         "hostsetup/src", "firmware", "benchmark", "tools", ".", "test"]
TOOLS = [HERE / "mutate.py", HERE / "verdicts.py", HERE.parent / "tidy/toolchain.py"]
MAIN = "test/main.cpp"  # linked into every test
TURNS = 10
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)"|(\S+))', re.M)


class NoVerdict(Exception):
    """Why a bug that was found gets no verdict."""


class Hash:
    """Of parts, with the length of each."""

    def __init__(self):
        self._digest = hashlib.sha256()

    def take(self, *parts):
        for part in parts:
            part = part if isinstance(part, bytes) else str(part).encode()
            self._digest.update(b"%d:" % len(part) + part)

    def __str__(self):
        return self._digest.hexdigest()[:32]


def may_include(source, names):
    """Files of the project, as paths in it, that `names` may include, themselves among them."""
    found, waiting = set(), sorted(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        folder = os.path.dirname(name)
        text = (source / name).read_text(encoding="utf-8", errors="replace")
        for bracketed, quoted, computed in INCLUDE.findall(text):
            if computed:
                raise NoVerdict(f"{name} includes {computed}, which only a compiler can tell")
            wanted = bracketed or quoted
            for root in [folder, *ROOTS] if quoted else ROOTS:
                candidate = os.path.normpath(os.path.join(root, wanted))
                if candidate not in found and (source / candidate).is_file():
                    waiting.append(candidate)
    return found


def library_commands(toolchain):
    """(target, object, source, flags) of each object of the project's libraries, without paths of
    this machine."""
    commands = []
    for entry in json.loads((toolchain.build / "compile_commands.json").read_text()):
        words = entry["command"].split()
        if words[0] in toolchain.launcher:
            words = words[1:]
        output = words[words.index("-o") + 1]
        target = re.search(r"CMakeFiles/([^/]+)\.dir/", output)
        flags = " ".join(words[:words.index("-o")])
        for path, name in [(toolchain.libcudacxx, "CCCL"), (toolchain.build, "BUILD"),
                           (toolchain.source, "SOURCE")]:
            flags = flags.replace(str(path), name)
        commands.append((target[1] if target else "", output, entry["file"], flags))
    return commands


def library_names(toolchain):
    """The libraries of a mutant as the linker's command line has them, without folders."""
    return [os.path.basename(library) for library in toolchain.libraries]


def sources_of(toolchain, objects):
    """The project's sources in `objects`, each "/path/library.a(member)"."""
    sources = set()
    for item in objects:
        library, member = re.fullmatch(r".*/lib([^/]+)\.a\(([^()]+)\)", item).groups()
        found = [file for target, output, file, _ in library_commands(toolchain)
                 if target == library and os.path.basename(output) == member]
        if not found:
            raise NoVerdict(f"no source is known of {item}")
        for file in found:
            sources |= gathered(toolchain, pathlib.Path(file))
    return sorted(sources)


def gathered(toolchain, file):
    """The project's source `file`, or those that a file of a unity build gathers."""
    if file.is_relative_to(toolchain.build):
        text = file.read_text()
        return {name for one in re.findall(r'#include "([^"]+)"', text)
                for name in gathered(toolchain, pathlib.Path(one))}
    return {file.relative_to(toolchain.source).as_posix()}


def inputs(toolchain, name, text, sources, linked):
    """The hash of all that the verdict on `name`, described by `text`, follows from."""
    digest = Hash()
    digest.take(*(tool.read_bytes() for tool in TOOLS))
    targets = {match[1] for library in library_names(toolchain)
               if (match := re.fullmatch(r"lib(.+)\.a", library))}
    flags = sorted({f for owner, _, _, f in library_commands(toolchain) if owner in targets})
    version = pathlib.Path(toolchain.libcudacxx) / "cuda/std/__cccl/version.h"
    digest.take(name, text, toolchain.versions, " ".join(toolchain.flags),
                *library_names(toolchain), *flags,
                version.read_bytes() if version.is_file() else "", *sorted(linked))
    for path in sorted(may_include(toolchain.source, {*sources, *linked})):
        digest.take(path, (toolchain.source / path).read_bytes())
    return str(digest)


def named(toolchain, text, sources):
    """The hash of a bug's text and of the files that it names; MAIN no bug names."""
    digest = Hash()
    digest.take(text)
    for path in sources:
        if path == MAIN:
            continue
        digest.take(path, (toolchain.source / path).read_bytes())
    return str(digest)


def compiled_from(toolchain, tree):
    """The project's files that the compiler opened for what was built in `tree`."""
    files = set()
    for listed in tree.glob("*.d"):
        for word in listed.read_text().replace("\\\n", " ").split(":", 1)[1].split():
            path = pathlib.Path(os.path.abspath(word))  # those of a compiler cache are relative
            for root in (tree, toolchain.build, toolchain.source):
                if path.is_relative_to(root):
                    if root != toolchain.build:
                        files.add(path.relative_to(root).as_posix())
                    break
    return files


def linked_into(toolchain, trace):
    """The project's library sources in a link whose linker named its inputs in `trace`."""
    if not re.search(r"^GNU ld ", toolchain.linker(), re.M):
        raise NoVerdict("only GNU ld is known to name the members of archives that it takes")
    members = re.findall(r"^\((\S+\.a)\)(\S+)$", trace, re.M)
    return sources_of(toolchain, sorted(
        {f"{library}({member})" for library, member in members
         if library in toolchain.libraries}))


def day():
    """The number of today, UTC; GNSTOR_DAY says another one."""
    given = os.environ.get("GNSTOR_DAY")
    return int(given) if given else datetime.datetime.now(datetime.timezone.utc).toordinal()


def is_past(variable):
    """Whether the time in seconds since 1970 that an environment variable says has come."""
    until = os.environ.get(variable)
    return bool(until) and time.time() >= int(until)


def has_its_turn(name, today):
    return zlib.crc32(name.encode()) % TURNS == today % TURNS


class Verdicts:
    """The file, and the folder of a build where what runs leaves its verdicts."""

    def __init__(self, toolchain, file=FILE):
        self.toolchain = toolchain
        self.folder = toolchain.binaries / "verdicts"
        try:
            self._kept = json.loads(pathlib.Path(file).read_text())
            self._kept["verdicts"], self._kept["linked"]  # noqa: B018
        except (OSError, ValueError, KeyError, TypeError):
            self._kept = {"verdicts": {}, "linked": {}}

    def reason_to_run(self, name, text, sources):
        """Why the bug has to run; empty if its verdict holds."""
        if os.environ.get("GNSTOR_BUGS") == "all":
            return "all are asked for"
        try:
            known, key, _ = self._kept["verdicts"][name]
            linked = self._kept["linked"][key]
            if not all((self.toolchain.source / one).is_file() for one in [*sources, *linked]):
                return "a source is gone"
            if known != inputs(self.toolchain, name, text, sources, linked):
                return "what it is built from has changed"
        except KeyError:
            return "it has no verdict"
        except (NoVerdict, OSError, TypeError, ValueError) as error:
            return f"its verdict cannot be read: {error}"
        return "its turn has come" if has_its_turn(name, day()) else ""

    def has_to_wait(self, name):
        """Whether a bug is left for another run, whatever is known of it."""
        return is_past("GNSTOR_BUGS_AT_MOST") and not self._never_waits(name)

    def _never_waits(self, name):
        if os.environ.get("GNSTOR_BUGS") == "all":
            return True
        try:  # it ran in this build, and was not found
            return json.loads((self.folder / f"{name}.json").read_text()) is None
        except (OSError, ValueError):
            return False

    def may_wait(self, name, text, sources):
        """Whether a bug that has to run is left for another run."""
        if self._never_waits(name) or not is_past("GNSTOR_BUGS_UNTIL"):
            return False
        try:
            same = self._kept["verdicts"][name][2] == named(self.toolchain, text, sources)
        except (KeyError, IndexError, OSError, TypeError):
            return False
        return same and not has_its_turn(name, day())

    def forget(self, name):
        """Nothing is known of the bug until `note_found`."""
        self._note(name, None)

    def note_found(self, name, text, sources, tree):
        """The bug was found by what was built in `tree`; NoVerdict says why none is kept."""
        try:
            self._note_found(name, text, sources, tree)
        except (OSError, ValueError) as error:
            raise NoVerdict(f"the build does not say what it is made of: {error}") from None

    def _note_found(self, name, text, sources, tree):
        linked = linked_into(self.toolchain, (tree / "linked").read_text())
        allowed = may_include(self.toolchain.source, {*sources, *linked})
        strange = compiled_from(self.toolchain, tree) - allowed
        if strange:
            raise NoVerdict(f"the compiler opened what no text includes: {min(strange)}")
        self._note(name, {"inputs": inputs(self.toolchain, name, text, sources, linked),
                          "linked": linked, "named": named(self.toolchain, text, sources)})

    def _note(self, name, verdict):
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{name}.json").write_text(json.dumps(verdict))


def keep(builds, file=FILE, bugs=HERE):
    """Merges what ran in `builds` into `file`; how many verdicts came, and how many went."""
    try:
        kept = json.loads(file.read_text())
    except (OSError, ValueError):
        kept = {"linked": {}, "verdicts": {}}
    before = dict(kept["verdicts"])
    verdicts, linked = dict(before), dict(kept["linked"])
    for build in builds:
        for path in sorted((pathlib.Path(build) / "test/verdicts").glob("*.json")):
            ran = json.loads(path.read_text())
            path.unlink()
            verdicts.pop(path.stem, None)
            if ran:
                key = hashlib.sha256(" ".join(ran["linked"]).encode()).hexdigest()[:8]
                linked[key] = ran["linked"]
                verdicts[path.stem] = [ran["inputs"], key, ran["named"]]
    names = {path.stem for path in bugs.glob("*.bug")}
    verdicts = {name: verdicts[name] for name in sorted(verdicts)
                if name in names or name.startswith("control.")}
    used = {key for _, key, *_ in verdicts.values()}
    lines = [f"  {json.dumps(name)}: {json.dumps(verdicts[name])}" for name in verdicts]
    lists = [f'  "{key}": [\n   ' + ",\n   ".join(map(json.dumps, linked[key])) + "]"
             for key in sorted(used) if key in linked]
    file.write_text('{"linked": {\n' + ",\n".join(lists) + '},\n "verdicts": {\n' +
                    ",\n".join(lines) + "}}\n")
    changed = sum(verdicts[name] != before.get(name) for name in verdicts)
    return changed, len(set(before) - set(verdicts))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "keep":
        sys.exit(__doc__)
    print("%d verdicts new or changed, %d gone" % keep(sys.argv[2:]))
