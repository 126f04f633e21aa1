"""Training steps here and in PyTorch, from the same weights and batches: the same loss, gradients,
updates and moving statistics. build/release/tests/peer_steps (steps.cpp) does ours."""

import collections
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
from safetensors import safe_open

import torch_networks

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "tests" / "peer_steps"
PLUGIN = ROOT / ".deps" / "pjrt" / "xla_cpu_pjrt.so"

# The largest relative differences allowed. Rounding grows from step to step, and Adam divides by
# the gradient's size: where weight decay all but cancels a gradient, it divides rounding by
# rounding. So in f32 the figures to reach are those of the first step's loss and gradients.
F64 = collections.defaultdict(lambda: 1e-9)
F32 = collections.defaultdict(lambda: 1e-3, {
    "logits, predicted": 1e-4, "loss, first": 1e-6, "gradient": 1e-4,
    "moving statistics, first": 1e-4, "optimizer, first": 1e-4})

# What PyTorch keeps for a parameter, by the name that it has here.
SLOTS = {"momentum": "momentum_buffer", "adam_mean": "exp_avg", "adam_variance": "exp_avg_sq"}


def norm(tensor):
    return torch.linalg.vector_norm(tensor.double()).item()


class Training:
    """PyTorch doing what a file of peer_steps says was done here."""

    def __init__(self, path):
        with safe_open(path, "pt") as file:
            self.info = file.metadata()
            self.record = {name: file.get_tensor(name) for name in file.keys()}
        self.logits = self.record.pop("before/logits")
        self.variables = torch_networks.Variables(
            (name.removeprefix("before/"), torch_networks.to_torch(value))
            for name, value in self.record.items()
            if name.startswith("before/") and not name.startswith("before/optimizer/"))
        self.parameters = {name: value.requires_grad_() for name, value in self.variables.items()
                           if "/moving_" not in name}
        self.optimizer = self.make_optimizer()
        self.criterion = torch.nn.CrossEntropyLoss(label_smoothing=self.number("label_smoothing"))
        self.errors = collections.defaultdict(float)  # the largest, by kind

    def number(self, key):
        return float(self.info[key])

    def make_optimizer(self):
        kernels = [p for name, p in self.parameters.items() if name.endswith("/kernel")]
        others = [p for name, p in self.parameters.items() if not name.endswith("/kernel")]
        groups = [{"params": kernels, "weight_decay": self.number("weight_decay")},
                  {"params": others, "weight_decay": 0}]
        rate = self.number("learning_rate")
        if self.info["optimizer"] == "sgd":
            return torch.optim.SGD(groups, rate, momentum=self.number("momentum"),
                                   nesterov=bool(self.number("nesterov")))
        betas = self.number("beta1"), self.number("beta2")
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[self.info["optimizer"]]
        return kind(groups, rate, betas, self.number("epsilon"))

    def run(self):
        self.predict()
        for step in range(int(self.info["steps"])):
            self.step(step)
        return self.errors

    def network(self, step, training):
        """The logits of a step's pictures."""
        self.variables.training = training
        dtype = self.variables["classifier/kernel"].dtype
        images = self.record[f"{step}/images"].permute(torch_networks.IMAGE_TO_TORCH).to(dtype)
        network = torch_networks.NETWORKS[self.info["model"]]
        return network(self.variables, (images - 127.5) / 127.5)

    def predict(self):
        with torch.no_grad():
            self.compare("logits, predicted", [(self.logits, self.network(0, training=False))])
        return self.errors

    def step(self, step):
        logits = self.network(step, training=True)
        loss = self.criterion(logits, self.record[f"{step}/labels"].long())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        when = "first" if step == 0 else "later"
        self.compare(f"loss, {when}", [(self.record[f"{step}/loss"], loss.detach())])
        if step == 0 and self.info["optimizer"] == "sgd" and not self.number("weight_decay"):
            self.compare("gradient", [  # the momentum is the gradient
                (self.after(step, f"optimizer/momentum/{name}"), parameter.grad)
                for name, parameter in self.parameters.items()])
        for kind, trained in ("parameter", True), ("moving statistics", False):
            self.compare(f"{kind}, {when}", [
                (self.after(step, name), value.detach())
                for name, value in self.variables.items() if (name in self.parameters) == trained])
        for ours, theirs in SLOTS.items():
            self.compare(f"optimizer, {when}", [
                (self.after(step, f"optimizer/{ours}/{name}"),
                 self.optimizer.state[parameter][theirs])
                for name, parameter in self.parameters.items()
                if theirs in self.optimizer.state[parameter]])

    def after(self, step, name):
        return torch_networks.to_torch(self.record[f"{step}/after/{name}"])

    def compare(self, kind, pairs):
        """The L2 norm of the difference over that of PyTorch's tensor; of one that is zero but for
        rounding (the gradient of a bias before batch norm) over a millionth of the whole's."""
        whole = math.hypot(*(norm(wanted) for _, wanted in pairs))
        for got, wanted in pairs:
            if got.shape != wanted.shape:
                raise AssertionError(
                    f"{kind}: {list(got.shape)} here, {list(wanted.shape)} in PyTorch")
            error = norm(got - wanted) / (max(norm(wanted), 1e-6 * whole) or 1)
            self.errors[kind] = max(self.errors[kind], error)


# Large networks and picture sizes that give every layer more than one pixel, odd ones among them.
LARGE = {"resnet18": 65, "resnet50": 65, "resnet50_v2": 65, "inception_v3": 107}
PREDICTING = {"alexnet": 99, "alexnet_bn": 99}


class Torch(unittest.TestCase):
    def large(self, model, size):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "reference", folder, model, str(size)], check=True)
            return Training(next(pathlib.Path(folder).iterdir()))

    def check(self, errors, limits):
        for kind, error in errors.items():
            with self.subTest(kind=kind):
                self.assertLess(error, limits[kind])

    def test_in_f64_a_step_of_large_networks_is_that_of_pytorch(self):
        for model, size in LARGE.items():
            with self.subTest(model):
                self.check(self.large(model, size).run(), F64)

    def test_in_f64_the_logits_of_alexnet_are_those_of_pytorch(self):
        for model, size in PREDICTING.items():
            with self.subTest(model):
                self.check(self.large(model, size).predict(), F64)

    def compare_steps(self, backend, limits):
        torch.set_num_threads(min(2, os.cpu_count()))
        largest = collections.defaultdict(float)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, backend, folder], check=True)
            files = sorted(pathlib.Path(folder).iterdir())
            self.assertEqual(len(files), 15)
            for path in files:
                for kind, error in Training(path).run().items():
                    largest[kind] = max(largest[kind], error)
                    with self.subTest(path.stem, kind=kind):
                        self.assertLess(error, limits[kind])
        print(f"{backend}, largest relative difference from PyTorch:", file=sys.stderr)
        for kind, error in sorted(largest.items()):
            print(f"  {kind:28} {error:.1e}", file=sys.stderr)

    def test_in_f64_three_steps_are_those_of_pytorch(self):
        self.compare_steps("reference", F64)

    def test_on_the_cpu_in_f32_loss_gradients_and_updates_are_those_of_pytorch(self):
        self.compare_steps("cpu", F32)

    @unittest.skipUnless(PLUGIN.exists(), "no CPU plugin: run tools/fetch_pjrt.sh")
    def test_through_xla_in_f32_loss_gradients_and_updates_are_those_of_pytorch(self):
        self.compare_steps("xla", F32)


if __name__ == "__main__":
    unittest.main()
