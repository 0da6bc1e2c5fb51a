# shellcheck shell=bash
# The root file system that all lab hosts share as the read-only lower layer of their overlay. Sourced by hosts.sh.
#
# It is built once per recipe (this file, the models, the certificates and package sources of this machine) and kept in
# $CACHE, so that two checkouts with different recipes can run labs side by side.

readonly CACHE=/var/cache/ddtree-lab
readonly PACKAGES=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,udev,kmod,openssh-server,python3,python3-apt,python3-venv,python3-pip,iproute2,iputils-ping,procps,ca-certificates,curl,sudo,rsync,nftables,less
# What role monitoring and tests ask for is there already, stopped: no test waits for a package source.
readonly MONITORS=prometheus,prometheus-alertmanager,prometheus-node-exporter,prometheus-blackbox-exporter
readonly GATEWAY=systemd-journal-remote

install_tools() {
  local missing=() pair
  for pair in systemd-nspawn:systemd-container mmdebstrap:mmdebstrap iptables:iptables ip:iproute2 ssh:openssh-client \
    ssh-keygen:openssh-client python3:python3 flock:util-linux; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  [ ${#missing[@]} = 0 ] && return
  command -v apt-get >/dev/null || die "needs ${missing[*]}, and there is no apt-get to install them"
  apt-get update -qq >/dev/null 2>&1 || true # a broken third-party source must not stop us: the install decides
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    die "can't install ${missing[*]} (apt-get install failed)"
}

package_index() { # the index this machine's pip asks, if it isn't the public one
  echo "${PIP_INDEX_URL:-$(pip config get global.index-url 2>/dev/null || true)}"
}

package_sources() { # apt sources of this machine, for mmdebstrap
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    if [ -s "$file" ]; then echo "$file"; fi
  done
}

local_certificates() { find /usr/local/share/ca-certificates -name '*.crt' 2>/dev/null | sort; }

base_path() { # content-addressed: whatever goes in is in the name
  local digest
  digest=$({
    cat "$HERE/rootfs.sh" "$HERE/make-models.py" /etc/os-release
    package_index
    # shellcheck disable=SC2046 # one file a word
    cat /dev/null $(package_sources) $(local_certificates)
  } | sha256sum)
  echo "$CACHE/base-${digest:0:12}"
}

build_base() { # about 30 s the first time; prints nothing when the base is there
  local base=$1 new=$CACHE/new.$$ fd
  install -d -m 700 "$CACHE"
  touch "$base.used"
  [ -d "$base" ] && return
  exec {fd}<"$CACHE"
  flock "$fd"
  if [ ! -d "$base" ]; then
    rm -rf "$CACHE"/new.*
    say "building the root file system of lab hosts (once, about half a minute)"
    bootstrap "$new"
    trust_certificates "$new"
    configure_packages "$new"
    configure_system "$new"
    python3 "$HERE/make-models.py" "$new/srv/models"
    mv "$new" "$base"
    prune_bases
  fi
  exec {fd}<&-
}

bootstrap() {
  local root=$1 suite
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # shellcheck disable=SC2046 # one file a word
  mmdebstrap --quiet --variant=minbase --include="$PACKAGES,$MONITORS,$GATEWAY" --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/javascript/*' --dpkgopt='path-exclude=/usr/share/nodejs/*' \
    "$suite" "$root" $(package_sources) >"$CACHE/build.log" 2>&1 ||
    die "can't build the root file system: $(tail -n1 "$CACHE/build.log") (whole log: $CACHE/build.log)"
}

trust_certificates() {
  local root=$1 file
  while read -r file; do cp "$file" "$root/usr/local/share/ca-certificates/"; done < <(local_certificates)
  chroot "$root" update-ca-certificates >/dev/null 2>&1
}

configure_packages() { # pip and uv inside ask what this machine's pip asks, and trust what it trusts
  local root=$1 index certs=/etc/ssl/certs/ca-certificates.crt
  index=$(package_index)
  printf '[global]\ncert = %s\ndisable-pip-version-check = true\n%s' "$certs" "${index:+index-url = $index$'\n'}" >"$root/etc/pip.conf"
  install -d "$root/etc/uv" "$root/etc/systemd/system.conf.d"
  printf '%s' "${index:+[[index]]$'\n'url = \"$index\"$'\n'default = true$'\n'}" >"$root/etc/uv/uv.toml"
  case $index in *@*) chmod 600 "$root/etc/pip.conf" "$root/etc/uv/uv.toml" ;; esac # a password in the URL
  # uv brings its own certificates and reads neither pip.conf nor the system store: for SSH logins (pam_env) and services
  echo "SSL_CERT_FILE=$certs" >>"$root/etc/environment"
  printf '[Manager]\nDefaultEnvironment=SSL_CERT_FILE=%s\n' "$certs" >"$root/etc/systemd/system.conf.d/ddtree-lab.conf"
}

configure_system() {
  local root=$1 unit
  rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id" # each host makes its own
  : >"$root/etc/machine-id"
  printf 'PermitRootLogin prohibit-password\nUseDNS no\nMaxStartups 200\nMaxSessions 100\n' >"$root/etc/ssh/sshd_config.d/ddtree-lab.conf"
  echo LANG=C.UTF-8 >"$root/etc/default/locale"
  mkdir -p "$root/var/lib/systemd/linger" "$root/etc/ddtree-lab"
  : >"$root/var/lib/systemd/linger/root" # user@0 stays up: faster logins
  # the simulator's ranks report their "GPU memory" here, whatever user they run as
  printf 'd /run/ddtree-lab 0755 root root\nd /run/ddtree-lab/gpu 1777 root root\n' >"$root/etc/tmpfiles.d/ddtree-lab.conf"
  systemctl --root="$root" --quiet enable systemd-networkd
  systemctl --root="$root" --quiet mask console-getty.service getty.target
  for unit in ${MONITORS//,/ }; do systemctl --root="$root" --quiet disable "$unit.service"; done
  systemctl --root="$root" --quiet disable systemd-journal-gatewayd.socket systemd-journal-remote.socket systemd-journal-upload.service
  install -m 755 /dev/stdin "$root/usr/local/sbin/lab-init" <<'INIT'
#!/bin/sh
# systemd-nspawn mounts cgroup v1 controllers read-only: make our own subtree writable, then become systemd.
for c in cpu cpuacct pids ${LAB_MEMORY_CGROUP:+memory}; do mount -o remount,bind,rw "/sys/fs/cgroup/$c" 2>/dev/null; done
unset LAB_MEMORY_CGROUP
exec /lib/systemd/systemd
INIT
}

prune_bases() { # bases that nobody asked for during a week, and that no lab stands on
  local mark base
  while read -r mark; do
    base=${mark%.used}
    grep -qsxF "$base" "$LABS"/*/base || rm -rf "$base" "$mark"
  done < <(find "$CACHE" -maxdepth 1 -name 'base-*.used' -mtime +7)
}
