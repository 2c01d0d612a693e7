#!/usr/bin/env python3
"""Plants one bug in a copy of the sources and checks that a test turns red.

A bug is a text file of `key: value` lines; a line that starts with a blank goes on with the value.

    file: include/gnstor/qp/mlx5_queue_pair.hpp    what is broken
    from: state.store(ready, release);             found exactly once; line breaks do not matter
    to: state.store(ready, relaxed);               the bug
    source: test/qp/ordering.cpp                   what to compile against it; may be repeated
    run: test_qp --test-case=*publish*             the test that must fail
    found by: weak                                 fast, seeded, weak, asan or tsan
    claim: a consumer never reads a slot before its payload

With --verdicts a bug that was found before, built from the same, is not run: see verdicts.py.

The same test must pass on the sound sources first, in the binary of the ordinary build; a mutant
that does not compile, hangs, or selects no test case is an error of the bug file, not a find. Test
cases that the run does not select are left out of the mutant: compiling them would take longest.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tidy"))
from toolchain import Toolchain, ToolchainError, run  # noqa: E402
from verdicts import ROOTS, NoVerdict, Verdicts  # noqa: E402

KEYS = {"file", "from", "to", "source", "run", "found by", "claim"}
# A whole test case, as clang-format leaves it; one that looks different is compiled.
CASE = re.compile(r'^TEST_CASE\(\s*((?:"[^"\\\n]*"\s*)+)\) \{\n(?:(?!\}|TEST_CASE).*\n)*\}\n', re.M)
EXIT_NOTHING_SELECTED = 3
RUN_LIMIT_S = 120


class BugError(Exception):
    """The bug file, not the library, is wrong."""


def parse(text):
    """The bug's fields; `source` is a list."""
    fields, key = {"source": []}, None
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace() and key:
            value = fields[key].pop() if key == "source" else fields[key]
            value = f"{value}\n{line}" if value else line
        else:
            key, colon, value = line.partition(":")
            if not colon or key not in KEYS or (key in fields and key != "source"):
                raise BugError(f"unknown or repeated line: {line}")
            value = value.strip()
        if key == "source":
            fields[key].append(value)
        else:
            fields[key] = value
    missing = sorted(key for key in KEYS if not fields.get(key) and key != "to")
    if missing or "to" not in fields:
        raise BugError(f"missing: {', '.join(missing) or 'to'}")
    return fields


def mutated(text, old, new):
    """`text` with the only occurrence of `old` replaced, however either is broken into lines."""
    tokens = re.findall(r"\w+|[^\w\s]", old)
    pattern = r"\s*".join(map(re.escape, tokens))
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        raise BugError(f"'from' occurs {len(found)} times, not once: {old}")
    start, end = found[0].span()
    return text[:start] + new + text[end:]


def case_filter(arguments):
    """Which names of test cases doctest's `arguments` select; None if they say more than that."""
    patterns = []
    for argument in arguments:
        option, _, value = argument.partition("=")
        if option != "--test-case" or not value or "\\" in value:
            return None
        for wildcards in value.lower().split(","):
            words = {"*": ".*", "?": "."}
            patterns.append("".join(words.get(c) or re.escape(c) for c in wildcards))
    if not patterns:
        return None
    return lambda name: any(re.fullmatch(p, name.lower(), re.DOTALL) for p in patterns)


def without_other_cases(text, is_selected):
    """`text` without the test cases that do not run; what follows keeps its line numbers."""
    def kept(case):
        name = "".join(re.findall(r'"([^"]*)"', case[1]))
        return case[0] if is_selected(name) else "\n" * case[0].count("\n")
    return CASE.sub(kept, text)


