#!/usr/bin/env bash
# Creates the virtual environment $1. After a failure nothing unfinished stays behind.
set -euo pipefail

venv=$1
python=$("$(dirname "$0")/find_python.sh")
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# A .venv without a working Python (moved clone, upgraded system) is created again.
rm -rf "$venv"
echo "Making a virtual environment in $venv with $python (Python $version)"
if ! log=$("$python" -m venv "$venv" 2>&1); then
    rm -rf "$venv"
    {
        echo "$log"
        echo
        echo "Python $version at $python cannot make a virtual environment (its message is above)."
        echo "On Debian or Ubuntu the usual reason is a missing package:"
        echo "  apt-get install python$version-venv"
        echo "Then run make again, or name another Python: make PYTHON=/path/to/python3.12 ..."
    } >&2
    exit 1
fi
