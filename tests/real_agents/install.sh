#!/bin/sh
# Install the exact agent binaries that the tests run: platform packages alone, no install scripts.
# Usage: install.sh [FOLDER]; prints the folder. Claude Code is proprietary: it is installed, never redistributed.
set -eu
CLAUDE=2.1.332
CODEX=0.171.0
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/evolve/agents/claude-$CLAUDE-codex-$CODEX}
if [ ! -x "$folder/claude" ] || [ ! -x "$folder/codex" ]; then
    mkdir -p "$folder"
    npm install --silent --no-fund --no-audit --ignore-scripts --prefix "$folder" \
        "@anthropic-ai/claude-code-linux-x64@$CLAUDE" "@openai/codex@$CODEX-linux-x64" >&2
    ln -sf node_modules/@anthropic-ai/claude-code-linux-x64/claude "$folder/claude"
    ln -sf node_modules/@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex "$folder/codex"
fi
echo "$folder"
