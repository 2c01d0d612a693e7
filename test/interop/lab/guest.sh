# shellcheck shell=sh
# What the guests' scripts share: steps and their failures, an RDMA device, the kernel's NVMe
# target and host. Sourced: . /lab/guest.sh
failures=0

step() { echo "=== $(cut -d' ' -f1 /proc/uptime) $*"; }
failed() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
# must COMMAND...: it has to succeed.
must() { "$@" || failed "$* (exit code $?)"; }
# says TEXT COMMAND...: it has to succeed and to print TEXT, an extended regular expression.
says() {
  wanted=$1
  shift
  "$@" > /tmp/said 2>&1
  code=$?
  [ $code = 0 ] || failed "$* (exit code $code): $(tail -5 /tmp/said)"
  grep -E -m 3 -- "$wanted" /tmp/said || failed "$*: not '$wanted', but: $(tail -20 /tmp/said)"
}
# refuses TEXT COMMAND...: it has to fail, not by a signal, and to print TEXT.
refuses() {
  wanted=$1
  shift
  "$@" > /tmp/said 2>&1
  code=$?
  if [ $code = 0 ] || [ $code -gt 123 ]; then failed "$* (exit code $code: it should refuse)"; fi
  grep -E -m 3 -- "$wanted" /tmp/said || failed "$*: not '$wanted', but: $(tail -20 /tmp/said)"
}
# pings OPTION...: every request is answered. For the last one ping waits as long as two round trips
# take, however much -W says: too short on a busy machine, so it may try three times.
pings() {
  for _ in 1 2 3; do
    ping "$@" > /tmp/said 2>&1
    grep " 0% packet loss" /tmp/said && return
  done
  failed "ping $*: $(tail -20 /tmp/said)"
}
now() { cut -d. -f1 /proc/uptime; }
# within SECONDS COMMAND...: it has to succeed by then; it is tried several times a second. A slow
# machine has more patience.
within() {
  limit=$(($1 * ${PATIENCE:-1}))
  last=$(($(now) + limit))
  shift
  until "$@" > /dev/null 2>&1; do
    if [ "$(now)" -gt $last ]; then
      failed "$* (not within $limit s)"
      return 1
    fi
    sleep 0.1
  done
}
# ends: the last line of a script; its exit code tells whether anything failed.
ends() {
  complaints=$(dmesg | grep -E 'BUG:|Oops|WARNING:|Call Trace|general protection' | head -5)
  [ -z "$complaints" ] || failed "the guest's kernel complains: $complaints"
  if [ $failures = 0 ]; then echo "ALL PASSED"; else echo "$failures FAILED"; fi
  [ $failures = 0 ]
  exit
}

# start_rdma ADDRESS [DEVICE]: soft-RoCE on a network card, else on a dummy one.
start_rdma() {
  card=${2:-dummy0}
  modprobe -a rdma_rxe rdma_ucm ib_uverbs virtio_net dummy || exit 1
  ip link set "$card" up mtu 9000 # for RDMA packets of 4096 bytes: fewer are faster here
  ip addr add "$1/24" dev "$card"
  rdma link add rxe0 type rxe netdev "$card" || exit 1
  # The GID of the address comes a little later.
  gid=$(echo "$1" | { IFS=. read -r a b c d && printf '%02x%02x:%02x%02x' "$a" "$b" "$c" "$d"; })
  within 5 grep -rqi "ffff:$gid" /sys/class/infiniband/rxe0/ports/1/gids
}

# lose_packets: as many as LOSS says ("0.5%"), of those that leave through eth0.
lose_packets() {
  [ -n "${LOSS:-}" ] || return 0
  modprobe sch_netem
  must tc qdisc add dev eth0 root netem loss "$LOSS"
}
# count_lost: how many were.
count_lost() {
  [ -n "${LOSS:-}" ] || return 0
  says "dropped [1-9]" tc -s qdisc show dev eth0
}

