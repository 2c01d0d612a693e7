# shellcheck shell=bash
# What the tests share. A test is an executable FILE.test beside guest-lab; it runs on this machine,
# starts guests, and ends with 0 (passed), 77 (skipped) or anything else (failed).
# Environment: GNSTOR_BUILD, the build folder whose programs the guests run; GNSTOR_GUESTS_UNTIL.
set -u -o pipefail
interop=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lab=$interop/guest-lab
build=${GNSTOR_BUILD:-$interop/../../build/host}
work=$(mktemp -d "${TMPDIR:-/tmp}/interop.XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT

# guest <script of guest/> [option of guest-lab]...: runs a guest to its end.
guest() {
  local script=$interop/guest/$1
  shift
  "$lab" --script "$script" --copy "$interop"/lab/{guest,target,files,local}.sh "$@"
}

# Pulls devices out whose names the guest writes to /share/pull, one at a time, until it is ended.
# QEMU has to run with --share "$work/share" --qmp "$work/qmp".
pull_out() {
  local name
  while true; do
    sleep 0.1
    [[ -s $work/share/pull ]] || continue
    name=$(< "$work/share/pull")
    rm "$work/share/pull"
    unplug "$name"
  done
}
# unplug <device>: asks QEMU.
unplug() {
  "${GNSTOR_PYTHON:-python3}" - "$work/qmp" "$1" << 'END'
import json
import socket
import sys

s = socket.socket(socket.AF_UNIX)
s.settimeout(10)
s.connect(sys.argv[1])
f = s.makefile("rw")
f.readline()
for command in ({"execute": "qmp_capabilities"},
                {"execute": "device_del", "arguments": {"id": sys.argv[2]}}):
    f.write(json.dumps(command) + "\n")
    f.flush()
    print("QMP:", f.readline().strip(), flush=True)
END
}

# The path of a program of this build: program <name>
program() {
  local folder
  for folder in test tools examples; do
    [[ -x $build/$folder/$1 ]] && { echo "$build/$folder/$1"; return; }
  done
  echo "$1 is not built in $build" >&2
  return 1
}

# pair <script a> <script b> [option]...: two guests on one link; fails if one of them does. With
# --pcap, what a sends and receives is written.
pair() {
  local a=$1 b=$2 first second others=()
  shift 2
  local all=("$@")
  while [[ $# -gt 0 ]]; do
    if [[ $1 == --pcap ]]; then shift; else others+=("$1"); fi
    shift
  done
  guest "$a" --link "a:$work/link" "${all[@]}" > "$work/a" 2>&1 &
  first=$!
  guest "$b" --link "b:$work/link" "${others[@]}"
  second=$?
  wait "$first"
  first=$?
  sed 's/^/far: /' "$work/a"
  [[ $first -eq 0 && $second -eq 0 ]]
}

# Where time is limited, guests that have not begun by then, in seconds since 1970, do not.
if [[ -n ${GNSTOR_GUESTS_UNTIL:-} && $(date +%s) -ge $GNSTOR_GUESTS_UNTIL ]]; then
  echo "left for another run: the time for guests is over"
  exit 77
fi
"$lab" --prepare || exit
