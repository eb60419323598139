"""A line through noisy points, learned by all workers together through MXNet's key-value store.

Every process of the gang runs this file: where DMLC_ROLE says scheduler or server, importing MXNet
serves until the workers are done, and the rest is never reached. Each worker learns from its own
part of the points, and all end with the same weights.

    python kvstore_mxnet.py --mode dist_sync --epochs 5
"""

import argparse

import mxnet as mx
import numpy as np

WANTED = np.arange(1, 6, dtype="float32").reshape(5, 1)
POINTS, BATCH = 2000, 50


def main() -> None:
    parser = argparse.ArgumentParser(description="Learn a line with MXNet's key-value store.")
    parser.add_argument("--mode", default="dist_sync", help="dist_sync or dist_async")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()

    store = mx.kvstore.create(options.mode)
    print(f"rank {store.rank} of {store.num_workers} joined", flush=True)
    points = np.random.RandomState(7).randn(POINTS, len(WANTED)).astype("float32")
    part = slice(store.rank, None, store.num_workers)
    data = mx.io.NDArrayIter(points[part], (points @ WANTED)[part], BATCH, label_name="goal_label")

    line = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="line")
    goal = mx.sym.LinearRegressionOutput(line, mx.sym.Variable("goal_label"), name="goal")
    model = mx.mod.Module(goal, data_names=["data"], label_names=["goal_label"])
    model.fit(
        data,
        eval_metric="mse",
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.05},
        kvstore=store,
        num_epoch=options.epochs,
    )
    data.reset()
    (_, error), *_ = model.score(data, "mse")
    weights = model.get_params()[0]["line_weight"].asnumpy().ravel()
    print(f"rank {store.rank} error {error:.6f} weights {np.round(weights, 3)}", flush=True)


if __name__ == "__main__":
    main()
