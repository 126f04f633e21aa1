"""From pictures to predictions: prepare, train, eval, predict, and the files of a run."""

import csv
import io
import json
import tomllib

import program
from program import CLASSES, pictures, png, write_folders

SMALL_MODELS = ("mlp", "cnn", "resnet8", "resnet14", "resnet20")


class Learning(program.ProgramTest):

    def trained(self, **changes):
        self.prepare()
        recipe = self.recipe(train__epochs=6, **changes)
        self.run_program("train", recipe, "--out", "run")

    def test_a_network_learns_and_its_run_folder_is_complete(self):
        self.trained()
        run = self.folder / "run"
        last = self.metrics("run", "eval")[-1]
        self.assertEqual(48, last["examples"])
        self.assertGreater(last["top1"], 0.9)  # chance is 0.25
        self.assertEqual(list(range(1, 25)), [m["step"] for m in self.metrics("run", "train")])
        summary = json.loads((run / "summary.json").read_text())
        for name in ("loss", "top1", "top5"):
            self.assertEqual(last[name], summary["validation"]["final"][name])
        recipe = tomllib.loads((run / "recipe.toml").read_text())
        self.assertEqual((CLASSES, 192, 8), (recipe["model"]["classes"],
                                             recipe["train"]["examples"],
                                             recipe["data"]["image_size"]))
        self.assertTrue(list(run.glob("events.out.tfevents.*")))
        self.assertEqual("step-000024", self.checkpoints("run")[-1].name)
        self.assertLessEqual(len(self.checkpoints("run")), 3)  # keep = 2, and the best

    def test_eval_repeats_the_last_evaluation_of_training(self):
        self.trained()
        last = self.metrics("run", "eval")[-1]
        for flags in ((), ("--batch", 7), ("--backend", "reference")):
            found = self.evaluation("run", *flags)
            self.assertEqual((24, 48, last["top1"]),
                             (found["step"], found["examples"], found["top1"]))
            self.assert_close([last["loss"]], [found["loss"]], 1e-5)
        train = self.evaluation("run", "--data", "data/train-*.tfrecord")
        self.assertEqual(192, train["examples"])

    def test_predict_names_the_classes_of_new_pictures(self):
        self.trained()
        some = pictures(8, seed=99)
        files = []
        for i, (_, pixels) in enumerate(some):
            files.append(f"new {i}.png")
            (self.folder / files[-1]).write_bytes(png(pixels))
        truth = [str(label) for label, _ in some]
        document = json.loads(self.run_program("predict", "run", *files, "--format", "json").stdout)
        self.assertEqual(files, [p["file"] for p in document])
        self.assertGreaterEqual(sum(p["class"] == t for p, t in zip(document, truth)), 7)
        for p in document:
            self.assertAlmostEqual(1, sum(p["probabilities"].values()), places=9)
        table = self.run_program("predict", "run", *files, "--format", "csv").stdout
        rows = list(csv.DictReader(io.StringIO(table)))
        self.assertEqual([p["class"] for p in document], [row["class"] for row in rows])
        lines = self.run_program("predict", "run", *files).stdout.splitlines()
        self.assertEqual(8, len(lines))

    def test_folders_and_tables_give_the_same_data_set_as_idx(self):
        some = pictures(120)
        write_folders(self.folder / "pictures", some)
        rows = [f"class{label}/{i:04},{label},p{i // 8}" for i, (label, _) in enumerate(some)]
        (self.folder / "t.csv").write_text("\n".join(["image,label,patient", *rows]) + "\n")
        self.run_program("prepare", "folder", "pictures", "a", "--validation", 0.2)
        self.run_program("prepare", "csv", "t.csv", "b", "--images", "pictures",
                         "--validation", 0.2, "--group-column", "patient")
        self.prepare(count=120, out="c")
        found = {}
        for name in "abc":
            info = json.loads((self.folder / name / "dataset.json").read_text())
            counts = {k: s["examples"] for k, s in info["splits"].items()}
            self.assertEqual({"train": 96, "validation": 24}, counts)
            self.assertEqual((8, 8, 1), (info["height"], info["width"], info["channels"]))
            found[name] = info["classes"]
            recipe = self.recipe(data=name, model__name="mlp", train__epochs=8)
            self.run_program("train", recipe, "--out", f"run-{name}")
            self.assertGreater(self.metrics(f"run-{name}", "eval")[-1]["top1"], 0.8)
        self.assertEqual([f"class{i}" for i in range(CLASSES)], found["a"])
        self.assertEqual([str(i) for i in range(CLASSES)], found["b"])

    def test_every_small_model_trains_with_every_augmentation(self):
        self.prepare(count=96)
        models = [line.split()[0] for line in self.run_program("models").stdout.splitlines()]
        for name in SMALL_MODELS:
            self.assertIn(name, models)
            recipe = self.recipe(model__name=name, train__epochs=1,
                                 data__augment=["random_crop", "flip_horizontal"],
                                 optimizer__name="adam", schedule__rate=0.001)
            self.run_program("train", recipe, "--out", f"run-{name}")
            self.assertEqual(2, len(self.losses(f"run-{name}")))


if __name__ == "__main__":
    program.main()
