#!/usr/bin/env python3
"""Prints what a run of test.sh did, and the number of test cases on the last line.

  tools/summarize_tests.py FOLDER

FOLDER holds what test.sh wrote: stages.tsv (kind, name, status, seconds, note), NAME.log with each
stage's output, and NAME.xml (JUnit from ctest) for stages that ran ctest. Test cases are counted
inside the programs that ctest started (GoogleTest, unittest); a check counts as one; a build step
counts only when it failed. Tests that passed without one case are a failure: nothing shows that they
ran. The exit status is 1 when anything failed.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# Entries of ctest that are one test each: programs without cases of their own.
PLAIN_PROGRAMS = {"readers/samples", "readers/safetensors", "readers/events"}

GTEST_END = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?),? .*\(\d+ ms\)$")
GTEST_REASON = re.compile(r"^\S+:\d+: Skipped$")
UNITTEST_LINE = re.compile(r"^(\w+) \(([\w.]+)\)(?: ?\.\.\.)?")
UNITTEST_END = re.compile(r"(?:^| )(ok|FAIL|ERROR|skipped (?P<quote>['\"])(?P<why>.*)(?P=quote))$")


class Counts:
    def __init__(self):
        self.passed = 0
        self.failed = []  # names
        self.skipped = []  # (name, reason)

    def total(self):
        return self.passed + len(self.failed) + len(self.skipped)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def count_output(text):
    """The test cases that GoogleTest or unittest -v report in a program's output."""
    counts = Counts()
    reason, take_reason, name = "", False, ""
    for line in text.splitlines():
        line = line.rstrip()
        if take_reason:
            reason, take_reason = line.strip() or "no reason given", False
        elif GTEST_REASON.match(line):
            take_reason = True
        elif match := GTEST_END.match(line):
            status, case = match.groups()
            if status == "OK":
                counts.passed += 1
            elif status == "FAILED":
                counts.failed.append(case)
            else:
                counts.skipped.append((case, reason))
            reason = ""
        else:
            if match := UNITTEST_LINE.match(line):
                # Python 3.11 repeats the method's name after the class.
                suite = match.group(2).removesuffix("." + match.group(1)).split(".")[-1]
                name = f"{suite}.{match.group(1)}"
            if name and (match := UNITTEST_END.search(line)):
                if match.group(1) == "ok":
                    counts.passed += 1
                elif match.group("why") is not None:
                    counts.skipped.append((name, match.group("why")))
                else:
                    counts.failed.append(name)
                name = ""
    return counts


def count_junit(path):
    """The test cases of all programs that one run of ctest started."""
    counts = Counts()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        program = case.get("name")
        inner = count_output(case.findtext("system-out") or "")
        status = case.get("status")
        if status == "run" and not inner.total():
            if program in PLAIN_PROGRAMS:
                inner.passed = 1
            else:
                inner.failed.append(f"{program} (passed, but reported no test case)")
        elif status == "fail" and not inner.failed:
            failure = case.find("failure")
            why = failure.get("message") if failure is not None else ""
            inner.failed.append(f"{program} (the program itself: {why or 'failed'})")
        elif status not in ("run", "fail") and not inner.total():
            inner.skipped.append((program, "not run"))
        counts.add(inner)
    return counts


def count_stage(folder, kind, name, status, note):
    counts = Counts()
    if status == "skipped":
        counts.skipped.append((name, note))
        return counts
    junit, log = folder / f"{name}.xml", folder / f"{name}.log"
    if kind == "tests" and junit.exists():
        counts = count_junit(junit)
    elif kind == "tests" and log.exists():
        counts = count_output(log.read_text(errors="replace"))
    if status == "failed" and not counts.failed:
        counts.failed.append(f"{name} (see its log)")
    elif kind == "tests" and not counts.total():
        counts.failed.append(f"{name} (passed, but reported no test case)")
    elif kind == "check" and status == "ok":
        counts.passed = 1
    return counts


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    folder = Path(arguments[0])
    total = Counts()
    print("\nstage                        result     time  test cases")
    for line in (folder / "stages.tsv").read_text().splitlines():
        kind, name, status, seconds, note = line.split("\t")
        counts = count_stage(folder, kind, name, status, note)
        total.add(counts)
        cases = ", ".join(text for text in (
            f"{counts.passed} passed" if counts.passed else "",
            f"{len(counts.failed)} failed" if counts.failed else "",
            f"{len(counts.skipped)} skipped" if counts.skipped else "") if text)
        print(f"{name:28} {status:8} {int(seconds):5d} s  {cases}")
    if total.skipped:
        print("\nskipped:")
        for name, reason in total.skipped:
            print(f"  {name}: {reason}")
    if total.failed:
        print("\nfailed:")
        for name in total.failed:
            print(f"  {name}")
    skipped = f", {len(total.skipped)} skipped" if total.skipped else ""
    print(f"\n{total.passed} passed, {len(total.failed)} failed{skipped}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
