# Shared by the scripts of this folder: finds or installs what the build needs. Sourced, not run.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cccl_version=13.0.85
cccl_dir=$root/build/cccl/nvidia/cu13/include/cccl
jobs=$(nproc)

# Debian package, and a command or a header that shows it is there.
# shellcheck disable=SC2034 # used by the scripts that source this file
{
packages=(
  "build-essential g++"
  "cmake cmake"
  "ninja-build ninja"
  "python3 python3"
  "libboost-context-dev boost/context/detail/fcontext.hpp"
  "libfmt-dev fmt/format.h"
  "libspdlog-dev spdlog/spdlog.h"
  "uuid-dev uuid/uuid.h"
  "libcli11-dev CLI/CLI.hpp"
  "nlohmann-json3-dev nlohmann/json.hpp"
  "libibverbs-dev infiniband/mlx5dv.h"
  "librdmacm-dev rdma/rdma_cma.h"
)
test_packages=(
  "doctest-dev doctest/doctest.h"
  "libnvme-dev nvme/types.h"
  "xfslibs-dev xfs/xfs_format.h" # brings mkfs.xfs
)
# Of thorough runs alone: Debian starts this server where it installs it.
thorough_packages=("etcd-server etcd")
# Of gnstord and gnstorctl, which are left out where it is missing.
control_packages=(
  "libgrpc++-dev grpcpp/grpcpp.h"
  "libprotobuf-dev google/protobuf/message.h"
  "protobuf-compiler protoc"
  "protobuf-compiler-grpc grpc_cpp_plugin"
  "prometheus-cpp-dev prometheus/exposer.h"
)
# Of the plugin that exports volumes by NBD, which is left out where its header is missing; and the
# clients that its tests use.
nbd_packages=("nbdkit-plugin-dev nbdkit-plugin.h")
nbd_test_packages=(
  "nbdkit nbdkit"
  "libnbd-bin nbdcopy"
  "python3-libnbd nbdsh"
  "qemu-utils qemu-img"
  "fio fio"
)
bench_packages=("libbenchmark-dev benchmark/benchmark.h")
}

# The tests have to be compiled in little time, and with them README's first command: sources
# several at a time, headers of others precompiled, little optimisation, no debug information.
# shellcheck disable=SC2034
quick_build=(-DGNSTOR_UNITY_BUILD=ON "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1")

note() { printf '%s\n' "$*" >&2; }
die() { note "$*"; exit 1; }

has_nvcc() { command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; }
has_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; }

has_cccl() { [[ -e $cccl_dir/cuda/std/atomic ]]; }
has_pip() { python3 -m pip --version >/dev/null 2>&1; }

has() {
  command -v "$1" >/dev/null && return
  local prefix more=${CMAKE_PREFIX_PATH:-}
  for prefix in /usr /usr/local ${more//[:;]/ }; do
    [[ -e $prefix/include/$1 ]] && return
  done
  return 1
}

# Runs apt-get as whoever may; prints the command where nobody may.
apt_install() {
  local command="apt-get install -y --no-install-recommends $*" as=()
  command -v apt-get >/dev/null || die "missing here; on Debian: $command"
  if [[ $(id -u) -ne 0 ]]; then
    sudo -n true 2>/dev/null || die "please run: sudo $command"
    as=(sudo -n)
  fi
  note "installing: $*"
  "${as[@]}" apt-get update -q >&2 || note "apt-get update failed; trying with the lists at hand"
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "$@" >&2
}

# Installs the packages of the given "package proof" lines whose proof is missing.
ensure_packages() {
  local line package proof missing=()
  for line in "$@"; do
    read -r package proof <<<"$line"
    has "$proof" || missing+=("$package")
  done
  if ! has_nvcc && ! has_cccl && ! has_pip; then missing+=(python3-pip); fi
  if [[ ${#missing[@]} -gt 0 ]]; then apt_install "${missing[@]}"; fi
}

# Sets `configure`: the options every configuration gets. libcu++ comes from the toolkit, else PyPI.
ensure_libcudacxx() {
  configure=()
  [[ -d /usr/local/cuda/bin ]] && PATH=$PATH:/usr/local/cuda/bin
  if ! has_nvcc; then
    if ! has_cccl; then
      note "fetching libcu++ (nvidia-cuda-cccl $cccl_version)"
      python3 -m pip install -q --no-deps --disable-pip-version-check --root-user-action=ignore \
        --upgrade --target "$root/build/cccl" "nvidia-cuda-cccl==$cccl_version" >&2
    fi
    configure+=("-DGNSTOR_CCCL_DIR=$cccl_dir")
  fi
  if command -v ccache >/dev/null; then
    configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
}

# Configures a preset: configure_preset <preset> [option...]
configure_preset() {
  local preset=$1
  shift
  (cd "$root" && cmake --preset "$preset" "${configure[@]}" "$@") >&2
}

# The commit the sources are at, marked when they differ from it.
commit() {
  local id
  id=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null) || { echo unknown; return; }
  git -C "$root" diff --quiet HEAD -- 2>/dev/null || id+=-dirty
  echo "$id"
}

# The machine in a word: its GPUs, or its processor and cores.
machine() {
  local name count=1
  if has_gpu; then
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)
    count=$(nvidia-smi -L | grep -c '^GPU')
    [[ $count -gt 1 ]] && name="$count x $name"
  else
    name="$(uname -m) $jobs cores"
  fi
  tr '[:upper:] ' '[:lower:]-' <<<"$name" | tr -cd 'a-z0-9_\n-'
}
