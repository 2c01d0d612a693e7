#!/bin/sh
# Rights on an array that gnstor-target serves: between gnstor's hosts, and towards a plain host.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
start_rdma $address
start_host
serve $address:4420 --array 'emu:?ssds=4&capacity=128M'

step "gnstor's hosts among themselves"
must interop_rights --endpoint "rdma://$address/$array_nqn"

step "a volume whose writer is a gnstor host, seen by a plain host"
stop_serving
serve $address:4420 --array 'emu:?ssds=4&capacity=128M'
must interop_rights --endpoint "rdma://$address/$array_nqn" --keep
volume=$volume_nqn.1
offered() { nvme discover -t rdma -a $address -s 4420 | grep -q "$volume\$"; }
within 10 offered # the target looks for new volumes every second
plug "$volume"
device=$(block_device "$volume" 1)
same "it reads what was written" "$(head -c 65536 /dev/zero | tr '\0' '\1' | sha256sum)" \
  "$(dd if="$device" bs=64k count=1 iflag=direct 2> /dev/null | sha256sum)"
head -c 65536 /dev/urandom > /tmp/a
must test -b "$device"
refuses "" dd if=/tmp/a of="$device" bs=64k oflag=direct
refuses "eservation" nvme write "$device" -s 0 -c 0 -z 4096 -d /tmp/a
must nvme disconnect -n "$volume"
stop_serving
ends
