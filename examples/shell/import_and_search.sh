#!/bin/sh
# Imports what Claude Code kept, and searches it; a second run imports only what is new:
#   sh import_and_search.sh ~/.claude/projects "retry loop"
set -eu
neap import claude-code "$1" --wait
neap search "$2"
