"""All-reduce SGD with MPI: softmax regression on scikit-learn's handwritten digits.

Start it with mpirun, for example `mpirun -np 3 python3 digits_mpi_sgd.py`. Every rank computes the
gradient of its own share of each batch; the ranks sum it with one Allreduce per step and take the
same step, so all end with the same parameters. Needs numpy and mpi4py.
"""

import argparse
import hashlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20, help="passes over the data (default 20)")
    parser.add_argument("--batch", type=int, default=32, help="images per rank and step (32)")
    parser.add_argument("--lr", type=float, default=0.2, help="learning rate (default 0.2)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the training (default 7)")
    parser.add_argument("--data", type=Path, help="digits.csv.gz, where scikit-learn is not here")
    return parser.parse_args()


def load_digits(path):
    """Read 1797 images of 64 pixels and their labels; importing scikit-learn is not needed."""
    if path is None:
        sklearn = importlib.util.find_spec("sklearn")
        if sklearn is None:
            sys.exit("scikit-learn is not here: name its digits.csv.gz with --data.")
        path = Path(sklearn.origin).parent / "datasets/data/digits.csv.gz"
    rows = np.loadtxt(path, delimiter=",")
    return rows[:, :64] / 16, rows[:, 64].astype(int)


def loss_and_gradient(weights, images, labels):
    """Return the mean cross entropy of a softmax over `images @ weights` and its gradient."""
    scores = images @ weights
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores)
    chances /= chances.sum(axis=1, keepdims=True)
    own = np.arange(len(labels)), labels
    loss = -np.log(chances[own]).mean()
    chances[own] -= 1
    return loss, images.T @ chances / len(labels)


def main():
    args = options()
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    print(f"rank {rank} of {size} joined on {MPI.Get_processor_name()}", flush=True)

    images, labels = load_digits(args.data)
    images = np.hstack([images, np.ones((len(images), 1))])  # the last weight is the bias
    is_held_out = np.arange(len(labels)) % 5 == 0
    test_images, test_labels = images[is_held_out], labels[is_held_out]
    images, labels = images[~is_held_out], labels[~is_held_out]
    steps = len(labels) // (size * args.batch)
    if steps == 0:
        sys.exit(f"--batch {args.batch} is too large for {size} ranks.")

    weights = np.zeros((images.shape[1], 10))
    velocity = np.zeros_like(weights)
    # The loss travels behind the gradient, so that one Allreduce per step carries both.
    message = np.empty(weights.size + 1)
    shuffle = np.random.default_rng(args.seed)
    for epoch in range(args.epochs):
        mine = shuffle.permutation(len(labels))[rank::size][: steps * args.batch]
        total = 0.0
        for rows in mine.reshape(steps, args.batch):
            loss, gradient = loss_and_gradient(weights, images[rows], labels[rows])
            message[:-1], message[-1] = gradient.ravel(), loss
            world.Allreduce(MPI.IN_PLACE, message, op=MPI.SUM)
            velocity = 0.9 * velocity + message[:-1].reshape(weights.shape) / size
            weights -= args.lr * velocity
            total += message[-1] / size
        if rank == 0:
            print(f"epoch {epoch} loss {total / steps:.6f}", flush=True)

    print(f"rank {rank} parameters sha256 {hashlib.sha256(weights).hexdigest()}", flush=True)
    if rank == 0:
        accuracy = ((test_images @ weights).argmax(axis=1) == test_labels).mean()
        print(f"accuracy {accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
