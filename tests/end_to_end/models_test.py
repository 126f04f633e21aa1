"""toroid models: the list, and the layers of one."""

import json

import program


class Models(program.ProgramTest):

    def layers(self, *arguments):
        return json.loads(self.run_program("models", *arguments, "--json").stdout)

    def test_each_model_has_one_line(self):
        lines = self.run_program("models").stdout.splitlines()
        listed = json.loads(self.run_program("models", "--json").stdout)
        self.assertEqual([line.split()[0] for line in lines], [model["name"] for model in listed])
        self.assertIn("inception_v3", [model["name"] for model in listed])

    def test_a_models_layers_have_the_published_numbers(self):
        found = self.layers("resnet50")
        self.assertEqual(25557032, found["trainable_parameters"])
        self.assertEqual(25557032, sum(layer["parameters"] for layer in found["layers"]))
        self.assertAlmostEqual(4.1, found["forward_flops_per_image"] / 2e9, delta=0.1)
        last = found["layers"][-1]
        self.assertEqual(("classifier", [1, 1000]), (last["path"], last["output"]))
        text = self.run_program("models", "resnet50").stdout
        self.assertRegex(text, r"stem/conv +\[1,112,112,64\] +9408 +236\.028\n")
        self.assertRegex(text, r"25557032 trained parameters\n")

    def test_the_head_and_the_batch_are_those_asked_for(self):
        found = self.layers("resnet8", "--size", 32, "--classes", 5, "--head", "100,20",
                            "--batch", 4)
        self.assertEqual([("head/dense1", [4, 100]), ("head/dense2", [4, 20]),
                          ("classifier", [4, 5])],
                         [(layer["path"], layer["output"]) for layer in found["layers"]
                          if layer["path"].startswith(("head", "classifier"))
                          and layer["parameters"]])

    def test_pictures_that_are_too_small_are_one_clear_error(self):
        self.assert_error("models", "inception_v3", "--size", 64, status=2,
                          says=["inception_v3", "64x64x3", "the pictures must be 75x75 or larger"])


if __name__ == "__main__":
    program.main()
