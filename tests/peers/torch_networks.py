"""The networks of src/toroid/models in PyTorch: functions of variables of the same names.

Pictures are NCHW here and kernels OIHW or [outputs, inputs]; to_torch() converts.
"""

import torch
from torch.nn import functional

IMAGE_TO_TORCH = (0, 3, 1, 2)


class Variables(dict):
    """Tensors by name; batch norm goes by the batch where they are trained."""
    training = True


def to_torch(variable):
    """A kernel from HWIO or [inputs, outputs] to OIHW or [outputs, inputs]; others as they are."""
    axes = {4: (3, 2, 0, 1), 2: (1, 0)}.get(variable.dim(), range(variable.dim()))
    return variable.permute(*axes).contiguous()


def same_padding(size, kernel, stride):
    """TensorFlow's SAME, before and after: an odd pixel goes after."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def conv(v, name, x, stride=1, padding=None, groups=1):
    """Padded by so many pixels on each side; default: SAME."""
    kernel, bias = v[f"{name}/kernel"], v.get(f"{name}/bias")
    if padding is not None:
        return functional.conv2d(x, kernel, bias, stride, padding, groups=groups)
    rows, columns = (same_padding(x.shape[axis], kernel.shape[axis], stride) for axis in (2, 3))
    return functional.conv2d(functional.pad(x, (*columns, *rows)), kernel, bias, stride,
                             groups=groups)


def batch_norm(v, name, x, momentum=0.1, eps=1e-5):
    return functional.batch_norm(
        x, v[f"{name}/moving_mean"], v[f"{name}/moving_variance"], v.get(f"{name}/gamma"),
        v[f"{name}/beta"], training=v.training, momentum=momentum, eps=eps)


def dense(v, name, x):
    return functional.linear(x, v[f"{name}/kernel"], v[f"{name}/bias"])


def flatten(x):
    """In the order of NHWC, which the dense layer's kernel is for."""
    return x.permute(0, 2, 3, 1).flatten(1)


def mlp(v, x):
    x = dense(v, "hidden1", flatten(x)).relu()
    x = dense(v, "hidden2", x).relu()
    return dense(v, "classifier", x)


def cnn(v, x):
    x = functional.max_pool2d(conv(v, "conv1", x).relu(), 2)
    x = functional.max_pool2d(conv(v, "conv2", x).relu(), 2)
    x = dense(v, "hidden", flatten(x)).relu()
    return dense(v, "classifier", x)


def residual_block(v, name, x, stride):
    y = batch_norm(v, f"{name}/norm1", conv(v, f"{name}/conv1", x, stride)).relu()
    y = batch_norm(v, f"{name}/norm2", conv(v, f"{name}/conv2", y))
    if f"{name}/shortcut/conv/kernel" in v:
        x = batch_norm(v, f"{name}/shortcut/norm", conv(v, f"{name}/shortcut/conv", x, stride))
    return (x + y).relu()


def resnet8(v, x):
    x = batch_norm(v, "stem/norm", conv(v, "stem/conv", x)).relu()
    for stage, stride in (1, 1), (2, 2), (3, 2):
        x = residual_block(v, f"stage{stage}/block1", x, stride)
    return dense(v, "classifier", x.mean((2, 3)))


def bottleneck(v, name, x, stride):
    """With torchvision's padding, as all that follows."""
    y = batch_norm(v, f"{name}/norm1", conv(v, f"{name}/conv1", x)).relu()
    y = batch_norm(v, f"{name}/norm2", conv(v, f"{name}/conv2", y, stride, 1)).relu()
    y = batch_norm(v, f"{name}/norm3", conv(v, f"{name}/conv3", y))
    return (shortcut(v, name, x, stride) + y).relu()


def basic_block(v, name, x, stride):
    y = batch_norm(v, f"{name}/norm1", conv(v, f"{name}/conv1", x, stride, 1)).relu()
    y = batch_norm(v, f"{name}/norm2", conv(v, f"{name}/conv2", y, 1, 1))
    return (shortcut(v, name, x, stride) + y).relu()


def shortcut(v, name, x, stride):
    if f"{name}/shortcut/conv/kernel" not in v:
        return x
    return batch_norm(v, f"{name}/shortcut/norm", conv(v, f"{name}/shortcut/conv", x, stride, 0))


def resnet(block, blocks):
    def network(v, x):
        x = batch_norm(v, "stem/norm", conv(v, "stem/conv", x, 2, 3)).relu()
        x = functional.max_pool2d(x, 3, 2, 1)
        for stage, count in enumerate(blocks, 1):
            for i in range(1, count + 1):
                stride = 2 if stage > 1 and i == 1 else 1
                x = block(v, f"stage{stage}/block{i}", x, stride)
        return dense(v, "classifier", x.mean((2, 3)))
    return network


def norm_relu_v2(v, name, x):
    return batch_norm(v, name, x, momentum=0.01, eps=1.001e-5).relu()


