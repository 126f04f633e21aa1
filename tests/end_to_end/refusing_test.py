"""Flags and recipes that cannot work are refused in one line, before anything is made."""

import json

import program

HUGE = 9223372036854775807


class Flags(program.ProgramTest):

    def test_wrong_flags_and_commands_are_wrong_usage(self):
        self.recipe()
        for arguments, says in (
                ((), "subcommand is required"),
                (("trian",), 'unknown command "trian": did you mean "train"?'),
                (("prepare", "idk"), 'unknown command "idk": did you mean "idx"?'),
                (("train",), "recipe is required"),
                (("train", "recipe.toml", "more"), "more"),
                (("train", "recipe.toml", "--colour"), "--colour"),
                (("train", "recipe.toml", "--workers", 0), "--workers"),
                (("train", "recipe.toml", "--workers", -1), "--workers"),
                (("train", "recipe.toml", "--workers", "two"), "--workers"),
                (("train", "recipe.toml", "--backend", "tpu"), "cpu,xla,reference"),
                (("train", "recipe.toml", "--backend", "xla", "--devices", 0), "--devices"),
                (("train", "recipe.toml", "--devices", 2), "--backend xla"),
                (("train", "recipe.toml", "--set", "train.epochs"), "KEY=VALUE"),
                (("eval",), "run is required"),
                (("eval", "run", "--batch", 0), "--batch"),
                (("predict", "run"), "files is required"),
                (("predict", "run", "a.png", "--format", "xml"), "table,csv,json"),
                (("models", "resnet9"), 'did you mean "resnet8"?'),
                (("models", "mlp", "--size", 0), "--size"),
                (("prepare", "idx", "a", "b"), "IMAGES LABELS"),
                (("prepare", "idx", "a", "b", "c", "--validation", 1.5), "--validation"),
                (("prepare", "idx", "a", "b", "c", "--seed", -1), "--seed"),
                (("prepare", "idx", "a", "b", "c", "--seed", 10**30), "--seed"),
                (("prepare", "idx", "a", "b", "c", "--shard-size", 0), "--shard-size"),
                (("prepare", "idx", "a", "b", "c", "--split-name", "tset"), "tset"),
                (("data", "show", "data", "--count", 0), "--count")):
            self.assert_error(*arguments, status=2, says=[says])
        self.assertEqual(["recipe.toml"], [p.name for p in self.folder.iterdir()])


