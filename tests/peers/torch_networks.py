"""The networks of src/toroid/models in PyTorch: functions of variables of the same names.

Pictures are NCHW here and kernels OIHW or [outputs, inputs]; to_torch() converts.
"""

from torch.nn import functional

IMAGE_TO_TORCH = (0, 3, 1, 2)


def to_torch(variable):
    """A kernel from HWIO or [inputs, outputs] to OIHW or [outputs, inputs]; others as they are."""
    axes = {4: (3, 2, 0, 1), 2: (1, 0)}.get(variable.dim(), range(variable.dim()))
    return variable.permute(*axes).contiguous()


def same_padding(size, kernel, stride):
    """TensorFlow's SAME, before and after: an odd pixel goes after."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def conv(v, name, x, stride=1):
    kernel = v[f"{name}/kernel"]
    rows, columns = (same_padding(x.shape[axis], kernel.shape[axis], stride) for axis in (2, 3))
    x = functional.pad(x, (*columns, *rows))
    return functional.conv2d(x, kernel, v.get(f"{name}/bias"), stride)


def batch_norm(v, name, x):
    return functional.batch_norm(
        x, v[f"{name}/moving_mean"], v[f"{name}/moving_variance"], v[f"{name}/gamma"],
        v[f"{name}/beta"], training=True, momentum=0.1, eps=1e-5)


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


NETWORKS = {"mlp": mlp, "cnn": cnn, "resnet8": resnet8}
