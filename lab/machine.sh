# shellcheck shell=bash
# The life of one lab host: a systemd-nspawn container on an overlay, its supervisor, its files. Sourced by hosts.sh.
#
# All processes of a lab live below one cgroup: CGROUP/<host> holds the supervisor, CGROUP/<host>/payload everything inside,
# CGROUP/relays the delay lines. So a lab can always be found and ended, whatever happened to the command that made it.

CGROUP=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)/$TAG
readonly CGROUP STAND_IN_DIRECTORY=/usr/lib/ddtree-lab
readonly STAND_IN=(nvidia-smi gpu_state.py gpu_reports.py gpu_xml.py)

hosts() { if [ -d "$STATE/hosts" ]; then ls "$STATE/hosts"; fi; }
alive() { [ -n "$(cat "$CGROUP/$1/cgroup.procs" 2>/dev/null)" ]; }
frozen() { grep -qsx 1 "$(inner_cgroup "$1")/cgroup.freeze"; }
inner_cgroup() { if is_vm "$1"; then echo "$CGROUP/$1"; else echo "$CGROUP/$1/payload"; fi; }
leader() { head -n1 "$CGROUP/$1/payload/init.scope/cgroup.procs"; }
populated() { grep -qs 'populated 1' "$1/cgroup.events"; }
ssh_to() {
  local host=$1
  shift
  ssh -F "$STATE/ssh_config" -o ConnectTimeout=2 "$host" "$@" </dev/null
}

wait_ssh() {
  local deadline=$((SECONDS + 300))
  while [ $SECONDS -lt $deadline ]; do
    ssh_to "$1" true 2>/dev/null && return
    alive "$1" || break
    sleep 0.1
  done
  die "$1 does not answer on ssh: $(tail -n1 "$STATE/hosts/$1/console.log") (log: $STATE/hosts/$1/console.log)"
}

wait_empty() { # cgroup: until no process is left in it
  local _
  for _ in $(seq 600); do
    populated "$1" || return 0
    sleep 0.05
  done
  return 1
}

kill_cgroup() {
  [ -e "$1/cgroup.kill" ] || return 0
  echo 1 >"$1/cgroup.kill"
  wait_empty "$1" || die "processes below $1 do not end"
}

hierarchies() { # the lab's cgroup in each hierarchy that a host gets: cgroup2, and what cgroup v1 still holds here
  local controller
  echo "$CGROUP"
  for controller in systemd cpu cpuacct pids ${DDTREE_LAB_MEMORY:+memory}; do
    if [ -d "/sys/fs/cgroup/$controller" ]; then echo "/sys/fs/cgroup/$controller/$TAG"; fi
  done
}

remove_cgroups() {
  local directory
  while read -r directory; do
    find "$directory" -depth -type d -exec rmdir {} \;
  done < <(find /sys/fs/cgroup -maxdepth 2 -type d -name "$TAG")
}

unmount_below() { # hosts mount in namespaces of their own; this is for what else may have been mounted there
  local point
  while read -r point; do umount --lazy "$point"; done < <(awk -v d="$1/" 'index($2, d) == 1 {print $2}' /proc/mounts | sort -r)
}

