"""What a training run says of its machine, its time and its memory."""

import json
import os
import shutil
import unittest

import program


class Measuring(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.prepare()

    def summary(self, run):
        return json.loads((self.folder / run / "summary.json").read_text())

    def test_the_summary_accounts_for_every_second(self):
        result = self.run_program("train", self.recipe(), "--out", "run")
        found = self.summary("run")
        self.assertAlmostEqual(found["seconds"], sum(found["time"].values()), places=6)
        for part in ("starting", "data_wait", "steps", "evaluation", "saving"):
            self.assertGreater(found["time"][part], 0, part)
        self.assertGreaterEqual(found["time"]["other"], 0)
        ops = list(found["ops"].values())
        self.assertIn("conv2d", found["ops"])
        self.assertEqual(sorted(ops, reverse=True), ops)
        self.assertLessEqual(sum(ops), found["time"]["steps"])
        self.assertRegex(result.stderr.splitlines()[-1],
                         rf"^time: .*steps \d+% \({next(iter(found['ops']))} \d+%, ")

    def test_the_seconds_are_those_of_the_last_attempt(self):
        self.run_program("train", self.recipe(train__epochs=3), "--out", "run")
        first = self.summary("run")
        shutil.rmtree(self.checkpoints("run")[-1])  # as if killed before it
        self.run_program("train", self.recipe(train__epochs=3), "--out", "run")
        found = self.summary("run")
        self.assertAlmostEqual(found["attempts"][-1]["seconds"], sum(found["time"].values()),
                               places=6)
        self.assertAlmostEqual(found["seconds"] - first["seconds"], sum(found["time"].values()),
                               places=6)

    def test_memory_is_told_at_the_start_and_kept(self):
        result = self.run_program("train", self.recipe(), "--out", "run")
        found = self.summary("run")["memory"]
        self.assertGreaterEqual(found["arena_mb"], found["live_mb"])
        self.assertGreater(found["rss_mb"], found["live_mb"])
        self.assertLessEqual(sum(b["mb"] for b in found["at_busiest"]), found["live_mb"] + 1e-6)
        self.assertRegex(result.stderr, rf"\nmemory: arenas [\d.]+ MB \({found['live_mb']:.1f} MB "
                         rf"in use at {found['busiest']}, .*\), variables [\d.]+ MB\n")

    def test_the_machine_is_told_and_what_it_withholds(self):
        plain = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
        result = self.run_program("train", self.recipe(), "--out", "run", env=plain)
        self.assertRegex(result.stderr, r"\n\S+: \d+ threads? on CPUs? [\d,-]+")
        self.assertNotIn("OMP_NUM_THREADS", result.stderr)
        cpus = len(os.sched_getaffinity(0))
        if cpus > 1:
            few = self.run_program("info", env={**plain, "OMP_NUM_THREADS": "1"})
            self.assertRegex(few.stderr, r"^warning: \S+: OMP_NUM_THREADS=1 leaves \d+ of \d+ CPUs ")

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_one_rank_speaks_for_all(self):
        ranks = len(os.sched_getaffinity(0)) + 1
        if ranks > 8:
            self.skipTest("more ranks than CPUs would be too many here")
        plain = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
        result = self.run_program("train", self.recipe(), "--out", "run", "--workers", ranks,
                                  env=plain)
        told = [line for line in result.stderr.splitlines() if f"{ranks} ranks of 1 thread" in line]
        self.assertEqual(2, len(told), result.stderr)
        self.assertTrue(told[0].startswith("rank 0: "), told)
        self.assertRegex(told[1], r"^rank 0: warning: .*: start at most \d ranks?$")


if __name__ == "__main__":
    program.main()
