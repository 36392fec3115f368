#!/usr/bin/env bash
# Prints the path of a Python that Crestline runs on, or says what to install.
# $PYTHON, when set, is the only candidate.
set -euo pipefail

supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))'
if [ -n "${PYTHON:-}" ]; then
    candidates=("$PYTHON")
else
    candidates=(python3.13 python3.12 python3.11 python3.14 python3 python)
fi

for candidate in "${candidates[@]}"; do
    # A name on the PATH proves nothing (version managers put up shims): only running it does.
    if "$candidate" -c "$supported" >/dev/null 2>&1; then
        "$candidate" -c 'import sys; print(sys.executable)'
        exit 0
    fi
done

{
    echo "Crestline needs Python 3.11, 3.12, 3.13 or 3.14; tried: ${candidates[*]}"
    for candidate in "${candidates[@]}"; do
        if version=$("$candidate" --version 2>/dev/null); then
            echo "  $candidate is $version"
        fi
    done
    echo "Install one (on Debian or Ubuntu: apt-get install python3 python3-venv),"
    echo "or name one that you have: make PYTHON=/path/to/python3.12 ..."
} >&2
exit 1
