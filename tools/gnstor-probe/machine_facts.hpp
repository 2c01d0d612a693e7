#pragma once
/// What a machine has and allows, as far as endpoints depend on it: plain data, gathered by
/// `gather` from files and by `try_devices` from the devices themselves, judged by `judge`.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::host::probe {

/// Something that was tried on the device itself, because no file tells.
struct trial {
  bool tried = false;
  bool works = false;
  std::string why;  ///< in words: how it works, or what was refused
};

/// Whether this process may read and write a device file.
enum class node_access { missing, denied, usable };

/// A device file under /dev.
struct device_node {
  std::string path;
  node_access access = node_access::missing;
};

struct gpu_facts {
  std::string pci;   ///< "0000:19:00.0"; empty if only CUDA knows the device
  std::string name;  ///< empty without a driver
  int major = 0;     ///< compute capability; 0 if unknown
  int minor = 0;
  std::optional<bool> dma_buf;   ///< exports memory as dma-buf
  std::optional<bool> peer_dma;  ///< offers GPUDirect RDMA
};

struct nvidia_driver_facts {
  std::string version;  ///< "580.95.05"; empty without a loaded driver
  bool open_modules = false;
  std::string registry;  ///< the driver's RegistryDwords
  std::vector<device_node> nodes;
  trial cuda;                           ///< whether CUDA starts
  std::optional<int> cuda_version;      ///< newest that the driver runs: 13000 for CUDA 13.0
  std::optional<bool> registry_is_set;  ///< PeerMappingOverride=1; nothing where it cannot be read
};

struct rdma_port_facts {
  int number = 1;
  bool active = false;
  bool ethernet = false;
  bool addressed = false;  ///< has a GID that RDMA CM can route: RoCE v2 with an IP address
  std::string state;       ///< "4: ACTIVE"
  std::string netdev;
};

struct rdma_device_facts {
  std::string name;
  std::string driver;  ///< "mlx5_core", "rdma_rxe", ...
  std::string firmware;
  std::string pci;
  std::string iommu_type;  ///< of its group: "identity", "DMA-FQ", ...; empty without IOMMU
  device_node node;        ///< its uverbs file
  std::vector<rdma_port_facts> ports;
  trial opens;
  trial registers;   ///< as much host memory as a session registers
  trial devx;        ///< mlx5 only
  trial doorbell;    ///< mlx5 only: its UAR page mapped for the first GPU
  trial gpu_memory;  ///< memory of the first GPU registered
};

/// An NVMe controller on this machine's bus, or an Ethernet controller that kernels can drive.
struct controller_facts {
  std::string pci;                      ///< "0000:01:00.0"
  std::string driver;                   ///< "nvme", "vfio-pci"; empty: none
  bool translated = false;              ///< an IOMMU stands before its memory accesses
  std::vector<std::string> companions;  ///< others of its IOMMU group
  device_node group;                    ///< /dev/vfio/GROUP; no path without an IOMMU
  device_node registers;                ///< its first BAR in sysfs
  std::vector<std::string> disks;       ///< "nvme0n1": what Linux has made of its namespaces
  std::vector<device_node> disk_nodes;  ///< of them
  std::string use;  ///< "/dev/nvme0n1 is mounted on /data", "eth1 is up"; empty: none known
};

enum class module_state { absent, available, loaded, built_in };

struct kernel_facts {
  std::string release;
  std::map<std::string, module_state> modules;  ///< those that endpoints may need
  std::optional<bool> dma_buf;                  ///< has dma-buf; nothing if unknown
  std::optional<bool> infiniband;               ///< has any RDMA; nothing if unknown
  std::vector<std::string> ethernet;            ///< names of Ethernet devices, those in use first
  std::uint32_t iommu_groups = 0;
  std::uint32_t translating_groups = 0;      ///< of those, how many do not map one to one
  std::uint32_t bridges = 0;                 ///< PCI bridges whose ACS bits could be read
  std::uint64_t free_huge_pages = 0;         ///< of 2 MiB
  std::uint32_t io_uring_disabled = 0;       ///< 0: everybody may; 1: a group; 2: nobody
  std::vector<std::string> acs_redirecting;  ///< bridges that send peer traffic to the root
};

struct process_facts {
  std::uint64_t locked_memory_bytes = 0;  ///< the limit; ~0 without one
  bool may_lock_any = false;              ///< holds CAP_IPC_LOCK
  bool is_root = false;                   ///< holds CAP_SYS_ADMIN
  bool may_make_interfaces = false;       ///< holds CAP_NET_ADMIN
  bool lazy_loading = false;              ///< CUDA_MODULE_LOADING=LAZY
};

/// What this build of the library was made with.
struct build_facts {
  bool cuda = false;
  bool rdma = false;
};

struct machine_facts {
  build_facts build;
  process_facts process;
  kernel_facts kernel;
  nvidia_driver_facts nvidia;
  std::vector<gpu_facts> gpus;
  std::vector<rdma_device_facts> rdma;
  std::vector<controller_facts> nvme;
  std::vector<controller_facts> ethernet;
  std::vector<std::string> rdma_nodes;  ///< everything in /dev/infiniband
  device_node connection_manager;       ///< /dev/infiniband/rdma_cm
  device_node udmabuf;                  ///< /dev/udmabuf
  device_node tun;                      ///< /dev/net/tun
};

/// Memory that a session with RDMA registers at least: a few channels with pools of 8 MiB.
inline constexpr std::uint64_t registered_bytes = std::uint64_t{64} << 20;

}  // namespace gnstor::host::probe
