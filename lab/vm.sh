# shellcheck shell=bash
# A lab host with a kernel of its own (qemu): for what nspawn hosts can't show, such as a kernel log, the OOM killer and cgroup2
# alone. Sourced by hosts.sh.
# It goes first on a busy machine: emulation is slow enough by itself.
#
# It stands on the same root file system as the others, as an image that all labs read, below an overlay on a disk of its own.
# Emulated, since KVM is often missing or broken where CI runs; DDTREE_LAB_ACCEL=kvm asks for it. Its link has the name that nspawn would give, so cut, plug and delay are the same.

readonly VM_MEMORY_MIB=1024 VM_DISK=8G
# In the order in which the initial RAM disk loads them; those that the kernel has built in are left out.
readonly VM_MODULES=(virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk failover net_failover
  virtio_net crc16 crc32c_generic libcrc32c mbcache jbd2 ext4 overlay)

is_vm() { [ -e "$STATE/hosts/$1/vm" ]; }

install_vm_tools() {
  local missing=() pair
  for pair in qemu-system-x86_64:qemu-system-x86 mke2fs:e2fsprogs cpio:cpio depmod:kmod; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  [ ${#missing[@]} = 0 ] && return
  apt-get update -qq >/dev/null 2>&1 || true
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    die "can't install ${missing[*]} (apt-get install failed)"
}

vm_files() { # what a VM of this base boots from: kernel, initrd, root.ext4
  local recipe
  recipe=$({ declare -f fetch_kernel make_initrd make_root_image && echo "${VM_MODULES[*]}" && cat "$STATE/base"; } | sha256sum)
  echo "$CACHE/vm-${recipe:0:12}"
}

build_vm_files() { # once per base, a few seconds; the kernel's package is kept
  local files=$1 base=$2 new=$CACHE/new.$$-vm fd
  [ -d "$files" ] && return
  exec {fd}<"$CACHE"
  flock "$fd"
  if [ ! -d "$files" ]; then
    rm -rf "$CACHE"/new.*-vm
    say "building what a virtual host boots from (once, about 20 seconds)"
    mkdir -p "$new"
    fetch_kernel
    make_initrd "$new"
    make_root_image "$new" "$base"
    cp "$CACHE/kernel/vmlinuz" "$new/kernel"
    mv "$new" "$files"
    find "$CACHE" -maxdepth 1 -name 'vm-*' -mtime +7 ! -path "$files" -exec rm -rf {} + # a VM that runs keeps what it has open
  fi
  exec {fd}<&-
}

fetch_kernel() { # Debian's kernel for clouds, and a static busybox for the initial RAM disk
  local name new=$CACHE/new.kernel
  [ -d "$CACHE/kernel" ] && return
  rm -rf "$new"
  mkdir -p "$new/debs" "$new/tree"
  apt-get update -qq >/dev/null 2>&1 || true
  name=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p;T;q')
  [ -n "$name" ] || die "no package source here has linux-image-cloud-amd64"
  (cd "$new/debs" && apt-get download -qq "$name" busybox-static >/dev/null 2>&1) || die "can't fetch $name and busybox-static"
  for name in "$new"/debs/*.deb; do dpkg-deb --extract "$name" "$new/tree"; done
  mkdir -p "$new/modules/usr/lib"
  cp "$new"/tree/boot/vmlinuz-* "$new/vmlinuz"
  find "$new/tree" -path '*bin/busybox' -type f -exec cp {} "$new/busybox" \;
  cp -a "$(find "$new/tree" -path '*lib/modules' -type d)" "$new/modules/usr/lib/"
  rm -rf "$new/debs" "$new/tree"
  mv "$new" "$CACHE/kernel"
}

make_initrd() { # directory
  local tree=$1/tree module file
  mkdir -p "$tree"/{bin,modules,proc,sys,dev,lower,upper,new}
  cp "$CACHE/kernel/busybox" "$tree/bin/busybox"
  for module in "${VM_MODULES[@]}"; do
    file=$(find "$CACHE/kernel/modules" -name "$module.ko*" | head -n1)
    if [ -n "$file" ]; then cp "$file" "$tree/modules/"; fi
  done
  install -m 755 /dev/stdin "$tree/init" <<INIT
#!/bin/busybox sh
b=/bin/busybox
\$b mount -t proc proc /proc; \$b mount -t sysfs sysfs /sys; \$b mount -t devtmpfs dev /dev
for m in ${VM_MODULES[*]}; do if [ -e /modules/\$m.ko ]; then \$b insmod /modules/\$m.ko; fi; done
i=0; while [ ! -b /dev/vdb ] && [ \$i -lt 200 ]; do \$b sleep 0.05; i=\$((i+1)); done
\$b mount -t ext4 -o ro /dev/vda /lower; \$b mount -t ext4 /dev/vdb /upper
if [ ! -e /upper/known ]; then \$b mkdir -p /upper/up /upper/work; \$b cp -a /identity/. /upper/up/; \$b touch /upper/known; fi
\$b mount -t overlay -o lowerdir=/lower,upperdir=/upper/up,workdir=/upper/work overlay /new
exec \$b switch_root /new /lib/systemd/systemd
INIT
  (cd "$tree" && find . | cpio --quiet -o -H newc | gzip -1) >"$1/initrd"
  rm -rf "$tree"
}

make_root_image() { # directory, base: the base with the kernel's modules; mounts are seen by nobody else
  unshare --mount --propagation private bash -euo pipefail -c '
    mkdir "$1/merged" "$1/more"
    cp -a "$3/modules/usr" "$1/more/"
    depmod --basedir "$1/more/usr" "$(ls "$1/more/usr/lib/modules")"
    mount -t overlay overlay -o "lowerdir=$1/more:$2" "$1/merged"
    mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$1/merged" "$1/root.ext4" 2G >/dev/null
    umount "$1/merged"
  ' build "$1" "$2" "$CACHE/kernel" || die "can't make the image of a virtual host"
  rm -rf "$1/merged" "$1/more"
}

vm_up() { # NAME[=PROFILE], a host to begin as a copy of or nothing
  local entry=$1 host=${1%%=*} like=${2:-} profile
  [[ $host =~ ^[a-z][a-z0-9-]{0,39}$ ]] || die "'$host' can't be a host name: use a-z, 0-9 and -"
  profile=$(profile_of "$entry")
  prepare_lab
  install_vm_tools
  build_vm_files "$(vm_files)" "$(<"$STATE/base")"
  if [ -n "$like" ]; then
    need_host "$like"
    [ ! -d "$STATE/hosts/$host" ] || die "$host is there already"
  fi
  create_host "$host" "$profile" vm
  is_vm "$host" || die "$host is there already, without a kernel of its own"
  if [ -n "$like" ]; then copy_changes "$like" "$host"; fi
  revive_host "$host"
  start_host "$host"
  wait_ssh "$host"
}

copy_changes() { # what another host has written so far, but for what makes it that host
  tar -C "$STATE/hosts/$1/up" --exclude=./etc/ssh --exclude=./etc/hostname --exclude=./etc/hosts --exclude=./etc/machine-id \
    --exclude=./etc/systemd/network --exclude=./root --exclude=./run --exclude=./tmp --exclude=./var/log --exclude=./var/tmp \
    --exclude=./opt/ddtree/uv-cache --exclude=./opt/ddtree/tools -cf - . | tar -C "$STATE/hosts/$2/up" -xf -
}

start_vm() { # host: qemu in the host's cgroup, with its identity as a second archive behind the initial RAM disk
  local host=$1 directory=$STATE/hosts/$1 files tap
  files=$(vm_files)
  tap=$(link "$host")
  [ -e "$directory/disk" ] || mke2fs -q -t ext4 "$directory/disk" "$VM_DISK" >/dev/null
  mkdir -p "$directory/archive/identity"
  cp -a "$directory/up/." "$directory/archive/identity/"
  { cat "$files/initrd" && cd "$directory/archive" && find . | cpio --quiet -o -H newc | gzip -1; } >"$directory/initrd"
  ip link delete "$tap" 2>/dev/null || true
  ip tuntap add "$tap" mode tap
  ip link set "$tap" mtu "$(<"$STATE/mtu")" master "$(bridge)" up
  (
    mkdir -p "$CGROUP/$host" && echo "$BASHPID" >"$CGROUP/$host/cgroup.procs"
    # Where the scheduler groups by session, a process's own priority counts for nothing beside other sessions (sched(7)).
    exec setsid sh -c 'echo -10 2>/dev/null >/proc/self/autogroup; exec "$@"' vm \
      nice -n -10 qemu-system-x86_64 -accel "${DDTREE_LAB_ACCEL:-tcg,tb-size=256}" -cpu max -smp 2 -m "$VM_MEMORY_MIB" -M q35 -nodefaults \
      -no-user-config -display none -serial "file:$directory/console.log" -kernel "$files/kernel" -initrd "$directory/initrd" \
      -append "console=ttyS0 quiet net.ifnames=0 mitigations=off" \
      -drive "file=$files/root.ext4,format=raw,if=none,id=root,readonly=on" -device virtio-blk-pci,drive=root \
      -drive "file=$directory/disk,format=raw,if=none,id=own,cache=unsafe" -device virtio-blk-pci,drive=own \
      -netdev "tap,id=net,ifname=$tap,script=no,downscript=no" \
      -device "virtio-net-pci,netdev=net,mac=02:99:01:00:$(printf %02x:%02x "$(lab_number)" "$(host_number "$host")")" \
      >>"$directory/qemu.log" 2>&1 </dev/null 8<&- 9<&-
  ) &
  until alive "$host"; do sleep 0.02; done
}

stop_vm() {
  ssh_to "$1" systemctl poweroff 2>/dev/null || true
  wait_empty "$CGROUP/$1" || kill_cgroup "$CGROUP/$1"
}
