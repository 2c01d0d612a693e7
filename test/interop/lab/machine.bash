# shellcheck shell=bash disable=SC2154,SC2054 # sourced by guest-lab, which sets the variables
# Runs QEMU on $scratch/initrd and exits with what the guest's script said.

# Adds NVMe controller number $1, as --nvme says: add_nvme <number> <spec>
add_nvme() {
  local id=nvme$1 words=() spaces=() properties="" shared="" bad="" word nsid=0 bytes block node
  IFS=, read -ra words <<< "$2"
  IFS=+ read -ra spaces <<< "${words[0]}"
  for word in "${words[@]:1}"; do
    case $word in
      bad=*) bad=${word#bad=} ;;
      vfs=*)
        # Four queues and an admin queue for each, and as many for the physical function.
        word=${word#vfs=}
        machine+=(-device "nvme-subsys,id=subsys$1,nqn=nqn.2026-11.io.gnstor:lab$1")
        properties+=,subsys=subsys$1,sriov_max_vfs=$word,sriov_vq_flexible=$((5 * word))
        properties+=,sriov_vi_flexible=$word,max_ioqpairs=$((5 * word + 4)),msix_qsize=$((word + 5))
        shared=,shared=on ;;
      *) properties+=,$word ;;
    esac
  done
  machine+=(-device "pcie-root-port,id=root$1,slot=$(($1 + 1)),chassis=$(($1 + 1))"
    -device "nvme,id=$id,serial=LAB$1,bus=root$1$properties")
  for word in "${spaces[@]}"; do
    nsid=$((nsid + 1))
    bytes=${word%%:*} block=${word#*:}
    [[ $word == *:* ]] || block=512
    node=${id}n$nsid
    truncate -s "$bytes" "$scratch/$node" || die 2 "--nvme: $bytes is no size"
    if [[ $nsid -eq 1 && -n $bad ]]; then
      machine+=(-blockdev "driver=blkdebug,node-name=$node,image.driver=raw,image.file.driver=file,\
image.file.filename=$scratch/$node,inject-error.0.event=none,inject-error.0.iotype=read,\
inject-error.0.sector=$bad,inject-error.0.once=off,inject-error.0.errno=5")
    else
      machine+=(-blockdev "driver=raw,node-name=$node,file.driver=file,file.filename=$scratch/$node")
    fi
    machine+=(-device "nvme-ns,drive=$node,bus=$id,nsid=$nsid,logical_block_size=$block,\
physical_block_size=$block$shared")
  done
}

