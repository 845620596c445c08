#!/bin/sh
# Install the programs of docs/recipes as the recipes say: exact versions, no install scripts, a folder for each.
# Usage: install_recipes.sh [FOLDER]; prints the folder. PYTHON is the interpreter for those in Python.
set -eu
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/evolve/agents}

install_packages() { # NAME PACKAGE...
    prefix=$folder/$1
    shift
    rm -rf "$prefix"
    mkdir -p "$prefix"
    npm install --silent --no-fund --no-audit --ignore-scripts --omit=optional --prefix "$prefix" "$@" >&2
}

if [ ! -e "$folder/opencode-1.18.33/.installed" ]; then
    install_packages opencode-1.18.33 opencode-linux-x64@1.18.33 @vscode/ripgrep-linux-x64@1.18.0
    touch "$prefix/.installed"
fi
if [ ! -e "$folder/qwen-code-0.15.10/.installed" ]; then
    install_packages qwen-code-0.15.10 @qwen-code/qwen-code@0.15.10
    rm -r "$prefix/node_modules/@qwen-code/qwen-code/bundled"
    touch "$prefix/.installed"
fi
if [ ! -e "$folder/gemini-cli-0.61.0/.installed" ]; then
    install_packages gemini-cli-0.61.0 @google/gemini-cli@0.61.0
    touch "$prefix/.installed"
fi
if [ ! -e "$folder/mini-swe-agent-2.4.6/.installed" ]; then
    prefix=$folder/mini-swe-agent-2.4.6
    rm -rf "$prefix"
    # The box shows /usr, and where evolve's own interpreter comes from; a link to anywhere else would lead nowhere.
    if [ -z "${PYTHON:-}" ]; then
        PYTHON=python3
        usual=/usr/bin/python3
        if "$usual" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then PYTHON=$usual; fi
    fi
    base=$("$PYTHON" -c 'import os, sys; print(os.path.realpath(sys._base_executable))')
    "$base" -m venv "$prefix" >&2
    "$prefix/bin/pip" install -qq --disable-pip-version-check mini-swe-agent==2.4.6 litellm==1.110.2 >&2
    touch "$prefix/.installed"
fi
echo "$folder"
