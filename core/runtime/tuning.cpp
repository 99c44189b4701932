// Tuning: on synthetic tensors, once per kernel, with results in the plugin's part of the store.
#include "runtime/tuning.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "registry/abi_text.hpp"
#include "runtime/instance.hpp"
#include "runtime/streams.hpp"
#include "runtime/workspace.hpp"
#include "tenon/core/plugin_calls.hpp"

namespace tenon {

// ---- Examples
// ---------------------------------------------------------------------------------------

LaunchExample::LaunchExample(const tenon_launch& launch) : has_call_(launch.call != nullptr) {
  if (launch.call != nullptr) {
    n_fields_ = static_cast<std::size_t>(launch.call->n_fields);
    fields_.assign({launch.call->fields, n_fields_});
    facts_.assign(launch.call->args, launch.call->args + launch.call->n_args);
  }
  first_.assign(launch.arg_first, launch.arg_first + launch.n_args + 1);
  std::vector<const tenon_tensor*> seen;
  for (std::uint32_t i = 0; i < first_.back(); ++i) {
    const tenon_tensor* tensor = launch.tensors[i];
    if (tensor == nullptr) {
      pointers_.push_back(-1);
      continue;
    }
    Shape shape;
    shape.dtype = dtype_from_abi(tensor->dtype).value_or(DType::kUInt8);
    shape.rank = static_cast<std::uint32_t>(tensor->rank);
    for (std::size_t k = 0; k < seen.size(); ++k) {
      const tenon_tensor& other = *seen[k];
      if (other.data == tensor->data && other.byte_offset == tensor->byte_offset &&
          other.rank == tensor->rank &&
          std::equal(tensor->shape, tensor->shape + tensor->rank, other.shape))
        shape.same_as = static_cast<std::int32_t>(k);
    }
    dims_.insert(dims_.end(), tensor->shape, tensor->shape + tensor->rank);
    dims_.insert(dims_.end(), tensor->strides, tensor->strides + tensor->rank);
    pointers_.push_back(static_cast<std::int32_t>(shapes_.size()));
    shapes_.push_back(shape);
    seen.push_back(tensor);
  }
}

Result<Tensor> LaunchExample::filled(DeviceTable& devices,
                                     const DeviceEntry& device,
                                     DType dtype,
                                     std::int64_t elements,
                                     void* stream) const {
  auto made = devices.make_tensor(dtype, Dims{elements}, device.device, stream);
  if (!made) return made;
  auto host = Tensor::host(dtype, Dims{elements});
  if (!host) return host;
  if (info_of(dtype).category == DTypeCategory::kFloat) {
    // A fixed sequence of numbers that none of these dtypes rounds to 0 or to infinity.
    std::uint32_t state = 0x2545f491u;
    const std::size_t size = size_bytes_of(dtype);
    auto* at = host->data<std::byte>();
    for (std::int64_t i = 0; i < elements; ++i, at += size) {
      state = state * 1664525u + 1013904223u;
      const double magnitude = 0.5 + static_cast<double>(state >> 9) / (1u << 24);
      store_from_double(dtype, at, (state & 0x100u) != 0 ? magnitude : -magnitude);
    }
  }
  TENON_TRY(devices.copy_bytes(device.device,
                               made->view().first(),
                               Device{},
                               host->view().first(),
                               static_cast<std::size_t>(elements) * size_bytes_of(dtype)));
  return made;
}

Result<void> LaunchExample::synthesize(DeviceTable& devices,
                                       const DeviceEntry& device,
                                       void* stream,
                                       Synthetic& out) const {
  const std::int64_t* dims = dims_.data();
  for (const Shape& shape : shapes_) {
    const std::int64_t* strides = dims + shape.rank;
    tenon_tensor tensor{};
    tensor.device_type = device.launch.dlpack_type;
    tensor.device_id = device.device.index;
    tensor.rank = static_cast<std::int32_t>(shape.rank);
    tensor.dtype = to_abi(shape.dtype);
    tensor.shape = dims;
    tensor.strides = strides;
    if (shape.same_as >= 0) {
      tensor.data = out.tensors_[static_cast<std::size_t>(shape.same_as)].data;
      tensor.byte_offset = out.tensors_[static_cast<std::size_t>(shape.same_as)].byte_offset;
    } else {
      std::int64_t low = 0;
      std::int64_t high = 0;
      bool empty = false;
      for (std::uint32_t k = 0; k < shape.rank; ++k) {
        empty = empty || dims[k] == 0;
        const std::int64_t reach = (dims[k] - 1) * strides[k];
        (reach < 0 ? low : high) += reach;
      }
      if (!empty) {
        auto made = filled(devices, device, shape.dtype, high - low + 1, stream);
        if (!made) return fail(std::move(made).error());
        tensor.data = made->view().first();
        tensor.byte_offset = static_cast<std::uint64_t>(-low) * size_bytes_of(shape.dtype);
        out.memory_.push_back(std::move(*made));
      }
    }
    out.tensors_.push_back(tensor);
    dims += 2 * static_cast<std::ptrdiff_t>(shape.rank);
  }
  for (const std::int32_t at : pointers_)
    out.pointers_.push_back(at < 0 ? nullptr : &out.tensors_[static_cast<std::size_t>(at)]);
  out.call_ = {sizeof(tenon_call), fields_.data(), n_fields_, facts_.data(), facts_.size()};
  out.launch_.struct_size = sizeof(tenon_launch);
  out.launch_.device = &device.launch;
  out.launch_.call = has_call_ ? &out.call_ : nullptr;
  out.launch_.tensors = out.pointers_.data();
  out.launch_.arg_first = first_.data();
  out.launch_.n_args = first_.size() - 1;
  out.launch_.stream = stream;
  return {};
}

// ---- The store
// ---------------------------------------------------------------------------------------

std::string tuning_key(const DeviceEntry& device,
                       const std::string& op,
                       const std::string& interface,
                       const std::string& kernel,
                       std::span<const std::uint64_t> call_key) {
  const DeviceFacts::Fields& f = device.facts.fields();
  std::string key = fmt::format("tenon.tuning/1\n{} {} units={} warp={} memory={} shared={}/{}\n",
                                f.kind,
                                f.arch,
                                f.unit_count,
                                f.warp_size,
                                f.memory_bytes,
                                f.shared_per_block_bytes,
                                f.shared_per_unit_bytes);
  key += fmt::format("{} {} {}\n", op, interface, kernel);
  // The first word numbers device kinds in the order of this process: it would differ in the next.
  for (std::size_t i = 1; i < call_key.size(); ++i) key += fmt::format("{:x} ", call_key[i]);
  return key;
}

std::string kept_tuning(const PluginInfo& plugin, const std::string& key) {
  if (plugin.host == nullptr || plugin.host->cache_get == nullptr) return {};
  std::string text(1024, '\0');
  for (int tries = 0; tries < 2; ++tries) {
    std::uint64_t size = 0;
    const tenon_status status =
        plugin.host->cache_get(plugin.host, detail::str_of(key), text.data(), text.size(), &size);
    if (status != TENON_OK || size > (std::uint64_t{1} << 20)) return {};
    const bool whole = size <= text.size();
    text.resize(static_cast<std::size_t>(size));
    if (whole) return text;
  }
  return {};  // it grew between the two questions: somebody else tunes it right now
}

std::string config_of(const tenon_kernel& kernel, std::string_view qualified) {
  if (kernel.config == nullptr) return {};
  std::string text(256, '\0');
  std::uint64_t size = 0;
  tenon_reason unused = detail::empty_reason();
  const auto ask = [&] {
    return call_plugin("config", qualified, unused, [&] {
      return kernel.config(kernel.state, text.data(), text.size(), &size);
    });
  };
  tenon_status status = ask();
  if (status == TENON_OK && size > text.size() && size < (std::uint64_t{1} << 20)) {
    text.resize(static_cast<std::size_t>(size));
    status = ask();
  }
  if (status != TENON_OK || size > text.size()) return {};
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// ---- Instances
// ---------------------------------------------------------------------------------------

bool Op::Instance::tune(const CallEntry& entry, const LaunchExample& example, void* stream) {
  BuiltEntry& built = *entry.built;
  if (built.is_tuned()) return false;
  const Engine& owner = *construction.engine;
  const std::string who = decl().name + ": " + built.description();
  const tenon_kernel& kernel = built.kernel();
  if (kernel.tune == nullptr) {
    if (!running.tune_warned.exchange(true))
      owner.log(TENON_LOG_WARN, "tuning", who + " cannot tune; it runs as it was built");
    return false;
  }
  const auto give_up = [&](const std::string& why) {
    owner.log(TENON_LOG_WARN, "tuning", who + " was not tuned: " + why);
    return false;
  };
  LaunchExample::Synthetic synthetic;
  const DeviceEntry& device = built.device();
  if (auto made = example.synthesize(*engine().devices, device, stream, synthetic); !made)
    return give_up(made.error().to_string());
  WorkspaceScope scope(workspace_of_thread(engine().devices, &device, stream));
  tenon_launch launch = synthetic.launch();
  if (entry.workspace_bytes != 0) {
    auto taken = scope.take(static_cast<std::size_t>(entry.workspace_bytes));
    if (!taken) return give_up(taken.error().to_string());
    launch.workspace = *taken;
    launch.workspace_bytes = entry.workspace_bytes;
  }
  if (!built.begin_tuning()) return false;  // another thread has begun
  tenon_reason reason = detail::empty_reason();
  const tenon_status status = call_plugin("tune", built.name(), reason, [&] {
    return kernel.tune(kernel.state, &launch, owner.options().tuning_budget_ns, &reason);
  });
  (void)engine().devices->synchronize(device);  // the tensors are freed with this scope
  if (status != TENON_OK) {
    built.end_tuning(false);
    const std::string why = detail::text_of(reason);
    return give_up(why.empty() ? std::string(status_name(status)) : why);
  }
  built.end_tuning(true);
  engine().kernels_tuned.fetch_add(1, std::memory_order_relaxed);
  if (owner.options().tuning.value == TuningMode::kOff) return true;
  const PluginInfo& plugin = built.plugin();
  const std::string config = config_of(kernel, built.name());
  if (config.empty() || plugin.host == nullptr || plugin.host->cache_put == nullptr) return true;
  const std::string key =
      tuning_key(device, decl().full_name(), built.interface(), built.name(), entry.key);
  // What cannot be kept is tuned again next time; the store says so in its own words.
  (void)plugin.host->cache_put(plugin.host, detail::str_of(key), config.data(), config.size());
  return true;
}

std::size_t Op::Instance::request_tune() {
  running.tune_requested.store(true, std::memory_order_relaxed);
  std::vector<std::shared_ptr<const CallEntry>> entries;
  {
    const std::lock_guard lock(binding.mutex);
    if (const Binding* now = binding.current.load(std::memory_order_acquire)) {
      for (const auto& slot : now->slots) {
        if (slot != nullptr && slot->built != nullptr) entries.push_back(slot);
      }
    }
  }
  std::size_t tuned = 0;
  for (const auto& entry : entries) {
    const LaunchExample* example = entry->example.load(std::memory_order_acquire);
    if (example == nullptr) continue;  // it has not been launched yet, and is tuned before it is
    auto stream = stream_for(*engine().devices, entry->built->device());
    if (stream && tune(*entry, *example, *stream)) ++tuned;
  }
  for (const auto& sub : held_sub_ops()) tuned += sub->op->instance().request_tune();
  return tuned;
}

std::size_t Op::request_tune() { return instance_->request_tune(); }

}  // namespace tenon
