#!/usr/bin/env python3
"""Checks what scripts/report_tests.py says of slow tests, budgets and skips, and when it fails."""

import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import report_tests  # noqa: E402

RDMA_LESS = "fabrics.loopback: one-sided transfers move data both ways"


def case(name, seconds=1.0, output="", skipped=False):
    inside = '<skipped message="SKIP_RETURN_CODE=77"/>' if skipped else ""
    return (f'<testcase name="{name}" time="{seconds}">{inside}'
            f"<system-out>{output}</system-out></testcase>")


def passed(name, seconds=1.0, preset="host", output=""):
    return report_tests.Test(preset, name, seconds, output, False)


class Lacks(report_tests.Machine):
    """A machine that lacks what is named."""

    def __init__(self, *missing):
        super().__init__()
        self.missing = missing

    def _ask(self, where):
        return where in self.missing


class Report(unittest.TestCase):
    def said(self, *cases, **environment):
        with tempfile.TemporaryDirectory() as folder:
            junit = pathlib.Path(folder) / "junit.xml"
            junit.write_text("<testsuite>" + "".join(cases) + "</testsuite>")
            plain = {k: v for k, v in os.environ.items() if k != "GNSTOR_TEST_RDMA"}
            done = subprocess.run(
                [sys.executable, str(ROOT / "scripts/report_tests.py"), f"host={junit}"],
                stdout=subprocess.PIPE, text=True, check=False, env={**plain, **environment})
        return done.returncode, done.stdout

    def test_the_ten_slowest_are_named_the_slowest_first(self):
        lines = report_tests.slowest([passed(f"a.{k}", k) for k in range(20)])
        self.assertEqual([line.split()[2] for line in lines], [f"a.{k}" for k in range(19, 9, -1)])

    def test_what_failed_is_quoted_at_its_end(self):
        said = "\n".join(f"line {k}" for k in range(40))
        failed = case("a.b", output=said).replace("<system-out>", "<failure/><system-out>")
        code, printed = self.said(failed, case("a.c", output="other"))
        self.assertEqual(code, 0)  # CTest's own verdict counts
        self.assertIn("failed after 1.0 s: a.b (host)\n    line 28\n", printed)
        self.assertIn("line 39\n", printed)
        self.assertNotIn("line 27\n", printed)
        self.assertNotIn("other", printed)

    def test_what_passed_alone_is_unsteady_and_quoted_and_what_was_skipped_then_has_failed(self):
        def failed(name):
            return case(name, output=f"{name} says").replace(
                "<system-out>", "<failure/><system-out>")
        with tempfile.TemporaryDirectory() as folder:
            junit = pathlib.Path(folder) / "junit.xml"
            junit.write_text("<testsuite>" + "".join(map(failed, "abc")) + case("d")
                             + "</testsuite>")
            junit.with_name("junit-again.xml").write_text(
                "<testsuite>" + case("a", output="fine") + failed("b") + case("c", skipped=True)
                + "</testsuite>")
            tests = report_tests.read("host", junit)
        self.assertEqual([(test.name, test.failed, test.unsteady) for test in tests],
                         [("a", False, True), ("b", True, False), ("c", True, False),
                          ("d", False, False)])
        printed = "\n".join(report_tests.failures(tests))
        self.assertIn("unsteady: failed, then passed alone, after 1.0 s: a (host)\n    a says",
                      printed)
        self.assertIn("failed after 1.0 s: b (host)", printed)

    def test_a_test_that_was_not_built_has_failed(self):
        gone = case("fuzz.replay", skipped=True).replace("SKIP_RETURN_CODE=77", "Unable to find")
        code, printed = self.said(gone, case("a.b"))
        self.assertEqual(code, 0)
        self.assertIn("failed after 1.0 s: fuzz.replay (host)", printed)
        self.assertIn("was it built?", printed)
        self.assertNotIn("does not allow", printed)

    def test_bugs_that_kept_their_verdict_are_counted(self):
        kept = passed("bugs.b", output=report_tests.ANSWERED)
        ran = [passed("bugs.a"), kept, passed("bugs.tool")]
        self.assertIn("1 ran, 1 kept", next(report_tests.bugs(ran)))
        self.assertNotIn("left", next(report_tests.bugs(ran)))
        later = passed("bugs.c")._replace(skipped=True)
        self.assertIn("1 ran, 1 kept their verdict, 1 were left",
                      next(report_tests.bugs([*ran, later])))

    def test_guests_that_were_left_are_named(self):
        late = passed("interop.nbd", output=report_tests.LATE)._replace(skipped=True)
        self.assertEqual(list(report_tests.guests([passed("interop.xfs")])), [])
        self.assertIn(": interop.nbd", next(report_tests.guests([passed("interop.xfs"), late])))
        self.assertIn(report_tests.LATE, (ROOT / "test/interop/lab/case.bash").read_text())

    def test_guests_are_late_only_when_their_time_is_over(self):
        for until, late in [("", False), ("9999999999", False), ("1", True)]:
            with mock.patch.dict(os.environ, {"GNSTOR_GUESTS_UNTIL": until}):
                self.assertEqual(report_tests.Machine().is_so("late"), late)

    def test_mutate_says_what_is_counted(self):
        self.assertIn(report_tests.ANSWERED, (ROOT / "test/bugs/mutate.py").read_text())

    def test_a_room_beyond_its_budget_gets_a_warning(self):
        def warned(*tests):
            return list(report_tests.over_budget(tests, {"wire": 3}, {"wire", "new"}))
        self.assertEqual(warned(passed("wire.a", 2), passed("wire.b", 1)), [])
        self.assertIn("wire took 3.1 s", warned(passed("wire.a", 2), passed("wire.b", 1.1))[0])
        self.assertEqual(warned(passed("wire.a", 9, "asan"), passed("bugs.wire", 9)), [])
        self.assertIn("no budget", warned(passed("new.a"))[0])

    def test_every_room_has_a_budget_and_every_budget_a_room(self):
        folder = ROOT / "test"
        tests = [path for kind in ("*.cpp", "*.cmake") for path in folder.glob(f"*/{kind}")]
        rooms = {path.parent.name for path in tests} - {"rdma_model"}
        budgets = [room for room, _ in report_tests.lines_of(ROOT / "test/budgets.txt")]
        self.assertEqual(sorted(rooms), sorted(budgets))

    def test_a_skip_is_allowed_only_where_its_line_says(self):
        allowed = [["no-gpu", "*.gpu"], ["always", "a.b: (what [is] it?)*"]]

        def left(name, *missing):
            skipped = [("host", name)]
            return [n for _, n in report_tests.unexpected(skipped, allowed, Lacks(*missing))]
        self.assertEqual(left("afa.faults.gpu", "no-gpu"), [])
        self.assertEqual(left("afa.faults.gpu"), ["afa.faults.gpu"])
        self.assertEqual(left("afa.faults", "no-gpu"), ["afa.faults"])
        self.assertEqual(left("a.b: (what [is] it?) indeed"), [])
        self.assertEqual(left("a.b: (what i it!)"), ["a.b: (what i it!)"])

    def test_a_sanitizer_may_leave_out_what_its_line_names(self):
        skipped = [("host", "a.b: forks"), ("tsan", "a.b: forks"), ("tsan", "a.b: reads")]
        self.assertEqual(report_tests.unexpected(skipped, [["tsan", "a.b: forks"]], Lacks("tsan")),
                         [skipped[0], skipped[2]])

    def test_every_case_that_a_sanitizer_leaves_out_has_a_line(self):
        # A sanitizer's run takes too long to be what finds a missing line.
        left_out = set()
        for path in (ROOT / "test").glob("*/*.cpp"):
            for title in re.findall(r'TEST_CASE\("((?:[^"]|"\s*")*)"[^{]*skip\([a-z:]*under_tsan\)',
                                    path.read_text()):
                words = re.sub(r'"\s*"', "", title)
                left_out.add(f"{path.parent.name}.{path.stem}: {words}")
        patterns = [pattern for where, pattern in report_tests.lines_of(ROOT / "test/skips.txt")
                    if where == "tsan"]
        self.assertTrue(left_out)
        for name in left_out:
            self.assertTrue(any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns), name)
        for pattern in patterns:
            self.assertTrue(fnmatch.filter(left_out, pattern), f"{pattern} is for nothing")

    def test_an_unexpected_skip_of_a_test_fails(self):
        code, said = self.said(case("wire.afa"), case("wire.membership", skipped=True))
        self.assertEqual(code, 1)
        self.assertIn("does not allow it here: wire.membership", said)

    def test_a_skip_of_one_case_counts(self):
        output = "[doctest] options\nskipped case: " + RDMA_LESS.partition(": ")[2] + "\n"
        skipping = case("fabrics.loopback", output=output)
        self.assertEqual(self.said(skipping)[0], 0)
        code, said = self.said(skipping, GNSTOR_TEST_RDMA="10.0.0.1")
        self.assertEqual(code, 1)
        self.assertIn(RDMA_LESS, said)
        self.assertEqual(self.said(case("fabrics.words", output=output))[0], 1)

    def test_no_skip_passes(self):
        self.assertEqual(self.said(case("wire.afa"))[0], 0)


if __name__ == "__main__":
    unittest.main()
