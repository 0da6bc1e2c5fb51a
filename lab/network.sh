# shellcheck shell=bash
# One lab's network: a /24 of its own, one bridge, masquerading, and ways to disturb a host's link. Sourced by hosts.sh.
#
# Lab number N (1..250) gives everything its name: 10.99.N.0/24, bridge dlNbr, host links vb-dlN-h11, delay lines dlN-h11s
# (bridge) with taps dlN-h11a and dlN-h11b. All of them stay below the kernel's 15 characters.

readonly NETWORKS=10.99

lab_number() { cat "$STATE/number" 2>/dev/null; }
bridge() { echo "dl$(lab_number)br"; }
subnet() { echo "$NETWORKS.$(lab_number)"; }
host_number() { cat "$STATE/hosts/$1/number"; }
address() { echo "$(subnet).$(host_number "$1")"; }
machine() { echo "dl$(lab_number)-h$(host_number "$1")"; } # unique on this machine; nspawn calls the host's link vb-<machine>
link() { echo "vb-$(machine "$1")"; }

allocate_number() { # remembers the first number whose bridge, addresses, routes, rules and state nobody else has
  local n taken
  [ -s "$STATE/number" ] && return
  taken=$(
    ip -4 -oneline address show
    ip -4 route show table all
    ip -4 rule show
    for table in filter nat raw; do iptables -w -t "$table" -S; done
  )
  for n in $(seq 1 250); do
    [ -e "/sys/class/net/dl${n}br" ] && continue
    grep -qF "$NETWORKS.$n." <<<"$taken" && continue
    grep -qsx "$n" "$LABS"/*/number && continue
    echo "$n" >"$STATE/number"
    return
  done
  die "no free 10.99.N.0/24 left on this machine"
}

recall_number() { # for a lab whose state directory was lost: its bridge carries its name
  local alias
  for alias in /sys/class/net/dl*br/ifalias; do
    if grep -qsx "$TAG" "$alias"; then basename "$(dirname "$alias")" | tr -dc 0-9; fi
  done
}

rule() { # table, chain, rule: add it once
  local table=$1 chain=$2
  shift 2
  iptables -w -t "$table" -C "$chain" "$@" -m comment --comment "$TAG" 2>/dev/null ||
    iptables -w -t "$table" -I "$chain" "$@" -m comment --comment "$TAG"
}

drop_rules() { # this lab's rules that contain $1 (all, if empty)
  local table line words
  command -v iptables >/dev/null || return 0
  for table in raw filter nat; do
    while read -r line; do
      read -ra words <<<"${line#-A }"
      iptables -w -t "$table" -D "${words[@]}"
    done < <(iptables -w -t "$table" -S | grep -F -- "--comment $TAG -j" | grep -F -- "$1" || true)
  done
}

network_up() {
  local uplink mtu=1500 br
  br=$(bridge)
  uplink=$(ip -o route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p;q')
  if [ -n "$uplink" ]; then mtu=$(<"/sys/class/net/$uplink/mtu"); fi
  [ "$mtu" -le 1500 ] || mtu=1500
  echo "$mtu" >"$STATE/mtu"
  if ! [ -e "/sys/class/net/$br" ]; then
    # a fixed MAC: a bridge's own changes as ports come and go, and the hosts' neighbour entries go stale
    ip link add "$br" address "02:99:00:00:$(printf %02x "$(lab_number)"):01" type bridge forward_delay 0
    ip link set "$br" alias "$TAG"
    ip address add "$(subnet).1/24" dev "$br"
    ip link set "$br" mtu "$mtu" up
  fi
  set_machine_limit net.ipv4.ip_forward 1
  set_machine_limit fs.inotify.max_user_instances 8192 # 128 fails from about 8 hosts on
  rule nat POSTROUTING -s "$(subnet).0/24" ! -o "$br" -j MASQUERADE
  rule filter FORWARD -i "$br" -j ACCEPT
  rule filter FORWARD -o "$br" -j ACCEPT
}

set_machine_limit() { # sysctl name, least value: remember what it was before the first lab
  local was
  was=$(sysctl -n "$1")
  [ "$was" -ge "$2" ] && return
  echo "$was" >"$LABS/.was-$1"
  sysctl -qw "$1=$2"
}

network_down() {
  local n=$1 interface
  drop_rules ""
  for interface in /sys/class/net/dl"$n"-h* /sys/class/net/vb-dl"$n"-h* "/sys/class/net/dl${n}br"; do
    ip link delete "$(basename "$interface")" 2>/dev/null || true
  done
}

restore_machine_limits() { # once no lab has a bridge any more
  local file
  grep -qs '^ddtree-lab-' /sys/class/net/dl*br/ifalias && return
  for file in "$LABS"/.was-*; do
    [ -e "$file" ] || continue
    sysctl -qw "${file##*/.was-}=$(<"$file")"
    rm "$file"
  done
}

