"""PyTorch DistributedDataParallel over gloo on scikit-learn's handwritten digits.

Start it once per rank with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set, or under torchrun.
Every rank trains a small convolutional network on its own share of the images; DDP averages the
gradients, so all ranks end with the same parameters. Runs with PyTorch 1.13 and newer.
"""

import argparse
import gc
import hashlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


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
    """Read 1797 images of 8 × 8 and their labels."""
    path = find_digits(path)
    rows = torch.from_numpy(np.loadtxt(path, delimiter=",", dtype=np.float32))
    return rows[:, :64].reshape(-1, 1, 8, 8) / 16, rows[:, 64].long()


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 3 * 3, 10),
    )


def train(args, rank, world_size):
    images, labels = load_digits(args.data)
    is_held_out = torch.arange(len(labels)) % 5 == 0
    test_images, test_labels = images[is_held_out], labels[is_held_out]
    images, labels = images[~is_held_out], labels[~is_held_out]
    # Every rank makes the same number of steps: a rank with one more would wait for ever.
    steps = len(labels) // (world_size * args.batch)
    if steps == 0:
        sys.exit(f"--batch {args.batch} is too large for {world_size} ranks.")

    torch.manual_seed(args.seed)
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        shuffle = torch.Generator().manual_seed(args.seed + epoch)
        mine = torch.randperm(len(labels), generator=shuffle)[rank::world_size]
        total = torch.zeros(())
        for rows in mine[: steps * args.batch].split(args.batch):
            loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {total.item() / (steps * world_size):.6f}", flush=True)

    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    print(f"rank {rank} parameters sha256 {digest.hexdigest()}", flush=True)
    if rank == 0:
        with torch.no_grad():
            predicted = model.module(test_images).argmax(dim=1)
        print(f"accuracy {(predicted == test_labels).float().mean().item():.4f}", flush=True)


def main():
    args = options()
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world_size} joined, PyTorch {torch.__version__}", flush=True)
    train(args, rank, world_size)
    dist.barrier()
    # The model must be gone before its process group, or some versions abort at exit.
    gc.collect()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
