#!/usr/bin/env bash
# Usage: torch.sh PYTHON DIR. Puts what the DDTREE tests need on a CPU into DIR/site, apart from the virtual environment: a torch
# without CUDA, Triton (its interpreter runs the kernels), SGLang's own modules. DIR/has then lists what is there. The first way
# that works is taken:
#   1. a CPU build of torch that this machine's pip knows of (torch-cpu.txt)
#   2. Debian's python3-torch: kernels and candidates only, for this SGLang doesn't import with so old a torch
# Where there is neither, says why, leaves DIR/has away and succeeds: the tests are skipped then, with the same reason.
set -euo pipefail
cd "$(dirname "$0")"
readonly LOCK=../deploy/locks/sglang-0.5.13.post1-cu130.txt
python=$1 dir=$2

pip_into() { # pip_into DIR OPTION...
  "$python" -m pip install --quiet --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes --target "$@"
}

locked() { # locked NAME FILE: one package of a lock, with its hashes
  sed -n "/^$1==/,/[^\\\\]\$/p" "$2"
}

from_pip() {
  pip_into "$1" -r torch-cpu.txt 2>"$1.log" || return
  pip_into "$1" -r torch.txt || exit
  # the wheel's tag is that of the hosts' Python; what is imported here of it is pure Python
  locked sglang $LOCK >"$1.sglang.txt"
  pip_into "$1" --only-binary :all: --implementation cp --python-version 3.12 --platform manylinux_2_34_x86_64 -r "$1.sglang.txt" || exit
  has="torch triton sglang"
}

from_debian() {
  local system=/usr/lib/python3/dist-packages package
  [ "$("$python" -c 'import sys; print(*sys.version_info[:2])')" = "3 11" ] || return # what Debian 12's is built for
  if [ ! -d $system/torch ]; then
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return
    apt-get update -qq >/dev/null 2>&1 || true # a broken third-party source must not stop us: the install decides
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-torch >/dev/null 2>&1 || return
  fi
  for package in torch numpy; do ln -s "$system/$package" "$1/$package"; done
  locked triton torch.txt >"$1.triton.txt"
  pip_into "$1" -r "$1.triton.txt" || exit
  has="torch triton"
}

rm -rf "$dir" "$dir".new
mkdir -p "$dir".new/site
if from_pip "$dir".new/site || from_debian "$dir".new/site; then
  mv "$dir".new "$dir"
  echo "$has" >"$dir"/has
else
  rm -rf "$dir".new
  echo "no torch for CPUs here: pip knows no CPU build of it, and Debian's python3-torch is not to be had (apt, root, Python 3.11)"
fi