cut_host() { # packets vanish silently, to us and to the other hosts; the carrier stays
  local ip
  ip=$(address "$1")/32
  rule raw PREROUTING -s "$ip" -j DROP
  rule raw PREROUTING -d "$ip" -j DROP
  rule raw OUTPUT -d "$ip" -j DROP
  bridge_port "$1" 0
}

heal_host() {
  drop_rules " $(address "$1")/32 "
  bridge_port "$1" 3
}

bridge_port() { # spanning tree state of the host's port: 0 = drops everything, 3 = forwards
  if [ -e "/sys/class/net/$(link "$1")" ]; then command bridge link set dev "$(link "$1")" state "$2"; fi
}

unplug_host() { ip link set "$(link "$1")" down; }
plug_host() { if [ -e "/sys/class/net/$(link "$1")" ]; then ip link set "$(link "$1")" up; fi; }

# Delay line: vb-H - bridge dlN-hXs - tap dlN-hXa - relay.py - tap dlN-hXb - the lab's bridge

delay_on() { # host, round trip in ms, loss in percent
  local m mtu deadline
  m=$(machine "$1")
  mtu=$(<"$STATE/mtu")
  ip link add "${m}s" address "02:99:00:01:$(printf %02x:%02x "$(lab_number)" "$(host_number "$1")")" type bridge forward_delay 0
  ip link set "${m}s" arp off mtu "$mtu" up # arp off: else this machine answers for the gateway here, past the delay
  (
    mkdir -p "$CGROUP/relays" && echo "$BASHPID" >"$CGROUP/relays/cgroup.procs"
    exec setsid python3 "$HERE/relay.py" "${m}a" "${m}b" "$2" "$3" >>"$STATE/hosts/$1/console.log" 2>&1 </dev/null 9>&-
  ) &
  deadline=$((SECONDS + 5))
  until [ -e "/sys/class/net/${m}b" ]; do
    [ $SECONDS -lt $deadline ] || die "$1: the delay line does not start: $(tail -n1 "$STATE/hosts/$1/console.log")"
    sleep 0.05
  done
  ip link set "${m}a" mtu "$mtu" master "${m}s" up
  ip link set "${m}b" mtu "$mtu" master "$(bridge)" up
  # Where bridged frames pass iptables (br_netfilter), a frame would be masqueraded here, before the delay: nothing got out.
  rule raw PREROUTING -i "${m}s" -j CT --notrack
  if [ -e "/sys/class/net/$(link "$1")" ]; then ip link set "$(link "$1")" master "${m}s"; fi
}

delay_off() { # the relay ends by itself when its taps go
  local m
  m=$(machine "$1")
  [ -e "/sys/class/net/${m}s" ] || return 0
  drop_rules "-i ${m}s "
  if [ -e "/sys/class/net/$(link "$1")" ]; then ip link set "$(link "$1")" master "$(bridge)"; fi
  for m in "${m}a" "${m}b" "${m}s"; do ip link delete "$m" 2>/dev/null || true; done
}
