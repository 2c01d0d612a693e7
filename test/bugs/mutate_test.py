#!/usr/bin/env python3
"""Checks that mutate.py finds a bug that a test sees, and rejects one that it does not."""

import argparse
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import mutate
import says
import verdicts

TOOLCHAIN = None
HEADER = """#pragma once
inline int twice(int a) {
  return 2 *
         a;
}
inline int one() { return 1; }
"""
TEST = """#include <doctest/doctest.h>
#include <gnstor/twice.hpp>
TEST_CASE("twice doubles") { CHECK(twice(3) == 6); }
"""
BUG = """file: include/gnstor/twice.hpp
from: return 2 * a;
to: return 2 + a;
source: test/core/twice.cpp
run: test_core --test-case=twice*
found by: fast
claim: twice doubles
"""


class Parse(unittest.TestCase):
    def test_reads_fields_and_continuations(self):
        bug = mutate.parse("# note\n" + BUG.replace("to: return 2 + a;", "to: return\n  7;"))
        self.assertEqual(bug["to"], "return\n  7;")
        self.assertEqual(bug["source"], ["test/core/twice.cpp"])

    def test_refuses_a_missing_or_unknown_key(self):
        for text in [BUG.replace("claim: twice doubles\n", ""), BUG + "why: because\n"]:
            with self.assertRaises(mutate.BugError):
                mutate.parse(text)

    def test_refuses_a_place_that_is_not_unique(self):
        self.assertEqual(mutate.mutated("a  f(\n  b);", "f(b)", "d"), "a  d;")
        for text in ["x", "b c, b c"]:
            with self.assertRaises(mutate.BugError):
                mutate.mutated(text, "b c", "d")


class OtherCases(unittest.TestCase):
    TEXT = """int helper() { return 1; }
TEST_CASE("a ring wraps, seeded") {
  CHECK(helper() == 1);
}
TEST_CASE(
    "a ring that is "
    "full refuses") {
  if (helper() == 1) {
    CHECK(true);
  }
}
TEST_CASE("on one line") { CHECK(true); }
TEST_CASE("decorated" * doctest::skip()) {
  CHECK(true);
}
"""

    def left(self, *arguments):
        return mutate.without_other_cases(self.TEXT, mutate.case_filter(arguments))

    def test_a_filter_selects_as_doctest_does(self):
        for value in ["a ring*", "*WRAPS? seeded", "none,a?ring wraps, seeded,*seeded"]:
            self.assertTrue(mutate.case_filter(["--test-case=" + value])("a ring wraps, seeded"))
        for value in ["ring", "a ring", "*wraps", "a.ring*", "[a] ring*"]:
            self.assertFalse(mutate.case_filter(["--test-case=" + value])("a ring wraps, seeded"))

    def test_what_is_more_than_a_filter_leaves_nothing_out(self):
        for arguments in [[], ["--test-case=a*", "--subcase=b"], ["--test-case=a\\,b"], ["-tc=a"]]:
            self.assertIsNone(mutate.case_filter(arguments))

    def test_cases_that_are_not_selected_are_left_out(self):
        wraps = self.left("--test-case=*wraps*")
        self.assertIn('TEST_CASE("a ring wraps', wraps)
        self.assertNotIn("refuses", wraps)
        self.assertIn("refuses", self.left("--test-case=*is full refuses"))

    def test_the_rest_stays_where_it_is(self):
        before, after = self.TEXT.splitlines(), self.left("--test-case=nothing").splitlines()
        self.assertEqual(len(before), len(after))
        kept = [(number, line) for number, line in enumerate(after) if line]
        self.assertEqual(kept, [(k, before[k]) for k in [0, *range(11, len(before))]])


