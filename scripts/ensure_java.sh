#!/usr/bin/env bash
# Provides a Java that Spark can use (17 or later): finds it, or installs it where that is possible
# and allowed, or says exactly what to install. The in-process engine needs no Java, so a missing
# one is a message and not a failure.
# CRESTLINE_INSTALL_JAVA=no keeps this script from installing anything.
set -euo pipefail

oldest=17
# The first is the wish; the second is for releases that no longer carry it.
packages=(openjdk-17-jre-headless openjdk-21-jre-headless)

java_major() {
    local java=java version
    if [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/java" ]; then
        java=$JAVA_HOME/bin/java
    fi
    version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\)[.0-9]*.*/\1/p' | head -n 1) || true
    echo "${version:-0}"
}

advise() {
    {
        echo "Java $oldest or later is missing: $1"
        echo "The in-process engine runs without it; Spark will need it. To install it:"
        echo "  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install ${packages[0]}"
        echo "  elsewhere:       any Java $oldest or later (https://adoptium.net); set JAVA_HOME to it"
    } >&2
    exit 0
}

[ "$(java_major)" -lt "$oldest" ] || exit 0

[ "${CRESTLINE_INSTALL_JAVA:-yes}" != no ] || advise "CRESTLINE_INSTALL_JAVA=no forbids installing it."
command -v apt-get >/dev/null || advise "there is no apt-get here to install it with."

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    # -n: never ask for a password in the middle of make.
    sudo -n true 2>/dev/null || advise "installing it needs root or sudo without a password."
    as_root=(sudo -n)
fi
as_root+=(env DEBIAN_FRONTEND=noninteractive)

echo "Java $oldest or later is missing: installing it with apt-get ..."
"${as_root[@]}" apt-get -q update || advise "apt-get update failed (its message is above)."
for package in "${packages[@]}"; do
    if "${as_root[@]}" apt-get -q install -y --no-install-recommends "$package"; then
        [ "$(java_major)" -ge "$oldest" ] || advise "$package is installed, but java does not run."
        exit 0
    fi
done
advise "apt-get could install none of ${packages[*]} (its messages are above)."