create_host() { # host, profile, vm or nothing: once; what differs from host to host, written into its overlay
  local host=$1 directory=$STATE/hosts/$1 new=$STATE/new-host n=11
  if [ -d "$directory" ]; then
    [ "$(<"$directory/profile")" = "$2" ] || die "$host has profile $(<"$directory/profile"); run down first to change it"
    refresh_stand_in "$host" "$2"
    return
  fi
  while grep -qsx $n "$STATE"/hosts/*/number; do n=$((n + 1)); done
  [ $n -le 250 ] || die "a lab holds at most 240 hosts"
  rm -rf "$new"
  mkdir -p "$STATE/hosts" "$new/work" "$new/root" "$new/up"
  echo $n >"$new/number"
  echo "$2" >"$new/profile"
  if [ "${3:-}" = vm ]; then : >"$new/vm"; fi
  write_identity "$host" "$new/up" "$(subnet).$n"
  write_lab_files "$new/up" "$2"
  mv "$new" "$directory"
  write_ssh_files
}

write_identity() { # host, overlay, address
  local host=$1 up=$2 gateway
  gateway=$(subnet).1
  mkdir -p "$up/etc/ssh" "$up/etc/systemd/network"
  install -d -m 700 "$up/root" "$up/root/.ssh"
  install -m 600 "$STATE/id_ed25519.pub" "$up/root/.ssh/authorized_keys"
  echo "$host" >"$up/etc/hostname"
  printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$host" >"$up/etc/hosts"
  install -m 644 "$(resolver_file)" "$up/etc/resolv.conf"
  ssh-keygen -q -t ed25519 -N '' -C "$host" -f "$up/etc/ssh/ssh_host_ed25519_key"
  printf '[Match]\nName=host0 eth0\n[Link]\nMTUBytes=%s\n[Network]\nAddress=%s/24\nGateway=%s\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n' \
    "$(<"$STATE/mtu")" "$3" "$gateway" >"$up/etc/systemd/network/10-host0.network"
}

resolver_file() { # systemd-resolved's stub on 127.0.0.53 can't be asked from inside
  local real=/run/systemd/resolve/resolv.conf
  if grep -q '^nameserver 127\.' /etc/resolv.conf && [ -f "$real" ]; then echo "$real"; else echo /etc/resolv.conf; fi
}

write_lab_files() { # overlay, profile: the GPUs that this host pretends to have, and the simulator's settings
  local up=$1
  mkdir -p "$up/etc/systemd/system/ddtree-server@.service.d"
  write_stand_in "$up" "$2"
  printf '# Settings of the SGLang simulator on this host: SIM_NAME=value, one a line\n' >"$up/etc/ddtree-lab/sim.env"
  # lets the service find the simulator's settings, and write its "GPU memory" in spite of ProtectSystem=strict
  printf '[Service]\nEnvironment=SGLANG_SIM_FILE=/etc/ddtree-lab/sim.env\nReadWritePaths=-/run/ddtree-lab/gpu\n' \
    >"$up/etc/systemd/system/ddtree-server@.service.d/lab.conf"
}

write_stand_in() { # root directory, profile: nvidia-smi and its modules (Python looks beside what the link leads to)
  install -d "$1/usr/bin" "$1/etc/ddtree-lab" "$1$STAND_IN_DIRECTORY"
  (cd "$HERE" && install -m 644 "${STAND_IN[@]}" "$1$STAND_IN_DIRECTORY/")
  chmod 755 "$1$STAND_IN_DIRECTORY/nvidia-smi"
  ln -sfn "$STAND_IN_DIRECTORY/nvidia-smi" "$1/usr/bin/nvidia-smi"
  install -m 644 "$HERE/profiles/$2.json" "$1/etc/ddtree-lab/gpu.json"
}

refresh_stand_in() { # host, profile: a newer nvidia-smi for a host that exists already (a VM keeps what it began with)
  local up=$STATE/hosts/$1/up file same=1
  ! is_vm "$1" || return 0
  for file in "${STAND_IN[@]}"; do cmp -s "$HERE/$file" "$up$STAND_IN_DIRECTORY/$file" || same=0; done
  cmp -s "$HERE/profiles/$2.json" "$up/etc/ddtree-lab/gpu.json" || same=0
  [ $same = 0 ] || return 0
  if alive "$1"; then up=/proc/$(leader "$1")/root; fi # an overlay's layers must not be changed under it
  write_stand_in "$up" "$2"
}

write_ssh_files() {
  local host
  : >"$STATE/known_hosts.new"
  : >"$STATE/ssh_config.new"
  for host in $(hosts); do
    echo "$host,$(address "$host") $(cut -d' ' -f1,2 "$STATE/hosts/$host/up/etc/ssh/ssh_host_ed25519_key.pub")" >>"$STATE/known_hosts.new"
    printf 'Host %s\n  HostName %s\n  User root\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  StrictHostKeyChecking yes\n  LogLevel ERROR\n' \
      "$host" "$(address "$host")" "$STATE/id_ed25519" "$STATE/known_hosts" >>"$STATE/ssh_config.new"
  done
  mv "$STATE/known_hosts.new" "$STATE/known_hosts"
  mv "$STATE/ssh_config.new" "$STATE/ssh_config"
}

start_host() {
  local host=$1 hierarchy
  alive "$host" && return
  kill_cgroup "$CGROUP/$host" # of a host whose supervisor was killed
  if is_vm "$host"; then
    start_vm "$host"
    return
  fi
  (
    while read -r hierarchy; do
      mkdir -p "$hierarchy/$host"
      echo "$BASHPID" >"$hierarchy/$host/cgroup.procs"
    done < <(hierarchies)
    DDTREE_LAB=$LAB setsid unshare --mount --propagation private bash "$SELF" _supervise "$host" \
      >>"$STATE/hosts/$host/console.log" 2>&1 </dev/null 8<&- 9<&- &
  )
  until alive "$host"; do sleep 0.02; done
}

supervise() { # runs in a mount namespace of its own: nothing stays mounted when it ends
  local host=$1 directory=$STATE/hosts/$1 status=133 br options
  read -ra options <<<"${DDTREE_LAB_NSPAWN:-} ${DDTREE_LAB_MEMORY:+--setenv=LAB_MEMORY_CGROUP=1}"
  mkdir -p /run/systemd
  mount -t tmpfs -o mode=755 tmpfs /run/systemd # nspawn wants its runtime directory on a tmpfs
  mount -t overlay overlay -o "lowerdir=$(<"$STATE/base"),upperdir=$directory/up,workdir=$directory/work" "$directory/root"
  while [ "$status" = 133 ]; do # 133 = the host wants to reboot; with --keep-unit that is the caller's business
    br=$(bridge)
    if [ -e "/sys/class/net/$(machine "$host")s" ]; then br=$(machine "$host")s; fi
    status=0
    systemd-nspawn --quiet --register=no --keep-unit --machine="$(machine "$host")" --hostname="$host" --directory="$directory/root" \
      --network-bridge="$br" --resolv-conf=off --timezone=off --link-journal=no --console=pipe --kill-signal=SIGRTMIN+3 \
      --capability=CAP_BPF --system-call-filter=bpf "${options[@]}" /usr/local/sbin/lab-init </dev/null || status=$?
    echo "$(date +%T) $host ended: $status"
  done
}

stop_host() {
  alive "$1" || return 0
  thaw_host "$1"
  if is_vm "$1"; then
    stop_vm "$1"
    return
  fi
  kill -s RTMIN+4 "$(leader "$1")" # systemd(1): power off
  wait_empty "$CGROUP/$1" || crash_host "$1"
}

crash_host() { # killing nspawn would not do: the host's own PID 1 lives on
  alive "$1" || return 0
  if is_vm "$1"; then
    kill_cgroup "$CGROUP/$1"
    return
  fi
  echo 1 >"$CGROUP/$1/payload/cgroup.kill"
  wait_empty "$CGROUP/$1" || kill_cgroup "$CGROUP/$1"
}

boot_id() { ssh_to "$1" cat /proc/sys/kernel/random/boot_id 2>/dev/null || true; }

reboot_host() {
  local before now deadline=$((SECONDS + 300))
  before=$(boot_id "$1")
  ssh_to "$1" systemctl reboot 2>/dev/null || true
  until now=$(boot_id "$1") && [ -n "$now" ] && [ "$now" != "$before" ]; do
    [ $SECONDS -lt $deadline ] || die "$1 does not come back from its reboot"
    sleep 0.1
  done
}

freeze_host() { echo 1 >"$(inner_cgroup "$1")/cgroup.freeze"; }
thaw_host() { echo 0 >"$(inner_cgroup "$1")/cgroup.freeze"; }

delay_host() { # host, round trip in ms, loss in percent
  local loss=${3:-0}
  loss=${loss%\%}
  [[ "${2:-} $loss" =~ ^[0-9]+(\.[0-9]+)?\ [0-9]+(\.[0-9]+)?$ ]] || die "usage: delay HOST MS [LOSS%]"
  delay_off "$1"
  if [ "$2" != 0 ] || [ "$loss" != 0 ]; then delay_on "$1" "$2" "$loss"; fi
}

revive_host() { # undo freeze, cut and unplug: after `up` a host answers
  if frozen "$1"; then thaw_host "$1"; fi
  if iptables -w -t raw -S OUTPUT | grep -qF -- "-d $(address "$1")/32 "; then heal_host "$1"; fi
  plug_host "$1"
}
