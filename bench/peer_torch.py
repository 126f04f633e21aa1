#!/usr/bin/env python3
"""The speed of a training step in PyTorch, eager and channels-last, beside `toroid bench step`.

resnet50 and inception_v3 are torchvision's, the latter without its auxiliary classifier, which
Toroid's model has not; resnet8 is Toroid's network of this name on 28x28 grey pictures.
"""

import peer

MODELS = {"resnet50": 224, "inception_v3": 299, "resnet8": 28}
RESNET8_PARAMETERS = 77_754  # as `toroid models resnet8` prints them


def resnet8(torch):
    """src/toroid/models/small_resnet.cpp with one block a stage.

    Convolutions of stride 2 are padded by a pixel on each side, PyTorch's custom; Toroid's have
    TensorFlow's SAME, none before and one after, which PyTorch could do only in a copy of the
    picture. The work and the parameters are the same.
    """
    nn = torch.nn

    def convolution(inputs, outputs, kernel, stride):
        return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
                             nn.BatchNorm2d(outputs))

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.first = convolution(inputs, outputs, 3, stride)
            self.second = convolution(outputs, outputs, 3, 1)
            changes = stride != 1 or inputs != outputs
            self.shortcut = convolution(inputs, outputs, 1, stride) if changes else nn.Identity()
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            return self.relu(self.second(self.relu(self.first(x))) + self.shortcut(x))

    model = nn.Sequential(convolution(1, 16, 3, 1), nn.ReLU(inplace=True),
                          Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == RESNET8_PARAMETERS, f"resnet8 has {count} parameters, not Toroid's"
    return model


def from_torchvision(name):
    try:
        import torchvision
    except ImportError as error:
        peer.fail(f"{error}; {name} is torchvision's: bench/README.md says how to install it")
    if name == "inception_v3":
        return torchvision.models.inception_v3(weights=None, aux_logits=False, init_weights=False)
    return torchvision.models.resnet50(weights=None)


def main():
    arguments = peer.parse_arguments(__doc__, MODELS)
    try:
        import torch
    except ImportError as error:
        peer.fail(f"{error}; bench/README.md says how to install PyTorch")
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    own = arguments.model == "resnet8"
    model = resnet8(torch) if own else from_torchvision(arguments.model)
    channels, classes = (1, 10) if own else (3, 1000)
    model = model.to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()
    images = torch.randn(arguments.batch, channels, arguments.size, arguments.size)
    images = images.to(memory_format=torch.channels_last)
    labels = torch.arange(arguments.batch) % classes

    def loss_of_batch():
        with torch.autocast("cpu", torch.bfloat16, enabled=arguments.dtype == "bf16"):
            return criterion(model(images), labels)

    forward = torch.compile(loss_of_batch) if arguments.compile else loss_of_batch

    def step():
        optimizer.zero_grad(set_to_none=True)
        forward().backward()
        optimizer.step()

    peer.measure(f"torch {torch.__version__}", arguments.model, arguments, step)


if __name__ == "__main__":
    main()
