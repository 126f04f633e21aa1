"""The same recipe gives the same bits: twice, with other loader threads, and after kills."""

import json
import random
import shutil
import signal
import time

import program


class Repeating(program.ProgramTest):

    def test_the_same_recipe_twice_gives_the_same_bits(self):
        self.prepare()
        recipe = self.recipe(data__augment=["random_crop", "flip_horizontal"])
        for run, threads in (("a", 1), ("b", 1), ("c", 2), ("d", 5)):
            self.run_program("train", recipe, "--out", run, "--set", f"data.threads={threads}")
            self.assertEqual(self.weights("a"), self.weights(run))
            self.assertEqual(self.losses("a"), self.losses(run))
        self.run_program("train", recipe, "--out", "e", "--set", "train.seed=2")
        self.assertNotEqual(self.weights("a"), self.weights("e"))

    def test_preparing_twice_gives_the_same_shards(self):
        self.prepare(out="a")
        self.prepare(out="b")
        names = sorted(p.name for p in (self.folder / "a").iterdir())
        self.assertEqual(names, sorted(p.name for p in (self.folder / "b").iterdir()))
        for name in names:
            self.assertEqual((self.folder / "a" / name).read_bytes(),
                             (self.folder / "b" / name).read_bytes())


class Resuming(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.prepare(count=250)  # the last batch of an epoch is ragged
        self.path = self.recipe(train__epochs=10, checkpoint__every_epochs=0.5,
                                data__augment=["random_crop"])

    def assert_same_run(self, whole, resumed):
        self.assertEqual(self.weights(whole), self.weights(resumed))
        for kind in ("train", "eval"):
            forget = ("images_per_s",)
            a, b = ([{k: v for k, v in m.items() if k not in forget}
                     for m in self.metrics(run, kind)] for run in (whole, resumed))
            self.assertEqual(a, b)
        steps = [m["step"] for m in self.metrics(resumed, "train")]
        self.assertEqual(list(range(1, steps[-1] + 1)), steps)
        self.assertEqual(self.evaluation(whole)["loss"], self.evaluation(resumed)["loss"])

    def test_killed_at_any_moment_a_run_ends_as_if_undisturbed(self):
        self.run_program("train", self.path, "--out", "whole")
        start = time.monotonic()
        self.run_program("train", self.path, "--out", "timed")
        seconds = time.monotonic() - start
        moments = random.Random(7)
        killed = 0
        for _ in range(8):
            process = self.start_program("train", self.path, "--out", "killed")
            time.sleep(moments.uniform(0.1, 0.7) * seconds)
            process.send_signal(signal.SIGKILL)
            killed += process.wait() == -signal.SIGKILL
        self.assertGreaterEqual(killed, 2)
        self.run_program("train", self.path, "--out", "killed")
        self.assert_same_run("whole", "killed")
        self.assertEqual([], self.unfinished(), "the next save removes what a kill left")
        summary = json.loads((self.folder / "killed" / "summary.json").read_text())
        self.assertEqual(50, summary["attempts"][-1]["last_step"])

    def test_a_damaged_newest_checkpoint_is_passed_over(self):
        self.run_program("train", self.path, "--out", "whole")
        self.run_program("train", self.path, "--out", "run")
        state = self.checkpoints("run")[-1] / "state.safetensors"
        program.flip(state, state.stat().st_size // 2)
        result = self.run_program("train", self.path, "--out", "run")
        self.assertIn("passed over", result.stderr)
        self.assert_same_run("whole", "run")

    def test_a_finished_run_started_again_stays_as_it_is(self):
        self.run_program("train", self.path, "--out", "run")
        before = self.weights("run"), self.metrics("run")
        self.run_program("train", self.path, "--out", "run")
        self.assertEqual(before, (self.weights("run"), self.metrics("run")))

    def test_another_recipe_is_refused_by_its_keys_and_fresh_removes_nothing(self):
        short = ("--set", "train.epochs=1", "--out", "run")
        self.run_program("train", self.path, *short)
        before = self.weights("run")
        changed = ("--set", "train.seed=5", "--set", "schedule.rate=0.2")
        self.assert_error("train", self.path, *short, *changed, status=2,
                          says=["train.seed", "schedule.rate", "give another --out"])
        self.assertEqual(before, self.weights("run"))
        neutral = ("--set", "data.threads=1", "--set", "checkpoint.keep=7")
        self.run_program("train", self.path, *short, *neutral)
        self.assertEqual(before, self.weights("run"))
        self.assert_error("train", self.path, *short, *changed, "--fresh", status=1,
                          says=["--fresh, but the folder is not empty"])
        self.assertEqual(before, self.weights("run"))


    def test_other_data_than_the_checkpoints_is_refused(self):
        short = ("--set", "train.epochs=1", "--out", "run")
        self.run_program("train", self.path, *short)
        self.prepare(out="more", count=300)
        self.assert_error("train", self.path, *short, "--set", "data.train=more/train-*.tfrecord",
                          "--set", "data.validation=", status=2, says=["training pictures", "give another --out"])

    def test_lines_after_a_resume_are_those_of_an_undisturbed_run(self):
        sparse = ("--set", "train.log_every=7")
        self.run_program("train", self.path, "--out", "whole", *sparse)
        self.run_program("train", self.path, "--out", "cut", *sparse)
        for folder in self.checkpoints("cut")[1:]:
            shutil.rmtree(folder)  # as if killed after the oldest that is left
        self.run_program("train", self.path, "--out", "cut", *sparse)
        whole, cut = ([{k: v for k, v in m.items() if k != "images_per_s"}
                       for m in self.metrics(run, "train")] for run in ("whole", "cut"))
        self.assertEqual(whole, cut)

    def test_a_run_goes_on_without_the_weights_it_began_from(self):
        short = ("--set", "train.epochs=1")
        self.run_program("train", self.path, *short, "--out", "first")
        begun = ("train", self.path, *short, "--out", "second", "--init", "first")
        self.run_program(*begun)
        shutil.rmtree(self.folder / "first")
        before = self.weights("second")
        self.run_program(*begun)
        self.assertEqual(before, self.weights("second"))

    def test_a_recipe_of_ones_own_is_never_replaced(self):
        own = (self.folder / "recipe.toml").read_bytes()
        self.assert_error("train", "recipe.toml", "--out", ".", status=1,
                          says=["holds a recipe.toml and is no run folder"])
        self.assertEqual(own, (self.folder / "recipe.toml").read_bytes())


if __name__ == "__main__":
    program.main()
