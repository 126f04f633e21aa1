"""Signals, full disks, closed outputs and odd names of files."""

import json
import os
import resource
import shutil
import signal
import subprocess
import time

import program
from program import pictures, png, write_folders, write_idx


def file_size_limit(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class FullDisk(program.ProgramTest):

    def test_prepare_leaves_nothing(self):
        paths = write_idx(self.folder, pictures(240))
        self.assert_error("prepare", "idx", *paths, "out", status=1, says=["cannot write"],
                          preexec_fn=file_size_limit(4096))
        self.assertFalse((self.folder / "out").exists())

    def test_a_checkpoint_that_does_not_fit_leaves_the_older_ones(self):
        self.prepare(count=96)
        recipe = self.recipe(checkpoint__every_epochs=0.5)
        limit = {"preexec_fn": file_size_limit(100_000)}
        self.assert_error("train", recipe, "--out", "run", status=1,
                          says=["cannot save the checkpoint of step 1: ", "File too large"],
                          **limit)
        self.assertEqual([], self.checkpoints("run"))
        self.run_program("train", recipe, "--out", "whole")
        self.run_program("train", recipe, "--out", "run", "--set", "checkpoint.keep=9")
        shutil.rmtree(self.checkpoints("run")[-1])
        before = self.weights("run")
        self.assert_error("train", recipe, "--out", "run", status=1,
                          says=["older checkpoints are as they were"], **limit)
        self.assertEqual(before, self.weights("run"))
        self.run_program("train", recipe, "--out", "run")
        self.assertEqual(self.weights("whole"), self.weights("run"))


class Output(program.ProgramTest):

    def test_an_output_that_cannot_be_written_is_a_failure(self):
        self.prepare(count=96)
        recipe = self.recipe(model__name="mlp")
        self.run_program("train", recipe, "--out", "run")
        for arguments in (("eval", "run", "--json"), ("eval", "run"), ("models", "resnet20"),
                          ("recipe", "show", recipe), ("data", "ls", "data"), ("info",)):
            with open("/dev/full", "w", encoding="utf-8") as full:
                self.assert_error(*arguments, status=1, says=["cannot write"], stdout=full)

    def test_a_reader_that_leaves_early_ends_the_program_quietly(self):
        command = f"'{self.program}' models resnet20 | head -1"
        result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
        self.assertIn("parameters", result.stdout)
        self.assertEqual("", result.stderr)

    def test_json_is_alone_on_standard_output(self):
        self.prepare(count=96)
        self.run_program("train", self.recipe(), "--out", "run")
        (self.folder / "a.png").write_bytes(png(pictures(1)[0][1]))
        for arguments in (("eval", "run", "--json"),
                          ("predict", "run", "a.png", "--format", "json")):
            json.loads(self.run_program(*arguments).stdout)
        self.assertEqual("", self.run_program("train", self.recipe(), "--out", "run").stdout)

    def test_a_run_without_any_output_trains(self):
        self.prepare(count=96)
        null = subprocess.DEVNULL
        subprocess.run(f"'{self.program}' train recipe.toml --out run >&- 2>&- <&-", shell=True,
                       check=True, stdin=null, cwd=self.recipe().parent, env=self.environment())
        self.assertEqual(4, len(self.losses("run")))


class Signals(program.ProgramTest):

    def test_an_interrupted_run_is_not_done_and_goes_on(self):
        self.prepare(count=96)
        recipe = self.recipe(train__epochs=100)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start_program("train", recipe, "--out", "run")
            deadline = time.monotonic() + 60
            while not self.checkpoints("run"):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            process.send_signal(number)
            self.assertNotEqual(0, process.wait(timeout=60))
        self.run_program("train", recipe, "--out", "run")
        self.assertEqual(list(range(1, 201)), [m["step"] for m in self.metrics("run", "train")])

    def test_an_interrupted_prepare_leaves_no_data_set(self):
        write_folders(self.folder / "source", pictures(4000))
        process = self.start_program("prepare", "folder", "source", "out", "--size", 512)
        while not (self.folder / "out").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertNotEqual(0, process.wait(timeout=60))
        left = os.listdir(self.folder / "out") if (self.folder / "out").exists() else []
        self.assertEqual([], [name for name in left if not name.startswith(".partial")])
        for name in left:
            shutil.rmtree(self.folder / "out" / name)
        self.run_program("prepare", "folder", "source", "out")


class Names(program.ProgramTest):

    def test_folders_may_have_any_name(self):
        self.prepare(count=96)
        name = "ü ☃ [1]* {x} 'q' \"d\" \\b %s"
        work = self.folder / name
        work.mkdir()
        shutil.move(self.folder / "data", work / "data")
        shutil.move(self.recipe(model__name="mlp"), work / "recipe.toml")
        self.run_program("train", f"{name}/recipe.toml", "--out", f"{name}/run")
        self.evaluation(f"{name}/run")
        for _ in range(2):
            self.run_program("train", "recipe.toml", "--out", "here", cwd=work)
        found = self.run_program("eval", "here", "--json", cwd=work).stdout
        self.assertEqual(19, json.loads(found)["examples"])
        line = "two\nlines"
        self.assert_error("eval", line, status=1, says=["two lines: no such folder"])

    def test_links_are_followed(self):
        self.prepare(count=96)
        (self.folder / "link").symlink_to("data")
        (self.folder / "real").mkdir()
        (self.folder / "run").symlink_to("real")
        recipe = self.recipe(data="link", model__name="mlp")
        for _ in range(2):
            self.run_program("train", recipe, "--out", "run")
        self.assertEqual(self.weights("real"), self.weights("run"))

    def test_bytes_that_are_no_text_are_refused_or_shown_as_numbers(self):
        self.prepare(count=96)
        raw = os.fsdecode(b"caf\xe9")
        os.rename(self.folder / "data", self.folder / raw)
        self.assert_error("train", self.recipe(data__validation=None), "--out", "run",
                          "--set", f"data.train={raw}/train-*", status=2,
                          says=["data.train: the path ", "caf\\xe9", "not UTF-8"])
        self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    program.main()
