#!/usr/bin/env bash
# The whole story on two real lab hosts. Called by `make demo`, after the set-up.
#
# Act 1: ct200 goes from nothing to a verified DDTree server, then b300.
# Act 2: a release with the story's mistake (graph captured for the block of 8, verify with budget + 1 = 33) is
#        deployed; the first request kills it; the tool says why, and the old release serves again.
set -euo pipefail
cd "$(dirname "$0")/.."

# inventories/lab names the lab `demo`: another lab would be booted here and left alone below.
[ "${DDTREE_LAB:-demo}" = demo ] || { echo "the demo uses the lab 'demo'; unset DDTREE_LAB" >&2; exit 2; }
LAB_DIR=$(lab/hosts.sh dir)
STORY=$LAB_DIR/story-inventory
export PATH=$PWD/.venv/bin:$PATH DDTREE_OPS_INVENTORY=inventories/lab

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
run() { printf '\033[2m$ %s\033[0m\n' "$*"; "$@"; }

say "Two real systemd hosts"
run lab/hosts.sh up
run lab/hosts.sh ls

say "From nothing to a verified DDTree server"
run ddtree-ops plan --host ct200 || [ $? = 6 ]
run ddtree-ops deploy --host ct200 --yes
run ddtree-ops status --host ct200
run ddtree-ops smoke --host ct200

say "The same again: nothing to do"
run ddtree-ops deploy --host ct200 --yes

say "The second host"
run ddtree-ops deploy --host b300 --yes

say "The story's mistake: a runtime whose graph is as wide as the draft block (8), and a budget of 32"
rm -rf "$STORY"
cp -r inventories/lab "$STORY"
cp -r lab/story/. "$STORY"/
run diff -ru inventories/lab "$STORY" || true
code=0
run ddtree-ops deploy --host ct200 --yes --inventory "$STORY" || code=$?
echo "exit code $code (8: deploy failed, the former release serves again)"
[ "$code" = 8 ]

say "What serves now"
run ddtree-ops status --host ct200
run ddtree-ops releases --host ct200
run ddtree-ops smoke --host ct200

say "Done. The hosts stay up: try the tour in README.md; clean up with  make demo-down"