# Sets machine: QEMU's arguments.
describe_machine() {
  local image=$kernel_folder/vmlinux words k
  [[ -s $image ]] || image=$kernel_folder/boot/vmlinuz-$kernel_version
  # Without multipath each controller's namespace is a block device of its own.
  words="console=ttyS0 rdinit=/init panic=-1 mitigations=off no_timer_check watchdog_thresh=60"
  words+=" rcupdate.rcu_cpu_stall_timeout=120 8250.nr_uarts=2 nvme_core.multipath=N"
  if $iommu; then words+=" intel_iommu=on iommu.passthrough=0"; fi
  words+=" $append"
  if $verbose; then words+=" loglevel=7"; else words+=" quiet loglevel=4"; fi
  # An old processor: the vector instructions of newer ones are slow to emulate, a third of a test.
  machine=(-nodefaults -no-user-config -display none -no-reboot -monitor none
    -L "$root/usr/share/qemu" -L "$root/usr/share/seabios"
    -machine q35,smm=off,vmport=off -accel tcg,thread=multi -cpu Nehalem
    -smp "$cpus" -m "$mem"
    -kernel "$image" -initrd "$scratch/initrd" -append "$words"
    -object rng-random,id=rng0,filename=/dev/urandom -device virtio-rng-pci,rng=rng0
    -device isa-debug-exit,iobase=0xf4,iosize=1
    -chardev stdio,id=console,signal=off -serial chardev:console
    -chardev "file,id=control,path=$scratch/control" -serial chardev:control)
  if [[ -n $link ]]; then
    local me=${link%%:*} path=${link#*:} peer=b
    [[ $me == a ]] || peer=a
    # Datagrams over unix sockets: QEMU's TCP link costs 40 ms a round trip.
    machine+=(-netdev "dgram,id=link,local.type=unix,local.path=$path.$me,\
remote.type=unix,remote.path=$path.$peer"
      -device "virtio-net-pci,netdev=link,mac=52:54:00:1a:b0:0$me,romfile=")
    sockets+=("$path.$me")
    [[ -z $pcap ]] || machine+=(-object "filter-dump,id=dump,netdev=link,file=$pcap")
  fi
  if [[ -n $share ]]; then
    machine+=(-fsdev "local,id=share,path=$(cd "$share" && pwd),security_model=none"
      -device virtio-9p-pci,fsdev=share,mount_tag=labshare)
  fi
  # Before the devices behind it; with interrupt remapping, which VFIO asks for.
  if $iommu; then machine+=(-device intel-iommu,intremap=on,caching-mode=on); fi
  for k in "${!nvmes[@]}"; do add_nvme "$k" "${nvmes[$k]}"; done
  for k in "${!nics[@]}"; do
    machine+=(-netdev "hubport,id=nic$k,hubid=$((k + 1))" -device "${nics[$k]},netdev=nic$k")
  done
  if [[ -n $qmp ]]; then
    machine+=(-qmp "unix:$qmp,server=on,wait=off")
    sockets+=("$qmp")
  fi
  machine+=("${qemu_more[@]}")
}

# Runs QEMU to its end, at most `limit` seconds; sets begun, ended and code, and leaves the lines of
# ttyS1 in $scratch/said. Where init is not reached within `boot_limit` seconds it is ended then; 0:
# there is no such limit. run_once <limit> <boot limit>
run_once() {
  local reader guard="" line
  : > "$scratch/said"
  (while IFS= read -r line; do echo "$EPOCHREALTIME $line"; done \
    < "$scratch/control" > "$scratch/said") 9>&- &
  reader=$!
  children=("$reader")
  exec 8> "$scratch/control"  # the reader ends when QEMU and this script have closed it
  begun=$EPOCHREALTIME
  # sed drops carriage returns and the firmware's escapes from the console.
  QEMU_MODULE_DIR=$root/$library_folder/qemu timeout -k 5 "$1" \
    "$loader" --library-path "$root/$library_folder" "$root/usr/bin/qemu-system-x86_64" \
    "${machine[@]}" < /dev/null 8>&- 9>&- \
    > >(exec sed -u 's/\r//g; s/\x1b[c\[][?0-9;]*[A-Za-z]\{0,1\}//g') &
  local qemu=$!
  children+=("$qemu")
  if [[ $2 -gt 0 ]]; then
    (
      for ((second = 0; second < $2; ++second)); do
        sleep 1
        ! booted_at || exit
      done
      kill "$qemu"
    ) > /dev/null 2>&1 8>&- 9>&- &
    guard=$!
    children+=("$guard")
  fi
  wait "$qemu"
  code=$?
  ended=$EPOCHREALTIME
  [[ -z $guard ]] || kill "$guard" 2>/dev/null
  exec 8>&-
  wait "$reader" 2>/dev/null
  children=()
}

# When init was reached; fails if it was not.
booted_at() {
  awk '$2 == "INIT" { print $1; found = 1; exit } END { exit !found }' "$scratch/said"
}

# Runs the guest. Now and then an emulated machine does not come up: one whose init was not reached
# starts again, once.
run_machine() {
  local begun ended code
  describe_machine
  mkfifo "$scratch/control" || die 3 "cannot make a fifo"
  run_once "$timeout" "$boot_limit"
  if ! booted_at > /dev/null; then
    local left
    left=$(awk -v limit="$timeout" -v from="$begun" -v to="$ended" \
      'BEGIN { printf "%d", limit - (to - from) }')
    if [[ $left -gt 0 ]]; then
      say "init was not reached in $(seconds "$begun" "$ended") s (QEMU: $code);" \
        "the guest starts again"
      rm -f "${sockets[@]}"
      run_once "$left" 0
    fi
  fi
  report "$begun" "$ended" "$code"
}

# Says how the run went and exits: report <start of QEMU> <end> <QEMU's exit code>
report() {
  local booted stamp result taint reached=reached
  booted=$(booted_at)
  read -r stamp _ result taint < <(grep -a ' RESULT ' "$scratch/said" | tail -1)
  if [[ -n ${result:-} ]]; then
    say "exit code $result; $(seconds "$1" "$booted") s to init," \
      "$(seconds "$booted" "$stamp") s script, $(seconds "$started" "$2") s in all;" \
      "kernel $kernel_version, taint $taint"
    exit "$result"
  fi
  [[ -n $booted ]] || reached="not reached"
  case $3 in
    124 | 137) die 124 "the guest was ended after $timeout s; its init was $reached" ;;
    *) die 125 "the guest ended without a result (QEMU: $3); its init was $reached; --verbose tells" ;;
  esac
}
