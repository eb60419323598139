#!/bin/sh
# Find a Python that is new enough and works, and let it run install.py: a shim of pyenv may be on
# the path without a Python behind it. An installed environment's own starts quickest.
cd "$(dirname "$0")/.." || exit 1
installed=
[ -x .venv/bin/uv ] && installed=.venv/bin/python
for python in $installed python3 python3.16 python3.15 python3.14 python3.13 python3.12 python3.11; do
    # -I -S: nothing but the standard library, and the start costs 20 ms.
    if "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        exec "$python" -I -S scripts/install.py "$@"
    fi
done
echo "Gangline needs Python 3.11 or newer: please install it (Debian 12 and Ubuntu 24.04:" \
    "sudo apt-get install python3 python3-venv)." >&2
exit 1