class EndToEnd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        TOOLCHAIN.source, TOOLCHAIN.binaries = root, root / "build"
        for name, text in {"include/gnstor/twice.hpp": HEADER, "test/core/twice.cpp": TEST}.items():
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(text)
        (root / "build").mkdir()
        built = mutate.build(mutate.parse(BUG), TOOLCHAIN, root)
        built.rename(root / "build" / "test_core")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def verdict(self, text):
        return mutate.check(mutate.parse(text), TOOLCHAIN, TOOLCHAIN.binaries / "tree")

    def test_a_bug_that_the_test_sees_is_found(self):
        self.assertEqual(self.verdict(BUG), "")

    def test_a_case_that_the_run_does_not_select_is_not_compiled(self):
        test = TOOLCHAIN.source / "test/core/twice.cpp"
        test.write_text(TEST + 'TEST_CASE("broken") {\n  not C++\n}\n')
        try:
            self.assertEqual(self.verdict(BUG), "")
        finally:
            test.write_text(TEST)

    def test_a_bug_that_no_test_sees_is_reported(self):
        unseen = BUG.replace("return 2 * a", "return 1").replace("return 2 + a", "return 2")
        self.assertIn("not found: twice doubles", self.verdict(unseen))

    def test_a_bug_is_found_only_by_the_failure_that_it_names(self):
        self.assertEqual(self.verdict(BUG + "says: CHECK( twice(3)  == 6 ) is NOT\n"), "")
        other = self.verdict(BUG + "says: CHECK( twice(4)\n")
        self.assertIn("does not say: CHECK( twice(4)", other)

    def test_a_control_runs_what_its_bugs_run_without_any(self):
        bugs = [mutate.parse(BUG), mutate.parse(BUG.replace("twice*", "*doubles"))]
        control = mutate.control_of(bugs)
        self.assertEqual(control["source"], ["test/core/twice.cpp"])
        self.assertEqual(len(control["runs"]), 2)
        tree = TOOLCHAIN.binaries / "tree"
        self.assertEqual(mutate.check_control(control, TOOLCHAIN, tree), "")
        # What the bugs' tests rely on is broken by the way in which mutants are built.
        test = TOOLCHAIN.source / "test/core/twice.cpp"
        test.write_text(TEST.replace("== 6", "== 7"))
        try:
            self.assertIn("without a bug", mutate.check_control(control, TOOLCHAIN, tree))
        finally:
            test.write_text(TEST)

    def test_a_control_that_selects_nothing_is_an_error(self):
        control = mutate.control_of([mutate.parse(BUG.replace("twice*", "thrice*"))])
        with self.assertRaisesRegex(mutate.BugError, "no test case matches"):
            mutate.check_control(control, TOOLCHAIN, TOOLCHAIN.binaries / "tree")

    def test_a_filter_that_selects_nothing_is_an_error(self):
        with self.assertRaisesRegex(mutate.BugError, "no test case matches"):
            self.verdict(BUG.replace("twice*", "thrice*"))

    def test_a_mutant_that_does_not_compile_is_an_error(self):
        with self.assertRaisesRegex(mutate.BugError, "does not compile"):
            self.verdict(BUG.replace("to: return 2 + a;", "to: return 2 + b;"))


class Says(unittest.TestCase):
    @staticmethod
    def failed(check, value):
        return (f"t.cpp:3: ERROR: {check} is NOT correct!\n"
                f"  values: {check.partition('(')[0]}( {value} )\n")

    def test_a_check_is_what_a_bug_says(self):
        output = self.failed("CHECK( a == 2 )", "3 == 2") + self.failed("CHECK( b )", "false")
        self.assertEqual(says.common([output, output]), "CHECK( a == 2 )")

    def test_a_text_that_should_be_empty_says_more_but_for_its_numbers(self):
        texts = ["seed 17: lane 3 read what nobody wrote", "seed 9: lane 12 read what nobody wrote"]
        outputs = [self.failed('REQUIRE( wrong == "" )', text + " == ") for text in texts]
        self.assertEqual(says.common(outputs), "read what nobody wrote")
        path = self.failed('REQUIRE( wrong == "" )', "/x/says_y/a.hpp:12: given back [seed 2] == ")
        self.assertEqual(says.common([path]), "given back [seed")
        many = self.failed('REQUIRE( wrong == "" )', "livelock in seed 1\n  at lane 3\n == ")
        self.assertEqual(says.common([many]), "livelock in seed")
        self.assertEqual(says.common([*outputs, self.failed('REQUIRE( wrong == "" )', "x == ")]),
                         'REQUIRE( wrong == "" )')

    def test_an_exception_or_a_crash_is_what_a_bug_says(self):
        for line, said in [("test case THREW exception: 12: a queue is full", "a queue is full"),
                           ("test case CRASHED: SIGSEGV - Segmentation violation signal",
                            "test case CRASHED: SIGSEGV")]:
            self.assertIn(said, says.common(["t.cpp:1: ERROR: " + line] * 2))

    def test_runs_that_fail_in_different_ways_say_nothing(self):
        outputs = [self.failed(f"CHECK( {name} == 2 )", "1 == 2") for name in "ab"]
        self.assertEqual(says.common(outputs), "")


