"""Distributed XGBoost on scikit-learn's handwritten digits.

Start it once per rank with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set; rank 0 also runs
the tracker through which the ranks find each other. Every rank trains on its own share of the
rows, the gradient histograms are summed over all ranks, and all end with the same model.
"""

import argparse
import hashlib
import os
import time

import xgboost as xgb
from sklearn.datasets import load_digits
from xgboost import collective
from xgboost.tracker import RabitTracker

RANK = int(os.environ.get("RANK", "0"))
WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))
MASTER_ADDR = os.environ.get("MASTER_ADDR", "127.0.0.1")
MASTER_PORT = int(os.environ.get("MASTER_PORT", "29500"))


class PrintLoss(xgb.callback.TrainingCallback):
    """Print the loss over the rows of all ranks after each round."""

    def after_iteration(self, model, epoch, evals_log):
        if RANK == 0:
            print(f"epoch {epoch} loss {evals_log['train']['mlogloss'][-1]:.6f}", flush=True)
        return False


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40, help="boosting rounds (default 40)")
    parser.add_argument("--depth", type=int, default=4, help="depth of a tree (default 4)")
    parser.add_argument("--eta", type=float, default=0.3, help="learning rate (default 0.3)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the training (default 7)")
    return parser.parse_args()


def train(args, images, labels):
    train_rows = [row for row in range(len(labels)) if row % 5]
    held_out = [row for row in range(len(labels)) if row % 5 == 0]
    mine = train_rows[RANK::WORLD_SIZE]
    shard = xgb.DMatrix(images[mine], labels[mine])
    model = xgb.train(
        {
            "objective": "multi:softmax",
            "num_class": 10,
            "eval_metric": "mlogloss",
            "tree_method": "hist",
            "max_depth": args.depth,
            "eta": args.eta,
            "seed": args.seed,
            "nthread": int(os.environ.get("OMP_NUM_THREADS", "1")),
        },
        shard,
        num_boost_round=args.rounds,
        evals=[(shard, "train")],
        callbacks=[PrintLoss()],
        verbose_eval=False,
    )
    digest = hashlib.sha256(model.save_raw("ubj")).hexdigest()
    print(f"rank {RANK} model sha256 {digest}", flush=True)
    if RANK == 0:
        predicted = model.inplace_predict(images[held_out])
        print(f"accuracy {(predicted == labels[held_out]).mean():.4f}", flush=True)


def main():
    args = options()
    images, labels = load_digits(return_X_y=True)
    tracker = None
    if RANK == 0:
        # sortby="task" makes the collective's ranks follow the task ids, which are our ranks.
        tracker = RabitTracker(WORLD_SIZE, host_ip=MASTER_ADDR, port=MASTER_PORT, sortby="task")
        tracker.start()
    else:
        time.sleep(1)  # a rank that comes before the tracker listens is held up for 6 s
    with collective.CommunicatorContext(
        dmlc_tracker_uri=MASTER_ADDR,
        dmlc_tracker_port=MASTER_PORT,
        dmlc_task_id=f"{RANK:04d}",  # compared as text, hence the zeros
        dmlc_retry=60,
        dmlc_timeout=120,
    ):
        print(f"rank {collective.get_rank()} of {collective.get_world_size()} joined", flush=True)
        train(args, images, labels)
    if tracker:
        tracker.wait_for()


if __name__ == "__main__":
    main()
