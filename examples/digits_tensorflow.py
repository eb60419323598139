"""TensorFlow's MultiWorkerMirroredStrategy on scikit-learn's handwritten digits.

Start it once per process with TF_CONFIG set; without it, it trains alone. Every process computes
the gradient of its own share of each batch and the strategy sums them, so all end with the same
parameters. The loop is its own: `model.fit` of Keras 3 does not run under this strategy.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15, help="passes over the data (default 15)")
    parser.add_argument("--batch", type=int, default=32, help="images per process and step (32)")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate (default 0.1)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the training (default 7)")
    parser.add_argument("--data", type=Path, help="digits.csv.gz, where scikit-learn is not here")
    return parser.parse_args()


def place():
    """Return this process's rank and how many there are: a chief comes first."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    cluster = config.get("cluster", {"worker": [""]})
    task = config.get("task", {"type": "worker", "index": 0})
    chiefs, workers = len(cluster.get("chief", ())), len(cluster.get("worker", ()))
    before = 0 if task["type"] == "chief" else chiefs
    return before + task["index"], chiefs + workers


def load_digits(path):
    """Read 1797 images of 64 pixels and their labels; importing scikit-learn is not needed."""
    if path is None:
        sklearn = importlib.util.find_spec("sklearn")
        if sklearn is None:
            sys.exit("scikit-learn is not here: name its digits.csv.gz with --data.")
        path = Path(sklearn.origin).parent / "datasets/data/digits.csv.gz"
    rows = np.loadtxt(path, delimiter=",", dtype=np.float32)
    return rows[:, :64] / 16, rows[:, 64].astype(np.int32)


def train(args, strategy, rank, size):
    images, labels = load_digits(args.data)
    is_held_out = np.arange(len(labels)) % 5 == 0
    test_images, test_labels = images[is_held_out], labels[is_held_out]
    images, labels = images[~is_held_out], labels[~is_held_out]
    steps = len(labels) // (size * args.batch)
    if steps == 0:
        sys.exit(f"--batch {args.batch} is too large for {size} processes.")

    chance = np.random.default_rng(args.seed)
    with strategy.scope():
        shapes = ((64, 64), (64,), (64, 10), (10,))
        starts = [
            chance.normal(0, 0.15, shape) if len(shape) == 2 else np.zeros(shape)
            for shape in shapes
        ]
        params = [tf.Variable(start, dtype=tf.float32) for start in starts]
        velocity = [tf.Variable(tf.zeros(shape)) for shape in shapes]

    def scores(inputs):
        hidden = tf.nn.relu(inputs @ params[0] + params[1])
        return hidden @ params[2] + params[3]

    def learn(inputs, wanted):
        with tf.GradientTape() as tape:
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, scores(inputs))
            loss = tf.reduce_mean(each)
        own = tape.gradient(loss, params)
        context = tf.distribute.get_replica_context()
        gradient = context.all_reduce(tf.distribute.ReduceOp.MEAN, own)
        for param, speed, slope in zip(params, velocity, gradient, strict=True):
            speed.assign(0.9 * speed + slope)
            param.assign_sub(args.lr * speed)
        return context.all_reduce(tf.distribute.ReduceOp.MEAN, loss)

    @tf.function
    def step(inputs, wanted):
        return strategy.run(learn, args=(inputs, wanted))

    for epoch in range(args.epochs):
        mine = chance.permutation(len(labels))[rank::size][: steps * args.batch]
        total = 0.0
        for rows in mine.reshape(steps, args.batch):
            total += float(step(tf.constant(images[rows]), tf.constant(labels[rows])))
        if rank == 0:
            print(f"epoch {epoch} loss {total / steps:.6f}", flush=True)

    digest = hashlib.sha256(b"".join(param.numpy().tobytes() for param in params))
    print(f"rank {rank} parameters sha256 {digest.hexdigest()}", flush=True)
    if rank == 0:
        accuracy = (scores(test_images).numpy().argmax(axis=1) == test_labels).mean()
        print(f"accuracy {accuracy:.4f}", flush=True)


def main():
    args = options()
    rank, size = place()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print(f"rank {rank} of {size} joined, TensorFlow {tf.__version__}", flush=True)
    train(args, strategy, rank, size)


if __name__ == "__main__":
    main()
