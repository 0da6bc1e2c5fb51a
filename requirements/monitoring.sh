#!/usr/bin/env bash
# Usage: monitoring.sh DIR. Puts Debian's Prometheus, Alertmanager, node and blackbox exporter into DIR/usr/bin, unpacked and
# not installed: an installed package would start its service on this machine. Chromium, which has many libraries, and
# the program that writes journal files are installed unless they are there (neither starts anything). Where there is no apt, says so and succeeds: the tests that need a program say its name.
set -euo pipefail
readonly SERVERS=(prometheus prometheus-alertmanager prometheus-node-exporter prometheus-blackbox-exporter)
readonly INSTALLED=(chromium chromium-driver systemd-journal-remote)
dir=$1

without() {
  mkdir -p "$dir" && touch "$dir/.ready"
  echo "no $1 here: tests that need it fail and name it" >&2
  exit 0
}

command -v apt-get >/dev/null || without "apt-get to fetch Prometheus with"
rm -rf "$dir" "$dir.new" && mkdir -p "$dir.new/deb"
fetch() (cd "$dir.new/deb" && apt-get download -qq "${SERVERS[@]}" >/dev/null 2>&1)
fetch || { apt-get update -qq >/dev/null 2>&1 || true; fetch; } || without "package of Prometheus"
for package in "$dir.new"/deb/*.deb; do dpkg-deb -x "$package" "$dir.new"; done
rm -r "$dir.new/deb"
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${INSTALLED[@]}" >/dev/null 2>&1; }
if ! { command -v chromium && command -v chromedriver && [ -x /lib/systemd/systemd-journal-remote ]; } >/dev/null; then
  install || { apt-get update -qq >/dev/null 2>&1 || true; install; } || echo "no ${INSTALLED[*]} here: tests that need them skip" >&2
fi
touch "$dir.new/.ready"
mv "$dir.new" "$dir"
