"""Data-parallel JAX on scikit-learn's handwritten digits: softmax regression with a hidden layer.

Start it once per process with COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES and PROCESS_ID
set. All processes form one mesh of devices; each holds its own share of every batch and all of the
parameters, and the compiler adds the reduction that gives all the same gradient. Without the
variables it trains alone. Needs jax and numpy.
"""

import argparse
import hashlib
import importlib.util
import os
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15, help="passes over the data (default 15)")
    parser.add_argument("--batch", type=int, default=32, help="images per process and step (32)")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate (default 0.1)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the training (default 7)")
    parser.add_argument("--data", type=Path, help="digits.csv.gz, where scikit-learn is not here")
    return parser.parse_args()


def join():
    """Become one of the processes that COORDINATOR_ADDRESS brings together."""
    address = os.environ.get("COORDINATOR_ADDRESS")
    if address is None:
        return
    if ":" not in address:
        address = f"{address}:{os.environ['COORDINATOR_PORT']}"
    jax.distributed.initialize(
        coordinator_address=address,
        num_processes=int(os.environ["NUM_PROCESSES"]),
        process_id=int(os.environ["PROCESS_ID"]),
    )


def load_digits(path):
    """Read 1797 images of 64 pixels and their labels; importing scikit-learn is not needed."""
    if path is None:
        sklearn = importlib.util.find_spec("sklearn")
        if sklearn is None:
            sys.exit("scikit-learn is not here: name its digits.csv.gz with --data.")
        path = Path(sklearn.origin).parent / "datasets/data/digits.csv.gz"
    rows = np.loadtxt(path, delimiter=",", dtype=np.float32)
    return rows[:, :64] / 16, rows[:, 64].astype(np.int32)


def network(seed):
    """Weights and biases of two layers; the same seed gives the same on every process."""
    first, second = jax.random.split(jax.random.key(seed))
    return {
        "hidden": jax.random.normal(first, (64, 64)) * 0.15,
        "hidden_bias": jnp.zeros(64),
        "out": jax.random.normal(second, (64, 10)) * 0.15,
        "out_bias": jnp.zeros(10),
    }


def scores(params, images):
    hidden = jax.nn.relu(images @ params["hidden"] + params["hidden_bias"])
    return hidden @ params["out"] + params["out_bias"]


def loss_of(params, images, labels):
    chances = jax.nn.log_softmax(scores(params, images))
    return -jnp.take_along_axis(chances, labels[:, None], axis=1).mean()


@jax.jit
def step(params, velocity, images, labels, lr):
    loss, gradient = jax.value_and_grad(loss_of)(params, images, labels)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradient)
    return jax.tree.map(lambda p, v: p - lr * v, params, velocity), velocity, loss


def main():
    args = options()
    join()
    rank, size = jax.process_index(), jax.process_count()
    print(f"rank {rank} of {size} joined, JAX {jax.__version__}", flush=True)

    images, labels = load_digits(args.data)
    is_held_out = np.arange(len(labels)) % 5 == 0
    test_images, test_labels = images[is_held_out], labels[is_held_out]
    images, labels = images[~is_held_out], labels[~is_held_out]
    steps = len(labels) // (size * args.batch)
    if steps == 0:
        sys.exit(f"--batch {args.batch} is too large for {size} processes.")

    mesh = Mesh(np.array(jax.devices()), ("gang",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    in_shares = NamedSharding(mesh, PartitionSpec("gang"))
    params = jax.device_put(network(args.seed), everywhere)
    velocity = jax.tree.map(jnp.zeros_like, params)
    shuffle = np.random.default_rng(args.seed)
    for epoch in range(args.epochs):
        mine = shuffle.permutation(len(labels))[rank::size][: steps * args.batch]
        total = 0.0
        for rows in mine.reshape(steps, args.batch):
            batch = (
                jax.make_array_from_process_local_data(in_shares, part)
                for part in (images[rows], labels[rows])
            )
            params, velocity, loss = step(params, velocity, *batch, args.lr)
            total += float(loss)
        if rank == 0:
            print(f"epoch {epoch} loss {total / steps:.6f}", flush=True)

    mine = jax.tree.map(lambda part: np.asarray(part.addressable_data(0)), params)
    digest = hashlib.sha256(b"".join(mine[name].tobytes() for name in sorted(mine)))
    print(f"rank {rank} parameters sha256 {digest.hexdigest()}", flush=True)
    if rank == 0:
        accuracy = (np.asarray(scores(mine, test_images)).argmax(axis=1) == test_labels).mean()
        print(f"accuracy {accuracy:.4f}", flush=True)
    if size > 1:
        jax.distributed.shutdown()


if __name__ == "__main__":
    main()