def block_v2(v, name, x, stride):
    y = norm_relu_v2(v, f"{name}/norm1", x)
    if f"{name}/shortcut/conv/kernel" in v:
        x = conv(v, f"{name}/shortcut/conv", y, stride, 0)
    else:
        x = functional.max_pool2d(x, 1, stride)
    y = norm_relu_v2(v, f"{name}/norm2", conv(v, f"{name}/conv1", y))
    y = norm_relu_v2(v, f"{name}/norm3", conv(v, f"{name}/conv2", y, stride, 1))
    return x + conv(v, f"{name}/conv3", y)


def resnet50_v2(v, x):
    """Keras': keras.src.applications.resnet.stack_residual_blocks_v2."""
    x = functional.pad(conv(v, "stem/conv", x, 2, 3), (1, 1, 1, 1))
    x = functional.max_pool2d(x, 3, 2)
    for stage, count in enumerate((3, 4, 6, 3), 1):
        for i in range(1, count + 1):
            x = block_v2(v, f"stage{stage}/block{i}", x, 2 if stage < 4 and i == count else 1)
    return dense(v, "classifier", norm_relu_v2(v, "final/norm", x).mean((2, 3)))


def chain(v, name, x, valid=(), strided=()):
    """Convolutions as many as there are variables, each with batch norm and ReLU; `valid` and
    `strided` number those without padding and with stride 2."""
    i = 1
    while f"{name}/conv{i}/kernel" in v:
        x = conv(v, f"{name}/conv{i}", x, 2 if i in strided else 1, 0 if i in valid else None)
        x = batch_norm(v, f"{name}/norm{i}", x, momentum=0.01, eps=1e-3).relu()
        i += 1
    return x


def average_pool(x):
    return functional.avg_pool2d(x, 3, 1, 1, count_include_pad=False)


def split(v, name, x):
    x = chain(v, name, x)
    return torch.cat([chain(v, f"{name}/split1x3", x), chain(v, f"{name}/split3x1", x)], 1)


def inception_v3(v, x):
    """Keras': keras.src.applications.inception_v3."""
    x = functional.max_pool2d(chain(v, "stem1", x, valid=(1, 2), strided=(1,)), 3, 2)
    x = functional.max_pool2d(chain(v, "stem2", x, valid=(1, 2)), 3, 2)
    branches = {**dict.fromkeys((0, 1, 2), ("branch1x1", "branch5x5", "branch3x3double")),
                **dict.fromkeys((4, 5, 6, 7), ("branch1x1", "branch7x7", "branch7x7double"))}
    for i in range(11):
        m = f"mixed{i}"
        if i in branches:
            parts = [chain(v, f"{m}/{branch}", x) for branch in branches[i]]
        elif i == 3:
            parts = [chain(v, f"{m}/branch3x3", x, (1,), (1,)),
                     chain(v, f"{m}/branch3x3double", x, (3,), (3,))]
        elif i == 8:
            parts = [chain(v, f"{m}/branch3x3", x, (2,), (2,)),
                     chain(v, f"{m}/branch7x7x3", x, (4,), (4,))]
        else:
            parts = [chain(v, f"{m}/branch1x1", x), split(v, f"{m}/branch3x3", x),
                     split(v, f"{m}/branch3x3double", x)]
        reducing = i in (3, 8)
        parts.append(functional.max_pool2d(x, 3, 2) if reducing else
                     chain(v, f"{m}/branch_pool", average_pool(x)))
        x = torch.cat(parts, 1)
    return dense(v, "classifier", x.mean((2, 3)))


def alexnet(v, x):
    """Of 227x227 or fewer by a multiple of 4. PyTorch divides the response norm's alpha by its
    size. In training, no draw of dropout would be the same."""
    if v.training:
        raise ValueError("AlexNet is compared in prediction only")
    for i in range(1, 6):
        stride, padding = (4, 0) if i == 1 else (1, None)
        x = conv(v, f"conv{i}", x, stride, padding, groups=2 if i in (2, 4, 5) else 1)
        if f"norm{i}/beta" in v:
            x = batch_norm(v, f"norm{i}", x, eps=1e-4)
        x = x.relu()
        if i <= 2 and f"norm{i}/beta" not in v:
            x = functional.local_response_norm(x, 5, alpha=5e-4, beta=0.75, k=2)
        if i in (1, 2, 5):
            x = functional.max_pool2d(x, 3, 2)
    x = dense(v, "hidden1", flatten(x)).relu()
    return dense(v, "classifier", dense(v, "hidden2", x).relu())


NETWORKS = {"mlp": mlp, "cnn": cnn, "resnet8": resnet8,
            "resnet18": resnet(basic_block, (2, 2, 2, 2)),
            "resnet50": resnet(bottleneck, (3, 4, 6, 3)),
            "resnet50_v2": resnet50_v2, "inception_v3": inception_v3,
            "alexnet": alexnet, "alexnet_bn": alexnet}
