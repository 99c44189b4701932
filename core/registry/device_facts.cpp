// Device facts, owned, with the view that crosses to plugins.
#include "registry/abi_text.hpp"
#include "tenon/core/device_table.hpp"

namespace tenon {

using detail::clean_text;
using detail::str_of;
using detail::view_of;

DeviceFacts::DeviceFacts(const tenon_device& d) {
  Fields f;
  f.kind = view_of(d.kind);
  f.arch = clean_text(view_of(d.arch));
  f.name = clean_text(view_of(d.name));
  f.pci = clean_text(view_of(d.pci));
  f.uuid = clean_text(view_of(d.uuid));
  for (std::uint64_t i = 0; d.runs_archs != nullptr && i < d.n_runs_archs; ++i) {
    f.runs_archs.push_back(clean_text(view_of(d.runs_archs[i])));
  }
  f.index = d.index;
  f.dlpack_type = d.dlpack_type;
  f.unit_count = d.unit_count;
  f.warp_size = d.warp_size;
  f.memory_bytes = d.memory_bytes;
  f.shared_per_block_bytes = d.shared_per_block_bytes;
  f.shared_per_unit_bytes = d.shared_per_unit_bytes;
  f.flags = d.flags;
  fields_ = std::make_shared<const Fields>(std::move(f));
  bind();
}

DeviceFacts::DeviceFacts(Fields fields)
    : fields_(std::make_shared<const Fields>(std::move(fields))) {
  bind();
}

void DeviceFacts::bind() {
  const Fields& f = *fields_;
  std::vector<tenon_str> archs;
  for (const std::string& a : f.runs_archs) archs.push_back(str_of(a));
  archs_ = std::make_shared<const std::vector<tenon_str>>(std::move(archs));
  abi_ = {};
  abi_.struct_size = sizeof abi_;
  abi_.kind = str_of(f.kind);
  abi_.arch = str_of(f.arch);
  abi_.runs_archs = archs_->data();
  abi_.n_runs_archs = archs_->size();
  abi_.index = f.index;
  abi_.dlpack_type = f.dlpack_type;
  abi_.unit_count = f.unit_count;
  abi_.warp_size = f.warp_size;
  abi_.memory_bytes = f.memory_bytes;
  abi_.shared_per_block_bytes = f.shared_per_block_bytes;
  abi_.shared_per_unit_bytes = f.shared_per_unit_bytes;
  abi_.flags = f.flags;
  abi_.name = str_of(f.name);
  abi_.pci = str_of(f.pci);
  abi_.uuid = str_of(f.uuid);
}

}  // namespace tenon
