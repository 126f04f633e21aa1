#!/usr/bin/env python3
"""Tests of bench/compare.py: the rates it reads, and the order and ratios of what it runs."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import compare  # noqa: E402


class Rates(unittest.TestCase):
    def test_the_json_of_bench_step_is_read(self):
        self.assertEqual(12.5, compare.images_per_second(
            '{"model":"resnet50","batch":32,"images_per_s":12.5,"step_ms":2560.0}\n'))

    def test_the_table_of_bench_step_is_read(self):
        self.assertEqual(8.25, compare.images_per_second(
            "resnet50 224x224 batch 32 f32: 8.25 images/s, 3878.8 ms a step (median of 5)\n"
            "first step begun after 0.51 s, took 4.02 s; 25557032 parameters\n"))

    def test_a_peers_line_is_read_among_its_messages(self):
        self.assertEqual(3.41, compare.images_per_second(
            "a library's greeting, step 7\n"
            "torch 2.15.0, resnet50 224x224, f32, batch 32: 3.41 images/s (median of 5 steps), "
            "peak RSS 3960 MB, first step done after 9.1 s, 2 threads\n"))

    def test_whole_and_large_numbers_are_read(self):
        self.assertEqual(5000, compare.images_per_second("x: 5000 images/s"))
        self.assertEqual(1.5e6, compare.images_per_second('{"images_per_s":1.5e+06}'))
        self.assertEqual(1.5e6, compare.images_per_second("1.5e+06 images/s"))

    def test_the_last_rate_counts(self):
        self.assertEqual(2, compare.images_per_second("warm-up: 1 images/s\nall: 2 images/s\n"))

    def test_output_without_a_rate_has_none(self):
        for output in ("", "images/s\n", '{"step_ms":3}\n', "{not json}\n", "3 images\n"):
            self.assertIsNone(compare.images_per_second(output), output)


class Runs(unittest.TestCase):
    def compare(self, *arguments):
        out, progress = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(progress):
            compare.main(list(arguments))
        self.progress = progress.getvalue().splitlines()
        return [line.split(maxsplit=4) for line in out.getvalue().splitlines()[1:]]

    def test_commands_alternate(self):
        self.compare("--rounds", "2", "--", "echo '1 images/s'", "echo '2 images/s'")
        self.assertEqual(["round 1: 1.00", "round 1: 2.00", "round 2: 1.00", "round 2: 2.00"],
                         [line[:len("round 1: 1.00")] for line in self.progress])

    def test_ratios_are_of_medians_to_the_first_command(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "rates.py"  # 10, 2, 3, one a run
            script.write_text("import pathlib\n"
                              "left = pathlib.Path(__file__).with_suffix('.txt')\n"
                              "first, *rest = left.read_text().split()\n"
                              "left.write_text(' '.join(rest))\n"
                              "print(first, 'images/s')\n")
            script.with_suffix(".txt").write_text("10 2 3")
            command = f"{sys.executable} {script}"
            first, second = self.compare("--rounds", "3", "--", "echo '2 images/s'", command)
        self.assertEqual(["2.00", "2.00", "2.00", "1.000", "echo '2 images/s'"], first)
        self.assertEqual(["3.00", "2.00", "10.00", "1.500", command], second)

    def refusal(self, command):
        with self.assertRaises(SystemExit) as caught:
            self.compare("--rounds", "1", "--", command)
        return str(caught.exception)

    def test_a_failed_command_says_why(self):
        self.assertEqual("compare.py: sh -c 'echo no memory >&2; exit 3': exit status 3: no memory",
                         self.refusal("sh -c 'echo no memory >&2; exit 3'"))
        self.assertEqual("compare.py: echo 5 pictures: no images/s in its output",
                         self.refusal("echo 5 pictures"))
        self.assertEqual("compare.py: cannot start ./no-such: No such file or directory",
                         self.refusal("./no-such"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
