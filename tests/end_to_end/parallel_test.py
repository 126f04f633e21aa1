"""Several processes, several devices and other backends train as one process does."""

import json
import shutil
import unittest
from pathlib import Path

import program

WITHOUT_MPI = None if shutil.which("mpirun") else "mpirun is not installed"
EVERY_STEP = ("--set", "train.log_every=1")


def without_xla():
    """Why --backend xla cannot run here, or None."""
    root = Path(__file__).resolve().parents[2]
    plugin = root / ".deps/pjrt/xla_cpu_pjrt.so"
    return None if plugin.exists() else "the PJRT plugin is absent (tools/fetch_pjrt.sh)"


class ParallelTest(program.ProgramTest):

    def train(self, run, *flags, **changes):
        recipe = self.recipe(f"{run}.toml", **changes)
        self.run_program("train", recipe, "--out", run, *EVERY_STEP, *flags)
        return self.losses(run)


@unittest.skipIf(WITHOUT_MPI, WITHOUT_MPI)
class Workers(ParallelTest):

    def setUp(self):
        super().setUp()
        self.prepare(count=250)  # 200 to train on: the fifth batch of an epoch is ragged

    def test_two_workers_train_as_one_does(self):
        changes = {"model__batch_norm_batch": 48, "schedule__rate": 0.02}
        one = self.train("one", **changes)
        two = self.train("two", "--workers", 2, **changes)
        self.assert_close(one, two, 1e-3)
        self.assert_close(one[:2], two[:2], 1e-6)
        found = [self.metrics(run, "eval") for run in ("one", "two")]
        self.assertEqual(*([m["examples"] for m in run] for run in found))
        self.assert_close(*([m["loss"] for m in run] for run in found), 1e-3)
        again = self.train("again", "--workers", 2, **changes)
        self.assertEqual(two, again)
        self.assertEqual(self.weights("two"), self.weights("again"))

    def test_in_f64_the_losses_of_any_world_size_agree_to_1e_9(self):
        changes = {"model__precision": "f64", "model__batch_norm_batch": 48,
                   "train__epochs": None, "train__steps": 6}
        reference = ("--backend", "reference")
        one = self.train("one", *reference, **changes)
        for workers in (2, 3):
            many = self.train(f"many{workers}", *reference, "--workers", workers, **changes)
            self.assert_close(one, many, 1e-9)

    def test_a_run_goes_on_at_another_world_size(self):
        changes = {"model__batch_norm_batch": 48, "schedule__rate": 0.02}
        one = self.train("one", **changes)
        self.train("run", "--workers", 2, **changes)
        shutil.rmtree(self.checkpoints("run")[-1])  # as if killed between the two
        self.assertEqual("step-000005", self.checkpoints("run")[-1].name)
        self.assert_close(one, self.train("run", **changes), 1e-3)

    def test_bad_data_on_one_rank_ends_all_of_them(self):
        shard = next((self.folder / "data").glob("train-*"))
        program.flip(shard, program.records(shard)[100] + 50)
        for out in ("run", "again"):
            self.assert_error("train", self.recipe(), "--workers", 2, "--out", out, status=1,
                              says=["rank ", f"{shard.name}: record 100 at byte "], timeout=60)

    def test_what_is_wrong_for_every_rank_is_said_once(self):
        (self.folder / "file").write_text("")
        for status, flags in ((2, ("--set", "model.name=resnet9")),
                              (2, ("--set", "model.batch_norm_batch=5")),
                              (2, ("--backend", "xla")),
                              (2, ("--set", "schedule.warmup_epochs=9")),
                              (1, ("--set", "data.validation=nothing-*")),
                              (1, ("--init", "nothing")),
                              (1, ("--set", "schedule.rate=1e6", "--set", "optimizer.momentum=0"))):
            self.assert_error("train", self.recipe(), "--workers", 3, "--out", "run", *flags,
                              status=status, timeout=60)
        self.assert_error("train", self.recipe(), "--workers", 3, "--out", "file", status=1,
                          says=["file: cannot create the run folder"], timeout=60)


@unittest.skipIf(without_xla(), without_xla())
class Devices(ParallelTest):

    def setUp(self):
        super().setUp()
        self.prepare(count=250)

    def test_two_devices_train_as_one_process_does(self):
        changes = {"model__batch_norm_batch": 48, "schedule__rate": 0.02}
        cpu = self.train("cpu", **changes)
        xla = self.train("xla", "--backend", "xla", "--devices", 2, **changes)
        self.assert_close(cpu, xla, 1e-3)
        self.assert_close(cpu[:2], xla[:2], 1e-6)

    def test_a_checkpoint_means_the_same_under_every_backend(self):
        self.train("cpu")
        found = self.evaluation("cpu")
        for flags in (("reference",), ("xla",), ("xla", "--devices", 2)):
            other = self.evaluation("cpu", "--backend", *flags)
            for name in ("loss", "top1", "top5"):
                self.assertAlmostEqual(found[name], other[name], delta=1e-5)
        files = []
        for i, (label, pixels) in enumerate(program.pictures(5)):
            path = self.folder / f"{i}.png"
            path.write_bytes(program.png(pixels))
            files.append(path)
        single, double = (json.loads(self.run_program(
            "predict", "cpu", *files, "--format", "json", *flags).stdout)
            for flags in ((), ("--backend", "xla", "--devices", 2)))
        for a, b in zip(single, double, strict=True):
            self.assertEqual(a["file"], b["file"])
            for name, value in a["probabilities"].items():
                self.assertAlmostEqual(value, b["probabilities"][name], delta=1e-5)
        # Weights of one backend are a start for another: a step of rate ~0 leaves them there.
        start = {"train__epochs": None, "train__steps": 1, "schedule__rate": 1e-12}
        self.train("moved", "--backend", "xla", "--init", "cpu", **start)
        self.train("stayed", "--init", "cpu", **start)
        self.assert_close(self.losses("stayed"), self.losses("moved"), 1e-5)
        self.assertLess(self.losses("moved")[0], self.losses("cpu")[0])


if __name__ == "__main__":
    program.main()
