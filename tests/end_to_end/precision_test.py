"""Training in bf16, and model.precision = "auto", which is decided once for a run."""

import re
import shutil
import tomllib
import unittest

import program

WITHOUT_MPI = None if shutil.which("mpirun") else "mpirun is not installed"


class Precision(program.ProgramTest):

    def precision(self, run):
        return tomllib.loads((self.folder / run / "recipe.toml").read_text())["model"]["precision"]

    def train(self, run, *flags, **changes):
        recipe = self.recipe(f"{run}.toml", **changes)
        return self.run_program("train", recipe, "--out", run, *flags)

    def decisions(self, result):
        return [line for line in result.stderr.splitlines() if "model.precision auto" in line]

    def test_bf16_learns_as_f32_does_and_is_evaluated_as_it_was_trained(self):
        self.prepare()
        for precision in ("f32", "bf16"):
            self.train(precision, train__epochs=6, model__precision=precision)
            last = self.metrics(precision, "eval")[-1]
            self.assertGreater(last["top1"], 0.9)
            self.assert_close([last["loss"]], [self.evaluation(precision)["loss"]], 1e-6)
        self.assertNotEqual(self.losses("f32"), self.losses("bf16"))
        bf16 = self.evaluation("bf16")["loss"]
        recipe = self.folder / "bf16" / "recipe.toml"
        recipe.write_text(recipe.read_text().replace("'bf16'", "'f32'"))
        self.assertNotEqual(bf16, self.evaluation("bf16")["loss"], "it was evaluated in bf16")

    def test_bf16_goes_with_clipping_averages_accumulation_and_a_head(self):
        self.prepare()
        self.train("run", train__epochs=12, model__precision="bf16", model__head=[16],
                   model__ema=0.9, model__batch_norm_batch=24, train__accumulate=2,
                   train__clip_norm=1.0)
        last = self.metrics("run", "eval")[-1]
        self.assertGreater(last["top1"], 0.9)
        self.assert_close([last["loss"]], [self.evaluation("run")["loss"]], 1e-6)

    def test_auto_measures_both_and_records_the_faster(self):
        self.prepare()
        decisions = self.decisions(self.train("run", model__precision="auto"))
        self.assertEqual(1, len(decisions), decisions)
        chosen, f32, bf16 = re.search(
            r"auto: (f32|bf16); a step takes ([\d.e-]+) ms in f32, ([\d.e-]+) ms in bf16",
            decisions[0]).groups()
        self.assertEqual(chosen, "bf16" if float(bf16) < float(f32) else "f32")
        self.assertEqual(chosen, self.precision("run"))
        self.train("named", model__precision=chosen)
        self.assertEqual(self.weights("named"), self.weights("run"))

    def test_a_resumed_run_obeys_what_was_recorded(self):
        self.prepare()
        for precision, other in (("f32", "bf16"), ("bf16", "f32")):
            changes = {"checkpoint__every_epochs": 1, "checkpoint__keep": 9}
            self.train("whole", model__precision=precision, **changes)
            shutil.copytree(self.folder / "whole", self.folder / "cut")
            shutil.rmtree(self.checkpoints("cut")[-1])  # as if killed before the last
            result = self.train("cut", model__precision="auto", **changes)
            self.assertIn(f"auto: {precision}, as the run was begun", result.stderr)
            self.assertEqual(precision, self.precision("cut"))
            self.assertEqual(self.weights("whole"), self.weights("cut"))
            self.assertEqual(self.losses("whole"), self.losses("cut"))
            self.assert_error("train", "cut.toml", "--out", "cut", "--set",
                              f"model.precision={other}", status=2, says=["model.precision"])
            for run in ("whole", "cut"):
                shutil.rmtree(self.folder / run)

    def test_auto_is_f32_where_it_is_not_measured(self):
        self.prepare(count=48)
        result = self.train("run", "--backend", "reference", model__precision="auto",
                            model__name="mlp", train__epochs=1)
        self.assertIn("auto: f32, since the reference backend is not measured", result.stderr)
        self.assertEqual("f32", self.precision("run"))

    @unittest.skipIf(WITHOUT_MPI, WITHOUT_MPI)
    def test_two_workers_decide_alike(self):
        self.prepare()
        two = ("--workers", 2)
        result = self.train("run", *two, model__precision="auto", train__epochs=1)
        self.assertEqual(1, len(self.decisions(result)), result.stderr)
        again = self.train("run", *two, model__precision="auto", train__epochs=1)
        self.assertIn("as the run was begun", again.stderr)


class FastConvolutions(program.ProgramTest):

    def test_turning_them_off_changes_results_and_is_part_of_the_recipe(self):
        self.prepare(count=96)
        # resnet18's first stage works on 4x4 pictures of 64 channels here: 64 tiles.
        changes = {"model__name": "resnet18", "data__image_size": 16, "train__epochs": 1,
                   "train__global_batch": 64}
        for run, fast in (("fast", True), ("direct", False)):
            recipe = self.recipe(f"{run}.toml", model__fast_convolutions=fast, **changes)
            self.run_program("train", recipe, "--out", run)
        self.assertNotEqual(self.losses("fast"), self.losses("direct"))
        self.assert_close(self.losses("fast")[:1], self.losses("direct")[:1], 1e-4)
        self.assert_error("train", "direct.toml", "--out", "fast", status=2,
                          says=["model.fast_convolutions differs"])


if __name__ == "__main__":
    program.main()