class Recipes(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.prepare(count=96)

    def refuse(self, *says, status=2, **changes):
        self.assert_error("train", self.recipe(**changes), "--out", "run", status=status, says=says)
        self.assertFalse((self.folder / "run").exists(), "made for a recipe that cannot run")

    def test_recipes_that_are_no_recipe(self):
        for content, says in ((b"", "model.name is missing"),
                              (b"[model\n", "junk.toml:1: not valid"),
                              (b"\xff\xfe\0\x01" * 99, "junk.toml:1: not valid TOML"),
                              (b"a = " + b"[" * 9999, "junk.toml:1: not valid TOML"),
                              (b"\n\nx = 1\n", "junk.toml:3: unknown key"),
                              (b"[model]\nname = 3\n", "junk.toml:2: model.name: expected"),
                              (b"[model]\nname = 'mlp'\nname = 'cnn'\n", "junk.toml:3")):
            (self.folder / "junk.toml").write_bytes(content)
            self.assert_error("train", "junk.toml", "--out", "run", status=2, says=[says])
        self.assert_error("train", "nothing.toml", status=1, says=["nothing.toml: cannot open"])
        self.assert_error("train", "data", status=1, says=["data: cannot read: Is a directory"])

    def test_unknown_names_name_the_nearest_and_the_line(self):
        self.refuse("recipe.toml:2: ", 'did you mean "model.name"', model__nmae=None,
                    model__name=None, model__naem="mlp")
        self.refuse("recipe.toml:2: model.name: ", 'did you mean "resnet8"', model__name="resnet9")
        self.refuse("data.augment: ", '"blur" is unknown', "random_crop", data__augment=["blur"])
        self.refuse("listed twice", data__augment=["random_crop", "random_crop"])
        self.refuse("optimizer.name: ", "sgd, adam", optimizer__name="sgdd")
        self.refuse("schedule.name: ", "constant, step, cosine", schedule__name="steps")

    def test_values_of_another_type_or_out_of_range(self):
        for key, value in (("train__epochs", "three"), ("train__epochs", -1),
                           ("train__epochs", 1e300), ("train__global_batch", 4.5),
                           ("train__global_batch", HUGE), ("train__global_batch", -1),
                           ("train__seed", -1), ("train__label_smoothing", 1),
                           ("train__label_smoothing", -0.1), ("train__log_every", 0),
                           ("model__classes", HUGE), ("model__name", True),
                           ("model__batch_norm_batch", HUGE), ("data__image_size", HUGE),
                           ("data__threads", HUGE), ("data__threads", -1), ("data__prefetch", 0),
                           ("data__train", ["a"]), ("data__augment", "random_crop"),
                           ("optimizer__momentum", 1), ("optimizer__epsilon", 0),
                           ("schedule__rate", 0), ("schedule__rate", 1e300),
                           ("checkpoint__keep", 0), ("checkpoint__every_epochs", 0)):
            self.refuse(key.replace("__", "."), "expected ", ", got ", **{key: value})

    def test_values_that_do_not_fit_together_or_the_data(self):
        self.refuse("train.epochs or train.steps, not both", train__steps=3)
        self.refuse("train.epochs is missing", train__epochs=None)
        self.refuse("not neither", train__global_batch=None)
        self.refuse("not both", train__batch_per_worker=8)
        self.refuse("model.batch_norm_batch = 5", "possible: 1, 2, 3, 4, 6, 8, 12, 16, 24, 48",
                    model__batch_norm_batch=5)
        self.refuse("model.batch_norm_batch = 96", model__batch_norm_batch=96)
        self.refuse("warmup_epochs = 9", schedule__warmup_epochs=9)
        self.refuse("model.classes = 3", "has 4 classes", model__classes=3)
        self.refuse("--backend reference", model__precision="f64")
        self.refuse("cnn on 48 pictures of 1x1x1", model__name="cnn", data__image_size=1)

    def test_data_that_is_not_there(self):
        self.refuse("nothing-*: no file matches", data__train="nothing-*", status=1)
        self.refuse("nothing-*: no file matches", data__validation="nothing-*", status=1)
        self.refuse("data: cannot read: Is a directory", data__train="data", status=1)
        self.refuse("dataset.json: record 0", data__train="data/dataset.json", status=1)
        self.assert_error("train", self.recipe(), "--init", "nothing", "--out", "run", status=1,
                          says=["nothing: cannot open"])
        self.assert_error("train", self.recipe(), "--init", "recipe.toml", "--out", "run", status=1,
                          says=["recipe.toml: not a safetensors file"])

    def test_odd_but_possible_recipes_run(self):
        for changes in ({"train__epochs": 0.01}, {"train__global_batch": 1000},
                        {"train__global_batch": 1, "train__epochs": None, "train__steps": 2},
                        {"data__image_size": 1, "schedule__rate": 0.01},
                        {"data__image_size": 9}, {"model__classes": 7},
                        {"train__label_smoothing": 0.999}, {"train__seed": HUGE},
                        {"data__threads": 64}, {"data__validation": None},
                        {"schedule__warmup_epochs": 2}, {"checkpoint__every_epochs": 1e6},
                        {"train__evaluate_every": 1000, "train__log_every": 1000}):
            run = f"run-{abs(hash(str(changes)))}"
            recipe = self.recipe(**{"model__name": "mlp", **changes})
            self.run_program("train", recipe, "--out", run)
            self.assertTrue(self.weights(run))

    def test_a_learning_rate_that_diverges_stops_the_run_with_advice(self):
        wild = {"model__name": "mlp", "schedule__rate": 1e6, "train__epochs": 6}
        self.assert_error("train", self.recipe(**wild), "--out", "run", status=1,
                          says=["step ", "not finite", "schedule.rate"])
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        self.assertIn("not finite", summary["attempts"][-1]["outcome"])


if __name__ == "__main__":
    program.main()