DEPTH = """#pragma once
#if 0
#include <gnstor/never.hpp>
#endif
inline int two() { return 2; }
"""
LIBRARY = """#include "helper.hpp"
int helped() { return HELP; }
"""
USER = """#include <doctest/doctest.h>
#include <gnstor/twice.hpp>
int helped();
TEST_CASE("twice doubles") { CHECK(twice(3) + helped() == 7); }
"""


class Kept(unittest.TestCase):
    """A project of a header, what that includes, a test, and a library of one source."""

    FILES = {"include/gnstor/twice.hpp":
             HEADER.replace("#pragma once", "#pragma once\n#include <gnstor/two.hpp>"),
             "include/gnstor/two.hpp": DEPTH, "include/gnstor/never.hpp": "",
             "include/gnstor/apart.hpp": "int apart();\n",
             "hostsetup/src/helper.cpp": LIBRARY, "hostsetup/src/helper.hpp": "#define HELP 1\n",
             "hostsetup/src/apart.cpp": "int apart() { return 1; }\n",
             "test/core/twice.cpp": USER, "test/main.cpp": "", "test/bugs/twice.bug": BUG}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        # Resolved: a path through a link would be one outside the project.
        cls.root = pathlib.Path(folder.name).resolve()
        for name, text in cls.FILES.items():
            cls.write(name, text)
        cls.sound = t = copy.copy(TOOLCHAIN)
        t.source, t.build, t.binaries = cls.root, cls.root / "build", cls.root / "build/test"
        t.binaries.mkdir(parents=True)
        cls.commands, objects = [], []
        for name in ["helper", "apart"]:
            objects.append(t.build / f"CMakeFiles/gnstor_helper.dir/{name}.cpp.o")
            objects[-1].parent.mkdir(parents=True, exist_ok=True)
            source = cls.root / f"hostsetup/src/{name}.cpp"
            command = t.compile_command(source, ["-fPIC", "-o", str(objects[-1]), "-c"])
            subprocess.run(command, check=True)
            cls.commands.append({"command": " ".join(command), "file": str(source)})
        t.libraries = [str(t.build / "libgnstor_helper.a"), *t.libraries]
        subprocess.run(["ar", "rcs", t.libraries[0], *map(str, objects)], check=True)
        built = mutate.build(mutate.parse(BUG), t, cls.root)
        built.rename(t.binaries / "test_core")

    def setUp(self):
        self.toolchain = copy.copy(self.sound)
        for name, text in self.FILES.items():
            self.write(name, text)
        self.write_commands(self.commands)
        self.file.unlink(missing_ok=True)
        today = next(day for day in range(99) if not verdicts.has_its_turn("twice", day))
        environment = mock.patch.dict(os.environ, {
            "GNSTOR_DAY": str(today), "GNSTOR_BUGS": "", "GNSTOR_BUGS_UNTIL": "",
            "GNSTOR_BUGS_AT_MOST": ""})
        environment.start()
        self.addCleanup(environment.stop)
        self.assertEqual(self.reason(), "it has no verdict")
        self.settle()

    @classmethod
    def write(cls, name, text):
        (cls.root / name).parent.mkdir(parents=True, exist_ok=True)
        (cls.root / name).write_text(text)

    def write_commands(self, commands):
        (self.toolchain.build / "compile_commands.json").write_text(json.dumps(commands))

    @property
    def file(self):
        return self.root / "verdicts.json"

    def settle(self):
        """Runs the bug if it has to; keeps what comes of it. What it prints."""
        text = (self.root / "test/bugs/twice.bug").read_text()
        with mock.patch("builtins.print") as printed:
            wrong = mutate.settle(
                mutate.parse(text), "twice", text, self.toolchain,
                verdicts.Verdicts(self.toolchain, self.file), self.toolchain.binaries / "tree")
        self.counts = verdicts.keep([self.toolchain.build], self.file, self.root / "test/bugs")
        return wrong or printed.call_args[0][0]

    def reason(self):
        text = (self.root / "test/bugs/twice.bug").read_text()
        return verdicts.Verdicts(self.toolchain, self.file).reason_to_run(
            "twice", text, mutate.described(mutate.parse(text)))

    def test_what_has_not_changed_is_not_run(self):
        self.assertIn("found before", self.settle())
        self.assertEqual(self.counts, (0, 0))

    def test_whatever_goes_into_it_makes_it_run(self):
        for name in ["include/gnstor/twice.hpp", "include/gnstor/two.hpp", "test/core/twice.cpp",
                     "hostsetup/src/helper.cpp", "hostsetup/src/helper.hpp", "test/main.cpp",
                     "test/bugs/twice.bug", "include/gnstor/never.hpp"]:
            old = (self.root / name).read_text()
            self.write(name, "# changed\n" + old if name.endswith("bug") else old + "// changed\n")
            self.assertIn("has changed", self.reason(), name)
            self.write(name, old)
            self.assertEqual(self.reason(), "", name)

    def test_what_does_not_go_into_it_leaves_it_alone(self):
        self.write("include/gnstor/apart.hpp", "// changed\n")
        self.write("hostsetup/src/apart.cpp", "// changed\n")
        self.assertEqual(self.reason(), "")

    def test_a_header_that_would_hide_another_makes_it_run(self):
        hides = self.root / "hostsetup/include/gnstor/two.hpp"
        self.addCleanup(hides.unlink)
        self.write("hostsetup/include/gnstor/two.hpp", DEPTH)
        self.assertIn("has changed", self.reason())

    def test_another_compiler_flag_or_library_makes_it_run(self):
        t = self.toolchain
        for name, value in [("flags", [*t.flags, "-O2"]), ("versions", t.versions + " newer"),
                            ("libraries", [*t.libraries, "-lmore"])]:
            old = getattr(t, name)
            setattr(t, name, value)
            self.assertIn("has changed", self.reason(), name)
            setattr(t, name, old)
        self.write_commands([{**command, "command": command["command"].replace(" -o", " -O3 -o")}
                             for command in self.commands])
        self.assertIn("has changed", self.reason())

    def test_a_file_that_was_changed_by_hand_is_not_believed(self):
        sound = self.file.read_text()
        known, key, _ = json.loads(sound)["verdicts"]["twice"]
        turned = known[::-1]
        for old, new in [(known, turned), (f'"{known}"', "null"), ("helper.cpp", "apart.cpp"),
                         ('"hostsetup/src/helper.cpp"', ""), (key, "key"), (sound, ""),
                         (sound, "[]"), (sound, '{"verdicts": 1, "linked": 2}')]:
            self.file.write_text(sound.replace(old, new, 1))
            self.assertNotEqual(self.reason(), "", f"{old} -> {new}")
        self.file.write_text(sound)
        self.assertEqual(self.reason(), "")

    def test_a_source_that_is_gone_makes_it_run(self):
        (self.root / "hostsetup/src/helper.cpp").unlink()
        self.assertNotEqual(self.reason(), "")

    def test_each_has_its_turn_once_in_a_round_of_days(self):
        reasons = []
        for day in range(verdicts.TURNS):
            with mock.patch.dict(os.environ, {"GNSTOR_DAY": str(day)}):
                reasons.append(self.reason())
        self.assertEqual(sorted(reasons), [""] * (verdicts.TURNS - 1) + ["its turn has come"])

    def test_all_run_when_all_are_asked_for(self):
        with mock.patch.dict(os.environ, {"GNSTOR_BUGS": "all"}):
            self.assertNotEqual(self.reason(), "")

    def test_when_time_is_up_what_is_built_from_other_headers_waits(self):
        self.write("include/gnstor/two.hpp", DEPTH + "// changed\n")
        with mock.patch.dict(os.environ, {"GNSTOR_BUGS_UNTIL": "1"}):
            with self.assertRaisesRegex(mutate.LeftForLater, "has changed"):
                self.settle()
            for name, value in [("GNSTOR_BUGS", "all"), ("GNSTOR_BUGS_UNTIL", "9999999999")]:
                with mock.patch.dict(os.environ, {name: value}):
                    self.assertIn("found by fast", self.settle())
                self.write("include/gnstor/two.hpp", DEPTH + f"// {name}\n")
            turn = next(k for k in range(99) if verdicts.has_its_turn("twice", k))
            with mock.patch.dict(os.environ, {"GNSTOR_DAY": str(turn)}):
                self.assertIn("found by fast", self.settle())
        self.assertEqual(self.counts, (1, 0))

    def test_when_time_is_up_what_names_a_changed_file_runs(self):
        with mock.patch.dict(os.environ, {"GNSTOR_BUGS_UNTIL": "1"}):
            for name in ["include/gnstor/twice.hpp", "test/core/twice.cpp", "test/bugs/twice.bug"]:
                old = (self.root / name).read_text()
                self.write(name, "# new\n" + old if name.endswith("bug") else old + "// new\n")
                self.assertIn("found by fast", self.settle(), name)
            self.file.unlink()
            self.assertIn("found by fast", self.settle())

    def test_at_the_last_minute_what_names_a_changed_file_waits_too(self):
        header = self.root / "include/gnstor/twice.hpp"
        self.write("include/gnstor/twice.hpp", header.read_text() + "// new\n")
        with mock.patch.dict(os.environ, {"GNSTOR_BUGS_AT_MOST": "1"}):
            for _ in range(2):
                with mock.patch.object(verdicts, "inputs", side_effect=AssertionError):
                    with self.assertRaisesRegex(mutate.LeftForLater, "whatever has changed"):
                        self.settle()
                self.file.unlink(missing_ok=True)
            with mock.patch.dict(os.environ, {"GNSTOR_BUGS_AT_MOST": "9999999999"}):
                self.assertIn("found by fast", self.settle())

    def test_when_time_is_up_a_bug_waits_whose_main_has_changed(self):
        self.write("test/main.cpp", (self.root / "test/main.cpp").read_text() + "// new\n")
        with mock.patch.dict(os.environ, {"GNSTOR_BUGS_UNTIL": "1"}):
            with self.assertRaisesRegex(mutate.LeftForLater, "has changed"):
                self.settle()

    def test_a_bug_that_is_no_longer_found_loses_its_verdict(self):
        self.write("test/core/twice.cpp", USER.replace("== 7", "!= 9"))
        self.assertIn("not found", self.settle())
        self.assertEqual(self.counts, (0, 1))
        self.assertEqual(self.reason(), "it has no verdict")

    def test_the_verdict_of_a_bug_that_is_gone_goes(self):
        (self.root / "test/bugs/twice.bug").unlink()
        counts = verdicts.keep([self.toolchain.build], self.file, self.root / "test/bugs")
        self.assertEqual(counts, (0, 1))

    def test_a_build_that_does_not_list_its_commands_allows_no_verdict(self):
        (self.toolchain.build / "compile_commands.json").unlink()
        self.assertIn("found by fast", self.settle())
        self.assertEqual(self.reason(), "it has no verdict")

    def test_an_include_that_only_a_compiler_can_tell_allows_no_verdict(self):
        self.write("include/gnstor/two.hpp", "#define WHERE <vector>\n#include WHERE\n" + DEPTH)
        self.assertIn("found by fast", self.settle())
        self.assertIn("verdict", self.reason())

    def test_what_the_compiler_opens_beyond_the_text_allows_no_verdict(self):
        with mock.patch.object(verdicts, "may_include", return_value={"test/core/twice.cpp"}):
            self.write("include/gnstor/two.hpp", DEPTH + "// changed\n")
            self.settle()
        self.assertEqual(self.reason(), "it has no verdict")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", required=True)
    known, rest = parser.parse_known_args()
    TOOLCHAIN = mutate.Toolchain(known.toolchain)
    unittest.main(argv=[sys.argv[0], *rest])
