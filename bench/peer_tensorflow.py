#!/usr/bin/env python3
"""The speed of Keras' training step under TensorFlow, beside `toroid bench step`.

resnet50 is Keras' ResNet50, version 1: it strides in a block's first 1x1 convolution, not in its
3x3 one as Toroid's and torchvision's (v1.5), which is about 12 % less work. inception_v3 is the
network of Toroid's model of this name.
"""

import os

import peer

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

MODELS = {"resnet50": 224, "inception_v3": 299}
CLASSES = 1000


def main():
    arguments = peer.parse_arguments(__doc__, MODELS)
    try:
        import keras
        import tensorflow as tf
    except ImportError as error:
        peer.fail(f"{error}; bench/README.md says how to install TensorFlow")
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)
    if arguments.dtype == "bf16":
        keras.mixed_precision.set_global_policy("mixed_bfloat16")
    networks = {"resnet50": keras.applications.ResNet50,
                "inception_v3": keras.applications.InceptionV3}
    size = arguments.size
    model = networks[arguments.model](weights=None, classes=CLASSES, input_shape=(size, size, 3),
                                      classifier_activation=None)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  jit_compile=arguments.compile)
    images = tf.random.normal((arguments.batch, size, size, 3), seed=1)
    labels = tf.range(arguments.batch) % CLASSES
    # It returns the loss, so the step is over.
    peer.measure(f"tensorflow {tf.__version__}", f"Keras {model.name}", arguments,
                 lambda: model.train_on_batch(images, labels))


if __name__ == "__main__":
    main()