def link(source, target):
    """A second name of a file, or a copy where the build lies on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def plant(bug, source, tree):
    """Links the sources into `tree` and puts a broken copy in the place of one."""
    shutil.rmtree(tree, ignore_errors=True)
    for root in ROOTS:
        if (source / root).exists():
            shutil.copytree(source / root, tree / root, dirs_exist_ok=True, copy_function=link)
    target = tree / bug["file"]
    if not target.is_file():
        raise BugError(f"no such file under {', '.join(ROOTS)}: {bug['file']}")
    broken = mutated(target.read_text(), bug["from"], bug["to"])
    rewrite(target, broken)
    is_selected = case_filter(shlex.split(bug["run"])[1:])
    for path in {tree / name for name in bug["source"]} if is_selected else ():
        rewrite(path, without_other_cases(path.read_text(), is_selected))


def rewrite(path, text):
    """Puts a file of its own in the place of a link."""
    path.unlink()
    path.write_text(text)


def build(bug, toolchain, tree):
    """The test binary of the broken tree. Beside it lie what the compiler opened, *.d, and what the
    linker took, linked."""
    objects = []
    for number, source in enumerate(bug["source"]):
        objects.append(tree / f"{number}.o")
        command = toolchain.compile_command(
            tree / source, [*toolchain.precompiled(), "-MMD", "-MF", str(tree / f"{number}.d"),
                            "-c", "-o", str(objects[-1])],
            [tree / root for root in ROOTS])
        code, output = run(command)
        if code != 0:
            raise BugError(f"the broken tree does not compile:\n{output}")
    # A library that was compiled several sources at a time defines what the mutant defines, too.
    # The first definition counts: the libraries are position independent, so nothing binds to
    # another.
    code, output = run([*toolchain.link_command(objects, tree / "mutant"),
                        "-Wl,--allow-multiple-definition,--strip-debug,--trace,--trace"])
    if code != 0:
        raise BugError(f"the broken tree does not link:\n{output}")
    (tree / "linked").write_text(output)
    return tree / "mutant"


def outcome(command):
    """The exit code and the output of a test; a hang and an empty selection are errors."""
    try:
        code, output = run(command, RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise BugError(f"no verdict within {RUN_LIMIT_S} s: {shlex.join(command)}") from None
    if code == EXIT_NOTHING_SELECTED:
        raise BugError(f"no test case matches: {shlex.join(command)}")
    return code, output


def check(bug, toolchain, tree):
    """What is wrong with the claim that `bug` is found; empty when it is found."""
    binary, *arguments = shlex.split(bug["run"])
    sound, output = outcome([str(toolchain.binaries / binary), *arguments])
    if sound != 0:
        return f"the test fails without the bug:\n{output}"
    plant(bug, toolchain.source, tree)
    broken, output = outcome([str(build(bug, toolchain, tree)), *arguments])
    print(output)
    return "" if broken != 0 else f"not found: {bug['claim']}"


def described(bug):
    """The project's files that a verdict starts from, beside what they include and link."""
    return [*bug["source"], bug["file"], "test/main.cpp"]


def settle(path, toolchain, tree, verdicts):
    """What is wrong with the bug in `path`, and the words for one that is found."""
    text = path.read_text()
    bug = parse(text)
    if verdicts:
        reason = verdicts.reason_to_run(path.stem, text, described(bug))
        if not reason:
            return "", "found before, built from the same; GNSTOR_BUGS=all runs it"
        print(f"run: {reason}", flush=True)
        verdicts.forget(path.stem)
    wrong = check(bug, toolchain, tree)
    if not wrong and verdicts:
        try:
            verdicts.note_found(path.stem, text, described(bug), tree)
        except NoVerdict as why:
            print(f"no verdict is kept: {why}")
    return wrong, f"found by {bug['found by']}: {bug['claim']}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolchain", required=True, help="toolchain.json of the build")
    parser.add_argument("--verdicts", type=pathlib.Path, help="kept verdicts that may answer")
    parser.add_argument("bug", type=pathlib.Path)
    arguments = parser.parse_args()
    toolchain = Toolchain(arguments.toolchain)
    tree = toolchain.binaries / "bugs" / arguments.bug.stem
    verdicts = Verdicts(toolchain, arguments.verdicts) if arguments.verdicts else None
    said = ""
    try:
        wrong, said = settle(arguments.bug, toolchain, tree, verdicts)
    except (BugError, ToolchainError) as error:
        wrong = str(error)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    print(wrong if wrong else said)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
