"""Horovod with PyTorch on scikit-learn's handwritten digits.

Start it by horovodrun, mpirun or srun, or once per rank with Horovod's own variables of Gloo; by
itself it trains alone. Every rank trains on its own share of the images; Horovod averages the
gradients, so all ranks end with the same parameters. Needs Horovod built for PyTorch 1.13 or newer.
"""

import argparse
import hashlib
import importlib.util
import sys
from pathlib import Path

import horovod
import horovod.torch as hvd
import numpy as np
import torch
from torch import nn


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15, help="passes over the data (default 15)")
    parser.add_argument("--batch", type=int, default=32, help="images per rank and step (32)")
    parser.add_argument("--lr", type=float, default=0.05, help="learning rate (default 0.05)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the training (default 7)")
    parser.add_argument(
        "--data",
        type=Path,
        help="digits.csv.gz, or a Python environment with scikit-learn, where this one has none",
    )
    return parser.parse_args()


def find_digits(named):
    """Return the file that scikit-learn brings along; importing it is not needed for that."""
    inside = "sklearn/datasets/data/digits.csv.gz"
    if named is None:
        sklearn = importlib.util.find_spec("sklearn")
        if sklearn is None:
            sys.exit("scikit-learn is not here: name its digits.csv.gz with --data.")
        return Path(sklearn.origin).parents[1] / inside
    if not named.is_dir():
        return named
    found = sorted(named.glob(f"lib/python3*/*-packages/{inside}"))
    if not found:
        sys.exit(f"There is no scikit-learn in {named}.")
    return found[-1]


def load_digits(path):
    """Read 1797 images of 64 pixels and their labels."""
    rows = torch.from_numpy(np.loadtxt(find_digits(path), delimiter=",", dtype=np.float32))
    return rows[:, :64] / 16, rows[:, 64].long()


def train(args, rank, size):
    images, labels = load_digits(args.data)
    is_held_out = torch.arange(len(labels)) % 5 == 0
    test_images, test_labels = images[is_held_out], labels[is_held_out]
    images, labels = images[~is_held_out], labels[~is_held_out]
    # Every rank makes the same number of steps: a rank with one more would wait for ever.
    steps = len(labels) // (size * args.batch)
    if steps == 0:
        sys.exit(f"--batch {args.batch} is too large for {size} ranks.")

    torch.manual_seed(args.seed + rank)  # what differs here is made the same below
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9),
        named_parameters=model.named_parameters(),
    )
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    for epoch in range(args.epochs):
        shuffle = torch.Generator().manual_seed(args.seed + epoch)
        mine = torch.randperm(len(labels), generator=shuffle)[rank::size]
        total = torch.zeros(())
        for rows in mine[: steps * args.batch].split(args.batch):
            loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        mean = hvd.allreduce(total / steps, name="loss")
        if rank == 0:
            print(f"epoch {epoch} loss {mean.item():.6f}", flush=True)

    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    print(f"rank {rank} parameters sha256 {digest.hexdigest()}", flush=True)
    if rank == 0:
        with torch.no_grad():
            predicted = model(test_images).argmax(dim=1)
        print(f"accuracy {(predicted == test_labels).float().mean().item():.4f}", flush=True)


def main():
    args = options()
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    print(f"rank {rank} of {size} joined, Horovod {horovod.__version__}", flush=True)
    train(args, rank, size)
    hvd.shutdown()


if __name__ == "__main__":
    main()
