"""Photographs of mixed size: they train, evaluate and predict at data.image_size."""

import json
import random

import program
from program import CLASSES, png

SIZING = ["resize", "centre_crop", "random_resized_crop"]


def write_mixed(folder, count, seed):
    """PNG files of 5 to 40 pixels a side, one folder for each class; class k is about 30 + 60 k
    bright, which no crop changes."""
    source = random.Random(seed)
    for i in range(count):
        label = i % CLASSES
        width, height = source.randrange(5, 41), source.randrange(5, 41)
        pixels = bytes(30 + 60 * label + source.randrange(-25, 26) for _ in range(width * height))
        path = folder / f"class{label}" / f"{i:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(pixels, width, height))


class Sizing(program.ProgramTest):

    def setUp(self):
        super().setUp()
        write_mixed(self.folder / "pictures" / "train", 192, seed=1)
        write_mixed(self.folder / "pictures" / "val", 40, seed=2)
        self.run_program("prepare", "folder", "pictures", "data")

    def mixed(self, **changes):
        return self.recipe(**{"model__name": "mlp", "train__epochs": 20, "data__image_size": 12,
                              "optimizer__name": "adam", "schedule__rate": 0.01, **changes})

    def test_pictures_of_mixed_size_train_evaluate_and_predict_alike(self):
        for sizing in SIZING:
            run = f"run-{sizing}"
            recipe = self.mixed(data__augment=[sizing, "flip_horizontal", "flip_vertical"],
                                data__crop_fraction=0.875)
            self.run_program("train", recipe, "--out", run)
            last = self.metrics(run, "eval")[-1]
            self.assertGreater(last["top1"], 0.8)
            self.assertEqual(last["top1"], self.evaluation(run)["top1"])
            files = sorted((self.folder / "pictures" / "val").rglob("*.png"))
            document = json.loads(
                self.run_program("predict", run, *files, "--format", "json").stdout)
            right = sum(p["class"] == file.parent.name for p, file in zip(document, files))
            self.assertAlmostEqual(last["top1"], right / len(files))

    def test_the_rule_of_evaluation_is_the_recipes(self):
        losses = set()
        for changes in ({"data__evaluate": "resize"}, {"data__evaluate": "centre_crop"},
                        {"data__evaluate": "centre_crop", "data__crop_fraction": 0.5}):
            run = f"run-{len(losses)}"
            self.run_program("train", self.mixed(train__epochs=1, data__augment=["resize"],
                                                 **changes), "--out", run)
            found = self.evaluation(run)["loss"]
            self.assert_close([self.metrics(run, "eval")[-1]["loss"]], [found], 1e-5)
            losses.add(found)
        self.assertEqual(3, len(losses))

    def test_threads_do_not_change_a_bit_of_what_was_cropped(self):
        runs = []
        for threads in (1, 5):
            runs.append(f"run-{threads}")
            self.run_program("train", self.mixed(data__augment=["random_resized_crop"],
                                                 data__threads=threads, train__epochs=2),
                             "--out", runs[-1])
        self.assertEqual(self.weights(runs[0]), self.weights(runs[1]))

    def test_what_cannot_be_cropped_names_the_key(self):
        self.assert_error("train", self.mixed(data__image_size=None), "--out", "run", status=2,
                          says=["data.image_size is missing", "not all of one square size"])
        self.refuse("data.augment leaves pictures of 14 x 14 pixels, but data.image_size is 12",
                    '[{name = "resize", size = 14}]')
        self.refuse("data.augment: random_crop takes 30 x 30 pixels of a picture that has 12 x 12",
                    '[{name = "random_crop", size = 30}]')
        # What a picture gives is known when it is read: then the picture is named too.
        message = self.refuse("data.augment: random_crop takes 38 x 38 pixels of a picture that ",
                              '[{name = "random_crop", size = 38, padding = 0}, "resize"]')
        self.assertRegex(message, r"tfrecord: record \d+ at byte \d+ \(class\d/\d+\.png\): data")

    def refuse(self, says, augment):
        return self.assert_error("train", self.mixed(), "--set", f"data.augment={augment}",
                                 "--out", "run", status=2, says=[says])


if __name__ == "__main__":
    program.main()