target=/sys/kernel/config/nvmet
start_target() {
  modprobe -a nvmet nvmet-rdma || exit 1
  modprobe null_blk nr_devices=0 || exit 1
  grep -q /sys/kernel/config /proc/mounts || mount -t configfs configfs /sys/kernel/config
}
# ram_disk NAME MIB BLOCK_BYTES: makes a disk in memory; disk is its device.
ram_disk() {
  node=/sys/kernel/config/nullb/$1
  mkdir "$node"
  echo "$2" > "$node/size"
  echo "$3" > "$node/blocksize"
  echo 1 > "$node/memory_backed"
  echo 1 > "$node/power" || failed "the disk $1"
  disk=/dev/$1
  [ -e "$disk" ] || disk=/dev/nullb$(cat "$node/index")
}
# export_subsystem NQN [HOST_NQN]: for that host only, else for any.
export_subsystem() {
  mkdir "$target/subsystems/$1"
  if [ -z "${2:-}" ]; then
    echo 1 > "$target/subsystems/$1/attr_allow_any_host"
  else
    mkdir -p "$target/hosts/$2"
    ln -s "$target/hosts/$2" "$target/subsystems/$1/allowed_hosts/$2"
  fi
}
# export_namespace NQN NSID DEVICE
export_namespace() {
  mkdir "$target/subsystems/$1/namespaces/$2"
  echo "$3" > "$target/subsystems/$1/namespaces/$2/device_path"
  echo 1 > "$target/subsystems/$1/namespaces/$2/enable" || failed "namespace $2 of $1"
}
# open_port ADDRESS PORT NQN...
open_port() {
  mkdir "$target/ports/1"
  echo rdma > "$target/ports/1/addr_trtype"
  echo ipv4 > "$target/ports/1/addr_adrfam"
  echo "$1" > "$target/ports/1/addr_traddr"
  echo "$2" > "$target/ports/1/addr_trsvcid"
  shift 2
  for one in "$@"; do
    ln -s "$target/subsystems/$one" "$target/ports/1/subsystems/$one" || failed "the port of $one"
  done
}

# start_host: the kernel's host.
start_host() { modprobe nvme-rdma || exit 1; }
# controller NQN [HOST_NQN]: prints the name of a connected controller.
controller() {
  for one in /sys/class/nvme/nvme*; do
    [ "$(cat "$one/subsysnqn" 2>/dev/null)" = "$1" ] || continue
    [ -z "${2:-}" ] || [ "$(cat "$one/hostnqn")" = "$2" ] || continue
    basename "$one"
    return
  done
  return 1
}
# block_device NQN NSID [HOST_NQN]: prints the block device of a connected namespace.
block_device() {
  one=$(controller "$1" "${3:-}") || return 1
  for space in "/sys/class/nvme/$one/$one"n*; do
    [ "$(cat "$space/nsid" 2>/dev/null)" = "$2" ] || continue
    [ -b "/dev/$(basename "$space")" ] && echo "/dev/$(basename "$space")" && return
  done
  return 1
}
# sum_of DEVICE MIB: what the device holds, read past the cache.
sum_of() { dd if="$1" bs=1M count="$2" iflag=direct 2>/dev/null | sha256sum | cut -d' ' -f1; }
# grep_dmesg REGEX: the kernel has said so.
grep_dmesg() { dmesg | grep -E "$1"; }
# same WHAT A B
same() {
  if [ -n "$2" ] && [ "$2" = "$3" ]; then echo "$1: $2"; else failed "$1: $2 and $3 differ"; fi
}
# files_on DEVICE: makes XFS there, writes a file, reads it again after a remount, checks the lot.
files_on() {
  modprobe xfs
  mkdir -p /mnt
  must mkfs.xfs -q -f "$1"
  must mount "$1" /mnt
  head -c 8388608 /dev/urandom > /tmp/file
  must cp /tmp/file /mnt/file
  must umount /mnt
  must mount "$1" /mnt
  must cmp /tmp/file /mnt/file
  must umount /mnt
  must xfs_repair -n "$1" > /tmp/repair 2>&1 || tail -3 /tmp/repair
}
