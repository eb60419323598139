#!/usr/bin/env bash
# Writes requirements/*.txt from pyproject.toml: every package with its hashes, no index address.
# Versions that are locked stay; give --upgrade, or --upgrade-package NAME, to move them.
set -euo pipefail
cd "$(dirname "$0")/.."
export UV_CUSTOM_COMPILE_COMMAND="make lock"
compile() {
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links "$@"
}
compile "$@" --group build --output-file requirements/build.txt
compile "$@" --extra server pyproject.toml --output-file requirements/server.txt
compile "$@" --constraints requirements/server.txt cli/pyproject.toml \
    --output-file requirements/cli.txt
compile "$@" --group dev --constraints requirements/server.txt --constraints requirements/cli.txt \
    --constraints requirements/build.txt --output-file requirements/dev.txt
compile "$@" --group examples --output-file requirements/examples.txt
compile "$@" --group tensorflow --output-file requirements/tensorflow.txt
compile "$@" --group horovod --output-file requirements/horovod.txt
compile "$@" --group horovod-build --output-file requirements/horovod-build.txt
