#!/bin/sh
# In a guest of the interop lab: one NVMe controller of QEMU, read by gnstor's kernels on queues of
# their own (WAY: bus or vfio), by the same kernels through Linux (disk:), and by fio with io_uring
# under Linux's driver, in turns. What each said goes to /share, for scripts/beside_linux.py.
. /lab/guest.sh
modprobe -a nvme
. /lab/local.sh
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-2}
size=32M
within 20 disk_of LAB0 1
controller=$(address_of LAB0)

# each BLOCK_BYTES DEPTH of what is measured: each COMMAND
each() {
  "$1" 4K 1
  "$1" 4K 32
  "$1" 128K 8
}
# gnstor_reads NAME ENDPOINT BLOCK DEPTH: fills, reads, and compares what it read with its stamps.
gnstor_reads() {
  must gnstor-perf run --endpoint "$2" --size $size --rw randread --bs "$3" --iodepth "$4" \
    --runtime "$seconds" --quiet --output-json "/share/$round.$1.$3.$4.json" > /tmp/said
  grep -E "not as they were|failed" /tmp/said && failed "$1 $3 $4"
}
by_queue() { gnstor_reads queue "nvme://$controller?scratch=yes&queues=2" "$1" "$2"; }
by_disk() { gnstor_reads disk "disk:$disk?scratch=yes" "$1" "$2"; }
by_fio() {
  must fio --name=reads --filename="$disk" --ioengine=io_uring --direct=1 --rw=randread --bs="$1" \
    --iodepth="$2" --size=$size --norandommap --randrepeat=0 --time_based --runtime="$seconds" \
    --thread --output-format=json --output="/share/$round.fio.$1.$2.json"
}
# sum_by_queue: what the region holds, by gnstor's queues.
sum_by_queue() {
  must gnstor dump "$controller?queues=5" --mib 32 --image /tmp/all > /dev/null
  sum /tmp/all
  rm /tmp/all
}

round=1
while [ $round -le "$rounds" ]; do
  step "round $round"
  must gnstorctl local bind "$controller" --driver $driver > /dev/null
  each by_queue
  seen=$(sum_by_queue)
  must gnstorctl local release "$controller" > /dev/null
  within 20 disk_of LAB0 1
  disk=$(disk_of LAB0 1)
  within 10 test -b "$disk"
  # Every byte that kernels wrote, and read, is what Linux reads.
  same "bytes of round $round" "$(sum_of "$disk" 32)" "$seen"
  each by_fio
  each by_disk
  round=$((round + 1))
done
step "what fio writes it reads: its own check of this disk"
must fio --name=check --filename="$disk" --ioengine=io_uring --direct=1 --rw=randwrite --bs=4K \
  --iodepth=8 --size=2M --verify=crc32c --thread --output=/tmp/check
ends
