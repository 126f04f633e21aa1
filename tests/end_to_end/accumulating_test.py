"""Gradient accumulation and averages of the weights in whole runs."""

import json
import shutil

import program

ORACLE = ("--backend", "reference", "--set", "model.precision=f64")


class Accumulating(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.prepare(count=250)  # 200 to train on: batches of 48, the last of 8

    def test_losses_are_those_of_the_whole_batch(self):
        recipe = self.recipe(model__name="mlp", train__clip_norm=1.0, model__ema=0.9,
                             optimizer__name="adamw", optimizer__weight_decay=0.1,
                             schedule__rate=0.01)
        self.run_program("train", recipe, "--out", "whole", *ORACLE)
        # 48 in micro-batches of 16; in 10, 10, 10, 10 and 8
        for parts in (3, 5):
            run = f"in{parts}"
            self.run_program("train", recipe, "--out", run, *ORACLE,
                             "--set", f"train.accumulate={parts}")
            self.assert_close(self.losses("whole"), self.losses(run), 1e-10)
            for kind, keys in ("train", ("step", "epoch", "top1")), ("eval", ("examples", "top1")):
                self.assertEqual(*([[m[k] for k in keys] for m in self.metrics(r, kind)]
                                   for r in ("whole", run)))

    def test_batch_norm_over_the_same_groups_gives_the_same_run(self):
        recipe = self.recipe(train__epochs=1, model__batch_norm_batch=8)
        self.run_program("train", recipe, "--out", "whole")
        self.run_program("train", recipe, "--out", "parts", "--set", "train.accumulate=3")
        self.assert_close(self.losses("whole"), self.losses("parts"), 1e-3)

    def test_two_workers_take_the_same_micro_batches(self):
        recipe = self.recipe(train__epochs=1, train__accumulate=3, model__batch_norm_batch=8)
        self.run_program("train", recipe, "--out", "one")
        self.run_program("train", recipe, "--out", "two", "--workers", "2")
        self.assert_close(self.losses("one"), self.losses("two"), 1e-3)

    def test_a_resumed_run_ends_with_the_same_bits(self):
        recipe = self.recipe(train__epochs=4, train__accumulate=3, model__ema=0.9,
                             train__clip_norm=2.0, checkpoint__every_epochs=0.5,
                             checkpoint__keep=20)
        self.run_program("train", recipe, "--out", "whole")
        self.run_program("train", recipe, "--out", "cut")
        for folder in self.checkpoints("cut")[2:]:
            shutil.rmtree(folder)  # as if killed after the second
        self.run_program("train", recipe, "--out", "cut")
        self.assertEqual(self.weights("whole"), self.weights("cut"))
        self.assertEqual(self.losses("whole"), self.losses("cut"))
        self.assertNotIn(b"accumulator/", self.weights("whole"))

    def test_more_micro_batches_than_examples_and_groups_across_them_are_refused(self):
        self.assert_error("train", self.recipe(train__accumulate=49), "--out", "run", status=2,
                          says=["train.accumulate = 49", "only 48 examples"])
        self.assert_error("train", self.recipe(train__accumulate=3, model__batch_norm_batch=24),
                          "--out", "run", status=2,
                          says=["model.batch_norm_batch = 24", "a batch of 16", "possible: 1, 2, 4"])
        self.assertFalse((self.folder / "run").exists())


class Averaging(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.prepare()

    def test_evaluation_and_what_starts_from_a_run_use_the_averages(self):
        recipe = self.recipe()
        self.run_program("train", recipe, "--out", "plain")
        self.run_program("train", recipe, "--out", "averaged", "--set", "model.ema=0.9")
        self.assertEqual(self.losses("plain"), self.losses("averaged"))
        plain, averaged = (self.metrics(run, "eval")[-1]["loss"] for run in ("plain", "averaged"))
        self.assertNotEqual(plain, averaged)
        self.assert_close([averaged], [self.evaluation("averaged")["loss"]], 1e-6)
        # With a rate of next to nothing, a new run stays where it starts.
        self.run_program("train", recipe, "--out", "next", "--init", "averaged", "--set",
                         "schedule.rate=1e-30", "--set", "train.epochs=1")
        header = self.tensors("averaged"), self.tensors("next")
        self.assertEqual(header[0]["ema/classifier/kernel"], header[1]["classifier/kernel"])
        self.assertNotEqual(header[0]["classifier/kernel"], header[1]["classifier/kernel"])

    def tensors(self, run):
        """The bytes of each tensor of the newest checkpoint."""
        content = self.weights(run)
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8:8 + size])
        return {name: content[8 + size + entry["data_offsets"][0]:
                              8 + size + entry["data_offsets"][1]]
                for name, entry in header.items() if name != "__metadata__"}


class Scheduling(program.ProgramTest):

    def rates(self, **changes):
        """Pairs of step and rate that `recipe show` prints, for 10 steps an epoch."""
        recipe = self.recipe(train__examples=480, **changes)
        lines = self.run_program("recipe", "show", recipe).stdout.splitlines()
        first = next(i for i, line in enumerate(lines) if line.endswith("learning rate")) + 1
        return [(int(line.split()[1]), float(line.split()[3])) for line in lines[first:]]

    def test_show_prints_the_rate_where_epochs_begin_and_where_it_turns(self):
        self.assertEqual([(0, 0.02), (4, 0.1), (10, 0.1), (15, 0.05), (19, 0.05)],
                         self.rates(schedule__name="step", schedule__milestones=[1.5],
                                    schedule__factor=0.5, schedule__warmup_epochs=0.5))
        self.assertEqual([0, 5, 10, 19],
                         [step for step, _ in self.rates(schedule__name="one_cycle")])

    def test_a_multiplier_that_matches_nothing_is_refused_by_name(self):
        self.prepare()
        self.assert_error("train", self.recipe(), "--out", "run", "--set",
                          "optimizer.multipliers.'haed/*'=10", status=2,
                          says=["optimizer.multipliers: \"haed/*\" matches no parameter"])


if __name__ == "__main__":
    program.main()
