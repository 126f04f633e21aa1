"""What would make a run's result wrong without a word is refused or ended."""

import json

import program


class Guarding(program.ProgramTest):

    def test_validation_data_with_other_classes_is_refused(self):
        self.prepare()
        self.prepare(out="other")
        path = self.folder / "other" / "dataset.json"
        info = json.loads(path.read_text())
        info["classes"][0], info["classes"][1] = info["classes"][1], info["classes"][0]
        path.write_text(json.dumps(info))
        validation = ("--set", "data.validation=other/validation-*.tfrecord")
        recipe = self.recipe()
        says = ["class 0 is 1", "it is 0", "prepare both from the same classes"]
        self.assert_error("train", recipe, "--out", "run", *validation, status=1, says=says)
        self.assertFalse((self.folder / "run").exists())
        self.run_program("train", recipe, "--out", "run")
        self.assert_error("eval", "run", "--data", "other/validation-*.tfrecord", status=1,
                          says=says)

    def test_a_run_that_only_skips_steps_ends_with_an_error(self):
        self.prepare()
        wild = self.recipe("wild.toml", train__epochs=40, train__on_non_finite="skip",
                           schedule__name="constant", schedule__rate=1e6)
        self.assert_error("train", wild, "--out", "wild", status=1,
                          says=["50 steps in a row", "cannot recover"])
        summary = json.loads((self.folder / "wild" / "summary.json").read_text())
        self.assertIn("failed: ", summary["attempts"][-1]["outcome"])


if __name__ == "__main__":
    program.main()
