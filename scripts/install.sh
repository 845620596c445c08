#!/bin/sh
# Make a virtual environment with the pinned versions of requirements.lock: by uv where it is, by pip elsewhere.
# bubblewrap, without which nothing that a model wrote is run, is installed where this may be done.
set -eu
venv=$1

find_python() {
    for name in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null 2>&1 && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            command -v "$name"
            return
        fi
    done
    echo "error: no Python 3.11 or newer was found" >&2
    echo "  try: apt install python3 python3-venv, or PYTHON=/path/to/python3 make" >&2
    exit 1
}

if ! command -v bwrap >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "installing bubblewrap"
        apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null || true
    fi
    command -v bwrap >/dev/null 2>&1 || echo "warning: no bubblewrap; try: sudo apt install bubblewrap" >&2
fi

python=$(find_python)
if command -v uv >/dev/null 2>&1; then
    echo "setting up $venv with uv and $python"
    uv venv --quiet --seed --allow-existing --python "$python" "$venv"
    VIRTUAL_ENV=$(cd "$venv" && pwd) && export VIRTUAL_ENV
    uv pip install --quiet --require-hashes -r requirements.lock
    uv pip install --quiet --no-deps --editable .
else
    echo "setting up $venv with pip and $python"
    if ! "$python" -m venv "$venv"; then
        rm -rf "$venv"
        echo "error: this Python cannot make virtual environments" >&2
        echo "  try: apt install python3-venv, or install uv" >&2
        exit 1
    fi
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --editable .
fi
