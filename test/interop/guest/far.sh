#!/bin/sh
# One end of a link: the kernel's target at port 4420, gnstor-target at 4421, until the other end
# (near.sh) says how it went.
. /lab/guest.sh
. /lab/target.sh
start_rdma 10.9.0.1 eth0
lose_packets
start_target
export_subsystem nqn.2026-11.test:disk
ram_disk disk 64 512
export_namespace nqn.2026-11.test:disk 1 "$disk"
open_port 10.9.0.1 4420 nqn.2026-11.test:disk
serve 10.9.0.1:4421 --array 'emu:?ssds=4&capacity=512M' --volume 384M
echo ready | nc -l -p 7000
nc -l -p 7001 > /tmp/verdict
must grep -q passed /tmp/verdict
stop_serving
count_lost
ends
