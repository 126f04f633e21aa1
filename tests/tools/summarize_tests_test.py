#!/usr/bin/env python3
"""Tests of tools/summarize_tests.py on literal output of GoogleTest, unittest and ctest."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import summarize_tests  # noqa: E402

GTEST = """\
[==========] Running 4 tests from 1 test suite.
[ RUN      ] Ring.SumsOnThreeRanks
[       OK ] Ring.SumsOnThreeRanks (0 ms)
[ RUN      ] Odd/Ring.Sizes/0
ring_test.cpp:7: Failure
[  FAILED  ] Odd/Ring.Sizes/0, where GetParam() = 3 (12 ms)
[ RUN      ] Ring.OverMpi
src/toroid/comm/ring_test.cpp:31: Skipped
no mpirun

[  SKIPPED ] Ring.OverMpi (0 ms)
[==========] 4 tests from 1 test suite ran. (12 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Ring.OverMpi
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Odd/Ring.Sizes/0, where GetParam() = 3
"""
UNITTEST = """\
test_reads (events_test.Events.test_reads)
A docstring's first line ... ok
test_bad (events_test.Events.test_bad) ... FAIL
test_error (events_test.Events) ... a warning on the same line
ERROR
test_skip (events_test.Events.test_skip) ... skipped 'no such data'

======================================================================
FAIL: test_bad (events_test.Events.test_bad)
Ran 4 tests in 0.001s
"""


def junit(cases):
    return f'<testsuite name="x" tests="1">{cases}</testsuite>'


class SummarizeTests(unittest.TestCase):
    def summary(self, stages, files):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "stages.tsv").write_text(stages)
            for name, text in files.items():
                (Path(folder) / name).write_text(text)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = summarize_tests.main([folder])
            return status, out.getvalue()

    def test_googletest_cases_are_counted_once_each(self):
        counts = summarize_tests.count_output(GTEST)
        self.assertEqual((1, ["Odd/Ring.Sizes/0"], [("Ring.OverMpi", "no mpirun")]),
                         (counts.passed, counts.failed, counts.skipped))

    def test_unittest_cases_are_counted_once_each(self):
        counts = summarize_tests.count_output(UNITTEST)
        self.assertEqual(1, counts.passed)
        self.assertEqual([("Events.test_skip", "no such data")], counts.skipped)
        self.assertEqual(["Events.test_bad", "Events.test_error"], counts.failed)

    def test_a_crash_counts_as_a_failure_of_the_program(self):
        text = GTEST.split("[ RUN      ] Odd")[0] + "[ RUN      ] Ring.Crashes\n"
        status, out = self.summary(
            "tests\tunit tests\tfailed\t3\t\n",
            {"unit tests.xml": junit('<testcase name="comm" status="fail"><failure message="SEGFAULT"'
                                     f"/><system-out>{text}</system-out></testcase>")})
        self.assertEqual(1, status)
        self.assertIn("comm (the program itself: SEGFAULT)", out)
        self.assertEqual("1 passed, 1 failed", out.splitlines()[-1])

    def test_a_failure_after_all_cases_passed_is_still_a_failure(self):
        leak = GTEST.split("[ RUN      ] Odd")[0] + "LeakSanitizer: detected memory leaks\n"
        status, out = self.summary(
            "tests\tsanitized\tfailed\t3\t\n",
            {"sanitized.xml": junit(f'<testcase name="comm" status="fail"><system-out>{leak}'
                                    "</system-out></testcase>")})
        self.assertEqual((1, "1 passed, 1 failed"), (status, out.splitlines()[-1]))

    def test_a_program_that_passes_without_a_case_is_a_failure(self):
        # What unittest prints without -v, and GoogleTest without a test.
        for text in ("....\nRan 4 tests in 0.001s\n\nOK\n",
                     "[==========] Running 0 tests from 0 test suites.\n[  PASSED  ] 0 tests.\n", ""):
            status, out = self.summary(
                "tests\tunit tests\tok\t3\t\n",
                {"unit tests.xml": junit('<testcase name="comm" status="run"><system-out>'
                                         f"{text}</system-out></testcase>")})
            self.assertEqual((1, "0 passed, 1 failed"), (status, out.splitlines()[-1]))
            self.assertIn("comm (passed, but reported no test case)", out)

    def test_a_program_that_is_one_test_counts_as_one(self):
        status, out = self.summary(
            "tests\treaders\tok\t3\t\n",
            {"readers.xml": junit('<testcase name="readers/samples" status="run"><system-out/>'
                                  "</testcase>")})
        self.assertEqual((0, "1 passed, 0 failed"), (status, out.splitlines()[-1]))

    def test_a_stage_of_tests_that_passes_without_a_case_is_a_failure(self):
        for files in ({"peers.log": "Ran 0 tests in 0.000s\n\nOK\n"}, {"peers.xml": junit("")}, {}):
            status, out = self.summary("tests\tpeers\tok\t3\t\n", files)
            self.assertEqual((1, "0 passed, 1 failed"), (status, out.splitlines()[-1]))
            self.assertIn("peers (passed, but reported no test case)", out)

    def test_checks_count_and_steps_count_only_when_they_fail(self):
        status, out = self.summary("step\tbuild\tok\t60\t\ncheck\tformat\tok\t1\t\n", {})
        self.assertEqual((0, "1 passed, 0 failed"), (status, out.splitlines()[-1]))
        status, out = self.summary("step\tbuild\tfailed\t60\t\ncheck\tformat\tok\t1\t\n", {})
        self.assertEqual((1, "1 passed, 1 failed"), (status, out.splitlines()[-1]))

    def test_a_skipped_stage_says_why(self):
        status, out = self.summary("tests\treaders\tskipped\t0\tno network\n", {})
        self.assertEqual((0, "0 passed, 0 failed, 1 skipped"), (status, out.splitlines()[-1]))
        self.assertIn("readers: no network", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
