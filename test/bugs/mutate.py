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
    says: CHECK( slot.value == 7 )                 optional: the failing test prints this, blanks
                                                   aside; if it fails otherwise, it has not found it

With --control NAME the bugs are not planted: their sources, compiled the same way without a change,
have to pass what each of them runs. There is one for each test source, so that it is the bug that
turns its test red, and not the way in which a mutant is built.

With --verdicts a bug that was found before, built from the same, is not run, and one that has no
time today is skipped, exit status 77: see verdicts.py.

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
from verdicts import FOLDERS, MAIN, ROOTS, NoVerdict, Verdicts  # noqa: E402

KEYS = {"file", "from", "to", "source", "run", "found by", "claim"}
OPTIONAL = {"says"}
# A whole test case, as clang-format leaves it; one that looks different is compiled.
CASE = re.compile(r'^TEST_CASE\(\s*((?:"[^"\\\n]*"\s*)+)\) \{\n(?:(?!\}|TEST_CASE).*\n)*\}\n', re.M)
EXIT_NOTHING_SELECTED = 3
EXIT_SKIPPED = 77
RUN_LIMIT_S = 120


class BugError(Exception):
    """The bug file, not the library, is wrong."""


class LeftForLater(Exception):
    """Why a bug should run, but there is no time for it today."""


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
            if not colon or key not in KEYS | OPTIONAL or (key in fields and key != "source"):
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


def copy(source, tree, tests, runs):
    """Links the sources into `tree`; of `tests` only the cases that one of `runs` selects."""
    shutil.rmtree(tree, ignore_errors=True)
    for folder in FOLDERS:
        if (source / folder).exists():
            shutil.copytree(source / folder, tree / folder, copy_function=link)
    filters = [case_filter(shlex.split(run)[1:]) for run in runs]
    for path in {tree / name for name in tests} if all(filters) else ():
        text = path.read_text()
        rewrite(path, without_other_cases(text, lambda name: any(one(name) for one in filters)))


def plant(bug, source, tree):
    """Copies the sources to `tree` and breaks one of them."""
    copy(source, tree, bug["source"], [bug["run"]])
    target = tree / bug["file"]
    if not target.is_file():
        raise BugError(f"no such file under {', '.join(FOLDERS)}: {bug['file']}")
    rewrite(target, mutated(target.read_text(), bug["from"], bug["to"]))


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


def blanks_aside(text):
    return " ".join(text.split())


def check(bug, toolchain, tree):
    """What is wrong with the claim that `bug` is found; empty when it is found."""
    binary, *arguments = shlex.split(bug["run"])
    sound, output = outcome([str(toolchain.binaries / binary), *arguments])
    if sound != 0:
        return f"the test fails without the bug:\n{output}"
    plant(bug, toolchain.source, tree)
    broken, output = outcome([str(build(bug, toolchain, tree)), *arguments])
    print(output)
    if broken == 0:
        return f"not found: {bug['claim']}"
    if blanks_aside(bug.get("says", "")) not in blanks_aside(output):
        return f"the test fails, but does not say: {bug['says']}"
    return ""


def check_control(control, toolchain, tree):
    """What fails without any bug; empty when all passes."""
    copy(toolchain.source, tree, control["source"], control["runs"])
    mutant = build(control, toolchain, tree)
    for line in control["runs"]:
        code, output = outcome([str(mutant), *shlex.split(line)[1:]])
        if code != 0:
            return f"the test fails without a bug, built as a mutant is:\n{line}\n{output}"
    return ""


def control_of(bugs):
    """The sources of all of `bugs`, and what they run."""
    return {"source": list(dict.fromkeys(name for bug in bugs for name in bug["source"])),
            "runs": sorted({bug["run"] for bug in bugs})}


def described(item):
    """The project's files that a verdict starts from, beside what they include and link."""
    return [*item["source"], *([item["file"]] if "file" in item else []), MAIN]


def settle(item, name, text, toolchain, verdicts, tree):
    """What is wrong with a bug or a control, which `text` describes; empty when nothing is."""
    if verdicts:
        if verdicts.has_to_wait(name):
            raise LeftForLater("whatever has changed")
        reason = verdicts.reason_to_run(name, text, described(item))
        if not reason:
            print("found before, built from the same; GNSTOR_BUGS=all runs it")
            return ""
        if verdicts.may_wait(name, text, described(item)):
            raise LeftForLater(reason)
        print(f"run: {reason}", flush=True)
        verdicts.forget(name)
    wrong = (check if "file" in item else check_control)(item, toolchain, tree)
    if not wrong and verdicts:
        try:
            verdicts.note_found(name, text, described(item), tree)
        except NoVerdict as why:
            print(f"no verdict is kept: {why}")
    if not wrong and "file" in item:
        print(f"found by {item['found by']}: {item['claim']}")
    return wrong


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolchain", required=True, help="toolchain.json of the build")
    parser.add_argument("--verdicts", type=pathlib.Path, help="kept verdicts that may answer")
    parser.add_argument("--control", metavar="NAME", help="no bug: what the bugs' tests need")
    parser.add_argument("bug", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    if not arguments.control and len(arguments.bug) != 1:
        parser.error("one bug at a time, or --control")
    toolchain = Toolchain(arguments.toolchain)
    name = f"control.{arguments.control}" if arguments.control else arguments.bug[0].stem
    tree = toolchain.binaries / "bugs" / name
    verdicts = Verdicts(toolchain, arguments.verdicts) if arguments.verdicts else None
    try:
        if arguments.control:
            item = control_of([parse(path.read_text()) for path in arguments.bug])
            text = "\n".join([*item["source"], *item["runs"]])
        else:
            text = arguments.bug[0].read_text()
            item = parse(text)
        wrong = settle(item, name, text, toolchain, verdicts, tree)
    except (BugError, ToolchainError) as error:
        wrong = str(error)
    except LeftForLater as why:
        print(f"left for another run, the time for bugs is up: {why}")
        return EXIT_SKIPPED
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    if wrong:
        print(wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
