#!/bin/bash
# hosts.sh - lab hosts: real Linux hosts (systemd, journald, sshd, an address each) on this machine.
#
#   up [NAME[=PROFILE] ...]  boot hosts and wait for ssh (default: ct200 b300); PROFILE is b300-8x or rtx-pro-6000-8x
#   vm-up NAME[=PROFILE] [LIKE]    boot a host with a kernel of its own (qemu): kernel log, OOM killer; then a host like others.
#                            LIKE: it begins as a copy of this host, which spares it work that takes long under emulation
#   down                     end all hosts of this lab and remove everything it made; the root file system stays cached
#   start|stop|crash|reboot HOST     stop = clean shutdown, crash = power cut
#   freeze|thaw HOST         the whole host hangs / goes on
#   cut|heal HOST            silent network partition      unplug|plug HOST   cable out (carrier lost) / in
#   delay HOST MS [LOSS%]    add MS to the round trip and lose packets (0 = off)
#   sh HOST CMD...           run inside, without ssh (works on a cut host)
#   ls                       hosts with address, state and profile        dir   the lab's state directory
#   build                    only make the root file system
#
# ssh -F "$(lab/hosts.sh dir)/ssh_config" ct200     logs in as root.  Needs root and Debian; installs the tools it needs.
# DDTREE_LAB names the lab (default: demo): labs of different names never meet. DDTREE_LAB_NSPAWN adds options for
# systemd-nspawn, DDTREE_LAB_MEMORY=1 hands the memory controller to the hosts (both at the start of a host).
set -euo pipefail
readonly LAB=${DDTREE_LAB:-demo} LABS=/var/lib/ddtree-lab
readonly STATE=$LABS/$LAB TAG=ddtree-lab-$LAB
SELF=$(readlink -f "${BASH_SOURCE[0]}")
HERE=$(dirname "$SELF")
readonly SELF HERE

say() { echo "lab $LAB: $*" >&2; }
die() {
  say "$*"
  exit 1
}

# shellcheck source=rootfs.sh
. "$HERE/rootfs.sh"
# shellcheck source=network.sh
. "$HERE/network.sh"
# shellcheck source=machine.sh
. "$HERE/machine.sh"
# shellcheck source=vm.sh
. "$HERE/vm.sh"

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$SELF"; }

lock() { # file descriptor, directory: wait for the lock on a directory that may be removed by its holder
  local fd=$1 directory=$2
  while :; do
    mkdir -p "$directory"
    eval "exec $fd<\"\$directory\""
    flock -w 300 "$fd" || die "another command has been holding $directory for five minutes"
    [ "$directory" -ef "/proc/self/fd/$fd" ] && return
  done
}
lock_lab() { lock 9 "$STATE"; }
lock_machine() { lock 8 "$LABS"; }
unlock_machine() { exec 8<&-; }

profile_of() { # NAME or NAME=PROFILE -> profile
  local wanted=${1#*=}
  case $wanted in
    b300) wanted=b300-8x ;;
    ct200) wanted=rtx-pro-6000-8x ;;
    "$1") wanted=rtx-pro-6000-8x ;; # a mere name
  esac
  [ -f "$HERE/profiles/$wanted.json" ] || die "no GPU profile '$wanted'; there are: $(basename -s .json "$HERE"/profiles/* | xargs)"
  echo "$wanted"
}

prepare_lab() { # the lab's lock, root file system, network and key
  install_tools
  lock_lab
  [ -s "$STATE/base" ] || base_path >"$STATE/base" # hosts that exist keep the base that they began with
  build_base "$(<"$STATE/base")"
  lock_machine
  allocate_number
  network_up
  unlock_machine
  [ -e "$STATE/id_ed25519" ] || ssh-keygen -q -t ed25519 -N '' -C "$TAG" -f "$STATE/id_ed25519"
}

lab_up() {
  local wanted=("$@") entry host
  [ $# -gt 0 ] || wanted=(ct200 b300)
  for entry in "${wanted[@]}"; do
    [[ ${entry%%=*} =~ ^[a-z][a-z0-9-]{0,39}$ ]] || die "'${entry%%=*}' can't be a host name: use a-z, 0-9 and -"
    profile_of "$entry" >/dev/null
  done
  prepare_lab
  for entry in "${wanted[@]}"; do
    host=${entry%%=*}
    create_host "$host" "$(profile_of "$entry")"
    revive_host "$host"
    start_host "$host"
  done
  for entry in "${wanted[@]}"; do wait_ssh "${entry%%=*}"; done
}

lab_down() { # trusts nothing: also clears what is left of a lab whose processes or state were lost
  local n
  lock_lab
  lock_machine
  n=$(lab_number || recall_number)
  kill_cgroup "$CGROUP"
  if [ -n "$n" ]; then network_down "$n"; fi
  remove_cgroups
  unmount_below "$STATE"
  rm -rf "$STATE"
  restore_machine_limits
  rmdir --ignore-fail-on-non-empty "$LABS"
}

lab_ls() {
  local host state
  for host in $(hosts); do
    state=down
    if alive "$host"; then state=up; fi
    if frozen "$host"; then state=frozen; fi
    echo "$host $(address "$host") $state $(<"$STATE/hosts/$host/profile")"
  done
}

inside() { # HOST CMD...
  local host=$1
  shift
  alive "$host" || die "$host is down"
  if is_vm "$host"; then exec ssh -F "$STATE/ssh_config" "$host" "$(printf '%q ' "$@")"; fi
  exec nsenter --target "$(leader "$host")" --all env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LANG=C.UTF-8 TERM="${TERM:-dumb}" SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt "$@"
}

need_host() { [ -d "$STATE/hosts/${1:-//}/up" ] || die "no host '${1:-}' in this lab (hosts: $(hosts | xargs))"; }

main() {
  local command=${1:-help}
  shift || true
  [[ $LAB =~ ^[a-z0-9][a-z0-9-]{0,30}$ ]] || die "DDTREE_LAB can't be a lab's name: use a-z, 0-9 and -"
  case $command in
    help | -h | --help) usage && return ;;
    dir) echo "$STATE" && return ;;
  esac
  [ "$(id -u)" = 0 ] || die "needs root (it boots hosts with systemd-nspawn); run it as root or with sudo"
  case $command in
    start | stop | crash | reboot | freeze | thaw | cut | heal | unplug | plug | delay | sh) need_host "${1:-}" ;;
  esac
  case $command in start | stop | crash | reboot | delay) lock_lab ;; esac
  case $command in
    up) lab_up "$@" ;;
    vm-up) vm_up "${1:-vm}" "${2:-}" ;;
    down) lab_down ;;
    ls) lab_ls ;;
    build) install_tools && build_base "$(base_path)" ;;
    sh) inside "$@" ;;
    start) start_host "$1" && wait_ssh "$1" ;;
    stop | crash | reboot | freeze | thaw | cut | heal | unplug | plug) "${command}_host" "$1" ;;
    delay) delay_host "$@" ;;
    _supervise) supervise "$1" ;;
    *) usage >&2 && exit 2 ;;
  esac
}

main "$@"; exit # on one line: bash must not read on in a file that was edited meanwhile
