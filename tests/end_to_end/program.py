"""Starts the program as a user would; the base of every test in this folder.

  tests/end_to_end/x_test.py build/release/toroid [unittest's arguments]
"""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TIMEOUT = 300  # seconds; a hang is a failure, not a hang of the tests


class ProgramTest(unittest.TestCase):
    """Each test has a fresh folder, self.folder, which is also the program's working directory."""

    program = None  # set by main()

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="toroid-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, *arguments, status=0, timeout=TIMEOUT):
        """Runs `toroid ARGUMENTS...`; fails unless it exits with `status`. Gives both outputs."""
        command = [self.program, *map(str, arguments)]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True,
                                timeout=timeout, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(status, result.returncode,
                         f"{' '.join(command)}\n{result.stdout}\n{result.stderr}")
        return result

    def assert_error(self, *arguments, status, says):
        """The program fails with this status and one line that contains every text of `says`."""
        result = self.run_program(*arguments, status=status)
        errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(1, len(errors), result.stderr)
        for text in says:
            self.assertIn(text, errors[0])


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [unittest's arguments]")
    ProgramTest.program = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(module="__main__", verbosity=2)
